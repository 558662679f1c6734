import CatalogModel
import Foundation
import JSON

enum SnapshotVerb: Verb {
  static let text = """
    snapshot: takes, lists or drops snapshots

    A snapshot is a whole state as a keyed archive in one file, which other programs can read. It stays until it is
    dropped, or until the journal is pruned or something is erased from it. Dropping it loses no state and no history.
    Opening and time travel need no snapshots: the journal automatically writes changes to layers, which journal stat
    counts.

    take writes a snapshot and prints its path. list reads every snapshot's file and reports whether it is intact; it
    exits with 1 if one is not. drop removes the snapshot of a revision.

    Arguments: JOURNAL
    [ACTION]: take, list or drop; by default list
    [REVISION]: with drop: the revision of the snapshot, as list prints it
    [--at SELECTOR]: with take: the point in time; by default HEAD; a date is compared with the dates that
      order entries, not with the clock's dates
    [--json]

    $ journal snapshot Books.journal take  # writes the current state
    $ journal snapshot Books.journal take --at 2026-08-01  # writes the state of that day
    $ journal snapshot Books.journal list  # all snapshots, and whether they are intact
    $ journal snapshot Books.journal drop 120  # removes the snapshot of revision 120
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let action = arguments.value("ACTION") ?? "list"
    let revision = arguments.value("REVISION")
    if let revision, action != "drop" {
      throw arguments.misuse("\(action.printable) takes no \(revision.printable)")
    }
    if arguments.has("--at"), action != "take" { throw arguments.misuse("--at is for take") }
    switch action {
    case "take": return try take(arguments, terminal)
    case "list": return try list(arguments, terminal)
    case "drop": return try drop(revision, arguments, terminal)
    default:
      let suggestion = Suggestion.text(for: action, among: ["take", "list", "drop"])
      throw arguments.misuse("unknown action \(action.printable)\(suggestion)")
    }
  }

  private static func take(_ arguments: Arguments, _ terminal: Terminal) throws {
    let journal = try arguments.openJournal(terminal, mode: .readWrite)
    let revision = try journal.revision(at: try arguments.selector(of: "--at", else: .head()))
    terminal.progress.show { "writing the snapshot of revision \(revision.grouped)" }
    let snapshot = try journal.takeSnapshot(asOf: .revision(revision))
    try terminal.answer(json(of: snapshot)) {
      try terminal.line(
        "took the snapshot of revision \(snapshot.revision): \(snapshot.entityCount.counted("entity", "entities")), "
          + snapshot.byteCount.counted("byte"))
      try terminal.line(snapshot.url.path.printable)
    }
  }

  private static func list(_ arguments: Arguments, _ terminal: Terminal) throws {
    let journal = try arguments.openJournal(terminal)
    let table = TextTable(
      [.revision, .date(terminal), .number("ENTITIES"), .number("BYTES"), .text("STATE")], isCut: false,
      terminal)
    let snapshots = try journal.snapshots()
    // `snapshots()` leaves out unreadable snapshots, which opening has reported.
    var problemCount = try journal.unreadableSnapshotCount()
    for snapshot in snapshots {
      terminal.progress.show { "reading the snapshot of revision \(snapshot.revision.grouped)" }
      let problem = journal.check(snapshot)
      if problem != nil { problemCount += 1 }
      let base = journal.base.flatMap { $0.revision == snapshot.revision ? $0.date : nil }
      let date = try base ?? journal.readableEntry(at: snapshot.revision)?.date
      try table.add(
        [
          "\(snapshot.revision)", date.map { terminal.text(of: $0) } ?? "", snapshot.entityCount.grouped,
          snapshot.byteCount.grouped, problem.map { $0.message.printable } ?? "whole",
        ], json: json(of: snapshot, problem))
    }
    try table.end()
    if !terminal.isJSON, snapshots.isEmpty, problemCount == 0 { try terminal.line("there are no snapshots") }
    if problemCount > 0 {
      throw Failure.no(
        "\(problemCount.counted("snapshot")) can't be used; no state depends on them, and they can be dropped"
      )
    }
  }

  private static func drop(_ text: String?, _ arguments: Arguments, _ terminal: Terminal) throws {
    guard let text, let revision = Revision(text) else {
      throw Failure.wrongUse("drop needs the revision of a snapshot; see journal snapshot JOURNAL list")
    }
    let journal = try arguments.openJournal(terminal, mode: .readWrite)
    try journal.dropSnapshot(at: revision)
    try terminal.answer(["revision": revision, "dropped": true]) {
      try terminal.line("dropped the snapshot of revision \(revision)")
    }
  }

  private static func json(of snapshot: Snapshot, _ problem: JournalError? = nil) -> JSONObject {
    [
      "revision": snapshot.revision, "entities": snapshot.entityCount, "byteCount": snapshot.byteCount,
      "schema": snapshot.schema, "stateDigest": snapshot.stateDigest.hex, "path": snapshot.url.path,
      "problem": problem.map { "\($0)" },
    ]
  }
}
