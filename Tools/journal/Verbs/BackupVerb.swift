import CatalogModel
import Foundation
import JSON
import JournalMaintenance

enum BackupVerb: Verb {
  static let text = """
    backup: updates a backup, or creates it

    Copies entries and the images that they name to DEST. DEST is a separate journal, and every verb works on it. The
    next run copies only what is new. Everything that is written is read back and compared. The file RECEIPT has the
    newest entry that was backed up, and verify compares the backup with it. If the backup has another history, because
    it was written to or the journal was restored from an older backup, nothing is changed, and the exit code is 1.

    If DEST is on the same file system, images are hard links to the journal's files. --copy-images copies them instead,
    so that damage to one does not affect the other.

    Of earlier runs, only the presence and size of images are checked; an image that the backup has lost is copied
    again. verify reads the whole backup.

    With --file, DEST is one file, or - for standard output. init --from-backup creates a journal from it. A file of
    that name is replaced only if it is an older backup of the same journal. It is replaced as a whole: if the journal
    was pruned since, the new file lacks the earlier history.

    Arguments: JOURNAL
    DEST: the folder of the backup; with --file a file, or - for standard output
    [--file]: write one file instead of a folder
    [--copy-images]: copy images even if they could be shared
    [--json]

    $ journal backup Books.journal /media/stick/Books.backup  # copies what is new since the last run
    $ journal verify /media/stick/Books.backup  # proves that the backup is intact
    $ journal backup Books.journal --file - | ssh host 'cat > Books.jbak'  # writes a backup through a pipe
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let destination = arguments.operand("DEST")
    guard destination != "-" || arguments.has("--file") else {
      throw arguments.misuse("- is standard output, which needs --file")
    }
    let journal = try arguments.openJournal(terminal)
    if destination == "-" { return try write(journal, terminal) }
    let report =
      arguments.has("--file")
      ? try journal.backup(toFile: arguments.url("DEST"), progress: terminal.showCopying)
      : try journal.backup(
        to: arguments.url("DEST"), sharesImages: !arguments.has("--copy-images"),
        progress: terminal.showCopying)
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
    try terminal.answer([
      "journal": report.receipt.journal.description, "revision": report.receipt.revision,
      "digest": report.receipt.digest.hex, "date": report.receipt.date.precise, "entries": report.entryCount,
      "entryByteCount": report.entryByteCount, "copiedImages": report.copiedImageCount,
      "copiedImageByteCount": report.copiedImageByteCount, "sharedImages": report.sharedImageCount,
      "restoredImages": ifAny(report.restoredImageCount > 0 ? report.restoredImageCount : nil),
      "rebuilt": ifAny(report.isRebuilt ? true : nil), "keepsPruned": ifAny(report.keepsPruned),
    ]) {
      let images = report.copiedImageCount + report.sharedImageCount
      try terminal.line(
        "\(destination.printable) has revision \(report.receipt.revision): "
          + "\(report.entryCount.counted("new entry", "new entries")), \(images.counted("new image"))"
          + (report.sharedImageCount > 0 ? ", \(report.sharedImageCount) of them shared" : ""))
      try terminal.line("digest \(report.receipt.digest.hex)")
    }
  }

  private static func write(_ journal: CatalogJournal, _ terminal: Terminal) throws {
    guard !terminal.isJSON else {
      throw Failure.wrongUse(
        "the backup goes to standard output, so --json can't print there; name a file instead of -"
      )
    }
    terminal.output.isEssential = true
    do {
      try journal.backup(progress: terminal.showCopying) { try terminal.output.write($0) }
      try terminal.output.flush()
    } catch is OutputClosed {
      throw Failure.unreadable("the backup is incomplete: its reader has closed standard output")
    }
  }
}
