import CatalogModel
import Foundation
import JSON

/// `journal salvage JOURNAL… --to DIR`
enum SalvageVerb: Verb {
  static let name = "salvage"
  static let summary = "creates a journal from everything that can be proven of a damaged one"
  static let explanation = """
    Creates the journal DIR from everything that can be read of a damaged journal, file by file. DIR gets the intact
    images, and the entries from the first one up to the first that is missing or altered. Each entry is proven by its
    digest in the next one. Several copies of one journal that are damaged in different places complement each other.
    Content that one copy has erased stays erased if that copy still has its entry; otherwise it returns from another
    copy. The damaged journals are not changed. It prints what is missing in DIR, and the problems of the files of each
    copy. Exits with 1 if something is missing, or if that is not known because HEAD can't be read.
    """
  static let syntax = Syntax(
    operands: [
      Syntax.Operand(
        name: "JOURNAL", help: "the damaged journal, and copies of it", isRepeated: true, isPath: true)
    ],
    options: [
      Syntax.Option(name: "--to", value: "DIR", help: "the journal to create", isRequired: true), Syntax.json,
    ])
  static let examples = [
    (command: "journal salvage Books.journal --to Saved.journal", does: "everything that can be proven"),
    (
      command: "journal salvage Books.journal /media/stick/Books.backup --to Saved.journal",
      does: "what either of two damaged copies has"
    ),
  ]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    guard let target = arguments.value("--to") else {
      throw Failure(.wrongUse, "--to DIR is missing: name the journal to create; see journal help salvage")
    }
    let report = try CatalogJournal.salvage(
      arguments.operandValues("JOURNAL").map { URL(fileURLWithPath: $0) }, to: URL(fileURLWithPath: target),
      options: arguments.journalOptions(layers: .manual)
    ) { terminal.showCopying($0) }
    terminal.progress.clear()
    if arguments.has("--json") {
      try printJSON(report, terminal)
    } else {
      try terminal.output.line(
        "\(target.printable) has \(countText(report))")
      if let base = report.base, !report.isBaseProven {
        try terminal.output.line(
          "not proven: history was pruned and begins with the state of revision \(base.revision), but the entry with "
            + "the digest of that state is missing")
      }
      if !report.isEndKnown {
        try terminal.output.line(
          "not proven: later entries may be missing, because HEAD can't be read and nothing else shows which one was "
            + "the newest")
      }
      if let end = report.end { try terminal.output.line("missing: \(end)".printable) }
      for divergence in report.divergences {
        try terminal.output.line("missing: \(divergence)".printable)
      }
      for image in report.missingImages {
        try terminal.output.line(
          "missing: an image of \(image.byteCount.counted("byte")), \(image.digest.hex)")
      }
      for problem in report.problems { try terminal.output.line("problem: \(problem)".printable) }
      try terminal.output.line("digest \(report.head.digest.hex)")
    }
    return report.isWhole ? .done : .no
  }

  /// `44 entries of 89 that were acknowledged`. Those before the base of a pruned history do not count.
  private static func countText(_ report: SalvageReport) -> String {
    let start = report.base?.revision ?? 0
    let found = report.head.revision - start
    guard let acknowledged = report.acknowledgedRevision.map({ max($0 - start, 0) }) else {
      return found.counted("entry", "entries")
    }
    // HEAD lags behind the log after a crash, and a copy's HEAD may be older than another copy's entries.
    return acknowledged < found
      ? "\(found.counted("entry", "entries")), \(acknowledged) or more of them acknowledged"
      : "\(found.counted("entry", "entries")) of \(acknowledged) that were acknowledged"
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
    if let base = report.base {
      writer.member("base", base.revision)
      writer.member("baseProven", report.isBaseProven)
    }
    writer.key("missingImages")
    writer.beginArray()
    for image in report.missingImages { writer.string(image.digest.hex) }
    writer.endArray()
    writer.problems((report.divergences + report.problems).map { ($0.message, $0.revision, $0.path) })
    writer.endObject()
    writer.newline()
    try terminal.output.write(writer.bytes)
  }
}
