import CatalogModel
import Foundation
import JSON
import JournalMaintenance
import PostgresLog

enum Stat: Verb {
  static let text = """
    stat: shows the size of a journal

    Shows how much a journal contains, its first and newest date, and its size on disk; prune --dry-run shows what a
    pruning frees. If the first entry is damaged, it says that its date can't be read; in JSON it is null. For a shared
    journal it also asks the server, and shows the address of the log, how far behind this node is, how the server flushes
    commits, and whether commits wait for a standby.

    Arguments: JOURNAL, [--json]

    $ journal stat Books.journal  # counts, dates and bytes
    """

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    let journal = try arguments.openJournal(terminal)
    let statistics = try journal.statistics()
    let sharing = try journal.sharing()
    let version = journal.version
    let first = try journal.firstRevision(through: version)
    let firstDate = try first.flatMap { try journal.readableEntry(at: $0) }?.date
    let snapshots = try journal.snapshots()
    let snapshotByteCount = snapshots.reduce(0) { $0 + $1.byteCount }
    try terminal.answer([
      .members: try journal.counts(of: version, firstDate: firstDate),
      "logByteCount": statistics.logByteCount,
      "blobCount": statistics.blobCount, "blobByteCount": statistics.blobByteCount,
      "snapshotCount": snapshots.count, "snapshotByteCount": snapshotByteCount,
      "newestSnapshot": snapshots.last?.revision, "layerCount": statistics.layerCount,
      "layerByteCount": statistics.layerByteCount, "newestCheckpoint": statistics.newestCheckpoint,
      "writeAmplification": FieldValue.double(statistics.writeAmplification),
      "replayedEventCount": statistics.replayedEventCount, "shared": ifAny(sharing?.json),
    ]) {
      func text(of date: Date) -> String { terminal.text(of: date, withZone: true) }
      func bytes(_ count: Int, in files: Int) -> String {
        "\(count.counted("byte")) in \(files.counted("file"))"
      }
      let catalog = version.state
      var lines = [("journal", journal.id.description), ("revision", version.revision.grouped)]
      if let sharing {
        lines += sharing.lines
        if let warning = sharing.warning { lines.append(("warning", warning.printable)) }
        if let problem = sharing.problem { lines.append(("problem", "\(problem)".printable)) }
      }
      if let base = journal.base {
        lines.append(("pruned", "up to revision \(base.revision.grouped), of \(text(of: base.date))"))
      }
      lines += [
        ("first entry", first == nil ? "none" : firstDate.map(text) ?? "(its date can't be read)"),
        ("newest entry", first == nil ? "none" : text(of: version.date)),
        ("digest", version.digest.hex),
        ("items", catalog.itemCount.grouped),
        ("categories", catalog.categoryCount.grouped),
        ("images", catalog.imageCount.grouped),
        ("log", statistics.logByteCount.counted("byte")),
        ("blobs", bytes(statistics.blobByteCount, in: statistics.blobCount)),
      ]
      let newest = snapshots.last.map { ", the newest of revision \($0.revision.grouped)" }
      lines.append(("snapshots", newest.map { bytes(snapshotByteCount, in: snapshots.count) + $0 } ?? "none"))
      let written = String(format: "written %.1f times", statistics.writeAmplification)
      let layers =
        bytes(statistics.layerByteCount, in: statistics.layerCount)
        + " up to revision \(statistics.newestCheckpoint.grouped), \(written)"
      lines.append(("layers", statistics.layerCount == 0 ? "none" : layers))
      lines.append(("replayed", "\(statistics.replayedEventCount.counted("event")) at opening"))
      try terminal.printList(lines, width: 12)
    }
  }
}

extension SharingStatus {
  var lines: [(name: String, text: String)] {
    var lines = [(name: "shared at", text: address.printable)]
    if let newestRevision {
      var text = "revision \(newestRevision.grouped)"
      if let missingCount {
        text += "; this node is "
        text += missingCount == 0 ? "up to date" : "\(missingCount.counted("entry", "entries")) behind"
      }
      lines.append(("shared log", text))
    }
    if let summary { lines.append(("flushed", summary.printable)) }
    return lines
  }

  var json: JSONObject {
    [
      "address": address, "revision": ifAny(newestRevision), "behind": ifAny(missingCount),
      "flushed": summary, "warning": warning, "problem": problem.map { "\($0)" },
    ]
  }
}
