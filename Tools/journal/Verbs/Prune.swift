import CatalogModel
import Foundation
import JSON

/// `journal prune JOURNAL --before SELECTOR`
enum Prune: Verb {
  static let name = "prune"
  static let summary = "removes the history up to a point in time"
  static let explanation = """
    Removes the entries before a date, or up to and including a revision, and the bytes of images that nothing else
    names: --before 2 removes the entries 1 and 2. History then begins with the state after them, here that of revision 2;
    every later entry and state stays. Digests and receipts of later revisions still hold, and a new entry records what was pruned,
    when, by whom and why. This can't be undone: no file of the folder has the removed bytes afterwards. A backup in a
    folder keeps the history that it has. A backup in one file does not: the next backup --file of that name replaces it
    as a whole, and begins where the journal does. --dry-run only reports what would be removed.
    """
  static let syntax = Syntax(
    operands: [Syntax.journal],
    options: [
      Syntax.Option(
        name: "--before", value: "SELECTOR",
        help: "where history is to begin, such as 2025-01-01 or HEAD~1000",
        isRequired: true),
      Syntax.Option(name: "--reason", value: "TEXT", help: "why; the note of the new entry"),
      Syntax.author,
      Syntax.Option(name: "--dry-run", help: "report what would be removed, and change nothing"), Syntax.json,
    ])
  static let examples = [
    (
      command: "journal prune Books.journal --before 2025-01-01 --dry-run",
      does: "how much space that would free"
    ),
    (command: "journal prune Books.journal --before 2025-01-01", does: "history begins with the year 2025"),
  ]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    guard let point = arguments.value("--before") else {
      throw Failure(
        .wrongUse,
        "--before SELECTOR is missing: name the point where history is to begin; see journal help prune")
    }
    let isDryRun = arguments.has("--dry-run")
    let report = try CatalogJournal.prune(
      before: try arguments.selector(point), at: URL(fileURLWithPath: arguments.operand("JOURNAL")),
      reason: arguments.value("--reason") ?? "", by: arguments.author, isDryRun: isDryRun,
      options: arguments.journalOptions(layers: .manual)
    ) { terminal.showCopying($0) }
    terminal.progress.clear()
    if !isDryRun, report.entryCount > 0 { terminal.output.noteDone(entry: report.head.revision) }
    if arguments.has("--json") {
      var writer = JSONWriter()
      writer.beginObject()
      writer.member("dryRun", isDryRun)
      writer.member("base", report.base.revision)
      writer.member("baseDigest", report.base.digest.hex)
      writer.member("entries", report.entryCount)
      writer.member("entryByteCount", report.entryByteCount)
      writer.member("images", report.imageCount)
      writer.member("imageByteCount", report.imageByteCount)
      writer.member("revision", report.head.revision)
      writer.member("digest", report.head.digest.hex)
      writer.endObject()
      writer.newline()
      try terminal.output.write(writer.bytes)
      return .done
    }
    guard report.entryCount > 0 else {
      try terminal.output.line(
        "nothing to prune: there is no entry up to revision \(report.base.revision)")
      return .done
    }
    let last = report.base.revision
    let entries =
      report.entryCount == 1 ? "entry \(last)" : "entries \(last - report.entryCount + 1) to \(last)"
    try terminal.output.line(
      "\(isDryRun ? "would remove" : "removed") \(entries) of "
        + "\(report.entryByteCount.counted("byte")) and \(report.imageCount.counted("image")) of "
        + report.imageByteCount.counted("byte"))
    if !isDryRun {
      try terminal.output.line("history begins with the state of revision \(report.base.revision)")
      try terminal.output.line("entry \(report.head.revision) records this; digest \(report.head.digest.hex)")
    }
    return .done
  }
}

extension Terminal {
  /// Prints where history begins, for users who look for earlier entries.
  func print(base: Head?) throws {
    guard let base else { return }
    try output.line(
      styled(.faint, "history up to revision \(base.revision), of \(text(of: base.date)), was pruned"))
  }
}
