import CatalogModel
import JSON
import LegacyStores

/// Shows the contents of an older app's files and what an import would make of them.
enum LegacyInspection {
  static func print(_ store: LegacyStore, asJSON: Bool, _ terminal: Terminal) throws {
    if asJSON { try printJSON(store, terminal) } else { try printTables(store.summary, terminal) }
  }

  private static func printTables(_ summary: LegacySummary, _ terminal: Terminal) throws {
    let items = summary.items.map { "\($0.count.grouped) of kind \"\($0.kind.printable)\"" }
    try terminal.output.line("files       \(summary.files.map(\.printable).joined(separator: ", "))")
    try terminal.output.line("items       \(items.isEmpty ? "none" : items.joined(separator: ", "))")
    try terminal.output.line("categories  \(summary.categories.grouped)")
    try terminal.output.line("images      \(summary.images.grouped)")
    for found in summary.classes {
      let kind = found.kind.map { $0 == "category" ? "categories" : "items of kind \"\($0.printable)\"" }
      try terminal.output.line()
      try terminal.output.line(
        "\(terminal.styled(.bold, found.name.printable)), \(found.count.counted("object")): "
          + (kind ?? "parts of others"))
      let rows = found.fields.map { field in
        [
          "  " + field.key.printable, field.count?.grouped ?? "", field.holds.printable,
          field.attribute?.printable ?? "",
        ]
      }
      guard !rows.isEmpty else { continue }
      try TextTable.print(
        [
          TextTable.Column(title: "  KEY"), TextTable.Column(title: "COUNT", alignment: .right),
          TextTable.Column(title: "HOLDS"), TextTable.Column(title: "BECOMES"),
        ], rows, terminal)
    }
  }

  private static func printJSON(_ store: LegacyStore, _ terminal: Terminal) throws {
    let summary = store.summary
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("source", store.source.rawValue)
    writer.key("files")
    writer.beginArray()
    for file in summary.files { writer.string(file) }
    writer.endArray()
    writer.key("items")
    writer.beginObject()
    for (kind, count) in summary.items { writer.member(kind, count) }
    writer.endObject()
    writer.member("categories", summary.categories)
    writer.member("images", summary.images)
    writer.key("classes")
    writer.beginArray()
    for found in summary.classes { write(found, to: &writer) }
    writer.endArray()
    LegacyImport.write(store.problems, to: &writer)
    writer.endObject()
    writer.newline()
    try terminal.output.write(writer.bytes)
  }

  private static func write(_ found: LegacySummary.Class, to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("name", found.name)
    writer.member("count", found.count)
    writer.member("kind", found.kind)
    writer.key("fields")
    writer.beginArray()
    for field in found.fields {
      writer.beginObject()
      writer.member("key", field.key)
      writer.key("count")
      if let count = field.count { writer.integer(count) } else { writer.null() }
      writer.member("holds", field.holds)
      writer.member("attribute", field.attribute)
      writer.endObject()
    }
    writer.endArray()
    writer.endObject()
  }
}
