import CatalogModel
import Foundation
import JSON
import JournalMaintenance

enum SalvageVerb: Verb {
  static let text = """
    salvage: creates a journal from everything that can be proven of a damaged one

    Creates the journal DIR from everything that can be read of a damaged journal, file by file. DIR gets the intact
    images, and the entries from the first one up to the first that is missing or altered. Each entry is proven by its
    digest in the next one. Several copies of one journal that are damaged in different places complement each other.
    Content that was erased stays erased if a copy still has the entry of the erasure. The damaged journals are not
    changed. It prints what is missing in DIR, and the problems of the files of each copy. Exits with 1 if something is
    missing, or if that is not known because HEAD can't be read.

    Arguments:
    JOURNAL…: the damaged journal, and copies of it
    --to DIR: the journal to create
    [--json]

    $ journal salvage Books.journal --to Saved.journal  # everything that can be proven
    $ journal salvage Books.journal /media/stick/Books.backup --to Saved.journal  # what either of two damaged
      copies has
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let target = arguments.value("--to") ?? ""
    let report = try CatalogJournal.salvage(
      arguments.values("JOURNAL").map { URL(fileURLWithPath: $0) }, to: URL(fileURLWithPath: target),
      options: arguments.journalOptions(), progress: terminal.showCopying)
    try terminal.answer([
      "whole": report.isWhole, "revision": report.head.revision, "digest": report.head.digest.hex,
      "acknowledgedRevision": report.acknowledgedRevision, "end": report.end.map { "\($0)" },
      "base": ifAny(report.base?.revision), "baseProven": ifAny(report.base.map { _ in report.isBaseProven }),
      "missingImages": report.missingImages.map(\.digest.hex),
      "problems": (report.divergences + report.problems).map {
        problemJSON($0.message, $0.revision, $0.path)
      },
    ]) {
      try terminal.line("\(target.printable) has \(countText(report))")
      if let base = report.base, !report.isBaseProven {
        try terminal.line(
          "not proven: history was pruned and begins with the state of revision \(base.revision), but the entry with "
            + "the digest of that state is missing")
      }
      if !report.isEndKnown {
        try terminal.line(
          "not proven: later entries may be missing, because HEAD can't be read and nothing else shows which one was "
            + "the newest")
      }
      if let end = report.end { try terminal.line("missing: \(end)".printable) }
      for divergence in report.divergences { try terminal.line("missing: \(divergence)".printable) }
      for image in report.missingImages {
        try terminal.line("missing: an image of \(image.byteCount.counted("byte")), \(image.digest.hex)")
      }
      for problem in report.problems { try terminal.line("problem: \(problem)".printable) }
      try terminal.line("digest \(report.head.digest.hex)")
    }
    if !report.isWhole { terminal.code = .no }
  }

  /// `44 entries of 89 that were acknowledged`, not counting entries before the base of a pruned history.
  private static func countText(_ report: SalvageReport) -> String {
    let start = report.base?.revision ?? 0
    let found = report.head.revision - start
    guard let acknowledged = report.acknowledgedRevision.map({ max($0 - start, 0) }) else {
      return found.counted("entry", "entries")
    }
    // A HEAD may be older than the log: after a crash, or if another copy has the later entries.
    return acknowledged < found
      ? "\(found.counted("entry", "entries")), \(acknowledged) or more of them acknowledged"
      : "\(found.counted("entry", "entries")) of \(acknowledged) that were acknowledged"
  }
}
