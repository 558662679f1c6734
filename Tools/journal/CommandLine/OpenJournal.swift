import CatalogModel
import EntitySearch
import Foundation
import JournalMaintenance
import Locks
import PostgresLog

extension Arguments {
  /// Opens the journal that the command line names. The default mode changes nothing on disk.
  ///
  /// Problems with layers and snapshots only make reading slower, so they are reported when the program ends.
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

  /// Makes the options of a verb's journal. With `--verbose`, all notices are printed. Otherwise the user is told only
  /// that the clock is far ahead (once, because no later entry can have an earlier date), that other programs have
  /// files in the journal's folder (once), and that commits of a shared journal wait (because the verb seems to hang).
  /// - Parameter isServing: whether the verb runs until it is interrupted. If so, errors are printed too, because
  ///   clients can't see them, and notices that a shared journal's server is out of reach or back.
  /// - Throws: ``Failure`` if `--shared-images` names a folder inside a journal.
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

  /// The time zone of dates that name no zone: UTC, or with `--local` the zone of this machine.
  var timeZone: TimeZone { has("--local") ? .current : .gmt }

  func selector(_ text: String) throws(JournalError) -> RevisionSelector {
    try RevisionSelector(text, timeZone: timeZone)
  }

  func selector(of option: String, else standard: RevisionSelector) throws -> RevisionSelector {
    try value(option).map { try selector($0) } ?? standard
  }

  /// Parses an entity and, after an `@`, a point in time: `item:42@yesterday`. The point is nil without an `@`.
  func entityAndPoint(_ text: String) throws -> (entity: EntityKey, point: RevisionSelector?) {
    let parts = text.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let entity = try Catalog.entity(parts[0])
    return (entity, parts.count == 2 ? try selector(parts[1]) : nil)
  }
}

extension JournalNotice {
  /// A name for the kind of a notice if only the first notice of that kind is printed; nil for other notices.
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

  /// The categories with a number (`3`, `category:3`), or with a name at a point in time or, failing that, now.
  /// - Throws: ``Failure`` with ``ExitCode/no`` if there is no such category then or now.
  func categories(named text: String, asOf point: RevisionSelector) throws -> Set<CategoryID> {
    for selector in [point, .head()] {
      let found = try state(asOf: selector).categories(named: text)
      if !found.isEmpty { return found }
    }
    throw Failure.no("there is no category \"\(text)\"; journal find JOURNAL --kind category lists them")
  }
}

extension Catalog {
  /// Parses the name of an entity, such as `item:42`. The entity need not exist.
  static func entity(_ name: String) throws(Failure) -> EntityKey {
    do throws(JournalError) {
      return try entity(named: name)
    } catch {
      throw Failure.wrongUse("\(error)")
    }
  }
}
