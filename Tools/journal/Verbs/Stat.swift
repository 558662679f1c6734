import CatalogModel
import Foundation
import JSON

/// `journal stat JOURNAL`
enum Stat: Verb {
  static let name = "stat"
  static let summary = "shows the size of a journal"
  static let explanation = """
    Shows how much a journal contains, its first and newest date, and its size on disk. For each year it shows the number
    of entries and about how many bytes of the log they take. Pruning frees these bytes, and those of images;
    prune --dry-run shows the exact number. If an entry that it needs is damaged, it says which dates can't be read; in
    JSON they are null. For a shared journal it also asks the server, and shows the address of the log, how far behind this
    node is, how the server flushes commits, and whether commits wait for a standby.
    """
  static let syntax = Syntax(operands: [Syntax.journal], options: [Syntax.json])
  static let examples = [(command: "journal stat Books.journal", does: "counts, dates and bytes")]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let journal = try arguments.openJournal(terminal)
    let statistics = try journal.statistics()
    let sharing = try journal.sharing()
    let version = journal.version
    let years = try journal.readable { try journal.historyByYear() }
    let catalog = version.state
    let snapshots = try journal.snapshots()
    let snapshotByteCount = snapshots.reduce(0) { $0 + $1.byteCount }
    if arguments.has("--json") {
      var writer = JSONWriter()
      writer.beginObject()
      try journal.writeCounts(of: version, to: &writer)
      writer.member("logByteCount", statistics.logByteCount)
      writer.member("blobCount", statistics.blobCount)
      writer.member("blobByteCount", statistics.blobByteCount)
      writer.member("snapshotCount", snapshots.count)
      writer.member("snapshotByteCount", snapshotByteCount)
      writer.key("newestSnapshot")
      if let newest = snapshots.last { writer.integer(newest.revision) } else { writer.null() }
      writer.member("layerCount", statistics.layerCount)
      writer.member("layerByteCount", statistics.layerByteCount)
      writer.member("newestCheckpoint", statistics.newestCheckpoint)
      writer.member("writeAmplification", .double(statistics.writeAmplification))
      writer.member("replayedEventCount", statistics.replayedEventCount)
      sharing?.write(to: &writer)
      writer.key("years")
      if let years {
        writer.beginArray()
        for year in years {
          writer.beginObject()
          writer.member("year", year.year)
          writer.member("entries", year.entryCount)
          writer.member("byteCount", year.byteCount)
          writer.endObject()
        }
        writer.endArray()
      } else {
        writer.null()
      }
      writer.endObject()
      writer.newline()
      try terminal.output.write(writer.bytes)
      return .done
    }
    let first = try journal.firstRevision(through: version)
    let firstDate = try first.flatMap { try journal.readableEntry(at: $0) }?.date
    var lines: [(name: String, text: String)] = [
      ("journal", journal.id.description),
      ("revision", version.revision.grouped),
      (
        "first entry",
        first == nil
          ? "none" : firstDate.map { terminal.text(of: $0, withZone: true) } ?? "(its date can't be read)"
      ),
      ("newest entry", first == nil ? "none" : terminal.text(of: version.date, withZone: true)),
      ("digest", version.digest.hex),
      ("items", catalog.itemCount.grouped),
      ("categories", catalog.categoryCount.grouped),
      ("images", catalog.imageCount.grouped),
      ("log", statistics.logByteCount.counted("byte")),
      ("blobs", "\(statistics.blobByteCount.counted("byte")) in \(statistics.blobCount.counted("file"))"),
      (
        "snapshots",
        snapshots.last.map { newest in
          "\(snapshotByteCount.counted("byte")) in \(snapshots.count.counted("file")), the newest of revision "
            + newest.revision.grouped
        } ?? "none"
      ),
      (
        "layers",
        statistics.layerCount == 0
          ? "none"
          : "\(statistics.layerByteCount.counted("byte")) in \(statistics.layerCount.counted("file")) up to revision "
            + "\(statistics.newestCheckpoint.grouped), written "
            + String(format: "%.1f times", statistics.writeAmplification)
      ),
      ("replayed", "\(statistics.replayedEventCount.counted("event")) at opening"),
    ]
    if let base = journal.base {
      lines.insert(
        (
          "pruned",
          "up to revision \(base.revision.grouped), of \(terminal.text(of: base.date, withZone: true))"
        ), at: 2)
    }
    if let sharing {
      var shared = sharing.lines
      if let warning = sharing.warning { shared.append(("warning", warning.printable)) }
      if let problem = sharing.problem { shared.append(("problem", "\(problem)".printable)) }
      lines.insert(contentsOf: shared, at: 2)
    }
    if years == nil { lines.append(("years", "(the dates of entries can't be read)")) }
    for year in years ?? [] {
      lines.append(
        (
          "in \(year.year)",
          "\(year.entryCount.counted("entry", "entries")), about \(year.byteCount.counted("byte")) of the log"
        ))
    }
    try terminal.printList(lines)
    return .done
  }
}
