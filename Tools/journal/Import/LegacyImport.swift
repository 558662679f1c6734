import CatalogModel
import Foundation
import JSON
import LegacyStores

/// The common part of imports of older apps' files: read them, show or import them, and report the result.
enum LegacyImport {
  static let options = ["--store", "--by", "--inspect"]
  /// How many problems are printed; more are only counted.
  private static let lineLimit = 100

  static func run(
    _ arguments: Arguments, _ terminal: Terminal, read: (FieldMapping) throws -> LegacyStore
  ) throws -> ExitCode {
    let clock = ContinuousClock()
    let start = clock.now
    var mapping = FieldMapping()
    for text in arguments.values("--map") { try mapping.add(text) }
    mapping.kind = arguments.value("--kind")
    // Read first, so that no journal is created for unreadable files.
    var store = try read(mapping)
    store.name = arguments.value("--store") ?? ""
    if arguments.has("--inspect") {
      printProblems(store.problems, terminal)
      try LegacyInspection.print(store, asJSON: arguments.has("--json"), terminal)
      return store.problems.contains(where: \.isLoss) ? .no : .done
    }
    let journal = try CatalogJournal.openOrCreate(
      at: URL(fileURLWithPath: arguments.operand("JOURNAL")),
      options: arguments.journalOptions(layers: .automatic))
    let report = try Import.storing(in: journal) {
      try journal.importStore(store, by: arguments.author) { done, total in
        terminal.progress.show { "importing: \(done.grouped) of \(total.grouped) images" }
      }
    }
    if let last = report.revisions.last { terminal.output.noteDone(entry: last) }
    terminal.progress.clear()
    printProblems(report.problems, terminal)
    let seconds = (clock.now - start) / .seconds(1)
    if arguments.has("--json") {
      try printJSON(report, of: store, seconds, terminal)
    } else {
      try printSummary(report, of: store, seconds, terminal)
    }
    try journal.close()
    return report.isComplete ? .done : .no
  }

  private static func printProblems(_ problems: [LegacyProblem], _ terminal: Terminal) {
    for problem in problems.prefix(lineLimit) {
      terminal.warn("\(problem.isLoss ? "not read" : "note"): \(problem.description.printable)")
    }
    if problems.count > lineLimit {
      terminal.warn("and \((problems.count - lineLimit).grouped) more; --json lists them all")
    }
  }

  private static func printSummary(
    _ report: LegacyImportReport, of store: LegacyStore, _ seconds: Double, _ terminal: Terminal
  ) throws {
    let losses = report.problems.count { $0.isLoss }
    let made =
      switch report.revisions.count {
      case 0: "nothing has changed"
      case 1: "entry \(report.revisions[0].grouped)"
      default: report.revisions.count.counted("entry", "entries")
      }
    var parts: [String] = []
    for (count, word) in [
      (report.added, "added"), (report.updated, "changed"), (report.deleted, "deleted"),
      (report.unchanged, "as before"),
    ] where count > 0 {
      parts.append("\(count.grouped) \(word)")
    }
    if parts.isEmpty { parts.append("no items") }
    if report.categories > 0 { parts.append(report.categories.counted("category change")) }
    if report.images > 0 { parts.append(report.images.counted("image change")) }
    let time = String(format: "%.2f", seconds)
    try terminal.output.line(
      "imported \(store.source.rawValue): \(made); items: \(parts.joined(separator: ", ")); "
        + "\(losses.grouped) not read, \(time) s")
  }

  private static func printJSON(
    _ report: LegacyImportReport, of store: LegacyStore, _ seconds: Double, _ terminal: Terminal
  ) throws {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("source", store.source.rawValue)
    writer.key("entries")
    writer.beginArray()
    for revision in report.revisions { writer.integer(revision) }
    writer.endArray()
    writer.member("added", report.added)
    writer.member("updated", report.updated)
    writer.member("deleted", report.deleted)
    writer.member("unchanged", report.unchanged)
    writer.member("categories", report.categories)
    writer.member("images", report.images)
    write(report.problems, to: &writer)
    writer.member("seconds", .double((seconds * 1000).rounded() / 1000))
    writer.endObject()
    writer.newline()
    try terminal.output.write(writer.bytes)
  }

  /// Writes the member `problems`: what was not read, and other remarks.
  static func write(_ problems: [LegacyProblem], to writer: inout JSONWriter) {
    writer.key("problems")
    writer.beginArray()
    for problem in problems {
      writer.beginObject()
      writer.member("place", problem.place)
      writer.member("reason", problem.reason)
      writer.member("lost", .bool(problem.isLoss))
      writer.endObject()
    }
    writer.endArray()
  }
}
