import CatalogModel
import Foundation
import JSON
import LegacyStores

enum LegacyImport {
  static let sources = [
    source("archive", ["--map", "--kind"], takesSeveral: true) { files, mapping, _ in
      try LegacyStore.archives(files, mapping: mapping)
    },
    source("defaults", ["--map", "--kind", "--key"]) { files, mapping, arguments in
      try LegacyStore.defaults(files[0], key: arguments.value("--key"), mapping: mapping)
    },
    source("plist", ["--map", "--kind"], takesSeveral: true) { files, mapping, _ in
      try LegacyStore.propertyLists(files, mapping: mapping)
    },
    source("scarybugs", []) { files, _, _ in try LegacyStore.scaryBugs(in: files[0]) },
  ]

  private static func source(
    _ name: String, _ options: [String], takesSeveral: Bool = false,
    read: @escaping @Sendable ([URL], FieldMapping, Arguments) throws -> LegacyStore
  ) -> ImportSource {
    ImportSource(
      name: name, options: options + ["--store", "--by", "--inspect"], takesSeveral: takesSeveral
    ) { arguments, terminal in
      let clock = ContinuousClock()
      let start = clock.now
      var mapping = FieldMapping()
      for text in arguments.values("--map") { try mapping.add(text) }
      mapping.kind = arguments.value("--kind")
      // Reading comes first, so that no journal is created for unreadable files.
      let files = arguments.values("PATH").map { URL(fileURLWithPath: $0) }
      var store = try read(files, mapping, arguments)
      store.name = arguments.value("--store") ?? ""
      if arguments.has("--inspect") {
        printProblems(store.problems, terminal)
        try LegacyInspection.print(store, terminal)
        return store.problems.contains(where: \.isLoss) ? .no : .done
      }
      return try run(store, arguments, terminal) { (clock.now - start) / .seconds(1) }
    }
  }

  private static func run(
    _ store: LegacyStore, _ arguments: Arguments, _ terminal: Terminal, seconds: () -> Double
  ) throws -> ExitCode {
    let journal = try CatalogJournal.openOrCreate(
      at: arguments.url("JOURNAL"), options: arguments.journalOptions(layers: .automatic))
    let report = try Import.storing(in: journal) {
      try journal.importStore(store, by: arguments.author) {
        terminal.showProgress("importing", $0, of: $1, "images")
      }
    }
    if let last = report.revisions.last { terminal.output.noteDone(entry: last) }
    terminal.progress.clear()
    printProblems(report.problems, terminal)
    let seconds = seconds()
    try terminal.answer([
      "source": store.source.rawValue, "entries": report.revisions, "added": report.added,
      "updated": report.updated, "deleted": report.deleted, "unchanged": report.unchanged,
      "categories": report.categories, "images": report.images, "problems": report.problems.map(\.json),
      "seconds": Import.rounded(seconds),
    ]) {
      try printSummary(report, of: store, seconds, terminal)
    }
    try journal.close()
    return report.isComplete ? .done : .no
  }

  private static func printProblems(_ problems: [LegacyProblem], _ terminal: Terminal) {
    for problem in problems.prefix(ImportReport.lineLimit) {
      terminal.warn("\(problem.isLoss ? "not read" : "note"): \(problem.description.printable)")
    }
    let rest = problems.count - ImportReport.lineLimit
    if rest > 0 { terminal.warn("and \(rest.grouped) more; --json lists them all") }
  }

  private static func printSummary(
    _ report: LegacyImportReport, of store: LegacyStore, _ seconds: Double, _ terminal: Terminal
  ) throws {
    let losses = report.problems.reduce(0) { $0 + ($1.isLoss ? max($1.parts.count, 1) : 0) }
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
    try terminal.line(
      "imported \(store.source.rawValue): \(made); items: \(parts.joined(separator: ", ")); "
        + "\(losses.grouped) not read, \(time) s")
  }
}

extension LegacyProblem {
  var json: JSONObject { ["place": place, "reason": reason, "lost": isLoss, "parts": parts] }
}

enum LegacyInspection {
  static func print(_ store: LegacyStore, _ terminal: Terminal) throws {
    let summary = store.summary
    let classes = summary.classes.map { found -> JSONObject in
      let fields = found.fields.map { field -> JSONObject in
        ["key": field.key, "count": field.count, "holds": field.holds, "attribute": field.attribute]
      }
      return ["name": found.name, "count": found.count, "kind": found.kind, "fields": fields]
    }
    try terminal.answer([
      "source": store.source.rawValue, "files": summary.files,
      "items": JSONObject(summary.items.map { ($0.kind, $0.count) }), "categories": summary.categories,
      "images": summary.images, "classes": classes, "problems": store.problems.map(\.json),
    ]) {
      try printTables(summary, terminal)
    }
  }

  private static func printTables(_ summary: LegacySummary, _ terminal: Terminal) throws {
    let items = summary.items.map { "\($0.count.grouped) of kind \"\($0.kind.printable)\"" }
    try terminal.printList([
      ("files", summary.files.map(\.printable).joined(separator: ", ")),
      ("items", items.isEmpty ? "none" : items.joined(separator: ", ")),
      ("categories", summary.categories.grouped), ("images", summary.images.grouped),
    ])
    for found in summary.classes {
      let kind = found.kind.map { $0 == "category" ? "categories" : "items of kind \"\($0.printable)\"" }
      try terminal.line()
      try terminal.line(
        "\(terminal.styled(.bold, found.name.printable)), \(found.count.counted("object")): "
          + (kind ?? "parts of others"))
      let rows = found.fields.map { field in
        [
          "  " + field.key.printable, field.count?.grouped ?? "", field.holds.printable,
          field.attribute?.printable ?? "",
        ]
      }
      try TextTable.print(
        [.text("  KEY"), .number("COUNT"), .text("HOLDS"), .text("BECOMES")], rows, isCut: false, terminal)
    }
  }
}
