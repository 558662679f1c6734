import CatalogModel
import Foundation
import JSON

/// `journal doctor JOURNAL`
enum Doctor: Verb {
  static let name = "doctor"
  static let summary = "says everything that is wrong, and what can be done about it"
  static let explanation = """
    Looks at everything in a journal's folder and changes nothing. A journal that opens is verified, as verify --deep
    does it. Of one that does not open, each file is looked at by itself, and how far the entries are proven is said: so
    much salvage can save. Exits with 1 when something is missing or altered; what is left over is no damage.
    """
  static let syntax = Syntax(operands: [Syntax.journal], options: [Syntax.json])
  static let examples = [(command: "journal doctor Books.journal", does: "what is wrong, and what to do")]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let diagnosis = try CatalogJournal.diagnose(URL(fileURLWithPath: arguments.operand("JOURNAL"))) {
      done, all in
      terminal.progress.show { "reading: \(done.grouped) of \(all.grouped) entries" }
    }
    terminal.progress.clear()
    if arguments.has("--json") {
      try printJSON(diagnosis, terminal)
    } else {
      for finding in diagnosis.findings {
        let mark = finding.isDamage ? terminal.styled(.red, "damage") : terminal.styled(.yellow, "note")
        try terminal.output.line("\(mark): \("\(finding)".printable)")
        try terminal.output.line("    \(finding.advice)")
      }
      let last = diagnosis.lastRevision
      if diagnosis.isSound {
        try terminal.output.line("all is well up to entry \(diagnosis.provenRevision)")
      } else if diagnosis.opens {
        try terminal.output.line("the journal opens")
      } else {
        try terminal.output.line(
          "the journal does not open; \(diagnosis.provenRevision) of \(last.counted("entry", "entries")) are proven"
        )
      }
    }
    return diagnosis.isSound ? .done : .no
  }

  private static func printJSON(_ diagnosis: Diagnosis, _ terminal: Terminal) throws {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("sound", diagnosis.isSound)
    writer.member("opens", diagnosis.opens)
    writer.member("provenRevision", diagnosis.provenRevision)
    writer.member("lastRevision", diagnosis.lastRevision)
    writer.key("findings")
    writer.beginArray()
    for finding in diagnosis.findings {
      writer.beginObject()
      writer.member("damage", finding.isDamage)
      writer.member("message", finding.message)
      writer.member("advice", finding.advice)
      writer.key("revision")
      if let revision = finding.revision { writer.integer(revision) } else { writer.null() }
      writer.member("path", finding.path)
      writer.endObject()
    }
    writer.endArray()
    writer.endObject()
    writer.newline()
    try terminal.output.write(writer.bytes)
  }
}

/// `journal salvage JOURNAL… --to DIR`
enum SalvageVerb: Verb {
  static let name = "salvage"
  static let summary = "makes a journal of all that can be proven of a damaged one"
  static let explanation = """
    Reads what can be read of a damaged journal, file by file, and makes the journal DIR of it: all entries from the
    first on that are proven by the digest that the next one has of them, up to the first that is missing or altered,
    with the images that are whole. Several copies of one journal, damaged in different places, give all that any of
    them has. What was erased since a copy was made comes back from that copy. The damaged journals stay as they are.
    Exits with 1 when something is missing.
    """
  static let syntax = Syntax(
    operands: [
      Syntax.Operand(name: "JOURNAL", help: "the damaged journal, and copies of it", isRepeated: true)
    ],
    options: [Syntax.Option(name: "--to", value: "DIR", help: "the journal to make"), Syntax.json])
  static let examples = [
    (command: "journal salvage Books.journal --to Saved.journal", does: "all that can be proven"),
    (
      command: "journal salvage Books.journal /media/stick/Books.backup --to Saved.journal",
      does: "what either of two damaged copies has"
    ),
  ]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    guard let target = arguments.value("--to") else {
      throw Failure(.wrongUse, "--to DIR is missing: name the journal to make; see journal help salvage")
    }
    let report = try CatalogJournal.salvage(
      arguments.operandValues("JOURNAL").map { URL(fileURLWithPath: $0) }, to: URL(fileURLWithPath: target)
    ) { terminal.showCopying($0) }
    terminal.progress.clear()
    if arguments.has("--json") {
      try printJSON(report, terminal)
    } else {
      try terminal.output.line(
        "\(target.printable) has \(report.head.revision.counted("entry", "entries"))"
          + (report.acknowledgedRevision.map { " of \($0) that were acknowledged" } ?? ""))
      if let end = report.end { try terminal.output.line("missing: \(end)".printable) }
      for image in report.missingImages {
        try terminal.output.line(
          "missing: an image of \(image.byteCount.counted("byte")), \(image.digest.hex)")
      }
      try terminal.output.line("digest \(report.head.digest.hex)")
    }
    return report.isWhole ? .done : .no
  }

  private static func printJSON(_ report: SalvageReport, _ terminal: Terminal) throws {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("whole", report.isWhole)
    writer.member("revision", report.head.revision)
    writer.member("digest", report.head.digest.hex)
    writer.key("acknowledgedRevision")
    if let revision = report.acknowledgedRevision { writer.integer(revision) } else { writer.null() }
    writer.member("end", report.end.map { "\($0)" })
    writer.key("missingImages")
    writer.beginArray()
    for image in report.missingImages { writer.string(image.digest.hex) }
    writer.endArray()
    writer.endObject()
    writer.newline()
    try terminal.output.write(writer.bytes)
  }
}

/// `journal gc JOURNAL`
enum CollectGarbage: Verb {
  static let name = "gc"
  static let summary = "removes images that no entry names"
  static let explanation = """
    Removes the bytes of images that were added and never committed, or that a crash left. Whatever an entry of the
    history names stays, also of entities that were deleted. --dry-run only says how much that is.
    """
  static let syntax = Syntax(
    operands: [Syntax.journal],
    options: [Syntax.Option(name: "--dry-run", help: "say what would be removed, and remove nothing")])
  static let examples = [
    (command: "journal gc Books.journal --dry-run", does: "how much would be removed"),
    (command: "journal gc Books.journal", does: "removes it"),
  ]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let isDryRun = arguments.has("--dry-run")
    let report = try CatalogJournal.collectGarbage(
      at: URL(fileURLWithPath: arguments.operand("JOURNAL")), isDryRun: isDryRun)
    try terminal.output.line(
      "\(isDryRun ? "would remove" : "removed") \(report.imageCount.counted("image")) of "
        + report.byteCount.counted("byte"))
    return .done
  }
}
