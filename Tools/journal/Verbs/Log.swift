import CatalogModel
import JSON

/// `journal log JOURNAL [ENTITY…]`
enum Log: Verb {
  static let name = "log"
  static let summary = "lists entries, the newest first: who changed what, when and why"
  static let explanation = """
    Lists entries, the newest first: what was changed when, by whom and why. CHANGES counts the entities that were added
    (+), updated (~) and deleted (-). With ENTITY it lists only the entries that changed it, and the time depends on the
    length of its history. --patch shows the old and the new values, --stat which entities and attributes were changed.

    --follow prints entries as another process commits them, the oldest first, until it is interrupted. It begins with
    the entries after --since, or with the newest N entries if -n is given, or with the next new entry.
    """
  static let syntax = Syntax(
    operands: [
      Syntax.journal,
      Syntax.Operand(name: "ENTITY", help: "such as item:42", isOptional: true, isRepeated: true),
    ],
    options: [
      Syntax.Option(name: "-n", value: "N", help: "show at most N entries"),
      Syntax.Option(name: "--reverse", help: "show the oldest first"),
      Syntax.Option(name: "--follow", help: "wait for new entries, and print each as it is committed"),
      Syntax.since, Syntax.until,
      Syntax.Option(
        name: "--author", value: "TEXT", help: "only entries whose author contains TEXT; case is ignored"),
      Syntax.Option(
        name: "--note", value: "TEXT", help: "only entries whose note contains TEXT; case is ignored"),
      Syntax.Option(
        name: "--kind", value: "KIND",
        help: "only changes of items that were of this kind before or after, or of category, image or tag"),
      Syntax.Option(
        name: "--category", value: "C",
        help:
          "only changes of this category, and of items that were in it before or after; a number, or its name at the "
          + "point of --until or, if none has that name then, now"
      ),
      Syntax.Option(name: "--operation", value: "OP", help: "only this operation: add, update or delete"),
      Syntax.Option(
        name: "--touched", value: "FIELD",
        help: "only changes of this attribute, or of a field of the catalog such as @category or @kind"),
      Syntax.Option(name: "--patch", help: "show the old and the new value of each attribute"),
      Syntax.Option(name: "--stat", help: "show which entities and attributes were changed"), Syntax.full,
      Syntax.json,
    ])
  static let examples = [
    (command: "journal log Books.journal -n 10", does: "the ten newest entries"),
    (
      command: "journal log Books.journal --since yesterday --author ana --patch",
      does: "what Ana has done since yesterday"
    ),
    (command: "journal log Books.journal item:42 --touched title", does: "who changed the title of item 42"),
    (command: "journal log Books.journal --operation delete", does: "when something was deleted"),
    (command: "journal log Books.journal --follow", does: "the commits of an app, as they happen"),
    (
      command: "journal log Books.journal --json | jq .note",
      does: "the notes, from one JSON object for each entry"
    ),
  ]
  static let isPaged = true
  static let endsWithReader = true

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    if arguments.has("--follow") { return try follow(arguments, terminal) }
    let entities = try arguments.operandValues("ENTITY").map { try Catalog.entity($0) }
    let since = try arguments.selector(of: "--since", else: .start)
    // Resolving a tag or an entity needs a state; listing the newest entries does not.
    let isOfNewest = entities.isEmpty && !arguments.has("--until") && !arguments.has("--reverse")
    return isOfNewest && !since.isOfState
      ? try printNewest(after: since, arguments, terminal)
      : try print(entities, after: since, arguments, terminal)
  }

  /// Prints the newest entries. It builds a state of the journal only if an option needs one.
  private static func printNewest(
    after point: RevisionSelector, _ arguments: Arguments, _ terminal: Terminal
  ) throws -> ExitCode {
    let history = try arguments.openHistory()
    defer { history.close() }
    let window = try Failure.ofAbsence { try history.window(since: point) }
    let entries = window.revisions.map { NewestEntries(history.entries($0, newestFirst: true)) }
    let labels = Labels(try arguments.openJournal(terminal))
    let printer = LogPrinter(arguments, labels, widestRevision: window.end, terminal) { revision in
      entries?.tags(of: revision) ?? []
    }
    let filter = try EntryFilter(arguments, entities: [], labels)
    return try print(entries, filter, printer, of: window, after: history.base, arguments, terminal)
  }

  private static func print(
    _ entities: [EntityKey], after point: RevisionSelector, _ arguments: Arguments, _ terminal: Terminal
  ) throws -> ExitCode {
    let journal = try arguments.openJournal(terminal)
    let until = try arguments.selector(of: "--until", else: .head())
    let window = try Failure.ofAbsence { try journal.window(since: point, until: until) }
    for entity in entities { try journal.checkEverExisted(entity) }
    let newestFirst = !arguments.has("--reverse")
    let entries = try window.revisions.map { revisions -> any EntrySource in
      if entities.isEmpty { return journal.entries(revisions, newestFirst: newestFirst) }
      return try EntityEntries(journal, entities, revisions, newestFirst: newestFirst)
    }
    let labels = Labels(journal)
    let tags = journal.state.tagNames
    let printer = LogPrinter(arguments, labels, widestRevision: window.end, terminal) { tags[$0] ?? [] }
    // A filter takes entries in one order only.
    func filter() throws -> EntryFilter {
      try EntryFilter(arguments, entities: entities, labels, until: .revision(window.end))
    }
    return try print(entries, filter(), printer, of: window, after: journal.base, arguments, terminal) {
      try journal.remark(onClocksIn: window, filter(), newestFirst: newestFirst, terminal)
    }
  }

  /// Prints the entries that the filter selects.
  /// - Parameter remark: what to say if there are none.
  private static func print(
    _ entries: (any EntrySource)?, _ filter: EntryFilter, _ printer: LogPrinter, of window: EntryWindow,
    after base: Head?, _ arguments: Arguments, _ terminal: Terminal, remark: () throws -> String = { "" }
  ) throws -> ExitCode {
    let limit = try arguments.count("-n") ?? Int.max
    var count = 0
    while count < limit, let entry = try entries?.next() {
      guard let events = try filter.events(of: entry) else { continue }
      try printer.print(entry, events)
      count += 1
    }
    if count == 0 {
      let field = arguments.value("--touched") ?? ""
      let isPath = field.contains(".") && !field.hasPrefix("@")
      terminal.warn(
        "no entry matches" + Catalog.hint(forFieldWithoutSign: field)
          + (isPath
            ? "; entries record whole attributes, such as \(String(field.prefix { $0 != "." }).printable)"
            : "") + (try remark()))
    }
    if count < limit, window.start == base?.revision, !arguments.has("--json") {
      try terminal.print(base: base)
    }
    return .done
  }

  /// Prints new entries until the process is interrupted or its output is closed.
  private static func follow(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    for option in ["--reverse", "--until"] where arguments.has(option) {
      throw Failure(.wrongUse, "\(option) and --follow exclude each other; see journal help log")
    }
    let entities = try arguments.operandValues("ENTITY").map { try Catalog.entity($0) }
    let journal = try arguments.openJournal(terminal, mode: .follow)
    let newest = journal.head.revision
    let first = max(newest - (try arguments.count("-n") ?? 0), journal.base?.revision ?? 0)
    let since = try arguments.selector(of: "--since", else: .revision(first))
    var last = try Failure.ofAbsence { try journal.window(since: since).start }
    let labels = Labels(journal)
    let filter = try EntryFilter(arguments, entities: entities, labels)
    let tags = journal.state.tagNames
    let printer = LogPrinter(arguments, labels, widestRevision: newest + 1000, terminal) { tags[$0] ?? [] }
    while true {
      let entries = journal.entries((last + 1)...max(journal.head.revision, last + 1))
      while let entry = try entries.next() {
        if let events = try filter.events(of: entry) { try printer.print(entry, events) }
        last = entry.revision
      }
      try terminal.output.flush()
      while try !journal.waitForEntry(after: last, atMost: .seconds(1)) { try terminal.output.checkReader() }
    }
  }
}

