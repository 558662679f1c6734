package import CatalogModel
import EntitySearch

extension Catalog {
  /// An event as `journal log --json` prints it:
  /// `{"operation":"update","entity":"item:42","previous":12,"changes":{…}}`.
  ///
  /// `changes` has a member for each part that the event sets, and none for a deletion. For an item, these are `kind`,
  /// `category` (null if the item leaves its category), `attributes` (those set) and `removed` (the names of removed
  /// ones). For a category, they are `name` and `color` (null if the color is removed); for an image, `item`, `name`,
  /// `mediaType`, `byteCount` and `sha256`; for a tag, `name` and `revision`. An erased event has `"erased":true` and
  /// no changes.
  package static func json(of event: JournalEvent) -> JSONObject {
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
    // The size of an image precedes its digest.
    let numbers =
      kind == .image ? names.indices.dropLast(2) + names.indices.suffix(2).reversed() : Array(names.indices)
    let set = numbers.map(UInt8.init).compactMap { number in
      fields[number].map { (names[Int(number)], shown($0, .field(number), of: kind)) }
    }
    return json(
      of: event,
      [
        .members: JSONObject(set),
        "attributes": ifAny(attributes.isEmpty ? nil : .dictionary(attributes) as FieldValue),
        "removed": ifAny(removed.isEmpty ? nil : removed),
      ])
  }

  /// An event as in ``json(of:)-(JournalEvent)``, but with the old and the new value of each part in `changes`.
  package static func json(of event: JournalEvent, changing parts: [PartChange]) -> JSONObject {
    json(of: event, json(of: parts, of: event.entity.kind))
  }

  /// An event without values: `{"operation":"update","entity":"item:42","label":"Dune","fields":["title"]}`. For a
  /// deletion, `fields` is empty.
  package static func outline(of event: JournalEvent, label: String?) -> JSONObject {
    var fields: [FieldKey] = []
    switch event.change {
    case .add(let record): record.visitKeys { fields.append($0) }
    case .update(let changes): changes.visitKeys { fields.append($0) }
    case .delete, .erased: break
    }
    let isErased = if case .erased = event.change { true } else { false }
    return outline(of: event.entity, event.operation, label: label, fields, isErased: isErased)
  }

  /// A difference without values, as ``outline(of:label:)-(JournalEvent,_)`` of an event.
  package static func outline(of difference: EntityDifference) -> JSONObject {
    let kind = difference.entity.kind
    return outline(
      of: difference.entity, difference.operation,
      label: (difference.new ?? difference.old).flatMap { label(of: $0, of: kind) },
      difference.operation == .delete ? [] : difference.parts.map(\.key))
  }

  private static func outline(
    of entity: EntityKey, _ operation: JournalEvent.Operation, label: String?, _ fields: [FieldKey],
    isErased: Bool = false
  ) -> JSONObject {
    [
      "operation": operation.name, "entity": name(of: entity), "label": label,
      "erased": ifAny(isErased ? true : nil),
      "fields": fields.filter { !$0.isByteCount(of: entity.kind) }.map { name(of: $0, of: entity.kind) },
    ]
  }

  private static func json(of event: JournalEvent, _ changes: JSONObject) -> JSONObject {
    let isErased = if case .erased = event.change { true } else { false }
    return [
      "operation": event.operation.name, "entity": name(of: event.entity), "previous": event.previous,
      "erased": ifAny(isErased ? true : nil), "changes": changes,
    ]
  }

  /// Changed parts: `{"title":{"old":"Dun","new":"Dune"},"@category":{"new":3}}`. `old` is omitted for an added part,
  /// `new` for a removed one. The byte count of an image is omitted, because the digest is enough.
  package static func json(of parts: [PartChange], of kind: EntityKind) -> JSONObject {
    func value(_ value: FieldValue?, _ key: FieldKey) -> any JSONWritable {
      ifAny(value.map { shown($0, key, of: kind) })
    }
    return JSONObject(
      parts.filter { !$0.key.isByteCount(of: kind) }.map { part in
        let values: JSONObject = ["old": value(part.old, part.key), "new": value(part.new, part.key)]
        return (name(of: part.key, of: kind), values)
      })
  }

  /// A difference of an entity: `{"entity":"item:42","operation":"update","changes":{…}}`
  package static func json(of difference: EntityDifference) -> JSONObject {
    [
      "entity": name(of: difference.entity), "operation": difference.operation.name,
      "changes": json(of: difference.parts, of: difference.entity.kind),
    ]
  }
}
