import CatalogModel

/// A part of an entity as text: a field of the catalog, or an attribute of the user.
struct EntityPart {
  let name: String
  let value: String
}

extension EntityRecord {
  /// All parts, in the order of the record.
  /// - Parameter state: the state of the record, which names what it refers to.
  func parts(
    of kind: EntityKind, in state: Catalog, isFull: Bool, _ terminal: Terminal
  ) -> [EntityPart] {
    var parts: [EntityPart] = []
    visit { key, value in
      parts.append(EntityPart(key, value, of: kind, isFull: isFull, terminal) { state.reference(to: $0) })
    }
    return parts
  }
}

extension EntityPart {
  /// - Parameter reference: the text of an entity to which the part refers.
  init(
    _ key: FieldKey, _ value: FieldValue, of kind: EntityKind, isFull: Bool = false, _ terminal: Terminal,
    reference: (EntityKey) throws -> String
  ) rethrows {
    name = Self.name(of: key, of: kind)
    switch key {
    case .field(let number):
      if let entity = value.entity(number, of: kind) {
        self.value = try reference(entity)
      } else {
        self.value = value.fieldText(number, of: kind, terminal)
      }
    case .attribute: self.value = terminal.text(of: value, isFull: isFull)
    }
  }

  /// The name of a part. An attribute that is named as a field is in quotation marks.
  static func name(of key: FieldKey, of kind: EntityKind) -> String {
    switch key {
    case .field(let number): fieldName(number, of: kind)
    case .attribute(let name): Catalog.fieldNames(of: kind).contains(name) ? "\"\(name)\"" : name
    }
  }

  /// The catalog's names for its own fields.
  private static func fieldName(_ number: UInt8, of kind: EntityKind) -> String {
    let names = Catalog.fieldNames(of: kind)
    return Int(number) < names.count ? names[Int(number)] : "field \(number)"
  }
}

extension FieldValue {
  /// The entity to which a field of the catalog with this value refers; nil if it refers to none.
  fileprivate func entity(_ number: UInt8, of kind: EntityKind) -> EntityKey? {
    switch (kind, number, self) {
    case (.item, 1, .integer(let id)): EntityKey.category(Int(id))
    case (.image, 0, .integer(let id)): EntityKey.item(Int(id))
    default: nil
    }
  }

  fileprivate func fieldText(_ number: UInt8, of kind: EntityKind, _ terminal: Terminal) -> String {
    switch (kind, number, self) {
    case (.category, 1, .array(let parts)): Catalog.Color(components: parts)?.hex ?? terminal.text(of: self)
    case (.image, 3, .data(let bytes)): ContentDigest(bytes: Array(bytes))?.hex ?? terminal.text(of: self)
    case (_, _, .string(let text)): text.printable
    default: terminal.text(of: self)
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