extension Journal where State == Catalog {
  /// What to say of a window without entries: that the clock of some entries said a time in it, but that they have a
  /// later date, because an earlier entry has it.
  fileprivate func remark(
    onClocksIn window: EntryWindow, _ filter: EntryFilter, newestFirst: Bool, _ terminal: Terminal
  ) throws -> String {
    let last = max(window.start, window.end)
    guard window.endsAtDate, last < head.revision else { return "" }
    let later = entries(last + 1...head.revision, newestFirst: newestFirst)
    var count = 0
    var first: Entry?
    while let entry = try later.next() {
      guard window.isInside(byClock: entry), try filter.events(of: entry) != nil else { continue }
      if newestFirst || first == nil { first = entry }
      count += 1
    }
    guard let first else { return "" }
    let subject =
      count == 1
      ? "by its clock, entry \(first.revision) is of that time, but it"
      : "by their clocks, \(count.grouped) entries are of that time, but the first of them, entry \(first.revision),"
    return
      "; \(subject) is ordered as of \(terminal.text(of: first.date, withZone: true)), the date of an earlier entry"
  }
}

/// Iterates over entries.
protocol EntrySource {
  func next() throws -> Entry?
}

extension EntryCursor: EntrySource {}

/// The newest entries, and for each the tags that later entries among them gave it.
private final class NewestEntries: EntrySource {
  private let entries: EntryCursor
  private var names: [Revision: [String]] = [:]
  private var deleted: Set<EntityKey> = []

