import CatalogModel
import Foundation
import JSON
import JournalMaintenance

enum Prune: Verb {
  static let text = """
    prune: removes the history up to a point in time

    Removes the entries before a date, or up to and including a revision, and the bytes of images that nothing else
    names: --before 2 removes the entries 1 and 2. History then begins with the state after them, here that of revision 2;
    every later entry and state stays. Digests and receipts of later revisions still hold, and a new entry records what was pruned,
    when, by whom and why. This can't be undone: no file of the folder has the removed bytes afterwards. A backup in a
    folder keeps the history that it has. A backup in one file does not: the next backup --file of that name replaces it
    as a whole, and begins where the journal does. --dry-run only reports what would be removed.

    Arguments: JOURNAL
    --before SELECTOR: where history is to begin, such as 2025-01-01 or HEAD~1000
    [--reason TEXT]: why; the note of the new entry
    [--by AUTHOR]
    [--dry-run]: report what would be removed, and change nothing
    [--json]

    $ journal prune Books.journal --before 2025-01-01 --dry-run  # how much space that would free
    $ journal prune Books.journal --before 2025-01-01  # history begins with the year 2025
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let isDryRun = arguments.has("--dry-run")
    let report = try CatalogJournal.prune(
      before: try arguments.selector(of: "--before", else: .start), at: arguments.url("JOURNAL"),
      reason: arguments.value("--reason") ?? "", by: arguments.author, isDryRun: isDryRun,
      options: arguments.journalOptions(), progress: terminal.showCopying)
    let (base, head, count) = (report.base, report.head, report.entryCount)
    if !isDryRun, count > 0 { terminal.output.noteDone(entry: head.revision) }
    try terminal.answer([
      "dryRun": isDryRun, "base": base.revision, "baseDigest": base.digest.hex, "entries": count,
      "entryByteCount": report.entryByteCount, "images": report.imageCount,
      "imageByteCount": report.imageByteCount, "revision": head.revision, "digest": head.digest.hex,
    ]) {
      guard count > 0 else {
        return try terminal.line("nothing to prune: there is no entry up to revision \(base.revision)")
      }
      let last = base.revision
      let entries = count == 1 ? "entry \(last)" : "entries \(last - count + 1) to \(last)"
      try terminal.line(
        "\(isDryRun ? "would remove" : "removed") \(entries) of \(report.entryByteCount.counted("byte")) and "
          + "\(report.imageCount.counted("image")) of \(report.imageByteCount.counted("byte"))")
      if isDryRun { return }
      try terminal.line("history begins with the state of revision \(last)")
      try terminal.line("entry \(head.revision) records this; digest \(head.digest.hex)")
    }
  }
}

extension Terminal {
  func print(base: Head?) throws {
    guard let base else { return }
    try line(styled(.faint, "history up to revision \(base.revision), of \(text(of: base.date)), was pruned"))
  }
}
