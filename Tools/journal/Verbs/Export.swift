import CatalogModel
import Foundation
import JSON
import LegacyStores

enum Export: Verb {
  static let text = """
    export: writes the files that an older app reads

    Writes files that an app with NSCoding reads. File names, classes and the keys that initWithCoder: reads are those
    that the import found. Without an import, they are those of the known app of that kind. Items that were added in the
    journal follow the imported ones.

    archive writes places and categories, defaults writes persons, plist writes to-dos, and scarybugs writes bugs with
    their pictures. A file gets its name only when it is complete. If the folder has a file of that name with other
    contents, or another bug, nothing is written. --force replaces such files and leaves all others as they are.

    Arguments: JOURNAL
    SOURCE: how the app stores its data: archive, defaults, plist or scarybugs
    --to DIR: the folder to write to; created if necessary
    [--at SELECTOR]
    [--store NAME]: which store, if several were imported
    [--force]: replace files that have other contents
    [--json]

    $ journal export Bugs.journal scarybugs --to 'Private Documents'  # every bug as a document
    $ journal export Bugs.journal scarybugs --at 2026-08-01 --to August  # the bugs as they were on that day
    $ journal export ToDo.journal plist --to Documents --force  # both lists, replacing those there
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let name = arguments.operand("SOURCE")
    guard let source = LegacyStore.Source(rawValue: name) else {
      let known = LegacyStore.Source.allCases.map(\.rawValue)
      let suggestion = Suggestion.text(for: name, among: known)
      throw arguments.misuse(
        "there is no export to \"\(name.printable)\"\(suggestion), only to \(known.enumerated)")
    }
    let journal = try arguments.openJournal(terminal)
    let revision = try journal.revision(at: try arguments.selector(of: "--at", else: .head()))
    let report = try journal.exportStore(
      source, name: arguments.value("--store"), asOf: .revision(revision),
      to: URL(fileURLWithPath: arguments.value("--to") ?? ""), replacing: arguments.has("--force"))
    for problem in report.problems {
      terminal.warn("\(problem.isLoss ? "not written" : "note"): \(problem.description.printable)")
    }
    try terminal.answer([
      "source": source.rawValue, "revision": report.revision, "items": report.items,
      "written": report.written,
      "unchanged": report.unchanged, "problems": report.problems.map(\.json),
    ]) {
      try terminal.line(
        "exported \(source.rawValue) as of revision \(report.revision.grouped): \(report.items.counted("item")), "
          + "\(report.written.counted("file")) written, \(report.unchanged.grouped) as before")
    }
    if !report.isComplete { terminal.code = .no }
  }
}
