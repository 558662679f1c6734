import CatalogModel
import Foundation
import Locks
import PostgresLog

extension Arguments {
  /// Opens the journal that is named on the command line; for reading if not told otherwise, which changes
  /// nothing on disk.
  ///
  /// What is found wrong with snapshots until the program ends is said on standard error: it cost time only.
  func openJournal(
    _ terminal: Terminal, mode: CatalogJournal.Mode = .readOnly
  ) throws -> CatalogJournal {
    // A verb does what it says and nothing else: it takes no snapshots automatically.
    let journal = try CatalogJournal.open(
      at: URL(fileURLWithPath: operand("JOURNAL")), mode: mode, options: journalOptions(snapshots: .manual))
    if !has("--verbose") {
      terminal.sayAtEnd { journal.snapshotProblems.map { "\($0); the answer does not depend on it" } }
    }
    return journal
  }

  /// Opens the entries of the journal that is named on the command line, without making a state of them.
  func openHistory() throws -> EntryHistory<Catalog> {
    try EntryHistory(
      at: URL(fileURLWithPath: operand("JOURNAL")), options: journalOptions(snapshots: .manual))
  }

  /// How a verb keeps a journal open: with `--verbose`, what it does and finds is said at once, and without it that the
  /// clock is far ahead, once. No later entry can have an earlier date.
  func journalOptions(snapshots: SnapshotPolicy) -> JournalOptions {
    let isVerbose = has("--verbose")
    let hasWarned = Lock(false)
    let options = JournalOptions(snapshots: snapshots) { notice in
      guard isVerbose || notice.isFirstOfClockAhead(hasWarned) else { return }
      StandardError.write("journal: \(notice.description.printable)\n")
    }
    return options.sharingThroughPostgres()
  }

  /// The point in time that a text means: dates are in UTC, or with `--local` in the zone of this machine.
  func selector(_ text: String) throws(JournalError) -> RevisionSelector {
    try RevisionSelector(text, timeZone: has("--local") ? .current : .gmt)
  }

  /// The point in time that an option names.
  func selector(of option: String, else standard: RevisionSelector) throws -> RevisionSelector {
    try value(option).map { try selector($0) } ?? standard
  }

  /// An entity and, after an `@`, the point in time at which it is meant: `item:42@yesterday`.
  func entityAndPoint(_ text: String) throws -> (entity: EntityKey, point: RevisionSelector?) {
    let parts = text.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let entity = try Catalog.entity(parts[0])
    return (entity, parts.count == 2 ? try selector(parts[1]) : nil)
  }
}

extension JournalNotice {
  /// Whether it says that the clock is far ahead, and nothing has said so before.
  fileprivate func isFirstOfClockAhead(_ hasWarned: borrowing Lock<Bool>) -> Bool {
    guard case .ahead? = clockWarning else { return false }
    return hasWarned.withLock { hasWarned in
      defer { hasWarned = true }
      return !hasWarned
    }
  }
}

extension Journal {
  /// The revision that a selector means.
  /// - Throws: ``Failure`` with ``ExitCode/no`` when there is none.
  func revision(_ selector: RevisionSelector) throws -> Revision {
    try Failure.ofAbsence { try revision(at: selector) }
  }
}

extension Failure {
  /// Makes the answer no of what is not found.
  static func ofAbsence<Result>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch let error as JournalError where error.code == .notFound {
      throw Failure(.no, "\(error)")
    }
  }
}

extension Journal where State == Catalog {
  /// The categories that a number, `category:3` or a name means, now or at a point.
  /// - Throws: ``Failure`` with ``ExitCode/no`` when there is none.
  func categories(named text: String, asOf point: RevisionSelector = .head()) throws -> Set<Int> {
    if let number = Int(text) ?? (try? Catalog.entity(named: text))?.number { return [number] }
    for catalog in [state, try state(asOf: point)] {
      let found = catalog.categories.filter { $0.name == text }
      if !found.isEmpty { return Set(found.map(\.id)) }
    }
    throw Failure(.no, "there is no category \"\(text)\"; journal find JOURNAL --kind category lists them")
  }
}

extension Catalog {
  /// The entity that a name such as `item:42` means, whether or not it is there.
  static func entity(_ name: String) throws(Failure) -> EntityKey {
    do throws(JournalError) {
      return try entity(named: name)
    } catch {
      throw Failure(.wrongUse, "\(error)")
    }
  }
}
