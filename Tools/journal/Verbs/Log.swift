import CatalogModel
import JSON

enum Log: Verb {
  static let text = """
    log: lists entries, the newest first: who changed what, when and why

    Lists entries, the newest first: what was changed when, by whom and why. CHANGES counts the entities that were added
    (+), updated (~) and deleted (-). With ENTITY it lists only the entries that changed it, and the time depends on the
    length of its history. --patch shows the old and the new values, --stat which entities and attributes were changed.

    --follow prints entries as another process commits them, the oldest first, until it is interrupted. It begins with
    the entries after --since, or with the newest N entries if -n is given, or with the next new entry.

    Arguments: JOURNAL
    [ENTITY]…: such as item:42
    [-n N]: show at most N entries
    [--reverse]: show the oldest first
    [--follow]: wait for new entries, and print each as it is committed
    [--since SELECTOR], [--until SELECTOR]
    [--author TEXT]: only entries whose author contains TEXT; case is ignored
    [--note TEXT]: only entries whose note contains TEXT; case is ignored
    [--kind KIND]: only changes of items that were of this kind before or after, or of category, image or tag
    [--category C]: only changes of this category, and of items that were in it before or after; a number, or
      its name at the point of --until or, if none has that name then, now
    [--operation OP]: only this operation: add, update or delete
    [--touched FIELD]: only changes of this attribute, or of a field of the catalog such as @category or @kind
    [--patch]: show the old and the new value of each attribute
    [--stat]: show which entities and attributes were changed
    [--full], [--json]

    $ journal log Books.journal -n 10  # the ten newest entries
    $ journal log Books.journal --since yesterday --author ana --patch  # what Ana has done since yesterday
    $ journal log Books.journal item:42 --touched title  # who changed the title of item 42
    $ journal log Books.journal --operation delete  # when something was deleted
    $ journal log Books.journal --follow  # the commits of an app, as they happen
    $ journal log Books.journal --json | jq .note  # the notes, from one JSON object for each entry
    """
  static let isPaged = true
  static let endsWithReader = true

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    if arguments.has("--follow") { return try follow(arguments, terminal) }
    let entities = try arguments.values("ENTITY").map { try Catalog.entity($0) }
    let since = try arguments.selector(of: "--since", else: .start)
    // Resolving a tag or an entity needs a state; listing the newest entries does not.
    let isOfNewest = entities.isEmpty && !arguments.has("--until") && !arguments.has("--reverse")
    return isOfNewest && !since.isOfState
      ? try printNewest(after: since, arguments, terminal)
      : try print(entities, after: since, arguments, terminal)
  }

  /// Builds a state only if an option needs one.
  private static func printNewest(
    after point: RevisionSelector, _ arguments: Arguments, _ terminal: Terminal
  ) throws {
    let history = try arguments.openHistory()
    defer { history.close() }
    let window = try history.window(since: point)
    let cursor = window.revisions.map { history.entries($0, newestFirst: true) }
    var tags = TagsOfNewest()
    func next() throws -> Entry? {
      let entry = try cursor?.next()
      if let entry { tags.collect(entry) }
      return entry
    }
    let labels = Labels(try arguments.openJournal(terminal))
    let printer = LogPrinter(arguments, labels, widestRevision: window.end, terminal) { tags.names[$0] ?? [] }
    let filter = try EntryFilter(arguments, entities: [], labels)
    return try print(next, filter, printer, of: window, after: history.base, arguments, terminal)
  }

  private static func print(
    _ entities: [EntityKey], after point: RevisionSelector, _ arguments: Arguments, _ terminal: Terminal
  ) throws {
    let journal = try arguments.openJournal(terminal)
    let until = try arguments.selector(of: "--until", else: .head())
    let window = try journal.window(since: point, until: until)
    for entity in entities { try journal.checkEverExisted(entity) }
    let newestFirst = !arguments.has("--reverse")
    let next: () throws -> Entry? =
      if let revisions = window.revisions {
        entities.isEmpty
          ? journal.entries(revisions, newestFirst: newestFirst).next
          : try journal.entries(of: entities, in: revisions, newestFirst: newestFirst)
      } else {
        { nil }
      }
    let labels = Labels(journal)
    let tags = journal.state.tagNames
    let printer = LogPrinter(arguments, labels, widestRevision: window.end, terminal) { tags[$0] ?? [] }
    // A filter takes entries in one order only, so each reading needs its own.
    func filter() throws -> EntryFilter {
      try EntryFilter(arguments, entities: entities, labels, until: .revision(window.end))
    }
    return try print(next, filter(), printer, of: window, after: journal.base, arguments, terminal) {
      let remark = try journal.remark(onClocksIn: window, filter(), newestFirst: newestFirst, terminal)
      return try remark.isEmpty ? journal.remark(onCommitsIn: window, filter(), terminal) : remark
    }
  }

  /// - Parameter remark: what to say if no entry is selected.
  private static func print(
    _ next: () throws -> Entry?, _ filter: EntryFilter, _ printer: LogPrinter, of window: EntryWindow,
    after base: Head?, _ arguments: Arguments, _ terminal: Terminal, remark: () throws -> String = { "" }
  ) throws {
    let limit = try arguments.count("-n") ?? Int.max
    var count = 0
    while count < limit, let entry = try next() {
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
    if count < limit, window.start == base?.revision, !terminal.isJSON {
      try terminal.print(base: base)
    }
  }

  private static func follow(_ arguments: Arguments, _ terminal: Terminal) throws {
    for option in ["--reverse", "--until"] where arguments.has(option) {
      throw arguments.misuse("\(option) and --follow exclude each other")
    }
    let entities = try arguments.values("ENTITY").map { try Catalog.entity($0) }
    let journal = try arguments.openJournal(terminal, mode: .follow)
    let newest = journal.head.revision
    let first = max(newest - (try arguments.count("-n") ?? 0), journal.base?.revision ?? 0)
    let since = try arguments.selector(of: "--since", else: .revision(first))
    var last = try journal.window(since: since).start
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
  /// For a window without entries: clocks were in it, but earlier entries gave theirs a later date.
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

  /// For a window without entries: imported commits have a date in it, but later commits order them before
  /// it. All entries between must be imported ones.
  fileprivate func remark(
    onCommitsIn window: EntryWindow, _ filter: EntryFilter, _ terminal: Terminal
  ) throws -> String {
    let first = (base?.revision ?? 0) + 1
    guard window.endsAtDate, first <= window.start else { return "" }
    let earlier = entries(first...window.start, newestFirst: true)
    var count = 0
    var oldest: Entry?
    while let entry = try earlier.next(), entry.metadata[GitImport.Key.commit] != nil {
      guard let date = entry.metadata[GitImport.Key.date].flatMap({ Timestamp($0) })?.date,
        window.isInside(date), try filter.events(of: entry) != nil
      else { continue }
      (count, oldest) = (count + 1, entry)
    }
    guard let entry = oldest else { return "" }
    let subject =
      count == 1
      ? "the commit of entry \(entry.revision) is of that time, but it"
      : "the commits of \(count.grouped) entries are of that time, but the first of them, entry \(entry.revision),"
    return
      "; \(subject) is ordered as of \(terminal.text(of: entry.date, withZone: true)), the date of a later commit"
  }

  /// The entries that changed some entities, found by following their histories.
  fileprivate func entries(
    of entities: [EntityKey], in range: ClosedRange<Revision>, newestFirst: Bool
  ) throws -> () throws -> Entry? {
    // For each entity, the newest event that was not returned yet.
    var open: Set<Revision> = []
    for entity in entities {
      let selector = RevisionSelector.entity(Catalog.name(of: entity), upTo: range.upperBound)
      do {
        open.insert(try revision(at: selector))
      } catch let error as JournalError where [.notFound, .pruned].contains(error.code) {
        // The entity has no event in the range.
      }
    }
    func next() throws -> Entry? {
      guard let revision = open.max(), revision >= range.lowerBound else { return nil }
      open.remove(revision)
      let entry = try entry(at: revision)
      for event in entry.events where entities.contains(event.entity) && event.previous > 0 {
        open.insert(event.previous)
      }
      return entry
    }
    if newestFirst { return next }
    var revisions: [Revision] = []
    while let entry = try next() { revisions.append(entry.revision) }
    return { try revisions.popLast().map { try self.entry(at: $0) } }
  }
}

private struct TagsOfNewest {
  private(set) var names: [Revision: [String]] = [:]
  private var deleted: Set<EntityKey> = []

  /// Takes entries, the newest first.
  mutating func collect(_ entry: Entry) {
    for event in entry.events where event.entity.kind == .tag {
      if event.operation == .delete { deleted.insert(event.entity) }
      guard case .add(let record) = event.change, !deleted.contains(event.entity) else { continue }
      let tag = Catalog.Tag(event.entity.number, made: record, at: entry.revision)
      names[tag.revision, default: []].insert(tag.name, at: 0)
    }
  }
}

extension Catalog {
  var tagNames: [Revision: [String]] {
    Dictionary(grouping: tags, by: \.revision).mapValues { $0.map(\.name) }
  }
}
