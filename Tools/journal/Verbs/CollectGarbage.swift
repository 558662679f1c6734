import CatalogModel
import Foundation
import JSON

/// `journal gc JOURNAL`
enum CollectGarbage: Verb {
  static let name = "gc"
  static let summary = "removes images that no entry names"
  static let explanation = """
    Removes the bytes of images that were added but never committed, or that a crash left behind. Images that an entry of
    the history names stay, even if they were deleted. --dry-run only reports how much would be removed.
    """
  static let syntax = Syntax(
    operands: [Syntax.journal],
    options: [
      Syntax.Option(name: "--dry-run", help: "report what would be removed, and remove nothing"), Syntax.json,
    ])
  static let examples = [
    (command: "journal gc Books.journal --dry-run", does: "how much would be removed"),
    (command: "journal gc Books.journal", does: "removes it"),
  ]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let isDryRun = arguments.has("--dry-run")
    let report = try CatalogJournal.collectGarbage(
      at: URL(fileURLWithPath: arguments.operand("JOURNAL")), isDryRun: isDryRun,
      options: arguments.journalOptions(layers: .manual)
    ) { state in
      terminal.progress.show { "reading: \(state.done.grouped) of \(state.all.grouped) entries" }
    }
    terminal.progress.clear()
    if arguments.has("--json") {
      try terminal.printJSON { writer in
        writer.member("dryRun", isDryRun)
        writer.member("images", report.imageCount)
        writer.member("imageByteCount", report.byteCount)
      }
      return .done
    }
    try terminal.output.line(
      "\(isDryRun ? "would remove" : "removed") \(report.imageCount.counted("image")) of "
        + report.byteCount.counted("byte"))
    return .done
  }
}
