import CatalogModel
import Foundation
import PostgresLog

/// `journal share JOURNAL ADDRESS`
enum Share: Verb {
  static let name = "share"
  static let summary = "moves a journal's log into PostgreSQL, so that other nodes can write too"
  static let explanation = """
    Stores all entries and images in a PostgreSQL database, reads the entries back, and records the address in the
    journal's folder. From then on, commits go to the database first, and the commits of other nodes come from there. The
    folder keeps its own copy, so reading needs no server. Missing tables are created. If this is interrupted, the journal
    is still local, and the next run continues.

    A password is never part of the address: put it into ~/.pgpass, a service file or the environment. A server whose
    settings can lose what it confirms, such as fsync off, is refused unless --unsafe-settings is given. The same holds
    for each later commit.
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
      options: arguments.journalOptions(layers: .manual)
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
    Creates the folder JOURNAL with all entries of a journal that was shared in a PostgreSQL database. Images are fetched
    on demand. Every verb then works on it as on any journal, and reads the entries that this node has seen. A program
    that has the journal open for writing sees the commits of other nodes as they arrive. If the folder has already
    joined, this fetches what is new. So it also shows whether a commit is stored whose outcome was not known.
    """
  static let syntax = Syntax(
    operands: [
      Share.address,
      Syntax.Operand(name: "JOURNAL", help: "the folder to create, or one that has joined", isPath: true),
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
    let options = try arguments.journalOptions(layers: .automatic)
    var id: JournalID?
    if let text = arguments.value("--id") {
      id = JournalID(text)
      guard id != nil else {
        throw Failure(.wrongUse, "\(text.printable) is not an id; journal stat prints it")
      }
    }
    if let found = try existing(url, options) {
      let address = try found.sharingAddress()
      try found.close()
      let (wanted, isWanted) = (arguments.operand("ADDRESS"), id == nil || id == found.id)
      guard address == wanted, isWanted else {
        if address == nil, isWanted, has(wanted, found.id) {
          throw Failure(
            .no,
            "the sharing of \(path.printable) was not completed, or unshare ended it, so the journal is local; "
              + "journal share \(path.printable) \(wanted.printable) completes it")
        }
        if address != nil, isWanted, has(wanted, found.id) {
          throw Failure(
            .no,
            "\(path.printable) is a node of this journal already, through another address, which journal stat shows; to "
              + "change it, replace the second line of \(path.printable)/SHARED")
        }
        throw Failure(
          .no,
          "\(path.printable) is another journal already, not a node of the shared one; choose another name")
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
    try terminal.output.line("created \(path.printable) with revision \(head.revision)")
    try terminal.output.line("digest \(head.digest.hex)")
    return .done
  }

  /// Whether a database is known to have a journal.
  private static func has(_ address: String, _ journal: JournalID) -> Bool {
    (try? PostgresStorage(address).journals().contains(journal)) == true
  }

  /// The journal in a folder; nil if there is none yet.
  private static func existing(_ url: URL, _ options: JournalOptions) throws -> CatalogJournal? {
    do {
      return try CatalogJournal.open(at: url, mode: .readOnly, options: options)
    } catch let error as JournalError where [.notFound, .notAJournal].contains(error.code) {
      return nil
    }
  }
}

/// `journal unshare JOURNAL`
enum Unshare: Verb {
  static let name = "unshare"
  static let summary = "makes a shared journal local again"
  static let explanation = """
    Fetches all entries and images that the database has, and removes its address from the folder. From then on, commits
    are stored in this folder only. The database and the other nodes do not change. --force does this even if the server
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
      options: arguments.journalOptions(layers: .manual))
    try terminal.output.line("\(path.printable) is local, with revision \(head.revision)")
    try terminal.output.line("digest \(head.digest.hex)")
    return .done
  }
}
