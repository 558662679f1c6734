import CatalogModel
import Foundation
import JSON
import LegacyStores

enum Export: Verb {
  static let text = """
    export: writes a database with the whole history, or the files that an older app reads

    sqlite writes FILE, a SQLite database. For each kind it has a table of the present rows, and one of all versions,
    such as book and book_history: a version is valid from one revision up to, but without, another. changes has a row
    for each changed field, entries one for each entry, and texts_search finds words in all texts ever. Columns that
    are no attributes begin with _. Run again, it adds what is new. After an erasure or a pruning it writes all of FILE
    anew, so that FILE forgets it too. journal verify --export FILE compares FILE with the journal.

    archive writes places and categories, defaults writes persons, plist writes to-dos, and scarybugs writes bugs with
    their pictures, for apps with NSCoding. File names, classes and the keys that initWithCoder: reads are those that
    the import found. Without an import, they are those of the known app of that kind. Items that were added in the
    journal follow the imported ones. A file gets its name only when it is complete. If the folder has a file of that
    name with other contents, or another bug, nothing is written. --force replaces such files and leaves all others as
    they are.

    Arguments: JOURNAL
    TARGET: sqlite, or how the app stores its data: archive, defaults, plist or scarybugs
    [FILE]: the database of sqlite
    [--images]: also the bytes of images, in sqlite's FILE
    [--to DIR]: the folder for the files of an app; created if necessary
    [--at SELECTOR]
    [--store NAME]: which store, if several were imported
    [--force]: replace files that have other contents; write all of FILE anew
    [--json]

    $ journal export Books.journal sqlite books.sqlite  # a database for sqlite3 or Python
    $ journal export Bugs.journal scarybugs --to 'Private Documents'  # every bug as a document
    $ journal export Bugs.journal scarybugs --at 2026-08-01 --to August  # the bugs as they were on that day
    $ journal export ToDo.journal plist --to Documents --force  # both lists, replacing those there
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let name = arguments.operand("TARGET")
    if name == "sqlite" { return try writeDatabase(arguments, terminal) }
    guard let source = LegacyStore.Source(rawValue: name) else {
      let known = ["sqlite"] + LegacyStore.Source.allCases.map(\.rawValue)
      let suggestion = Suggestion.text(for: name, among: known)
      throw arguments.misuse(
        "there is no export to \"\(name.printable)\"\(suggestion), only to \(known.enumerated)")
    }
    if arguments.has("FILE") {
      throw arguments.misuse("only sqlite writes a FILE; name the folder with --to")
    }
    guard arguments.has("--to") else { throw arguments.misuse("--to DIR is missing") }
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

  private static func writeDatabase(_ arguments: Arguments, _ terminal: Terminal) throws {
    for option in ["--to", "--store"] where arguments.has(option) {
      throw arguments.misuse("\(option) is not for sqlite")
    }
    guard arguments.has("FILE") else { throw arguments.misuse("FILE is missing") }
    let url = arguments.url("FILE")
    if let journal = JournalFolder.enclosingJournal(ofPath: url.resolvingSymlinksInPath().path) {
      throw Failure.wrongUse("\(url.path) would be inside the journal \(journal); choose another file")
    }
    let journal = try arguments.openJournal(terminal)
    // A link stays a link.
    let path = url.resolvingSymlinksInPath().path
    let head = try journal.version(asOf: try arguments.selector(of: "--at", else: .head())).head
    let export = HistoryExport(
      journal: journal, path: path, head: head, hasImages: arguments.has("--images")
    ) {
      terminal.showProgress("exporting", $0, of: $1)
    }
    let report = try export.run(isReplacing: arguments.has("--force"))
    for kind in report.kindsWithTooManyColumns {
      terminal.warn(
        "note: \(kind.printable) has more attributes than SQLite has columns; only the table changes has all of them"
      )
    }
    try terminal.answer([
      "revision": head.revision, "first": report.first, "entries": report.entryCount,
      "changes": report.changeCount,
    ]) {
      try terminal.line(
        "exported revision \(head.revision.grouped): "
          + "\(report.entryCount.counted("entry", "entries")) with "
          + "\(report.changeCount.counted("change")) written to \(arguments.operand("FILE").printable)")
    }
  }
}
