import CatalogModel

/// A part of an entity as text: a field of the catalog, or an attribute of the user.
struct EntityPart {
  let name: String
  /// Nil if the part is removed.
  let value: String?
}

extension EntityRecord {
  /// All parts, in the order of the record.
  func parts(of kind: EntityKind) -> [EntityPart] {
    var parts: [EntityPart] = []
    visit { key, value in parts.append(EntityPart(key, value, of: kind)) }
    return parts
  }

  /// The part of that key, nil if there is none.
  func part(_ key: FieldKey, of kind: EntityKind) -> EntityPart? {
    let value =
      switch key {
      case .field(let number): self[field: number]
      case .attribute(let name): self[name]
      }
    return value.map { EntityPart(key, $0, of: kind) }
  }
}

extension RecordChanges {
  /// The parts that change.
  func parts(of kind: EntityKind) -> [(name: String, key: FieldKey, value: String?)] {
    var parts: [(name: String, key: FieldKey, value: String?)] = []
    visit { key, value in
      let part = EntityPart(key, value, of: kind)
      parts.append((part.name, key, part.value))
    }
    return parts
  }
}

extension EntityPart {
  init(_ key: FieldKey, _ value: FieldValue?, of kind: EntityKind) {
    switch key {
    case .field(let number):
      self.init(name: Self.fieldName(number, of: kind), value: value?.fieldText(number, of: kind))
    case .attribute(let name): self.init(name: name, value: value?.printable)
    }
  }

  /// The catalog's names for its own fields.
  private static func fieldName(_ number: UInt8, of kind: EntityKind) -> String {
    let names = Catalog.fieldNames(of: kind)
    return Int(number) < names.count ? names[Int(number)] : "field \(number)"
  }
}

extension FieldValue {
  fileprivate func fieldText(_ number: UInt8, of kind: EntityKind) -> String {
    switch (kind, number, self) {
    case (.category, 1, .array(let parts)): Catalog.Color(components: parts)?.hex ?? printable
    case (.item, 1, .integer(let id)): "category:\(id)"
    case (.image, 0, .integer(let id)): "item:\(id)"
    case (.image, 3, .data(let bytes)): ContentDigest(bytes: Array(bytes))?.hex ?? printable
    case (_, _, .string(let text)): text.printable
    default: printable
    }
  }
}

extension Catalog.Color {
  fileprivate init?(components: [FieldValue]) {
    let numbers = components.compactMap { component in
      if case .double(let number) = component { number } else { nil as Double? }
    }
    guard numbers.count == 4 else { return nil }
    self.init(red: numbers[0], green: numbers[1], blue: numbers[2], alpha: numbers[3])
  }
}
