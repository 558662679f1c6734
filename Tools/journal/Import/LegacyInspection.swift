import CatalogModel
import JSON
import LegacyStores

/// Shows the contents of an older app's files and what an import would make of them.
enum LegacyInspection {
  static func print(_ store: LegacyStore, _ terminal: Terminal) throws {
    let summary = store.summary
    try terminal.answer { json in
      json.member("source", store.source.rawValue)
      json.array("files", summary.files)
      json.key("items")
      json.beginObject()
      for (kind, count) in summary.items { json.member(kind, count) }
      json.endObject()
      json.member("categories", summary.categories)
      json.member("images", summary.images)
      json.objects("classes", summary.classes) { json, found in
        json.member("name", found.name)
        json.member("count", found.count)
        json.member("kind", found.kind)
        json.objects("fields", found.fields) { json, field in
          json.member("key", field.key)
          json.member("count", field.count)
          json.member("holds", field.holds)
          json.member("attribute", field.attribute)
        }
      }
      json.problems(store.problems)
    } text: {
      try printTables(summary, terminal)
    }
  }

  private static func printTables(_ summary: LegacySummary, _ terminal: Terminal) throws {
    let items = summary.items.map { "\($0.count.grouped) of kind \"\($0.kind.printable)\"" }
    try terminal.line("files       \(summary.files.map(\.printable).joined(separator: ", "))")
    try terminal.line("items       \(items.isEmpty ? "none" : items.joined(separator: ", "))")
    try terminal.line("categories  \(summary.categories.grouped)")
    try terminal.line("images      \(summary.images.grouped)")
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
