import CatalogModel
import Foundation
import JSON

/// `journal import JOURNAL git REPO`
enum Import: Verb {
  static let name = "import"
  static let summary = "brings a git repository's history into a journal"
  static let explanation = """
    Makes an entry of every commit on a branch's first-parent line: author, date, message, and the commit's
    hash as git.commit in its metadata. Commits that change nothing make no entry. A second run goes on after
    the last imported commit. The journal is made if it is not there.

    Without --records, each file is an item of kind "file" with the attributes path, mode and blob, and text
    if it is UTF-8 of up to 65,536 bytes; other bytes are the item's image. Its folder is its category.

    With --records, each object of the JSON array in FILE is an item instead, and its fields are the item's
    attributes. Objects without the key, or with that of an earlier one, are skipped and reported, as is a
    version of FILE that is no JSON array.
    """
  static let syntax = Syntax(
    operands: [
      Syntax.journal,
      Syntax.Operand(name: "SOURCE", help: "what to import from: git"),
      Syntax.Operand(name: "REPO", help: "the repository's folder"),
    ],
    options: [
      Syntax.Option(name: "--branch", value: "B", help: "the branch to follow; HEAD if not given"),
      Syntax.Option(name: "--records", value: "FILE", help: "import the objects of this JSON file"),
      Syntax.Option(name: "--key", value: "FIELD", help: "the field that tells an object from all others"),
      Syntax.Option(name: "--category", value: "FIELD", help: "the field whose text is the item's category"),
      Syntax.Option(
        name: "--images", value: "TEMPLATE",
        help: "the file that is an object's image, with {key} or {FIELD}, .lowercased or .uppercased"),
      Syntax.json,
    ])
  static let examples = [
    (command: "journal import Code.journal git ~/code", does: "every file of every commit of HEAD"),
    (
      command: "journal import World.journal git countries --records countries.json --key cca3 "
        + "--category region --images 'data/{key.lowercased}.svg'",
      does: "every country as an item, with its outline as an image"
    ),
  ]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let source = arguments.operand("SOURCE")
    guard source == "git" else {
      throw Failure(
        .wrongUse, "there is no import from \"\(source)\", only from git; see journal help import")
    }
    let form = try recordsForm(arguments)
    let path = arguments.operand("REPO")
    let repository = try GitRepository(path)
    let tip = try repository.tip(of: arguments.value("--branch") ?? "HEAD")
    let clock = ContinuousClock()
    let start = clock.now
    let journal = try CatalogJournal.openOrCreate(at: URL(fileURLWithPath: arguments.operand("JOURNAL")))
    let git = GitImport(
      repository: repository, tip: tip, source: form?.source ?? FilesImporter.source, journal: journal,
      terminal: terminal)
    let checkpoint = try git.checkpoint()
    let total = try git.total(after: checkpoint)
    let report =
      if let form {
        try git.run(
          after: checkpoint, total: total,
          RecordsImporter(form, repository, journal, after: checkpoint?.commit))
      } else {
        try git.run(after: checkpoint, total: total, FilesImporter(repository, journal))
      }
    try journal.close()
    try printSummary(report, (clock.now - start) / .seconds(1), path, arguments.has("--json"), terminal)
    return .done
  }

  private static func recordsForm(_ arguments: Arguments) throws(Failure) -> RecordsImporter.Form? {
    guard var file = arguments.value("--records") else {
      for option in ["--key", "--category", "--images"] where arguments.has(option) {
        throw Failure(.wrongUse, "\(option) needs --records FILE; see journal help import")
      }
      return nil
    }
    while file.hasPrefix("./") { file.removeFirst(2) }
    guard !file.isEmpty else {
      throw Failure(.wrongUse, "--records needs the path of a file in the repository")
    }
    guard let key = arguments.value("--key") else {
      throw Failure(.wrongUse, "--records needs --key FIELD, to tell one object from another")
    }
    var template: ImageTemplate?
    if let source = arguments.value("--images") { template = try ImageTemplate(source) }
    return RecordsImporter.Form(
      file: file, key: key, category: arguments.value("--category"), images: template)
  }

  private static func printSummary(
    _ report: ImportReport, _ seconds: Double, _ path: String, _ asJSON: Bool, _ terminal: Terminal
  ) throws {
    if asJSON {
      var writer = JSONWriter()
      writer.beginObject()
      writer.member("commits", report.commits)
      writer.member("entries", report.entries)
      writer.member("events", report.events)
      writer.member("images", report.images)
      writer.member("reported", report.notes)
      writer.member("seconds", .double((seconds * 1000).rounded() / 1000))
      writer.endObject()
      writer.newline()
      try terminal.output.write(writer.bytes)
      return
    }
    let time = String(format: "%.2f", seconds)
    try terminal.output.line(
      "imported \(report.commits.counted("commit")) of \(path.printable): "
        + "\(report.entries.counted("entry", "entries")), \(report.events.counted("event")), "
        + "\(report.images.counted("image change")), \(report.notes.grouped) reported, \(time) s")
  }
}
