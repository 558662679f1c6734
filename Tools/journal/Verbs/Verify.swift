import CatalogModel
import JSON

/// `journal verify JOURNAL`
enum Verify: Verb {
  static let name = "verify"
  static let summary = "checks that nothing is missing or altered"
  static let explanation = """
    Reads the whole journal and checks the chain of digests, the links of every history, the dates, HEAD, the rules of
    the catalog, and the bytes of every image, layer and snapshot. --deep also replays all entries and compares each
    layer, snapshot and checkpoint with the result. Exits with 1 if something is wrong, even if only a layer or a
    snapshot is: that costs time, but no data. Files of other programs in the folder are listed, and are not wrong. For a
    shared journal, this reads only the folder: images that this node has not fetched are counted and not read. journal
    doctor also asks the server.
    """
  static let syntax = Syntax(
    operands: [Syntax.journal],
    options: [
      Syntax.Option(name: "--deep", help: "compare every layer, snapshot and checkpoint with its replay"),
      Syntax.json,
    ])
  static let examples = [
    (command: "journal verify Books.journal", does: "checks that nothing is missing or altered"),
    (command: "journal verify Books.journal --deep", does: "also proves every layer and snapshot"),
  ]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let journal = try arguments.openJournal(terminal)
    let result = try journal.verify(deep: arguments.has("--deep")) { done, all in
      terminal.progress.show { "verifying: \(done.grouped) of \(all.grouped) entries" }
    }
    terminal.progress.clear()
    let isDamaged = result.problems.contains(where: \.isDamage)
    if arguments.has("--json") {
      try printJSON(result, terminal)
    } else {
      let outcome =
        if result.isSound {
          terminal.styled(.green, "all is well")
        } else if isDamaged {
          terminal.styled(.red, "not sound")
        } else {
          terminal.styled(.yellow, "no data is missing or altered")
        }
      for problem in result.problems { try terminal.output.line("\(problem)".printable) }
      try terminal.output.line(
        "\(result.entryCount.counted("entry", "entries")), \(result.eventCount.counted("event")), "
          + "\((result.blobCount - result.unfetchedBlobCount).counted("blob")), "
          + "\(result.layerCount.counted("layer")) and \(result.snapshotCount.counted("snapshot")) read: \(outcome)"
      )
      if result.unfetchedBlobCount > 0 {
        let count = result.unfetchedBlobCount
        try terminal.output.line(
          "\(count.counted("blob")) of the shared journal \(count == 1 ? "was" : "were") not fetched yet, and not read"
        )
      }
      if let base = result.base {
        try terminal.output.line(
          "history up to revision \(base.revision) was pruned; "
            + (result.isBaseProven
              ? "the state that it begins with is proven"
              : "no entry here has the digest of the state that it begins with"))
      }
      if result.erasedEventCount > 0 {
        let count = result.erasedEventCount
        try terminal.output.line("\(count.counted("event")) \(count == 1 ? "was" : "were") erased")
      }
      if result.checkpointCount > 0 {
        try terminal.output.line("\(result.checkpointCount.counted("checkpoint")) compared")
      }
      if result.entryCount > 0 { try terminal.output.line("digest \(result.head.digest.hex)") }
    }
    if result.isSound { return .done }
    let problems = result.problems.count.counted("problem")
    throw Failure(
      .no,
      isDamaged
        ? "the journal has \(problems); run journal doctor, or restore it from a backup"
        : "the journal has \(problems) in layers or snapshots. That costs time, but no data: the journal replaces layers "
          + "automatically, and snapshot drop removes a snapshot")
  }

  private static func printJSON(_ result: Verification, _ terminal: Terminal) throws {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("sound", result.isSound)
    writer.member("entries", result.entryCount)
    writer.member("events", result.eventCount)
    writer.member("blobs", result.blobCount)
    if result.unfetchedBlobCount > 0 { writer.member("unfetchedBlobs", result.unfetchedBlobCount) }
    writer.member("layers", result.layerCount)
    writer.member("snapshots", result.snapshotCount)
    writer.member("checkpoints", result.checkpointCount)
    writer.member("erasedEvents", result.erasedEventCount)
    if let base = result.base {
      writer.member("base", base.revision)
      writer.member("baseProven", result.isBaseProven)
    }
    writer.member("revision", result.head.revision)
    writer.member("digest", result.head.digest.hex)
    writer.problems(result.problems.map { ($0.message, $0.revision, $0.path) })
    writer.endObject()
    writer.newline()
    try terminal.output.write(writer.bytes)
  }
}

extension JSONWriter {
  /// Writes the problems of a journal into the open object.
  mutating func problems(_ problems: [(message: String, revision: Revision?, path: String?)]) {
    key("problems")
    beginArray()
    for problem in problems {
      beginObject()
      member("message", problem.message)
      key("revision")
      if let revision = problem.revision { integer(revision) } else { null() }
      member("path", problem.path)
      endObject()
    }
    endArray()
  }
}
