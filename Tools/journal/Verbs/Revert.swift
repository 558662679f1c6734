import CatalogModel
import EntitySearch

enum Revert: Verb {
  static let text = """
    revert: undoes entries, each as a new entry

    Undoes exactly what one entry did: each attribute that it changed becomes what it was before, and everything else
    stays. If later entries changed the same fields, it names them and does nothing, unless --theirs keeps their changes
    or --force overrides them. Several entries, or those that --author, --since and --until select, are undone one after
    the other, the newest first. An entity such as item:42 names the newest entry that changed it, if that changed nothing
    else. An entry that only made a tag can't be reverted, because tags are not part of a state;
    journal tag --delete deletes the tag.

    Arguments: JOURNAL
    [REVISION]…: the entry to undo, such as 12 or HEAD
    [--author NAME]: all entries of this author in the given time; the whole name, unlike log --author; case
      is ignored
    [--since SELECTOR], [--until SELECTOR], [--theirs], [--force], [--dry-run], [--note TEXT]
    [--by AUTHOR], [--full], [--json]

    $ journal revert Books.journal 12  # undoes entry 12, and nothing after it
    $ journal revert Books.journal 12 --dry-run  # shows what that would change
    $ journal revert Books.journal --author bob --since 2026-08-04 --until 2026-08-05  # undoes what Bob did
      on 4 August
    """
  static let isPaged = true

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let names = arguments.values("REVISION")
    let isChosen = arguments.has("--author") || arguments.has("--since") || arguments.has("--until")
    guard names.isEmpty == isChosen else {
      throw Failure.wrongUse(
        "name the entries to undo, or choose them by --author, --since and --until, but not both")
    }
    let later = try arguments.laterEdits()
    let isDryRun = arguments.has("--dry-run")
    let journal = try arguments.openForCommit(terminal)
    let revisions =
      isChosen
      ? try chosen(arguments, journal)
      : Set(try names.map { try revision(of: $0, arguments, journal) }).sorted(by: >)
    if revisions.isEmpty { throw Failure.no("no entry matches") }
    // All entries are checked before the first one is undone.
    for revision in revisions {
      guard revision > 0 else {
        throw Failure.no("revision 0 is the empty journal; there is no entry to revert")
      }
      let events = try journal.entry(at: revision).events
      if !events.isEmpty, events.allSatisfy({ $0.entity.kind == .tag }) {
        throw Failure.wrongUse(
          "entry \(revision) changed only tags; journal tag makes them, and with --delete deletes them")
      }
      _ = try journal.revertibleEntry(at: revision)
    }
    let previews = isDryRun ? try journal.planReverts(of: revisions, later: later, by: arguments.author) : []
    for (index, revision) in revisions.enumerated() {
      let plan = isDryRun ? previews[index] : try journal.planRevert(of: revision, later: later)
      if revisions.count == 1, later == .refuse, plan.isEmpty, plan.conflicts.isEmpty,
        try !journal.planRevert(of: revision, later: .override).isEmpty
      {
        throw Failure.no(
          "entry \(revision) was reverted already, and later entries changed the same fields; --force reverts it again, "
            + "and overrides them")
      }
      if revisions.count > 1, !terminal.isJSON {
        let entry = try journal.entry(at: revision)
        try terminal.line(
          terminal.styled(.yellow, "entry \(revision), by \(terminal.authorAndNote(of: entry))"))
      }
      try arguments.carryOut(plan, in: journal, terminal)
    }
  }

  /// The revision of the entry that an argument names. An entity names the newest entry that changed it, if that entry
  /// changed nothing else.
  private static func revision(
    of text: String, _ arguments: Arguments, _ journal: CatalogJournal
  ) throws -> Revision {
    let revision = try journal.revision(at: try arguments.selector(text))
    guard revision > 0, let name = text.wholeMatch(of: /([a-z]+:[0-9]+)(?:@.+)?/)?.1 else { return revision }
    let entity = try Catalog.entity(String(name))
    let others = try journal.entry(at: revision).events.map(\.entity).filter { $0 != entity }.sorted()
    if others.isEmpty { return revision }
    let list = others.map { Catalog.name(of: $0) }.listed(upTo: otherLimit)
    throw Failure.wrongUse(
      "\(name) names entry \(revision), which also changed \(list); write \(revision) to revert it")
  }

  private static let otherLimit = 5

  private static func chosen(_ arguments: Arguments, _ journal: CatalogJournal) throws -> [Revision] {
    let (since, until) = (
      try arguments.selector(of: "--since", else: .start),
      try arguments.selector(of: "--until", else: .head())
    )
    guard let window = try journal.window(since: since, until: until).revisions
    else { return [] }
    let wanted = arguments.value("--author")
    let author = wanted?.lowercased()
    // Authors whose names contain the given one and are longer: log --author would find their entries.
    var longer: Set<String> = []
    var isNamed = false
    func isSelected(_ entry: Entry) -> Bool {
      guard let author else { return true }
      if entry.isAnnotationErased { return false }
      let name = entry.author.lowercased()
      if name == author { isNamed = true } else if name.contains(author) { longer.insert(entry.author) }
      return name == author
    }
    var revisions: [Revision] = []
    let entries = journal.entries(window, newestFirst: true)
    while let entry = try entries.next() {
      if isSelected(entry), entry.isUndoable(Catalog.self) { revisions.append(entry.revision) }
    }
    if let wanted, !isNamed, !longer.isEmpty {
      throw Failure.no(
        "no entry matches: no author is named \"\(wanted)\"; log --author also finds parts of names: "
          + longer.sorted().prefix(otherLimit).joined(separator: ", "))
    }
    return revisions
  }
}
