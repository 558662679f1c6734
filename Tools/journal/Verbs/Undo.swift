import CatalogModel
import EntitySearch

enum Undo: Verb {
  static let text = """
    undo: undoes the newest entry of an author

    Reverts the author's newest entry that is not yet undone, as a new entry. A second undo undoes the entry before it.
    Entries with the same metadata journal.group, and no other entry of the author in between, are undone together.
    Entries that others have already reverted are skipped. Later changes by others stay. If others changed the same
    fields, it names their entries and does nothing, unless --theirs or --force is given. With --theirs, entries of which
    nothing is left to undo are skipped. journal redo redoes what was undone.

    Arguments: JOURNAL
    [--by AUTHOR]: whose entry, the exact name; by default your login name
    [--theirs], [--force], [--dry-run], [--note TEXT], [--full], [--json]

    $ journal undo Books.journal --by bob  # undoes what Bob did last
    $ journal undo Books.journal --by bob --dry-run  # shows what that would change
    """
  static let isPaged = true

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    try run(arguments, terminal, "undo") { journal, author, later in
      try journal.planUndo(by: author, later: later)
    }
  }

  static func run(
    _ arguments: Arguments, _ terminal: Terminal, _ verb: String,
    _ makePlan: (CatalogJournal, String, LaterEdits) throws -> RestorePlan?
  ) throws {
    let later = try arguments.laterEdits()
    let journal = try arguments.openForCommit(terminal)
    guard let plan = try makePlan(journal, arguments.author, later) else {
      throw Failure.no(
        "there is nothing for \(arguments.author.isEmpty ? "the empty author" : arguments.author.printable) to \(verb)"
          + (try journal.suggestion(forAuthor: arguments.author)))
    }
    try arguments.carryOut(plan, in: journal, terminal)
  }
}

extension Journal where State == Catalog {
  fileprivate func suggestion(forAuthor author: String) throws -> String {
    let first = (base?.revision ?? 0) + 1
    guard first <= head.revision else { return "" }
    var authors: Set<String> = []
    try forEachHead(first...head.revision) { _, name in
      if let name, !name.isEmpty { authors.insert(name) }
    }
    return authors.contains(author) ? "" : Suggestion.text(for: author, among: authors.sorted())
  }
}

enum Redo: Verb {
  static let text = """
    redo: redoes what an author undid last

    Redoes what an author undid last, with a new entry. If the author has made another entry since, there is nothing to
    redo.

    Arguments: JOURNAL
    [--by AUTHOR]: whose entry, the exact name; by default your login name
    [--theirs], [--force], [--dry-run], [--note TEXT], [--full], [--json]

    $ journal redo Books.journal --by bob  # redoes what Bob undid last
    """
  static let isPaged = true

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    try Undo.run(arguments, terminal, "redo") { journal, author, later in
      try journal.planRedo(by: author, later: later)
    }
  }
}
