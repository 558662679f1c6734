package import CatalogModel

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
    write(event, to: &writer) { writer in
      var fields: [UInt8: FieldValue] = [:]
      var attributes: [String: FieldValue] = [:]
      var removed: [String] = []
      func insert(_ key: FieldKey, _ value: FieldValue?) {
        switch key {
        case .field(let number): fields[number] = value ?? .null
        case .attribute(let name):
          if let value { attributes[name] = value } else { removed.append(name) }
        }
      }
      switch event.change {
      case .add(let record): record.visit { insert($0, $1) }
      case .update(let changes): changes.visit { insert($0, $1) }
      case .delete, .erased: break
      }
      let kind = event.entity.kind
      let names = fieldNames(of: kind)
      for number in order(ofFields: names.indices, of: kind) {
        let key = FieldKey.field(UInt8(number))
        if let value = fields[UInt8(number)] { writer.member(names[number], shown(value, key, of: kind)) }
      }
      guard kind == .item else { return }
      if !attributes.isEmpty { writer.member("attributes", .dictionary(attributes)) }
      if !removed.isEmpty { writer.array("removed", of: removed) { $0.string($1) } }
    }
  }

  /// The size of an image precedes its digest.
  private static func order(ofFields numbers: Range<Int>, of kind: EntityKind) -> [Int] {
    kind == .image ? numbers.dropLast(2) + numbers.suffix(2).reversed() : Array(numbers)
  }

  /// Writes an event as `journal log --patch --json` prints it: as ``write(_:to:)-(JournalEvent,_)``, but `changes` has
  /// the old and the new value of each part.
  package static func write(_ event: JournalEvent, changing parts: [PartChange], to writer: inout JSONWriter)
  {
    write(event, to: &writer) { writer in write(parts, of: event.entity.kind, to: &writer) }
  }

  /// Writes an event whose `changes` have the members that `body` writes.
  private static func write(
    _ event: JournalEvent, to writer: inout JSONWriter, changes body: (inout JSONWriter) -> Void
  ) {
    writer.object { writer in
      writer.member("operation", event.operation.name)
      writer.member("entity", name(of: event.entity))
      writer.member("previous", event.previous)
      if case .erased = event.change { writer.member("erased", true) }
      writer.object("changes", body)
    }
  }

  /// Writes the members `"title":{"old":"Dun","new":"Dune"},"@category":{"new":3}` into the open object: `old` or `new` is
  /// omitted if there is none. The byte count of an image is omitted, because the digest is enough.
  package static func write(_ parts: [PartChange], of kind: EntityKind, to writer: inout JSONWriter) {
    for part in parts where !part.key.isByteCount(of: kind) {
      writer.object(name(of: part.key, of: kind)) { writer in
        if let old = part.old { writer.member("old", shown(old, part.key, of: kind)) }
        if let new = part.new { writer.member("new", shown(new, part.key, of: kind)) }
      }
    }
  }

  /// Writes `{"entity":"item:42","operation":"update","changes":{…}}`.
  package static func write(_ difference: EntityDifference, to writer: inout JSONWriter) {
    writer.object { writer in
      writer.member("entity", name(of: difference.entity))
      writer.member("operation", difference.operation.name)
      writer.object("changes") { write(difference.parts, of: difference.entity.kind, to: &$0) }
    }
  }
}
