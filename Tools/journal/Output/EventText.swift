import CatalogModel

extension FieldKey {
  /// The name of a part. An attribute that is named as a field of the catalog is in quotation marks.
  func name(of kind: EntityKind) -> String {
    let names = Catalog.fieldNames(of: kind)
    switch self {
    case .field(let number): return Int(number) < names.count ? names[Int(number)] : "field \(number)"
    case .attribute(let name): return names.contains(name) ? "\"\(name)\"" : name
    }
  }
}

extension Terminal {
  /// A part of an entity as text.
  /// - Parameter reference: the text of an entity to which the part refers.
  func text(
    of value: FieldValue, _ key: FieldKey, of kind: EntityKind, isFull: Bool = false,
    reference: (EntityKey) throws -> String
  ) rethrows -> String {
    guard case .field(let number) = key else { return text(of: value, isFull: isFull) }
    if let entity = value.entity(number, of: kind) { return try reference(entity) }
    return value.fieldText(number, of: kind, self)
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
