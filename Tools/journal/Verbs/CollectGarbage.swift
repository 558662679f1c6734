import CatalogModel
import Foundation
import JSON
import JournalMaintenance

enum CollectGarbage: Verb {
  static let text = """
    gc: removes images that no entry names

    Removes the bytes of images that were added but never committed, or that a crash left behind. Images that an entry of
    the history names stay, even if they were deleted. --dry-run only reports how much would be removed.

    Arguments: JOURNAL
    [--dry-run]: report what would be removed, and remove nothing
    [--json]

    $ journal gc Books.journal --dry-run  # how much would be removed
    $ journal gc Books.journal  # removes it
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let isDryRun = arguments.has("--dry-run")
    let report = try CatalogJournal.collectGarbage(
      at: arguments.url("JOURNAL"), isDryRun: isDryRun, options: arguments.journalOptions()
    ) { terminal.showProgress("reading", $0.done, of: $0.all) }
    try terminal.answer([
      "dryRun": isDryRun, "images": report.imageCount, "imageByteCount": report.byteCount,
    ]) {
      try terminal.line(
        "\(isDryRun ? "would remove" : "removed") \(report.imageCount.counted("image")) of "
          + report.byteCount.counted("byte"))
    }
  }
}
