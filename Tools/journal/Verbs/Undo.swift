import CatalogModel

/// `journal undo JOURNAL`
enum Undo: Verb {
  static let name = "undo"
  static let summary = "undoes the newest entry of an author"
  static let explanation = """
    Reverts the author's newest entry that is not yet undone, as a new entry. A second undo undoes the entry before it.
    Entries that others have already reverted are skipped. Later changes by others stay. If others changed the same
    fields, it names their entries and does nothing, unless --theirs or --force is given. With --theirs, entries of which
    nothing is left to undo are skipped. journal redo redoes what was undone.
    """
  static let syntax = Syntax(
    operands: [Syntax.journal],
    options: [
      Syntax.Option(
        name: "--by", value: "AUTHOR", help: "whose entry, the exact name; by default your login name"),
      Syntax.theirs, Syntax.force, Syntax.dryRun, Syntax.note, Syntax.full, Syntax.json,
    ])
  static let examples = [
    (command: "journal undo Books.journal --by bob", does: "undoes what Bob did last"),
    (command: "journal undo Books.journal --by bob --dry-run", does: "shows what that would change"),
  ]
  static let isPaged = true

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    try run(arguments, terminal, "undo") { journal, author, later in
      try journal.planUndo(by: author, later: later)
    }
  }

  static func run(
    _ arguments: Arguments, _ terminal: Terminal, _ verb: String,
    _ makePlan: (CatalogJournal, String, LaterEdits) throws -> RestorePlan?
  ) throws -> ExitCode {
    let later = try arguments.laterEdits()
    let journal = try arguments.openForCommit(terminal)
    guard let plan = try makePlan(journal, arguments.author, later) else {
      throw Failure(
        .no,
        "there is nothing for \(arguments.author.isEmpty ? "the empty author" : arguments.author.printable) to \(verb)"
          + (try journal.suggestion(forAuthor: arguments.author)))
    }
    let code = try arguments.carryOut(plan, in: journal, by: arguments.author, terminal)
    try journal.close()
    return code
  }
}

extension Journal where State == Catalog {
  /// The author that one without entries may be meant for, such as bob for Bob.
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

/// `journal redo JOURNAL`
enum Redo: Verb {
  static let name = "redo"
  static let summary = "redoes what an author undid last"
  static let explanation = """
    Redoes what an author undid last, with a new entry. If the author has made another entry since, there is nothing to
    redo.
    """
  static let syntax = Undo.syntax
  static let examples = [
    (command: "journal redo Books.journal --by bob", does: "redoes what Bob undid last")
  ]
  static let isPaged = true

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    try Undo.run(arguments, terminal, "redo") { journal, author, later in
      try journal.planRedo(by: author, later: later)
    }
  }
}
