import CatalogModel
import Foundation
import JSON

/// `journal backup JOURNAL DEST`
enum BackupVerb: Verb {
  static let name = "backup"
  static let summary = "updates a backup, or creates it"
  static let explanation = """
    Copies entries and the images that they name to DEST. DEST is a separate journal, and every verb works on it. The
    next run copies only what is new. Everything that is written is read back and compared. The file RECEIPT has the
    newest entry that was backed up, and verify compares the backup with it. If the backup has another history, because
    it was written to or the journal was restored from an older backup, nothing is changed, and the exit code is 1.

    If DEST is on the same file system, images are hard links to the journal's files. --copy-images copies them instead,
    so that damage to one does not affect the other.

    Of earlier runs, only the presence and size of images are checked; an image that the backup has lost is copied
    again. verify reads the whole backup.

    With --file, DEST is one file, or - for standard output. restore-backup creates a journal from it. A file of that
    name is replaced only if it is an older backup of the same journal. It is replaced as a whole: if the journal was
    pruned since, the new file lacks the earlier history.
    """
  static let syntax = Syntax(
    operands: [
      Syntax.journal,
      Syntax.Operand(
        name: "DEST", help: "the folder of the backup; with --file a file, or - for standard output",
        isPath: true),
    ],
    options: [
      Syntax.Option(name: "--file", help: "write one file instead of a folder"),
      Syntax.Option(name: "--copy-images", help: "copy images even if they could be shared"),
      Syntax.json,
    ])
  static let examples = [
    (
      command: "journal backup Books.journal /media/stick/Books.backup",
      does: "copies what is new since the last run"
    ),
    (command: "journal verify /media/stick/Books.backup", does: "proves that the backup is intact"),
    (
      command: "journal backup Books.journal --file - | ssh host 'cat > Books.jbak'",
      does: "writes a backup through a pipe"
    ),
  ]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let destination = arguments.operand("DEST")
    guard destination != "-" || arguments.has("--file") else {
      throw Failure(.wrongUse, "- is standard output, which needs --file; see journal help backup")
    }
    let journal = try arguments.openJournal(terminal)
    let url = URL(fileURLWithPath: destination)
    func show(_ progress: CopyProgress) { terminal.showCopying(progress) }
    let report: BackupReport
    let isStream = arguments.has("--file") && destination == "-"
    if isStream {
      guard !arguments.has("--json") else {
        throw Failure(
          .wrongUse,
          "the backup goes to standard output, so --json can't print there; name a file instead of -")
      }
      terminal.output.isEssential = true
      do {
        report = try journal.backup(progress: show) { try terminal.output.write($0) }
        try terminal.output.flush()
      } catch is OutputClosed {
        throw Failure(.unreadable, "the backup is incomplete: its reader has closed standard output")
      }
    } else if arguments.has("--file") {
      report = try journal.backup(toFile: url, progress: show)
    } else {
      report = try journal.backup(to: url, sharesImages: !arguments.has("--copy-images"), progress: show)
    }
    terminal.progress.clear()
    if isStream { return .done }
    if report.isRebuilt {
      terminal.warn("the journal had an erasure, so the backup was rewritten without the erased content")
    }
    if report.restoredImageCount > 0 {
      terminal.warn(
        "the backup had lost \(report.restoredImageCount.counted("image")), which the journal still has and which it has "
          + "again now; check its drive, and run verify on the backup")
    }
    if let base = report.keepsPruned {
      terminal.warn(
        "history up to revision \(base) was pruned in the journal, and the backup keeps it; a new backup under "
          + "another name will not have it")
    }
    if arguments.has("--json") {
      try printJSON(report, terminal)
    } else {
      let images = report.copiedImageCount + report.sharedImageCount
      try terminal.output.line(
        "\(destination.printable) has revision \(report.receipt.revision): "
          + "\(report.entryCount.counted("new entry", "new entries")), \(images.counted("new image"))"
          + (report.sharedImageCount > 0 ? ", \(report.sharedImageCount) of them shared" : ""))
      try terminal.output.line("digest \(report.receipt.digest.hex)")
    }
    return .done
  }

  private static func printJSON(_ report: BackupReport, _ terminal: Terminal) throws {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("journal", report.receipt.journal.description)
    writer.member("revision", report.receipt.revision)
    writer.member("digest", report.receipt.digest.hex)
    writer.member("date", report.receipt.date.precise)
    writer.member("entries", report.entryCount)
    writer.member("entryByteCount", report.entryByteCount)
    writer.member("copiedImages", report.copiedImageCount)
    writer.member("copiedImageByteCount", report.copiedImageByteCount)
    writer.member("sharedImages", report.sharedImageCount)
    if report.restoredImageCount > 0 { writer.member("restoredImages", report.restoredImageCount) }
    if report.isRebuilt { writer.member("rebuilt", true) }
    if let base = report.keepsPruned { writer.member("keepsPruned", base) }
    writer.endObject()
    writer.newline()
    try terminal.output.write(writer.bytes)
  }
}