  init(_ entries: EntryCursor) { self.entries = entries }

  func next() throws -> Entry? {
    guard let entry = try entries.next() else { return nil }
    for event in entry.events where event.entity.kind == .tag {
      if event.operation == .delete { deleted.insert(event.entity) }
      guard case .add(let record) = event.change, !deleted.contains(event.entity) else { continue }
      let tag = Catalog.Tag(event.entity.number, made: record, at: entry.revision)
      // In the order in which they were made.
      names[tag.revision, default: []].insert(tag.name, at: 0)
    }
    return entry
  }

  /// The tags of an entry that was returned.
  func tags(of revision: Revision) -> [String] { names[revision] ?? [] }
}

extension Catalog {
  /// The names of the tags of each revision.
  fileprivate var tagNames: [Revision: [String]] {
    Dictionary(grouping: tags, by: \.revision).mapValues { $0.map(\.name) }
  }
}

/// The entries that changed some entities, found by following their histories.
private final class EntityEntries: EntrySource {
  private let journal: CatalogJournal
  private let entities: [EntityKey]
  private let first: Revision
  /// For each entity, the revision of its newest event that was not returned yet.
  private var open: Set<Revision> = []
  /// All revisions to return, the newest first, if the oldest entry is to be printed first.
  private var reversed: [Revision]?

  init(
    _ journal: CatalogJournal, _ entities: [EntityKey], _ range: ClosedRange<Revision>, newestFirst: Bool
  ) throws {
    self.journal = journal
    self.entities = entities
    first = range.lowerBound
    for entity in entities {
      let selector = RevisionSelector.entity(Catalog.name(of: entity), upTo: range.upperBound)
      do {
        open.insert(try journal.revision(at: selector))
      } catch let error as JournalError where [.notFound, .pruned].contains(error.code) {
        // It has no event in the range.
      }
    }
    if newestFirst { return }
    var revisions: [Revision] = []
    while let entry = try nextBack() { revisions.append(entry.revision) }
    reversed = revisions
  }

  func next() throws -> Entry? {
    if reversed == nil { return try nextBack() }
    return try reversed?.popLast().map { try journal.entry(at: $0) }
  }

  private func nextBack() throws -> Entry? {
    guard let revision = open.max(), revision >= first else { return nil }
    open.remove(revision)
    let entry = try journal.entry(at: revision)
    for event in entry.events where entities.contains(event.entity) && event.previous > 0 {
      open.insert(event.previous)
    }
    return entry
  }
}
