public import CBOR

// Each method checks all of its rules before it records the first event, so a body can catch the error and continue.
extension Draft where State == Catalog {
  /// Adds an item.
  ///
  /// ```swift
  /// let id = try draft.addItem(kind: "book", attributes: ["title": .string("Dune")])
  /// ```
  /// - Parameters:
  ///   - kind: the kind of item, in the app's own words, up to 4,096 bytes.
  ///   - category: the number of an existing category.
  /// - Returns: the new item's number.
  /// - Throws: ``JournalError`` with code `rejected` if the kind is empty or too long, the category does not exist, or
  ///   the attributes are too large (16 MiB) or nested too deeply (127).
  @discardableResult
  public mutating func addItem(
    kind: String, category: CategoryID? = nil, attributes: [String: FieldValue] = [:]
  ) throws(JournalError) -> Catalog.Item.ID {
    let number = state.itemTable.highest + 1
    let entity = EntityKey.item(number)
    try Rules.checkName(kind, "kind", of: entity)
    try state.checkCategory(category, for: entity)
    var fields = FieldMapBuilder(count: (category == nil ? 1 : 2) + attributes.count)
    fields.add(ItemField.kind, .string(kind))
    if let category { fields.add(ItemField.category, category.value) }
    fields.add(attributes)
    try add(entity, fields)
    return EntityID(number)
  }

  /// Adds an item with the properties of a value as its attributes.
  /// - Returns: the new item's number.
  /// - Throws: as ``addItem(kind:category:attributes:)``, and ``JournalError`` with code `rejected` if the value can't
  ///   be encoded as a dictionary.
  @discardableResult
  public mutating func addItem(
    kind: String, category: CategoryID? = nil, encoding value: some Encodable
  ) throws(JournalError) -> Catalog.Item.ID {
    let attributes = try Self.attributes(encoding: value, for: .item(state.itemTable.highest + 1))
    return try addItem(kind: kind, category: category, attributes: attributes)
  }

  /// Sets and removes attributes. All others stay. A name in both arguments is set.
  ///
  /// Only differences are recorded. Names and values are compared by their bytes: an "é" of one scalar differs from an
  /// "é" of two. A Swift dictionary can't have both as keys, so setting one spelling of a name replaces the other.
  /// - Throws: ``JournalError`` with code `rejected` if the item does not exist, or would be too large or nested too
  ///   deeply.
  public mutating func updateItem(
    _ id: Catalog.Item.ID, set attributes: [String: FieldValue] = [:],
    remove names: some Sequence<String> = EmptyCollection()
  ) throws(JournalError) {
    let removed = Set(names)
    let kept = try state.presentRecord(of: id.entity).removingAttributes { name in
      guard let index = attributes.index(forKey: name) else { return removed.contains(name) }
      return !attributes[index].key.utf8.elementsEqual(name.utf8)
    }
    try update(id.entity, to: kept.applying(RecordChanges(set: attributes)))
  }

  /// Replaces all attributes of an item. Only differences are recorded.
  /// - Throws: as ``updateItem(_:set:remove:)``.
  public mutating func replaceAttributes(
    ofItem id: Catalog.Item.ID, with attributes: [String: FieldValue]
  ) throws(JournalError) {
    let record = try state.presentRecord(of: id.entity)
    try update(id.entity, to: EntityRecord(attributes, fields: record.numberedFields))
  }

  /// Replaces all attributes of an item with the properties of a value. An attribute that is nil or missing in the
  /// value is removed.
  /// - Throws: as ``updateItem(_:set:remove:)``, and ``JournalError`` with code `rejected` if the value can't be
  ///   encoded as a dictionary.
  public mutating func replaceAttributes(
    ofItem id: Catalog.Item.ID, encoding value: some Encodable
  ) throws(JournalError) {
    try replaceAttributes(ofItem: id, with: Self.attributes(encoding: value, for: id.entity))
  }

  /// Changes an item's attributes through a value of your own type.
  ///
  /// Attributes that the type does not know are kept, so an older version of an app preserves what a newer one has
  /// written. A changed attribute is set as a whole.
  ///
  /// ```swift
  /// try draft.updateItem(7, as: Book.self) { $0.stars = nil }
  /// ```
  /// - Throws: as ``updateItem(_:set:remove:)``, `DecodingError` if the attributes don't make such a value, and what
  ///   `body` throws.
  public mutating func updateItem<T: Codable>(
    _ id: Catalog.Item.ID, as type: T.Type = T.self, _ body: (inout T) throws -> Void
  ) throws {
    let record = try state.presentRecord(of: id.entity)
    var value = try record.decode(type, of: id.entity)
    let before = try Self.attributes(encoding: value, for: id.entity)
    try body(&value)
    let after = try Self.attributes(encoding: value, for: id.entity)
    // An attribute that the body did not change must not be written, even if the type encodes it differently.
    var changed: [String: FieldValue] = [:]
    var removed: [String] = []
    EntityRecord(before).changes(to: EntityRecord(after))?.visit { key, value in
      guard case .attribute(let name) = key else { return }
      if let value { changed[name] = value } else { removed.append(name) }
    }
    try updateItem(id, set: changed, remove: removed)
  }

  /// Moves an item to a category, or out of its category if `category` is nil.
  /// - Throws: ``JournalError`` with code `rejected` if the item or the category does not exist.
  public mutating func setCategory(ofItem id: Catalog.Item.ID, to category: CategoryID?) throws(JournalError)
  {
    let record = try state.presentRecord(of: id.entity)
    try state.checkCategory(category, for: id.entity)
    try update(id.entity, to: record.setting(ItemField.category, to: category?.value))
  }

  /// Changes the kind of an item.
  /// - Throws: ``JournalError`` with code `rejected` if the item does not exist, or the kind is empty or too long.
  public mutating func setKind(ofItem id: Catalog.Item.ID, to kind: String) throws(JournalError) {
    let record = try state.presentRecord(of: id.entity)
    try Rules.checkName(kind, "kind", of: id.entity)
    try update(id.entity, to: record.setting(ItemField.kind, to: .string(kind)))
  }

  static func attributes(
    encoding value: some Encodable, for entity: EntityKey
  ) throws(JournalError) -> [String: FieldValue] {
    let encoded: FieldValue
    do {
      encoded = try ValueEncoder().encode(value)
    } catch {
      throw JournalError(
        .rejected, "the attributes of \(Catalog.name(of: entity)) can't be encoded", cause: error)
    }
    guard case .dictionary(let attributes) = encoded else {
      throw Rules.rejected(
        "the attributes of \(Catalog.name(of: entity)) must have names, but \(type(of: value)) has none")
    }
    return attributes
  }
}

extension EntityRecord {
  /// This record with a numbered field set, or removed if `value` is nil.
  func setting(_ field: UInt8, to value: FieldValue?) -> EntityRecord {
    applying(RecordChanges(setFields: value.map { [field: $0] } ?? [:], removeFields: [field]))
  }
}
