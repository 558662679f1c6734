import CatalogModel
import Foundation
import PostgresLog

enum Share: Verb {
  static let text = """
    share: moves a journal's log into PostgreSQL, so that other nodes can write too

    Stores all entries and images in a PostgreSQL database, reads the entries back, and records the address in the
    journal's folder. From then on, commits go to the database first, and the commits of other nodes come from there. The
    folder keeps its own copy, so reading needs no server. Missing tables are created. If this is interrupted, the journal
    is still local, and the next run continues.

    A password is never part of the address: put it into ~/.pgpass, a service file or the environment. A server whose
    settings can lose what it confirms, such as fsync off, is refused unless --unsafe-settings is given. The same holds
    for each later commit.

    Arguments: JOURNAL, ADDRESS

    $ journal share Books.journal postgresql://app@db.example.org/books  # other machines can join it now
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let head = try CatalogJournal.share(
      at: arguments.url("JOURNAL"), on: arguments.operand("ADDRESS"),
      options: arguments.journalOptions(), progress: terminal.showCopying)
    let path = arguments.operand("JOURNAL").printable
    try terminal.line("\(path) is shared, with \(head.revision.counted("entry", "entries"))")
    try terminal.line("digest \(head.digest.hex)")
  }
}

enum Join: Verb {
  static let text = """
    join: creates another node of a shared journal

    Creates the folder JOURNAL with all entries of a journal that was shared in a PostgreSQL database. Images are fetched
    on demand. Every verb then works on it as on any journal, and reads the entries that this node has seen. A program
    that has the journal open for writing sees the commits of other nodes as they arrive. If the folder has already
    joined, this fetches what is new. So it also shows whether a commit is stored whose outcome was not known.

    Arguments: ADDRESS
    JOURNAL: the folder to create, or one that has joined
    [--id ID]: which journal, if the database has several

    $ journal join postgresql://app@db.example.org/books Books.journal  # creates a node here, or updates it
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let (url, address) = (arguments.url("JOURNAL"), arguments.operand("ADDRESS"))
    let options = try arguments.journalOptions(layers: .automatic)
    var id: JournalID?
    if let text = arguments.value("--id") {
      id = JournalID(text)
      guard id != nil else {
        throw Failure.wrongUse("\(text.printable) is not an id; journal stat prints it")
      }
    }
    let path = arguments.operand("JOURNAL").printable
    let head: Head
    if let found = try existing(url, options) {
      try check(found, at: path, isNodeOf: address, id)
      let journal = try CatalogJournal.open(at: url, options: options)
      let before = journal.head.revision
      defer { try? journal.close() }
      try journal.catchUp()
      head = journal.head
      let count = (head.revision - before).counted("new entry", "new entries")
      try terminal.line("\(path) has revision \(head.revision): \(count)")
    } else {
      head = try CatalogJournal.join(
        address, id: id, at: url, options: options, progress: terminal.showCopying)
      try terminal.line("created \(path) with revision \(head.revision)")
    }
    try terminal.line("digest \(head.digest.hex)")
  }

  /// Closes a journal. Throws ``Failure`` if it is not a node of the shared journal at an address.
  private static func check(
    _ found: CatalogJournal, at path: String, isNodeOf address: String, _ id: JournalID?
  ) throws {
    let known = try found.folder.sharedAddress()
    try found.close()
    let isWanted = id == nil || id == found.id
    if isWanted, known == address { return }
    guard isWanted, has(address, found.id) else {
      throw Failure.no(
        "\(path) is another journal already, not a node of the shared one; choose another name")
    }
    throw Failure.no(
      known == nil
        ? "the sharing of \(path) was not completed, or unshare ended it, so the journal is local; journal share \(path) "
          + "\(address.printable) completes it"
        : "\(path) is a node of this journal already, through another address, which journal stat shows; to change it, "
          + "replace the second line of \(path)/SHARED")
  }

  private static func has(_ address: String, _ journal: JournalID) -> Bool {
    (try? PostgresStorage(address).journals().contains(journal)) == true
  }

  /// Opens the journal in a folder for reading; nil if the folder has no journal yet.
  private static func existing(_ url: URL, _ options: JournalOptions) throws -> CatalogJournal? {
    do {
      return try CatalogJournal.open(at: url, mode: .readOnly, options: options)
    } catch let error as JournalError where [.notFound, .notAJournal].contains(error.code) {
      return nil
    }
  }
}

enum Unshare: Verb {
  static let text = """
    unshare: makes a shared journal local again

    Fetches all entries and images that the database has, and removes its address from the folder. From then on, commits
    are stored in this folder only. The database and the other nodes do not change. --force does this even if the server
    can't be reached or has another history; the journal then has what this node has seen.

    Arguments: JOURNAL
    [--force]: keep what this node has seen, without asking the server

    $ journal unshare Books.journal  # ends sharing for this folder
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let head = try CatalogJournal.unshare(
      at: arguments.url("JOURNAL"), isForced: arguments.has("--force"),
      options: arguments.journalOptions())
    try terminal.line("\(arguments.operand("JOURNAL").printable) is local, with revision \(head.revision)")
    try terminal.line("digest \(head.digest.hex)")
  }
}
