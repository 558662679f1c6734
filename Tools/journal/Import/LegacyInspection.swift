import CatalogModel
import JSON
import LegacyStores

/// Shows what an import would make of an older app's files.
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
