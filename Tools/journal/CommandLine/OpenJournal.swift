import CatalogModel
import Foundation
import JournalMaintenance
import Locks
import PostgresLog

extension Arguments {
  /// Opens the journal that the command line names, by default for reading, which changes nothing on disk.
  ///
  /// Problems with layers and snapshots, which cost only time, are reported on standard error when the program ends.
  func openJournal(
    _ terminal: Terminal, mode: CatalogJournal.Mode = .readOnly, layers: LayerPolicy = .manual
  ) throws -> CatalogJournal {
    let journal = try CatalogJournal.open(
      at: URL(fileURLWithPath: operand("JOURNAL")), mode: mode, options: journalOptions(layers: layers))
    reportAtEnd(journal, terminal)
    return journal
  }

  /// Opens a damaged journal up to its damage, for reading.
  func openUpToDamage(_ terminal: Terminal) throws -> CatalogJournal {
    let journal = try CatalogJournal.openUpToDamage(
      at: URL(fileURLWithPath: operand("JOURNAL")), options: journalOptions())
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
      // The results may be incomplete if a part of the state could not be read.
      if let failure = journal.state.failure { throw failure }
    }
  }

  /// Opens the journal for a verb that commits, or with `--dry-run` for reading.
  ///
  /// The verb plans its commit for the newest state, so a node of a shared journal first fetches what other nodes have
  /// committed.
  func openForCommit(_ terminal: Terminal) throws -> CatalogJournal {
    if has("--dry-run") { return try openJournal(terminal) }
    let journal = try openJournal(terminal, mode: .readWrite, layers: .automatic)
    try journal.catchUp()
    return journal
  }

  /// Opens the entries of the journal on the command line without building a state.
  func openHistory() throws -> EntryHistory<Catalog> {
    try EntryHistory(at: URL(fileURLWithPath: operand("JOURNAL")), options: journalOptions())
  }

  /// The options of a verb's journal. With `--verbose`, all notices are printed at once. Otherwise only these are: a
  /// warning that the clock is far ahead, once, because no later entry can have an earlier date; one of files of other
  /// programs in the journal's folder, once; and one that the commits of a shared journal wait, because the verb seems to
  /// hang then.
  /// - Parameter isServing: whether the verb runs until it is interrupted. It then also prints errors, which a server's
  ///   clients can't see, and when the server of a shared journal gets out of reach and is back.
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

  /// The folder of `--shared-images`, to which verbs write.
  private func sharedImages() throws(Failure) -> SharedImageFolder? {
    guard let path = value("--shared-images") else { return nil }
    let url = URL(fileURLWithPath: path).absoluteURL
    if let journal = JournalFolder.enclosingJournal(ofPath: url.resolvingSymlinksInPath().path) {
      throw Failure(
        .wrongUse,
        "the shared images in \(path) would be inside the journal \(journal); choose another folder")
    }
    return SharedImageFolder(url)
  }

  /// The zone of dates that name none: UTC, or with `--local` that of this machine.
  var timeZone: TimeZone { has("--local") ? .current : .gmt }

  /// The selector of a text.
  func selector(_ text: String) throws(JournalError) -> RevisionSelector {
    try RevisionSelector(text, timeZone: timeZone)
  }

  /// The selector of an option.
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
  /// The kind of a notice of which a verb prints the first one: that the clock is far ahead, or files of other programs.
  fileprivate var saidOnce: String? {
    if case .ahead? = clockWarning { return "clock" }
    return level == .warning && cause?.code == .notAJournal ? "files" : nil
  }
}

extension Journal where State == Catalog {
  /// Fails if an entity never existed.
  /// - Throws: ``Failure`` with ``ExitCode/no``.
  func checkEverExisted(_ entity: EntityKey) throws(Failure) {
    guard state.revision(of: entity) == 0 else { return }
    throw Failure(.no, "\(Catalog.name(of: entity)) never existed in this journal")
  }

  /// The categories with a number (`3`, `category:3`) or a name: those that have it at a point in time or, if none has
  /// it then, those that have it now.
  /// - Throws: ``Failure`` with ``ExitCode/no`` if there is none.
  func categories(named text: String, asOf point: RevisionSelector) throws -> Set<CategoryID> {
    for selector in [point, .head()] {
      let found = try state(asOf: selector).categories(named: text)
      if !found.isEmpty { return found }
    }
    throw Failure(.no, "there is no category \"\(text)\"; journal find JOURNAL --kind category lists them")
  }
}

extension Catalog {
  /// The entity with a name such as `item:42`, which need not exist.
  static func entity(_ name: String) throws(Failure) -> EntityKey {
    do throws(JournalError) {
      return try entity(named: name)
    } catch {
      throw Failure(.wrongUse, "\(error)")
    }
  }
}
