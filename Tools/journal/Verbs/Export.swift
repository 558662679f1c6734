import CatalogModel
import Foundation
import JSON
import LegacyStores

/// `journal export JOURNAL SOURCE --to DIR`
enum Export: Verb {
  static let name = "export"
  static let summary = "writes the files that an older app reads"
  static let explanation = """
    Writes files that an app with NSCoding reads. File names, classes and the keys that initWithCoder: reads are those
    that the import found. Without an import, they are those of the known app of that kind. Items that were added in the
    journal follow the imported ones.

    archive writes places and categories, defaults writes persons, plist writes to-dos, and scarybugs writes bugs with
    their pictures. A file gets its name only when it is complete. If the folder has a file of that name with other
    contents, or another bug, nothing is written. --force replaces such files and leaves all others as they are.
    """
  static let syntax = Syntax(
    operands: [
      Syntax.journal,
      Syntax.Operand(
        name: "SOURCE", help: "how the app stores its data: archive, defaults, plist or scarybugs"),
    ],
    options: [
      Syntax.Option(
        name: "--to", value: "DIR", help: "the folder to write to; created if necessary", isRequired: true),
      Syntax.point,
      Syntax.Option(name: "--store", value: "NAME", help: "which store, if several were imported"),
      Syntax.Option(name: "--force", help: "replace files that have other contents"),
      Syntax.json,
    ])
  static let examples = [
    (
      command: "journal export Bugs.journal scarybugs --to 'Private Documents'",
      does: "every bug as a document"
    ),
    (
      command: "journal export Bugs.journal scarybugs --at 2026-08-01 --to August",
      does: "the bugs as they were on that day"
    ),
    (
      command: "journal export ToDo.journal plist --to Documents --force",
      does: "both lists, replacing those there"
    ),
  ]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let name = arguments.operand("SOURCE")
    guard let source = LegacyStore.Source(rawValue: name) else {
      let known = LegacyStore.Source.allCases.map(\.rawValue)
      throw Failure(
        .wrongUse,
        "there is no export to \"\(name.printable)\"\(Suggestion.text(for: name, among: known)), only to "
          + known.dropLast().joined(separator: ", ") + " and \(known.last ?? ""); see journal help export")
    }
    guard let folder = arguments.value("--to") else {
      throw Failure(.wrongUse, "--to DIR is missing: name the folder to write to; see journal help export")
    }
    let journal = try arguments.openJournal(terminal)
    let revision = try journal.revision(try arguments.selector(of: "--at", else: .head()))
    let report = try journal.exportStore(
      source, name: arguments.value("--store"), asOf: .revision(revision), to: URL(fileURLWithPath: folder),
      replacing: arguments.has("--force"))
    try journal.close()
    for problem in report.problems {
      terminal.warn("\(problem.isLoss ? "not written" : "note"): \(problem.description.printable)")
    }
    if arguments.has("--json") {
      try printJSON(report, source, terminal)
    } else {
      try terminal.output.line(
        "exported \(source.rawValue) as of revision \(report.revision.grouped): \(report.items.counted("item")), "
          + "\(report.written.counted("file")) written, \(report.unchanged.grouped) as before")
    }
    return report.isComplete ? .done : .no
  }

  private static func printJSON(
    _ report: LegacyExportReport, _ source: LegacyStore.Source, _ terminal: Terminal
  ) throws {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("source", source.rawValue)
    writer.member("revision", report.revision)
    writer.member("items", report.items)
    writer.member("written", report.written)
    writer.member("unchanged", report.unchanged)
    LegacyImport.write(report.problems, to: &writer)
    writer.endObject()
    writer.newline()
    try terminal.output.write(writer.bytes)
  }
}
