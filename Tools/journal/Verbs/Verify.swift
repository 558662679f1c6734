import CatalogModel
import JSON

enum Verify: Verb {
  static let text = """
    verify: checks that nothing is missing or altered

    Reads the whole journal and checks the chain of digests, the links of every history, the dates, HEAD, the rules of
    the catalog, and the bytes of every image, layer and snapshot. --deep also replays all entries and compares each
    layer, snapshot and checkpoint with the result. Exits with 1 if something is wrong, even if only a layer or a
    snapshot is: that costs time, but no data. Files of other programs in the folder are listed, and are not wrong. For a
    shared journal, this reads only the folder: images that this node has not fetched are counted and not read. journal
    doctor also asks the server.

    Arguments: JOURNAL
    [--deep]: compare every layer, snapshot and checkpoint with its replay
    [--json]

    $ journal verify Books.journal  # checks that nothing is missing or altered
    $ journal verify Books.journal --deep  # also proves every layer and snapshot
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let journal = try arguments.openJournal(terminal)
    let result = try journal.verify(arguments.has("--deep") ? .deep : .everything) {
      terminal.showProgress("verifying", $0, of: $1)
    }
    try terminal.answer { json in
      json.member("sound", result.isSound)
      json.member("entries", result.entryCount)
      json.member("events", result.eventCount)
      json.member("blobs", result.blobCount)
      if result.unfetchedBlobCount > 0 { json.member("unfetchedBlobs", result.unfetchedBlobCount) }
      json.member("layers", result.layerCount)
      json.member("snapshots", result.snapshotCount)
      json.member("checkpoints", result.checkpointCount)
      json.member("erasedEvents", result.erasedEventCount)
      if let base = result.base {
        json.member("base", base.revision)
        json.member("baseProven", result.isBaseProven)
      }
      json.member("revision", result.head?.revision)
      json.member("digest", result.head?.digest.hex)
      json.problems(result.problems.map { ($0.message, $0.revision, $0.path) })
    } text: {
      try print(result, terminal)
    }
    if result.isSound { return }
    let problems = result.problems.count.counted("problem")
    throw Failure(
      .no,
      result.isDamaged
        ? "the journal has \(problems); run journal doctor, or restore it from a backup"
        : "the journal has \(problems) in layers or snapshots. That costs time, but no data: the journal replaces layers "
          + "automatically, and snapshot drop removes a snapshot")
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

extension JSONWriter {
  /// Writes the problems of a journal into the open object.
  mutating func problems(_ problems: [(message: String, revision: Revision?, path: String?)]) {
    objects("problems", problems) { json, problem in
      json.member("message", problem.message)
      json.member("revision", problem.revision)
      json.member("path", problem.path)
    }
  }
}
