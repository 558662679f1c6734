import CatalogModel
import EntitySearch
import Foundation
import JSON
import JournalMaintenance

enum Bisect: Verb {
  static let text = """
    bisect: finds the entry at which a condition began to hold

    Tests a few states and finds the first revision since which some item, category or image matches --where, --kind,
    --category and TEXT. A category's name is the one that it has at the last state. With --run, a command tests the state
    instead: it reads the state on standard input, as journal replay --json prints it, and exits with 0 if the
    condition holds. What the command prints goes to standard error. Exits with 1 if the condition does not hold at the
    last state, or already held before the first one.

    Arguments: JOURNAL
    [TEXT]: part of a label or of a text, or an entity's name
    [--kind KIND], [--category C], [--where FIELD=VALUE]…
    [--not]: find since when no entity matches
    [--run COMMAND]: the condition is that this shell command succeeds
    [--from SELECTOR]: the first state to test; by default where history begins
    [--to SELECTOR]: the last state to test; by default HEAD
    [--json]

    $ journal bisect Books.journal item:42 --where title=Dune  # since when it has this title
    $ journal bisect Books.journal item:42 --not  # when item 42 was deleted
    $ journal bisect Books.journal --run 'jq -e ".items | length > 100"'  # since when there are more than a
      hundred items
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let journal = try arguments.openJournal(terminal)
    let last = try arguments.selector(of: "--to", else: .head())
    let query = try arguments.query(journal, text: arguments.value("TEXT"), asOf: last)
    let command = arguments.value("--run")
    guard command?.allSatisfy(\.isWhitespace) != true else { throw arguments.misuse("--run needs a command") }
    let hasQuery =
      query.text != nil || query.kind != nil || query.categories != nil || !query.conditions.isEmpty
    guard !hasQuery || command == nil else {
      throw Failure.wrongUse("--run and other conditions exclude each other")
    }
    guard hasQuery || command != nil else {
      throw arguments.misuse("bisect needs --where or another condition, or --run")
    }
    let isNegated = arguments.has("--not")
    let found = try journal.bisect(
      from: try arguments.selector(of: "--from", else: .start), through: last
    ) { version in
      let step = "testing revision \(version.revision.grouped)"
      // The command may print too, so each step gets a line of its own.
      if command == nil { terminal.progress.show { step } } else { terminal.progress.printLine(step) }
      let holds =
        try command.map { try succeeds($0, reading: version) } ?? journal.holds(query, at: version.revision)
      return holds != isNegated
    }
    guard let revision = found.revision else {
      let looked = found.looks.first?.revision ?? 0
      throw Failure.no("the condition does not hold at revision \(looked), the last one tested" + query.hint)
    }
    if found.heldBefore {
      throw Failure.no(
        "the condition already held at revision \(revision - 1), before the first one to test; choose an earlier one "
          + "with --from")
    }
    let isStart = revision == (try journal.revision(at: .start))
    let entry = isStart ? nil : try journal.entry(at: revision)
    try terminal.answer([
      "revision": revision, .members: JSONObject.attribution(of: entry), "states": found.looks.count,
    ]) {
      for look in found.looks { try terminal.line("revision \(look.revision): \(look.holds ? "yes" : "no")") }
      guard let entry else { return try terminal.line("It has held from the beginning.") }
      try terminal.line(
        "first held at " + terminal.styled(.yellow, "revision \(revision)") + ", "
          + "\(terminal.text(of: entry.date)), \(terminal.authorAndNote(of: entry))")
    }
  }

  private static func succeeds(_ command: String, reading version: Version<Catalog>) throws -> Bool {
    // A command may exit before it has read everything, so it gets a file and no pipe.
    let file = try SpawnedProcess.makeNamelessFile()
    defer { close(file) }
    let output = Output(file)
    try ReplayVerb.writeJSON(version, to: output)
    try output.flush()
    lseek(file, 0, SEEK_SET)
    let process = try SpawnedProcess(
      ["/bin/sh", "-c", command], environment: ProcessInfo.processInfo.environment,
      descriptors: [file, STDERR_FILENO])
    let code = process.wait()
    // The shell exits with 126 if it can't run a command, 127 if there is none, and 128 + n if signal n ended it.
    guard code < 126 else {
      throw Failure.unreadable("the command can't be run, or was killed: \(command.printable)")
    }
    return code == 0
  }
}

extension Journal where State == Catalog {
  fileprivate func holds(_ query: EntityQuery, at revision: Revision) throws -> Bool {
    var isFound = false
    try find(query, asOf: .revision(revision)) { _ in
      isFound = true
      return false
    }
    return isFound
  }
}
