import CatalogModel
import JSON

/// `journal tag JOURNAL [NAME [SELECTOR]]`
enum TagVerb: Verb {
  static let name = "tag"
  static let summary = "tags a point in time, or lists tags"
  static let explanation = """
    Gives a revision a name, which can be used wherever a point in time is expected. A tag is recorded in the journal, so
    the history shows who made and deleted it. Without NAME, or with --list, all tags are listed. If the entry that made
    a tag was pruned, the list has no date and no author for it.
    """
  static let syntax = Syntax(
    operands: [
      Syntax.journal, Syntax.Operand(name: "NAME", help: "such as before-import", isOptional: true),
      Syntax.Operand(name: "SELECTOR", help: "the point to tag; by default HEAD", isOptional: true),
    ],
    options: [
      Syntax.Option(name: "--list", help: "list all tags"),
      Syntax.Option(name: "--delete", help: "delete the tag of that name"), Syntax.note, Syntax.author,
      Syntax.json,
    ])
  static let examples = [
    (command: "journal tag Books.journal before-import", does: "tags the current state"),
    (command: "journal replay Books.journal --at before-import", does: "shows that state, later"),
    (command: "journal tag Books.journal --delete before-import", does: "deletes the tag"),
  ]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    guard let name = arguments.optionalOperand("NAME") else {
      guard !arguments.has("--delete") else {
        throw Failure(.wrongUse, "--delete needs the NAME of a tag; see journal help tag")
      }
      return try list(arguments, terminal)
    }
    guard !arguments.has("--list") else {
      throw Failure(.wrongUse, "--list takes no NAME: it lists all tags; see journal help tag")
    }
    if arguments.has("--delete"), let point = arguments.optionalOperand("SELECTOR") {
      throw Failure(.wrongUse, "--delete takes no SELECTOR: \(point.printable); see journal help tag")
    }
    let journal = try arguments.openForCommit(terminal)
    if arguments.has("--delete") {
      let commit = try journal.commit(
        by: arguments.author, note: arguments.value("--note") ?? "deleted the tag \(name)"
      ) {
        try $0.deleteTag(name)
      }
      terminal.output.noteDone(entry: commit.revision)
      if arguments.has("--json") {
        try terminal.printJSON { writer in
          writer.member("name", name)
          writer.member("deleted", commit.revision)
        }
      } else {
        try terminal.output.line("deleted the tag \(name.printable)")
      }
      try journal.close()
      return .done
    }
    let point = try arguments.optionalOperand("SELECTOR").map { try arguments.selector($0) } ?? .head()
    let tag = try journal.tag(
      name, at: .revision(try journal.revision(point)), by: arguments.author,
      note: arguments.value("--note") ?? "")
    terminal.output.noteDone(entry: tag.created)
    if arguments.has("--json") {
      try printJSON(tag, try journal.entry(at: tag.created), terminal)
    } else {
      try terminal.output.line("tagged revision \(tag.revision) as \(name.printable)")
    }
    try journal.close()
    return .done
  }

  private static func list(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let journal = try arguments.openJournal(terminal)
    let tags = journal.state.tags
    if tags.isEmpty { terminal.warn("there are no tags") }
    if arguments.has("--json") {
      for tag in tags { try printJSON(tag, try journal.readableEntry(at: tag.created), terminal) }
      return .done
    }
    if tags.isEmpty { return .done }
    let rows = try tags.map { tag in
      let row = [tag.name.printable, "\(tag.revision)"]
      guard let entry = try journal.readableEntry(at: tag.created) else {
        let isPruned = tag.created <= journal.base?.revision ?? 0
        return row + ["", "", isPruned ? "(history before this was pruned)" : "(can't be read)"]
      }
      return row + [terminal.text(of: entry.date), entry.authorCell(), terminal.note(of: entry)]
    }
    let columns = [
      TextTable.Column(title: "TAG", isFlexible: true),
      TextTable.Column(title: "REVISION", alignment: .right, style: .yellow),
      TextTable.Column(title: terminal.dateTitle.replacing("DATE", with: "MADE")),
      TextTable.Column(title: "AUTHOR", isFlexible: true),
      TextTable.Column(title: "NOTE"),
    ]
    try TextTable.print(columns, rows, isCut: true, terminal)
    return .done
  }

  private static func printJSON(_ tag: Catalog.Tag, _ entry: Entry?, _ terminal: Terminal) throws {
    var writer = JSONWriter()
    tag.write(to: &writer, made: entry)
    writer.newline()
    try terminal.output.write(writer.bytes)
  }
}
