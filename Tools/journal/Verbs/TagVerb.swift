import CatalogModel
import JSON

enum TagVerb: Verb {
  static let text = """
    tag: tags a point in time, or lists tags

    Gives a revision a name, which can be used wherever a point in time is expected. A tag is recorded in the journal, so
    the history shows who made and deleted it. Without NAME, or with --list, all tags are listed. If the entry that made
    a tag was pruned, the list has no date and no author for it.

    Arguments: JOURNAL
    [NAME]: such as before-import
    [SELECTOR]: the point to tag; by default HEAD
    [--list]: list all tags
    [--delete]: delete the tag of that name
    [--note TEXT], [--by AUTHOR], [--json]

    $ journal tag Books.journal before-import  # tags the current state
    $ journal replay Books.journal --at before-import  # shows that state, later
    $ journal tag Books.journal --delete before-import  # deletes the tag
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let isDeletion = arguments.has("--delete")
    guard let name = arguments.value("NAME") else {
      guard !isDeletion else { throw arguments.misuse("--delete needs the NAME of a tag") }
      return try list(arguments, terminal)
    }
    guard !arguments.has("--list") else { throw arguments.misuse("--list takes no NAME: it lists all tags") }
    if isDeletion, let point = arguments.value("SELECTOR") {
      throw arguments.misuse("--delete takes no SELECTOR: \(point.printable)")
    }
    let journal = try arguments.openForCommit(terminal)
    if isDeletion {
      let note = arguments.value("--note") ?? "deleted the tag \(name)"
      let commit = try journal.commit(by: arguments.author, note: note) { try $0.deleteTag(name) }
      terminal.output.noteDone(entry: commit.revision)
      try terminal.answer(["name": name, "deleted": commit.revision]) {
        try terminal.line("deleted the tag \(name.printable)")
      }
    } else {
      let point = try arguments.value("SELECTOR").map { try arguments.selector($0) } ?? .head()
      let tag = try journal.tag(
        name, at: point, by: arguments.author,
        note: arguments.value("--note") ?? "")
      terminal.output.noteDone(entry: tag.created)
      try terminal.answer(tag.json(made: journal.entry(at: tag.created))) {
        try terminal.line("tagged revision \(tag.revision) as \(name.printable)")
      }
    }
  }

  private static func list(_ arguments: Arguments, _ terminal: Terminal) throws {
    let journal = try arguments.openJournal(terminal)
    let tags = journal.state.tags
    if tags.isEmpty { terminal.warn("there are no tags") }
    let made = TextTable.Column.text(terminal.dateTitle("MADE"))
    let table = TextTable([.flexible("TAG"), .revision, made, .flexible("AUTHOR"), .text("NOTE")], terminal)
    for tag in tags {
      let entry = try journal.readableEntry(at: tag.created)
      let isPruned = tag.created <= journal.base?.revision ?? 0
      let missing = ["", "", isPruned ? "(history before this was pruned)" : "(can't be read)"]
      let attribution = entry.map { entry in
        [terminal.text(of: entry.date), entry.authorCell(), terminal.note(of: entry)]
      }
      try table.add(
        [tag.name.printable, "\(tag.revision)"] + (attribution ?? missing), json: tag.json(made: entry))
    }
    try table.end()
  }
}
