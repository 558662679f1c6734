import Dispatch
import Foundation
import Locks

/// How much history a journal keeps: this period, and up to a tenth more.
///
/// ```swift
/// let journal = try CatalogJournal.open(at: url, options: JournalOptions(retention: .years(2)))
/// ```
/// The period is counted back from the newest entry or from now, whichever is earlier. So no history of the period is
/// lost if the journal was not opened for years. If the newest entries are more than an eighth of the period later than
/// those before them, the clock may have been wrong. They count only if they span a twentieth of the period; otherwise
/// the period is counted back from the entries before the gap, to which the same applies. Eight such gaps in a row mean
/// that the journal is rarely used, and not that the clock was wrong.
public struct HistoryRetention: Hashable, Sendable {
  private let component: Calendar.Component
  private let count: Int

  /// Keeps this many days.
  public static func days(_ count: Int) -> HistoryRetention {
    HistoryRetention(component: .day, count: max(count, 1))
  }

  /// Keeps this many years.
  public static func years(_ count: Int) -> HistoryRetention {
    HistoryRetention(component: .year, count: max(count, 1))
  }

  /// `2 years`.
  var text: String { "\(count) \(component == .day ? "day" : "year")\(count == 1 ? "" : "s")" }

  /// The date before which history may be pruned.
  func start(before date: Date) -> Date {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    return calendar.date(byAdding: component, value: -count, to: date) ?? .distantPast
  }
}

extension Journal {
  /// The revision up to which history is to be pruned; nil if it is too little to justify rewriting the log.
  private func pruningPoint(_ retention: HistoryRetention) throws -> RevisionSelector? {
    let first = format.head.revision + 1
    guard let newest = try newestOwnEntry(), newest.revision > first else { return nil }
    let oldest = try log.read(first) { entry throws(JournalError) in try entry.date() }.date
    // Waits for a tenth more, so that each entry is rewritten only a few times in all.
    func isDue(at end: Date) -> Bool {
      let start = retention.start(before: end)
      return oldest < start.addingTimeInterval(-end.timeIntervalSince(start) / 10)
    }
    // To find out whether the clock was right, more entries are read.
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

  /// A wrong clock does not make so many gaps in a row.
  private static var trustedGapCount: Int { 8 }

  /// The date from which the period is counted back, by what the clock said; nil if the entries do not tell.
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
      // The clock was set back, and the entries after that span too little time.
      if entry.clockDate > end.addingTimeInterval(period / 8) { return nil }
      let earliest = min(dates?.lowerBound ?? end, entry.clockDate)
      if end.timeIntervalSince(earliest) >= period / 20 { return end }
      dates = earliest...end
    }
    return nil
  }

  /// Prunes the history that an app does not keep.
  fileprivate func prune(keeping retention: HistoryRetention) throws {
    guard let point = try settled({ try pruningPoint(retention) }) else { return }
    try prune(before: point, reason: "kept for \(retention.text)")
  }
}

/// Prunes what a journal does not keep, on a background thread: after the opening, and when layers were written.
///
/// Safe to use from any thread.
final class RetentionThread<State: EventSourced>: Sendable {
  private struct Progress: Sendable {
    /// Nil before the beginning, after the end, and after a failure: too much history is no damage, so the next opening
    /// tries again.
    var journal: Journal<State>?
    var isRunning = false
    /// Before this revision, it is not worth looking again: that reads entries.
    var nextLook: Revision = 0
  }

  private let retention: HistoryRetention
  private let progress = Lock(Progress())
  private let background = DispatchGroup()

  init(_ retention: HistoryRetention) { self.retention = retention }

  /// - Parameter journal: a handle of the journal.
  func begin(_ journal: Journal<State>) {
    progress.withLock { $0.journal = journal }
    look()
  }

  /// Prunes if that is due.
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

  /// Returns when what was due is pruned.
  func waitUntilIdle() { background.wait() }

  func end() { progress.withLock { $0.journal = nil } }
}

extension Entry {
  /// Whether it was not made by a pruning.
  fileprivate var isOwn: Bool { metadata[PruningMetadata.prunes] == nil }
}
