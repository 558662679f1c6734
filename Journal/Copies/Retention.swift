import Dispatch
import Foundation
import Locks

/// How much history a journal keeps: a period, and up to a tenth more.
///
/// ```swift
/// let journal = try CatalogJournal.open(at: url, options: JournalOptions(retention: .years(2)))
/// ```
/// The period is counted back from the newest entry or from now, whichever is earlier. So a journal that was not opened
/// for years loses no history of its last period.
///
/// A wrong clock may have dated the newest entries too late. That is assumed if a gap of more than an eighth of the
/// period precedes them, and they span less than a twentieth of the period. The period is then counted back from the
/// entries before the gap, for which the test is repeated. Eight such gaps in a row mean that the journal is rarely
/// used, and not that the clock was wrong.
public struct HistoryRetention: Hashable, Sendable {
  private let component: Calendar.Component
  private let count: Int

  /// Keeps a number of days, at least one.
  public static func days(_ count: Int) -> HistoryRetention {
    HistoryRetention(component: .day, count: max(count, 1))
  }

  /// Keeps a number of years, at least one.
  public static func years(_ count: Int) -> HistoryRetention {
    HistoryRetention(component: .year, count: max(count, 1))
  }

  /// The period as text, such as `2 years`.
  var text: String { "\(count) \(component == .day ? "day" : "year")\(count == 1 ? "" : "s")" }

  /// The date before which history may be pruned, if the period is counted back from `date`.
  func start(before date: Date) -> Date {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    return calendar.date(byAdding: component, value: -count, to: date) ?? .distantPast
  }
}

extension Journal {
  /// The revision up to which to prune; nil if too little history would be removed to justify rewriting the log.
  private func pruningPoint(_ retention: HistoryRetention) throws -> RevisionSelector? {
    let first = format.head.revision + 1
    guard let newest = try newestOwnEntry(), newest.revision > first else { return nil }
    let oldest = try log.read(first) { entry throws(JournalError) in try entry.date() }.date
    // Pruning waits for a tenth more, so that each entry is rewritten only a few times in all.
    func isDue(at end: Date) -> Bool {
      let start = retention.start(before: end)
      return oldest < start.addingTimeInterval(-end.timeIntervalSince(start) / 10)
    }
    // The cheap test comes first, because finding out whether the clock was right reads more entries.
    guard isDue(at: min(newest.date, Date())), let end = try end(of: retention), isDue(at: end) else {
      return nil
    }
    return .revision(try revision(at: .date(retention.start(before: end))))
  }

  private func newestOwnEntry() throws -> Entry? {
    let cursor = entries(newestFirst: true)
    while let entry = try cursor.next() { if entry.isOwn { return entry } }
    return nil
  }

  /// The number of gaps in a row that can't be due to a wrong clock.
  private static var trustedGapCount: Int { 8 }

  /// The date from which the period is counted back, by the clock dates of the entries; nil if these do not show it.
  private func end(of retention: HistoryRetention) throws -> Date? {
    let cursor = entries(newestFirst: true)
    var dates: ClosedRange<Date>?
    var gapCount = 0
    while let entry = try cursor.next() {
      guard entry.isOwn else { continue }
      let end = dates?.upperBound ?? min(entry.clockDate, Date())
      let period = end.timeIntervalSince(retention.start(before: end))
      if entry.clockDate < end.addingTimeInterval(-period / 8) {
        gapCount += 1
        if gapCount == Self.trustedGapCount { return entry.clockDate }
        dates = entry.clockDate...entry.clockDate
        continue
      }
      // The clock was set back, and the entries after that span too little time to trust either date.
      if entry.clockDate > end.addingTimeInterval(period / 8) { return nil }
      let earliest = min(dates?.lowerBound ?? end, entry.clockDate)
      if end.timeIntervalSince(earliest) >= period / 20 { return end }
      dates = earliest...end
    }
    return nil
  }

  /// Prunes the history that `retention` does not keep, if that is due.
  fileprivate func prune(keeping retention: HistoryRetention) throws {
    guard let point = try settled({ try pruningPoint(retention) }) else { return }
    try prune(before: point, reason: "kept for \(retention.text)")
  }
}

/// Prunes history by a journal's retention, on a background thread: after the opening, and after layers were written.
///
/// Safe to use from any thread.
final class RetentionThread<State: EventSourced>: Sendable {
  private struct Progress: Sendable {
    /// Nil before `begin`, after `end`, and after a failure, because only the next opening tries again.
    var journal: Journal<State>?
    var isRunning = false
    /// The revision at which to look again. A look reads entries, so earlier looks are not worth their cost.
    var nextLook: Revision = 0
  }

  private let retention: HistoryRetention
  private let progress = Lock(Progress())
  private let background = DispatchGroup()

  init(_ retention: HistoryRetention) { self.retention = retention }

  /// - Parameter journal: a second instance for background threads.
  func begin(_ journal: Journal<State>) {
    progress.withLock { $0.journal = journal }
    look()
  }

  /// Prunes on a background thread, if that is due and no pruning is in progress.
  func look() {
    let journal = progress.withLock { progress -> Journal<State>? in
      guard !progress.isRunning, let journal = progress.journal, journal.head.revision >= progress.nextLook
      else { return nil }
      progress.isRunning = true
      background.enter()
      return journal
    }
    guard let journal else { return }
    let isStarted = BackgroundThread.start {
      self.prune(journal)
      self.finish()
    }
    if !isStarted { finish() }
  }

  private func prune(_ journal: Journal<State>) {
    do {
      try journal.prune(keeping: retention)
      let (base, head) = (journal.base?.revision ?? 0, journal.head.revision)
      progress.withLock { $0.nextLook = head + max((head - base) / 16, 1) }
    } catch {
      guard !journal.current.isClosing else { return }
      progress.withLock { $0.journal = nil }
      let error = error as? JournalError
      journal.options.note(
        .warning,
        error?.code == .outcomeUnknown
          ? "history was pruned, but not all that was pruned could be removed; the next opening does that"
          : "history could not be pruned; the next opening tries again", cause: error)
    }
  }

  private func finish() {
    progress.withLock { $0.isRunning = false }
    background.leave()
  }

  /// Waits until a pruning in progress has ended.
  func waitUntilIdle() { background.wait() }

  func end() { progress.withLock { $0.journal = nil } }
}

extension Entry {
  /// Whether the entry does not record a pruning.
  fileprivate var isOwn: Bool { metadata[PruningMetadata.prunes] == nil }
}
