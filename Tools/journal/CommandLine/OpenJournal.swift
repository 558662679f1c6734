import CatalogModel
import Foundation
import JournalMaintenance
import Locks
import PostgresLog

extension Arguments {
  /// Opens the journal of the command line. The default mode changes nothing on disk.
  ///
  /// Problems with layers and snapshots, which cost only time, are reported when the program ends.
  func openJournal(
    _ terminal: Terminal, mode: CatalogJournal.Mode = .readOnly, layers: LayerPolicy = .manual
  ) throws -> CatalogJournal {
    let journal = try CatalogJournal.open(
      at: url("JOURNAL"), mode: mode, options: journalOptions(layers: layers))
    reportAtEnd(journal, terminal)
    if mode == .readWrite { terminal.checkAtEnd { try journal.close() } }
    return journal
  }

  func openUpToDamage(_ terminal: Terminal) throws -> CatalogJournal {
    let journal = try CatalogJournal.openUpToDamage(at: url("JOURNAL"), options: journalOptions())
    reportAtEnd(journal, terminal)
    return journal
  }

  private func reportAtEnd(_ journal: CatalogJournal, _ terminal: Terminal) {
    if !has("--verbose") {
      terminal.sayAtEnd {
        guard journal.state.failure == nil else { return [] }
        return journal.health.layerProblems.map { "\($0); the answer does not depend on it" }
      }
    }
    terminal.checkAtEnd {
      // If a part of the state could not be read, the results may be incomplete.
      if let failure = journal.state.failure { throw failure }
    }
  }

  /// Opens the journal for a verb that commits, or with `--dry-run` for reading.
  ///
  /// Commits are planned for the newest state, so a node of a shared journal first fetches new entries.
  func openForCommit(_ terminal: Terminal) throws -> CatalogJournal {
    if has("--dry-run") { return try openJournal(terminal) }
    let journal = try openJournal(terminal, mode: .readWrite, layers: .automatic)
    try journal.catchUp()
    return journal
  }

  /// The options of a verb's journal. With `--verbose`, all notices are printed. Otherwise only these are:
  /// once that the clock is far ahead, because no later entry can have an earlier date; once that other
  /// programs have files in the journal's folder; and that commits of a shared journal wait, because the verb
  /// seems to hang.
  /// - Parameter isServing: whether the verb runs until interrupted. Then errors, which clients can't see,
  ///   are printed, and whether the server of a shared journal is in reach.
  /// - Throws: ``Failure`` if `--shared-images` names a folder in a journal.
  func journalOptions(
    layers: LayerPolicy = .manual, isServing: Bool = false
  ) throws(Failure) -> JournalOptions {
    let isVerbose = has("--verbose")
    let said = Lock<Set<String>>([])
    let options = JournalOptions(layers: layers) { notice in
      let concernsServer = notice.sharedLog.map { isServing || $0 == .waits } ?? false
      let isShown = isVerbose || isServing && notice.level == .error || concernsServer
      let isFirst = notice.saidOnce.map { kind in said.withLock { $0.insert(kind).inserted } } ?? false
      guard isShown || isFirst else { return }
      StandardError.write("journal: \(notice.description.printable)\n")
    }
    return options.sharingThroughPostgres(
      acceptsUnsafeSettings: has("--unsafe-settings"),
      images: try sharedImages())
  }

  private func sharedImages() throws(Failure) -> SharedImageFolder? {
    guard let path = value("--shared-images") else { return nil }
    let url = URL(fileURLWithPath: path).absoluteURL
    if let journal = JournalFolder.enclosingJournal(ofPath: url.resolvingSymlinksInPath().path) {
      throw Failure.wrongUse(
        "the shared images in \(path) would be inside the journal \(journal); choose another folder")
    }
    return SharedImageFolder(url)
  }

  /// The zone of dates that name none: UTC, or with `--local` that of this machine.
  var timeZone: TimeZone { has("--local") ? .current : .gmt }

  func selector(_ text: String) throws(JournalError) -> RevisionSelector {
    try RevisionSelector(text, timeZone: timeZone)
  }

  func selector(of option: String, else standard: RevisionSelector) throws -> RevisionSelector {
    try value(option).map { try selector($0) } ?? standard
  }

  /// An entity and, after an `@`, a point in time: `item:42@yesterday`.
  func entityAndPoint(_ text: String) throws -> (entity: EntityKey, point: RevisionSelector?) {
    let parts = text.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let entity = try Catalog.entity(parts[0])
    return (entity, parts.count == 2 ? try selector(parts[1]) : nil)
  }
}

extension JournalNotice {
  /// The kind of a notice of which only the first is printed.
  fileprivate var saidOnce: String? {
    if case .ahead? = clockWarning { return "clock" }
    return level == .warning && cause?.code == .notAJournal ? "files" : nil
  }
}

extension Journal where State == Catalog {
  /// - Throws: ``Failure`` with ``ExitCode/no`` if the entity never existed.
  func checkEverExisted(_ entity: EntityKey) throws(Failure) {
    guard state.revision(of: entity) == 0 else { return }
    throw Failure.no("\(Catalog.name(of: entity)) never existed in this journal")
  }

  /// The categories with a number (`3`, `category:3`) or a name at a point in time, or else now.
  /// - Throws: ``Failure`` with ``ExitCode/no`` if there are none now either.
  func categories(named text: String, asOf point: RevisionSelector) throws -> Set<CategoryID> {
    for selector in [point, .head()] {
      let found = try state(asOf: selector).categories(named: text)
      if !found.isEmpty { return found }
    }
    throw Failure.no("there is no category \"\(text)\"; journal find JOURNAL --kind category lists them")
  }
}

extension Catalog {
  /// An entity such as `item:42`, which need not exist.
  static func entity(_ name: String) throws(Failure) -> EntityKey {
    do throws(JournalError) {
      return try entity(named: name)
    } catch {
      throw Failure.wrongUse("\(error)")
    }
  }
}
