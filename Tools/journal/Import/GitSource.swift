import CatalogModel
import Foundation
import JSON

enum GitSource {
  static let source = ImportSource(
    name: "git",
    options: ["--branch", "--after", "--dates", "--records", "--key", "--category", "--images"], run: run)

  @Sendable private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let form = try recordsForm(arguments)
    let path = arguments.operand("PATH")
    let repository = try GitRepository(path)
    let tip = try repository.tip(of: arguments.value("--branch") ?? "HEAD")
    let given = try arguments.value("--after").map { try repository.tip(of: $0) }
    let dates = arguments.value("--dates") ?? GitImport.Dates.commit.rawValue
    guard let dates = GitImport.Dates(rawValue: dates) else {
      throw Failure.wrongUse("--dates is commit or author, not \"\(dates.printable)\"")
    }
    if let form, try repository.commits(changing: form.file, upTo: tip, limit: 1).isEmpty {
      throw Failure.wrongUse("no commit of \(path.printable) has a file \(form.file.printable)")
    }
    let clock = ContinuousClock()
    let start = clock.now
    let url = arguments.url("JOURNAL")
    // Checked before the journal is created, so that refusing a shallow clone leaves no journal behind.
    if !FileManager.default.fileExists(atPath: url.path) { try repository.checkIsWhole() }
    let journal = try CatalogJournal.openOrCreate(
      at: url, options: arguments.journalOptions(layers: .automatic))
    let report = ImportReport(terminal)
    let git = GitImport(
      repository: repository, tip: tip, source: form?.source ?? FilesImporter.source, journal: journal,
      dates: dates, report: report, terminal: terminal)
    try Import.storing(in: journal) {
      // A node must not import again what other nodes have imported.
      try journal.catchUp()
      try git.run(given: given) { commit in
        if let form { return try RecordsImporter(form, repository, journal, after: commit, report) }
        return try FilesImporter(repository, journal, report)
      }
    }
    if report.entries > 0 { terminal.output.noteDone(entry: journal.head.revision) }
    if let replacements = try repository.replacements() {
      terminal.warn(
        "\(replacements): the commits are imported as they are stored. To import what git log shows, write that to a "
          + "new repository, and import it: "
          + (try copying(repository, path, arguments.value("--branch") ?? "HEAD", tip)))
    }
    let seconds = (clock.now - start) / .seconds(1)
    try terminal.answer([
      "commits": report.commits, "entries": report.entries, "events": report.events, "images": report.images,
      "reported": report.notes, "seconds": Import.rounded(seconds),
    ]) {
      try terminal.line(
        "imported \(report.commits.counted("commit")) of \(path.printable): "
          + "\(report.entries.counted("entry", "entries")), \(report.events.counted("event")), "
          + "\(report.images.counted("image change")), \(report.notes.grouped) reported, "
          + String(format: "%.2f s", seconds))
    }
    try journal.close()
    return report.entries == 0 && report.losses > 0 ? .no : .done
  }

  /// A command that writes a branch to a new repository, with all replacements applied.
  private static func copying(
    _ repository: GitRepository, _ path: String, _ name: String, _ tip: String
  ) throws -> String {
    func quoted(_ word: String) -> String { "'\(word.printable.replacing("'", with: "'\\''"))'" }
    let git = "git -C \(quoted(path))"
    let branch = try repository.branch(name)
    return (branch == nil ? "\(git) branch NAME \(tip) && " : "")
      + "git init -b \(branch.map(quoted) ?? "NAME") NEW && "
      + "\(git) fast-export --reencode=yes \(branch.map(quoted) ?? "NAME") | git -C NEW fast-import"
  }

  private static func recordsForm(_ arguments: Arguments) throws(Failure) -> RecordsImporter.Form? {
    guard var file = arguments.value("--records") else {
      for option in ["--key", "--category", "--images"] where arguments.has(option) {
        throw arguments.misuse("\(option) needs --records FILE")
      }
      return nil
    }
    while file.hasPrefix("./") { file.removeFirst(2) }
    guard !file.isEmpty else {
      throw Failure.wrongUse("--records needs the path of a file in the repository")
    }
    guard let key = arguments.value("--key") else {
      throw Failure.wrongUse("--records needs --key FIELD, to tell one object from another")
    }
    var template: ImageTemplate?
    if let source = arguments.value("--images") { template = try ImageTemplate(source) }
    return RecordsImporter.Form(
      file: file, key: key, category: arguments.value("--category"), images: template)
  }
}
