import CatalogModel
import Foundation
import JSON
import JournalMaintenance

enum Verify: Verb {
  static let text = """
    verify: checks that nothing is missing or altered

    Reads the whole journal and checks the chain of digests, the links of every history, the dates, HEAD, the rules of
    the catalog, and the bytes of every image, layer and snapshot. --deep also replays all entries and compares each
    layer, snapshot and checkpoint with the result. Exits with 1 if something is wrong, even if only a layer or a
    snapshot is: that costs time, but no data. Files of other programs in the folder are listed, and are not wrong. For a
    shared journal, this reads only the folder: images that this node has not fetched are counted and not read. journal
    doctor also asks the server. --export compares a database that journal export has written, and nothing else.

    Arguments: JOURNAL
    [--deep]: compare every layer, snapshot and checkpoint with its replay
    [--export FILE]: compare this SQLite database with the journal, row for row
    [--json]

    $ journal verify Books.journal  # checks that nothing is missing or altered
    $ journal verify Books.journal --deep  # also proves every layer and snapshot
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let journal = try arguments.openJournal(terminal)
    if arguments.has("--export") { return try compareExport(of: journal, arguments, terminal) }
    let result = try journal.verify(arguments.has("--deep") ? .deep : .everything) {
      terminal.showProgress("verifying", $0, of: $1)
    }
    try terminal.answer([
      "sound": result.isSound, "entries": result.entryCount, "events": result.eventCount,
      "blobs": result.blobCount,
      "unfetchedBlobs": ifAny(result.unfetchedBlobCount > 0 ? result.unfetchedBlobCount : nil),
      "layers": result.layerCount, "snapshots": result.snapshotCount, "checkpoints": result.checkpointCount,
      "erasedEvents": result.erasedEventCount, "base": ifAny(result.base?.revision),
      "baseProven": ifAny(result.base.map { _ in result.isBaseProven }), "revision": result.head?.revision,
      "digest": result.head?.digest.hex,
      "problems": result.problems.map { problemJSON($0.message, $0.revision, $0.path) },
    ]) {
      try print(result, terminal)
    }
    if result.isSound { return }
    let problems = result.problems.count.counted("problem")
    throw Failure.no(
      result.isDamaged
        ? "the journal has \(problems); run journal doctor, or restore it from a backup"
        : "the journal has \(problems) in layers or snapshots. That costs time, but no data: the journal replaces layers "
          + "automatically, and snapshot drop removes a snapshot")
  }

  private static func compareExport(
    of journal: CatalogJournal, _ arguments: Arguments, _ terminal: Terminal
  ) throws {
    if arguments.has("--deep") { throw arguments.misuse("--deep and --export exclude each other") }
    let url = arguments.url("--export")
    let export = HistoryExport(journal: journal, path: url.path, head: journal.head) {
      terminal.showProgress("comparing", $0, of: $1)
    }
    let differences = try export.differences()
    try terminal.answer(["sound": differences.isEmpty, "problems": differences]) {
      for difference in differences { try terminal.line(difference.printable) }
      if differences.isEmpty {
        try terminal.line("\(url.path.printable) has the journal's history, row for row")
      }
    }
    guard differences.isEmpty else {
      throw Failure.no("\(url.path) differs from the journal; journal export --force writes it anew")
    }
  }

  private static func print(_ result: JournalHealth, _ terminal: Terminal) throws {
    let outcome =
      if result.isSound {
        terminal.styled(.green, "all is well")
      } else if result.isDamaged {
        terminal.styled(.red, "not sound")
      } else {
        terminal.styled(.yellow, "no data is missing or altered")
      }
    for problem in result.problems { try terminal.line("\(problem)".printable) }
    let unfetched = result.unfetchedBlobCount
    try terminal.line(
      "\(result.entryCount.counted("entry", "entries")), \(result.eventCount.counted("event")), "
        + "\((result.blobCount - unfetched).counted("blob")), \(result.layerCount.counted("layer")) and "
        + "\(result.snapshotCount.counted("snapshot")) read: \(outcome)")
    func sayWere(_ count: Int, _ subject: String, _ done: String) throws {
      if count > 0 { try terminal.line("\(subject) \(count == 1 ? "was" : "were") \(done)") }
    }
    try sayWere(
      unfetched, "\(unfetched.counted("blob")) of the shared journal", "not fetched yet, and not read")
    if let base = result.base {
      try terminal.line(
        "history up to revision \(base.revision) was pruned; "
          + (result.isBaseProven
            ? "the state that it begins with is proven"
            : "no entry here has the digest of the state that it begins with"))
    }
    try sayWere(result.erasedEventCount, result.erasedEventCount.counted("event"), "erased")
    if result.checkpointCount > 0 {
      try terminal.line("\(result.checkpointCount.counted("checkpoint")) compared")
    }
    if result.entryCount > 0, let head = result.head { try terminal.line("digest \(head.digest.hex)") }
  }
}

func problemJSON(_ message: String, _ revision: Revision?, _ path: String?) -> JSONObject {
  ["message": message, "revision": revision, "path": path]
}
