import CatalogModel
import Foundation
import PostgresLog

/// `journal share JOURNAL ADDRESS`
enum Share: Verb {
  static let name = "share"
  static let summary = "moves a journal's log into PostgreSQL, so that other nodes can write too"
  static let explanation = """
    Stores all entries and images in a PostgreSQL database, reads the entries back, and notes in the journal's folder where
    they are. From then on what is committed goes there first, and what other nodes commit comes from there. The folder
    keeps its own copy, so reading needs no server. The tables are made if they are missing. When it is interrupted, the
    journal is local as before, and the next run continues.

    A password is never part of the address: put it into ~/.pgpass, a service file or the environment. A server whose
    settings can lose what it confirms, as with fsync off, is refused unless --unsafe-settings accepts it; so is each later
    commit.
    """
  static let syntax = Syntax(operands: [Syntax.journal, address])
  static let address = Syntax.Operand(
    name: "ADDRESS", help: "the database, such as postgresql://app@db.example.org/books or service=books")
  static let examples = [
    (
      command: "journal share Books.journal postgresql://app@db.example.org/books",
      does: "other machines can join it now"
    )
  ]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let path = arguments.operand("JOURNAL")
    let head = try CatalogJournal.share(
      at: URL(fileURLWithPath: path), on: arguments.operand("ADDRESS"),
      options: arguments.journalOptions(snapshots: .manual)
    ) { terminal.showCopying($0) }
    terminal.progress.clear()
    try terminal.output.line("\(path.printable) is shared, with \(head.revision.counted("entry", "entries"))")
    try terminal.output.line("digest \(head.digest.hex)")
    return .done
  }
}

/// `journal join ADDRESS JOURNAL`
enum Join: Verb {
  static let name = "join"
  static let summary = "creates another node of a shared journal"
  static let explanation = """
    Makes the folder JOURNAL with all entries of a journal that was shared in a PostgreSQL database; images come when they
    are asked for. Then every verb works on it as on any journal. What is read is what this node has seen. A program that
    has the journal open for writing sees what other nodes commit as it comes. Joining again with a folder that is a node
    already brings what is new.
    """
  static let syntax = Syntax(
    operands: [
      Share.address, Syntax.Operand(name: "JOURNAL", help: "the folder to create, or one that has joined"),
    ],
    options: [Syntax.Option(name: "--id", value: "ID", help: "which journal, if the database has several")])
  static let examples = [
    (
      command: "journal join postgresql://app@db.example.org/books Books.journal",
      does: "creates a node here, or updates it"
    )
  ]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let path = arguments.operand("JOURNAL")
    let url = URL(fileURLWithPath: path)
    let options = arguments.journalOptions(snapshots: .automatic)
    var id: JournalID?
    if let text = arguments.value("--id") {
      id = JournalID(text)
      guard id != nil else {
        throw Failure(.wrongUse, "\(text.printable) is not an id; journal stat prints it")
      }
    }
    if let found = try? CatalogJournal.open(at: url, mode: .readOnly, options: options) {
      let address = try found.sharingAddress()
      try found.close()
      guard address == arguments.operand("ADDRESS"), id == nil || id == found.id else {
        throw Failure(
          .no, "\(path.printable) is a journal already, and not a node of that one; choose another name")
      }
      let journal = try CatalogJournal.open(at: url, options: options)
      let before = journal.head.revision
      defer { try? journal.close() }
      try journal.catchUp()
      let count = journal.head.revision - before
      try terminal.output.line(
        "\(path.printable) has revision \(journal.head.revision): \(count.counted("new entry", "new entries"))"
      )
      try terminal.output.line("digest \(journal.head.digest.hex)")
      return .done
    }
    let head = try CatalogJournal.join(arguments.operand("ADDRESS"), id: id, at: url, options: options) {
      terminal.showCopying($0)
    }
    terminal.progress.clear()
    try terminal.output.line("made \(path.printable) of revision \(head.revision)")
    try terminal.output.line("digest \(head.digest.hex)")
    return .done
  }
}

/// `journal unshare JOURNAL`
enum Unshare: Verb {
  static let name = "unshare"
  static let summary = "makes a shared journal local again"
  static let explanation = """
    Brings all entries and images that the database has, and forgets where it is: from then on what is committed here is in
    this folder alone. The database and the other nodes stay as they are. With --force it is done also when the server
    can't be reached or has another history; the journal then has what this node has seen.
    """
  static let syntax = Syntax(
    operands: [Syntax.journal],
    options: [Syntax.Option(name: "--force", help: "keep what this node has seen, without asking the server")]
  )
  static let examples = [
    (command: "journal unshare Books.journal", does: "ends sharing for this folder")
  ]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let path = arguments.operand("JOURNAL")
    let head = try CatalogJournal.unshare(
      at: URL(fileURLWithPath: path), isForced: arguments.has("--force"),
      options: arguments.journalOptions(snapshots: .manual))
    try terminal.output.line("\(path.printable) is local, with revision \(head.revision)")
    try terminal.output.line("digest \(head.digest.hex)")
    return .done
  }
}
