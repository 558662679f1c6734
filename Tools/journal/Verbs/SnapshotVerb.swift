import CatalogModel
import Foundation
import JSON

/// `journal snapshot JOURNAL take | list | drop`
enum SnapshotVerb: Verb {
  static let name = "snapshot"
  static let summary = "takes, lists or drops snapshots"
  static let explanation = """
    A snapshot is a whole state as a keyed archive in one file, which other programs can read. It stays until it is
    dropped, or until the journal is pruned or something is erased from it. Dropping it loses no state and no history.
    Opening and time travel need no snapshots: the journal automatically writes changes to layers, which journal stat
    counts.

    take writes a snapshot and prints its path. list reads every snapshot's file and reports whether it is intact; it
    exits with 1 if one is not. drop removes the snapshot of a revision.
    """
  static let syntax = Syntax(
    operands: [
      Syntax.journal,
      Syntax.Operand(name: "ACTION", help: "take, list or drop; by default list", isOptional: true),
      Syntax.Operand(
        name: "REVISION", help: "with drop: the revision of the snapshot, as list prints it", isOptional: true
      ),
    ],
    options: [
      Syntax.pointOption("with take: the point in time; by default HEAD"),
      Syntax.json,
    ])
  static let examples = [
    (command: "journal snapshot Books.journal take", does: "writes the current state"),
    (command: "journal snapshot Books.journal take --at 2026-08-01", does: "writes the state of that day"),
    (command: "journal snapshot Books.journal list", does: "all snapshots, and whether they are intact"),
    (command: "journal snapshot Books.journal drop 120", does: "removes the snapshot of revision 120"),
  ]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let action = arguments.optionalOperand("ACTION") ?? "list"
    let revision = arguments.optionalOperand("REVISION")
    if let revision, action != "drop" {
      throw Failure(
        .wrongUse, "\(action.printable) takes no \(revision.printable); see journal help snapshot")
    }
    if arguments.has("--at"), action != "take" {
      throw Failure(.wrongUse, "--at is for take; see journal help snapshot")
    }
    switch action {
    case "take": return try take(arguments, terminal)
    case "list": return try list(arguments, terminal)
    case "drop": return try drop(revision, arguments, terminal)
    default:
      throw Failure(
        .wrongUse,
        "unknown action \(action.printable)\(Suggestion.text(for: action, among: ["take", "list", "drop"])); "
          + "see journal help snapshot")
    }
  }

  private static func take(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let journal = try arguments.openJournal(terminal, mode: .readWrite)
    let revision = try journal.revision(try arguments.selector(of: "--at", else: .head()))
    terminal.progress.show { "writing the snapshot of revision \(revision.grouped)" }
    let snapshot = try journal.takeSnapshot(asOf: .revision(revision))
    terminal.progress.clear()
    if arguments.has("--json") {
      try printJSON(snapshot, problem: nil, terminal)
    } else {
      try terminal.output.line(
        "took the snapshot of revision \(snapshot.revision): \(snapshot.entityCount.counted("entity", "entities")), "
          + snapshot.byteCount.counted("byte"))
      try terminal.output.line(snapshot.url.path.printable)
    }
    try journal.close()
    return .done
  }

  private static func list(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let journal = try arguments.openJournal(terminal)
    var rows: [[String]] = []
    var problemCount = 0
    for snapshot in try journal.snapshots() {
      terminal.progress.show { "reading the snapshot of revision \(snapshot.revision.grouped)" }
      let problem = journal.check(snapshot)
      if problem != nil { problemCount += 1 }
      if arguments.has("--json") {
        try printJSON(snapshot, problem: problem, terminal)
        continue
      }
      let base = journal.base.flatMap { $0.revision == snapshot.revision ? $0.date : nil }
      let date = try base ?? journal.readableEntry(at: snapshot.revision)?.date
      rows.append([
        "\(snapshot.revision)", date.map { terminal.text(of: $0) } ?? "", snapshot.entityCount.grouped,
        snapshot.byteCount.grouped,
        problem.map { $0.message.printable } ?? "whole",
      ])
    }
    terminal.progress.clear()
    // They are not in the list, and opening has said why.
    problemCount += try journal.unreadableSnapshotCount()
    if !arguments.has("--json") {
      if rows.isEmpty, problemCount == 0 {
        try terminal.output.line("there are no snapshots")
      } else if !rows.isEmpty {
        try TextTable.print(columns(terminal), rows, terminal)
      }
    }
    if problemCount == 0 { return .done }
    throw Failure(
      .no,
      "\(problemCount.counted("snapshot")) can't be used; no state depends on them, and they can be dropped")
  }

  private static func columns(_ terminal: Terminal) -> [TextTable.Column] {
    [
      TextTable.Column(title: "REVISION", alignment: .right, style: .yellow),
      TextTable.Column(title: terminal.dateTitle),
      TextTable.Column(title: "ENTITIES", alignment: .right),
      TextTable.Column(title: "BYTES", alignment: .right),
      TextTable.Column(title: "STATE"),
    ]
  }

  private static func drop(
    _ text: String?, _ arguments: Arguments, _ terminal: Terminal
  ) throws -> ExitCode {
    guard let text, let revision = Revision(text) else {
      throw Failure(.wrongUse, "drop needs the revision of a snapshot; see journal snapshot JOURNAL list")
    }
    let journal = try arguments.openJournal(terminal, mode: .readWrite)
    do {
      try journal.dropSnapshot(at: revision)
    } catch let error as JournalError where error.code == .notFound {
      throw Failure(.no, "\(error)")
    }
    if arguments.has("--json") {
      try terminal.printJSON { writer in
        writer.member("revision", revision)
        writer.member("dropped", true)
      }
    } else {
      try terminal.output.line("dropped the snapshot of revision \(revision)")
    }
    try journal.close()
    return .done
  }

  private static func printJSON(_ snapshot: Snapshot, problem: JournalError?, _ terminal: Terminal) throws {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("revision", snapshot.revision)
    writer.member("entities", snapshot.entityCount)
    writer.member("byteCount", snapshot.byteCount)
    writer.member("schema", snapshot.schema)
    writer.member("stateDigest", snapshot.stateDigest.hex)
    writer.member("path", snapshot.url.path)
    writer.member("problem", problem.map { "\($0)" })
    writer.endObject()
    writer.newline()
    try terminal.output.write(writer.bytes)
  }
}
