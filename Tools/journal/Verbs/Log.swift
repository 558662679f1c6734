import CatalogModel
import EntitySearch
import JSON

enum Log: ListingVerb {
  static let text = """
    log: lists entries, the newest first: who changed what, when and why

    Lists entries, the newest first: what was changed when, by whom and why. CHANGES counts the entities that were added
    (+), updated (~) and deleted (-). With ENTITY it lists only the entries that changed it, and the time depends on the
    length of its history. --patch shows the old and the new values, --stat which entities and attributes were changed,
    and --rows each changed attribute by itself, for other programs.

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
    [--rows], [--csv], [--tsv], [--full], [--json]

    $ journal log Books.journal -n 10  # the ten newest entries
    $ journal log Books.journal --since yesterday --author ana --patch  # what Ana has done since yesterday
    $ journal log Books.journal item:42 --touched title  # who changed the title of item 42
    $ journal log Books.journal --operation delete  # when something was deleted
    $ journal log Books.journal --follow  # the commits of an app, as they happen
    $ journal log Books.journal --json | jq .note  # the notes, from one JSON object for each entry
    $ journal log Books.journal --csv > changes.csv  # every change of every attribute, for a spreadsheet
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let entities = try arguments.values("ENTITY").map { try Catalog.entity($0) }
    if arguments.has("--follow") { return try follow(entities, arguments, terminal) }
    let since = try arguments.selector(of: "--since", else: .start)
    let until = try arguments.selector(of: "--until", else: .head())
    let journal = try arguments.openJournal(terminal)
    let window = try journal.window(since: since, until: until)
    for entity in entities { try journal.checkEverExisted(entity) }
    let labels = Labels(journal)
    let filter = try EntryFilter(arguments, entities: entities, labels, until: .revision(window.end))
    let printer = try LogPrinter(arguments, labels, filter, widestRevision: window.end, terminal)
    let next = try journal.entries(
      of: entities, in: window.revisions, newestFirst: !arguments.has("--reverse"))
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
            : "") + (try journal.remark(on: window, filter, terminal)))
    }
    if count < limit, window.start == journal.base?.revision, !printer.isForPrograms {
      try terminal.print(base: journal.base)
    }
  }

  private static func follow(_ entities: [EntityKey], _ arguments: Arguments, _ terminal: Terminal) throws {
    for option in ["--reverse", "--until"] where arguments.has(option) {
      throw arguments.misuse("\(option) and --follow exclude each other")
    }
    let journal = try arguments.openJournal(terminal, mode: .follow)
    let newest = journal.head.revision
    let first = max(newest - (try arguments.count("-n") ?? 0), journal.base?.revision ?? 0)
    let since = try arguments.selector(of: "--since", else: .revision(first))
    var last = try journal.window(since: since).start
    let labels = Labels(journal)
    let filter = try EntryFilter(arguments, entities: entities, labels)
    let printer = try LogPrinter(arguments, labels, filter, widestRevision: newest + 1000, terminal)
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
  /// Explains why a window has no entries: the clock's date of a later entry, or the commit's date of an earlier one,
  /// is in the window, but another date orders the entry. Empty if there is no such entry.
  fileprivate func remark(
    on window: EntryWindow, _ filter: EntryFilter, _ terminal: Terminal
  ) throws -> String {
    guard window.endsAtDate else { return "" }
    /// - Parameter isInside: whether an entry's clock or commit date is in the window; nil to end the search.
    func find(_ revisions: Range<Revision>, _ isInside: (Entry) -> Bool?) throws -> (Entry, count: Int)? {
      guard !revisions.isEmpty else { return nil }
      let entries = entries(revisions.lowerBound...revisions.upperBound - 1, newestFirst: true)
      var (first, count): (Entry?, Int) = (nil, 0)
      while let entry = try entries.next(), let isInside = isInside(entry) {
        if isInside, try filter.events(of: entry) != nil { (first, count) = (entry, count + 1) }
      }
      return first.map { ($0, count) }
    }
    func remark(_ entry: Entry, _ count: Int, _ one: String, _ several: String, _ orderer: String) -> String {
      let subject =
        count == 1
        ? "\(one) entry \(entry.revision) is of that time, but it"
        : "\(several) \(count.grouped) entries are of that time, but the first of them, entry \(entry.revision),"
      let date = terminal.text(of: entry.date, withZone: true)
      return "; \(subject) is ordered as of \(date), the date of \(orderer)"
    }
    let later = max(window.start, window.end) + 1..<head.revision + 1
    if let (entry, count) = try find(later, { window.isInside(byClock: $0) }) {
      return remark(entry, count, "by its clock,", "by their clocks,", "an earlier entry")
    }
    let earlier = (base?.revision ?? 0) + 1..<window.start + 1
    let found = try find(earlier) { entry in
      guard entry.metadata[GitImport.Key.commit] != nil else { return nil }
      let date = entry.metadata[GitImport.Key.date].flatMap { Timestamp($0) }?.date
      return date.map { window.isInside($0) } ?? false
    }
    guard let (entry, count) = found else { return "" }
    return remark(entry, count, "the commit of", "the commits of", "a later commit")
  }

  /// Iterates over a range of entries. If entities are given, follows their histories to those that changed them.
  fileprivate func entries(
    of entities: [EntityKey], in range: ClosedRange<Revision>?, newestFirst: Bool
  ) throws -> () throws -> Entry? {
    guard let range else { return { nil } }
    if entities.isEmpty { return entries(range, newestFirst: newestFirst).next }
    // For each entity, the newest revision that changed it and was not returned yet.
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

extension Catalog {
  var tagNames: [Revision: [String]] {
    Dictionary(grouping: tags, by: \.revision).mapValues { $0.map(\.name) }
  }
}
