import Foundation

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

  /// Prunes the history that an app does not keep, before `open` returns.
  /// - Returns: the journal, reopened if something was pruned.
  static func keeping(
    _ retention: HistoryRetention, of journal: Journal, options: JournalOptions
  ) throws -> Journal {
    guard !options.logStorage.isTransient else { return journal }
    // Too much history is no damage, so whatever fails here, the journal opens.
    func note(_ error: any Error) {
      options.note(
        .warning, "history could not be pruned; the next opening tries again", cause: error as? JournalError)
    }
    let point: RevisionSelector?
    do { point = try journal.pruningPoint(retention) } catch {
      note(error)
      return journal
    }
    guard let point else { return journal }
    let url = journal.url
    do {
      try journal.close()
      _ = try prune(
        before: point, at: url, reason: "kept for \(retention.text)",
        options: JournalOptions(fileHook: options.fileHook))
    } catch {
      note(error)
    }
    return try Journal(Recovery(url, mode: .readWrite, options: options), mode: .readWrite, options: options)
  }
}

extension Entry {
  /// Whether it was not made by a pruning.
  fileprivate var isOwn: Bool { metadata[PruningMetadata.prunes] == nil }
}
