import CatalogModel
import Foundation
import JSON

/// `journal bisect JOURNAL`
enum Bisect: Verb {
  static let name = "bisect"
  static let summary = "finds the entry at which a condition began to hold"
  static let explanation = """
    Tests a few states and finds the first revision since which some item, category or image matches --where, --kind,
    --category and TEXT. A category's name is the one that it has at the last state. With --run, a command tests the state
    instead: it reads the state on standard input, as journal replay --json prints it, and exits with 0 if the
    condition holds. What the command prints goes to standard error. Exits with 1 if the condition does not hold at the
    last state, or already held before the first one.
    """
  static let syntax = Syntax(
    operands: [
      Syntax.journal,
      Syntax.Operand(
        name: "TEXT", help: "part of a label or of a text, or an entity's name", isOptional: true),
    ],
    options: Syntax.query + [
      Syntax.Option(name: "--not", help: "find since when no entity matches"),
      Syntax.Option(
        name: "--run", value: "COMMAND", help: "the condition is that this shell command succeeds"),
      Syntax.Option(
        name: "--from", value: "SELECTOR",
        help: "the first state to test; by default where history begins"),
      Syntax.Option(name: "--to", value: "SELECTOR", help: "the last state to test; by default HEAD"),
      Syntax.json,
    ])
  static let examples = [
    (
      command: "journal bisect Books.journal item:42 --where title=Dune", does: "since when it has this title"
    ),
    (command: "journal bisect Books.journal item:42 --not", does: "when item 42 was deleted"),
    (
      command: "journal bisect Books.journal --run 'jq -e \".items | length > 100\"'",
      does: "since when there are more than a hundred items"
    ),
  ]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let journal = try arguments.openJournal(terminal)
    let last = try arguments.selector(of: "--to", else: .head())
    let query = try arguments.query(journal, text: arguments.optionalOperand("TEXT"), asOf: last)
    let command = arguments.value("--run")
    guard command?.allSatisfy(\.isWhitespace) != true else {
      throw Failure(.wrongUse, "--run needs a command; see journal help bisect")
    }
    let hasQuery =
      query.text != nil || query.kind != nil || query.categories != nil || !query.conditions.isEmpty
    guard !hasQuery || command == nil else {
      throw Failure(.wrongUse, "--run and other conditions exclude each other")
    }
    guard hasQuery || command != nil else {
      throw Failure(.wrongUse, "bisect needs --where or another condition, or --run; see journal help bisect")
    }
    let isNegated = arguments.has("--not")
    let found = try journal.bisect(
      from: try arguments.selector(of: "--from", else: .start), through: last
    ) { version in
      let step = "testing revision \(version.revision.grouped)"
      // What the command prints begins on the next line.
      if command == nil { terminal.progress.show { step } } else { terminal.progress.printLine(step) }
      let holds =
        if let command {
          try StateCommand(command).holds(of: version)
        } else {
          try journal.holds(query, at: version.revision)
        }
      return holds != isNegated
    }
    terminal.progress.clear()
    guard let revision = found.revision else {
      let looked = found.looks.first?.revision ?? 0
      throw Failure(
        .no, "the condition does not hold at revision \(looked), the last one tested" + query.hint)
    }
    if found.heldBefore {
      throw Failure(
        .no,
        "the condition already held at revision \(revision - 1), before the first one to test; choose an earlier one "
          + "with --from")
    }
    let isStart = revision == (try journal.revision(at: .start))
    let entry = isStart ? nil : try journal.entry(at: revision)
    if arguments.has("--json") {
      var writer = JSONWriter()
      writer.beginObject()
      writer.member("revision", revision)
      writer.attribution(of: entry)
      writer.member("states", found.looks.count)
      writer.endObject()
      writer.newline()
      try terminal.output.write(writer.bytes)
      return .done
    }
    for look in found.looks {
      try terminal.output.line("revision \(look.revision): \(look.holds ? "yes" : "no")")
    }
    guard let entry else {
      try terminal.output.line("It has held from the beginning.")
      return .done
    }
    try terminal.output.line(
      "first held at " + terminal.styled(.yellow, "revision \(revision)") + ", "
        + "\(terminal.text(of: entry.date)), \(terminal.authorAndNote(of: entry))")
    return .done
  }
}

extension Journal where State == Catalog {
  /// Whether any entity matches a query at a revision.
  fileprivate func holds(_ query: EntityQuery, at revision: Revision) throws -> Bool {
    var isFound = false
    try find(query, asOf: .revision(revision)) { _ in
      isFound = true
      return false
    }
    return isFound
  }
}

/// A shell command that tests a condition on a state.
private struct StateCommand {
  private let command: String

  init(_ command: String) { self.command = command }

  func holds(of version: Version<Catalog>) throws -> Bool {
    // A file instead of a pipe, because a command may exit before it has read everything.
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
    // The shell's codes for a command that can't be run or does not exist, and for one that a signal ended.
    guard code < 126 else {
      throw Failure(.unreadable, "the command can't be run, or was killed: \(command.printable)")
    }
    return code == 0
  }
}
