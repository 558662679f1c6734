import CBOR
import CatalogModel
import EntitySearch
import Foundation
import JSON

/// What `--ever`, `--first`, `--longer` and `--since` select, and how the periods are printed.
struct FoundPeriods {
  /// Only periods that end after this revision and, if that is not nil, after this date count.
  private let since: (revision: Revision, date: Date?)
  /// Time is counted between these dates.
  private let dates: (from: Date, until: Date)
  private let leastSeconds: Double?
  /// What entities are sorted by; nil if in the order of their numbers.
  let order: ((FoundEntity) -> ValueKey)?

  /// - Parameter revision: the one that `--at` names.
  /// - Returns: nil if none of these options was given.
  /// - Throws: ``Failure`` if the options do not fit, `JournalError` if a selector names no point in time.
  init?(_ arguments: Arguments, _ journal: CatalogJournal, through revision: Revision) throws {
    let options = ["--ever", "--first", "--longer", "--since"].filter(arguments.has)
    guard let option = options.first else { return nil }
    if arguments.has("--deleted") {
      throw arguments.misuse("\(option) searches deleted entities too; leave out --deleted")
    }
    for option in ["--order", "--count", "--group", "--sum"]
    where arguments.has("--first") && arguments.has(option) {
      throw arguments.misuse("--first and \(option) exclude each other")
    }
    leastSeconds = try arguments.seconds("--longer")
    order =
      arguments.has("--first") ? { ValueKey(.integer(Int64($0.periods.first?.start.revision ?? 0))) } : nil
    let start = try arguments.value("--since").map { try journal.border(at: try arguments.selector($0)) }
    let end = try arguments.value("--at").map { try journal.border(at: try arguments.selector($0)) }
    dates = (
      from: try start.map { try journal.date(of: $0) } ?? .distantPast,
      until: try end.map { try journal.date(of: $0) } ?? Date()
    )
    since = (start?.revision ?? 0, start?.date == nil ? nil : dates.from)
    if let start, arguments.has("--at"),
      dates.from > dates.until || start.date == nil && start.revision > revision
    {
      throw arguments.misuse("--since is after --at")
    }
  }

  /// The entity with the periods that count; nil if it is not to be printed.
  func counted(of found: FoundEntity) -> FoundEntity? {
    var found = found
    found.periods.removeAll { period in
      guard let end = period.end else { return false }
      return end.revision <= since.revision || since.date.map { end.date <= $0 } ?? false
    }
    let isLong = leastSeconds.map { seconds(of: found) > $0 } ?? true
    return isLong && !found.periods.isEmpty ? found : nil
  }

  func columns(_ terminal: Terminal) -> [TextTable.Column] {
    [
      .text(terminal.dateTitle("FIRST")), .flexible("BY"), .text(terminal.dateTitle("UNTIL")),
      .number("TIMES"), .number("TOTAL"),
    ]
  }

  func cells(of found: FoundEntity, _ terminal: Terminal) -> [String] {
    guard let first = found.periods.first?.start else { return [] }
    return [
      terminal.text(of: first.date), first.isPruned ? "(pruned before)" : first.authorCell(),
      found.periods.last?.end.map { terminal.text(of: $0.date) } ?? "(still)", "\(found.periods.count)",
      Self.text(ofSeconds: seconds(of: found)),
    ]
  }

  /// The time in all, in seconds.
  func json(of found: FoundEntity) -> FieldValue {
    .double((seconds(of: found) * 1_000_000).rounded() / 1_000_000)
  }

  private func seconds(of found: FoundEntity) -> Double {
    found.periods.totalTime(from: dates.from, until: dates.until)
  }

  /// A time in its two largest units: `3d 4h`.
  private static func text(ofSeconds seconds: Double) -> String {
    let seconds = Int(seconds.rounded())
    let parts = [
      (seconds / 86_400, "d"), (seconds / 3600 % 24, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s"),
    ]
    let shown = parts.drop { $0.0 == 0 }.prefix(2).filter { $0.0 > 0 }
    return shown.isEmpty ? "0s" : shown.map { "\($0)\($1)" }.joined(separator: " ")
  }
}

extension Journal where State == Catalog {
  /// The date at a border: the given date unless it is in the future, or that of the entry.
  fileprivate func date(of border: (revision: Revision, date: Timestamp?)) throws -> Date {
    if let date = border.date { return min(date.date, max(Date(), head.date)) }
    if border.revision <= base?.revision ?? 0 { return base?.date ?? .distantPast }
    return try entry(at: border.revision).date
  }
}
