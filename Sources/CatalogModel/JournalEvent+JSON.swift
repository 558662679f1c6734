import CBOR
package import JSON

extension Catalog {
  /// Writes an event as `journal log --json` prints it:
  /// `{"operation":"update","entity":"item:42","previous":12,"changes":{…}}`.
  ///
  /// `changes` has a member for each part that the event sets; it is empty for a deletion. An item has `kind`,
  /// `category` (null if the item leaves its category), `attributes` (those that are set) and `removed` (the names of
  /// those that are removed). A category has `name` and `color` (null if it is removed), an image `item`, `name`,
  /// `mediaType`, `byteCount` and `sha256`, and a tag `name` and `revision`. An erased event has `"erased":true` and no
  /// changes.
  package static func write(_ event: JournalEvent, to writer: inout JSONWriter) {
    writer.beginObject()
    beginEvent(event, to: &writer)
    writer.beginObject()
    let parts = ChangedParts(event.change)
    switch event.entity.kind {
    case .item: parts.writeItem(to: &writer)
    case .category: parts.writeCategory(to: &writer)
    case .image: parts.writeImage(to: &writer)
    case .tag: parts.writeTag(to: &writer)
    default: break
    }
    writer.endObject()
    writer.endObject()
  }
}

extension Catalog {
  /// Writes an event as `journal log --patch --json` prints it: as ``write(_:to:)-(JournalEvent,_)``, but `changes` has
  /// the old and the new value of each part.
  package static func write(_ event: JournalEvent, changing parts: [PartChange], to writer: inout JSONWriter)
  {
    writer.beginObject()
    beginEvent(event, to: &writer)
    write(parts, of: event.entity.kind, to: &writer)
    writer.endObject()
  }

  /// Writes the members of an event before its changes, and the key of the changes.
  private static func beginEvent(_ event: JournalEvent, to writer: inout JSONWriter) {
    writer.member("operation", event.operation.name)
    writer.member("entity", name(of: event.entity))
    writer.member("previous", event.previous)
    if case .erased = event.change { writer.member("erased", true) }
    writer.key("changes")
  }
}

/// The parts that an event sets and removes.
private struct ChangedParts {
  private var fields: [UInt8: FieldValue] = [:]
  private var attributes: [String: FieldValue] = [:]
  private var removed: [String] = []

  init(_ change: JournalEvent.Change) {
    switch change {
    case .add(let record): record.visit { insert($0, $1) }
    case .update(let changes): changes.visit { insert($0, $1) }
    case .delete, .erased: break
    }
  }

  private mutating func insert(_ key: FieldKey, _ value: FieldValue?) {
    switch key {
    case .field(let number): fields[number] = value ?? .null
    case .attribute(let name):
      if let value { attributes[name] = value } else { removed.append(name) }
    }
  }

  func writeItem(to writer: inout JSONWriter) {
    write(ItemField.kind, "kind", to: &writer)
    write(ItemField.category, "category", to: &writer)
    if !attributes.isEmpty { writer.member("attributes", .dictionary(attributes)) }
    if removed.isEmpty { return }
    writer.key("removed")
    writer.beginArray()
    for name in removed { writer.string(name) }
    writer.endArray()
  }

  func writeCategory(to writer: inout JSONWriter) {
    write(CategoryField.name, "name", to: &writer)
    write(CategoryField.color, "color", to: &writer) { Catalog.Color($0)?.hex }
  }

  func writeTag(to writer: inout JSONWriter) {
    write(TagField.name, "name", to: &writer)
    write(TagField.revision, "revision", to: &writer)
  }

  func writeImage(to writer: inout JSONWriter) {
    write(ImageField.item, "item", to: &writer)
    write(ImageField.name, "name", to: &writer)
    write(ImageField.mediaType, "mediaType", to: &writer)
    write(ImageField.byteCount, "byteCount", to: &writer)
    write(ImageField.digest, "sha256", to: &writer) { value in
      guard case .data(let bytes) = value else { return nil }
      return ContentDigest(bytes: Array(bytes))?.hex
    }
  }

  private func write(_ field: UInt8, _ key: String, to writer: inout JSONWriter) {
    if let value = fields[field] { writer.member(key, value) }
  }

  private func write(
    _ field: UInt8, _ key: String, to writer: inout JSONWriter, as text: (FieldValue) -> String?
  ) {
    if let value = fields[field] { writer.member(key, text(value)) }
  }
}
