public import CBOR

// Each verb checks all of its rules, and only then records the first event: a body that catches the error
// and goes on commits nothing of it.
extension Draft where State == Catalog {
  /// Adds an item.
  ///
  /// ```swift
  /// let id = try draft.addItem(kind: "book", attributes: ["title": .string("Dune")])
  /// ```
  /// - Parameters:
  ///   - kind: what sort of item it is, in the app's own words; up to 4,096 bytes.
  ///   - category: the number of a category that is there.
  /// - Returns: the new item's number.
  /// - Throws: ``JournalError`` with code `rejected` when the kind is empty, the category is not there, or the
  ///   attributes are too large (16 MiB) or nested too deep (127).
  @discardableResult
  public mutating func addItem(
    kind: String, category: CategoryID? = nil, attributes: [String: FieldValue] = [:]
  ) throws(JournalError) -> Catalog.Item.ID {
    let number = state.itemTable.highest + 1
    let entity = EntityKey.item(number)
    try Rules.checkName(kind, "kind", of: entity)
    try state.checkCategory(category, for: entity)
    var fields = [(number: ItemField.kind, value: FieldValue.string(kind))]
    if let category { fields.append((ItemField.category, category.value)) }
    let record = EntityRecord(attributes, numbered: fields)
    try add(entity, record)
    return EntityID(number)
  }

  /// Adds an item whose attributes are the properties of a value.
  /// - Returns: the new item's number.
  /// - Throws: as ``addItem(kind:category:attributes:)``, and ``JournalError`` with code `rejected` when the
  ///   value can't be encoded, or not as a dictionary.
  @discardableResult
  public mutating func addItem(
    kind: String, category: CategoryID? = nil, encoding value: some Encodable
  ) throws(JournalError) -> Catalog.Item.ID {
    let attributes = try Self.attributes(encoding: value, for: .item(state.itemTable.highest + 1))
    return try addItem(kind: kind, category: category, attributes: attributes)
  }

  /// Sets and removes attributes; all others stay. What is in both is set.
  ///
  /// Only what differs is recorded, and nothing when nothing does. Attributes are compared by their bytes: an
  /// "é" of one scalar differs from one of two. As a dictionary of Swift's can't hold both as keys, a name
  /// replaces its other spelling.
  /// - Throws: ``JournalError`` with code `rejected` when the item is not there, or would be too large or
  ///   nested too deep.
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

  /// Makes these the item's attributes, all of them; what is recorded is the difference.
  /// - Throws: as ``updateItem(_:set:remove:)``.
  public mutating func replaceAttributes(
    ofItem id: Catalog.Item.ID, with attributes: [String: FieldValue]
  ) throws(JournalError) {
    let record = try state.presentRecord(of: id.entity)
    try update(id.entity, to: EntityRecord(attributes, fields: record.numberedFields))
  }

  /// Makes the properties of a value the item's attributes, all of them: a property that is nil, or that the
  /// value does not have, is removed.
  /// - Throws: as ``updateItem(_:set:remove:)``, and ``JournalError`` with code `rejected` when the value
  ///   can't be encoded, or not as a dictionary.
  public mutating func replaceAttributes(
    ofItem id: Catalog.Item.ID, encoding value: some Encodable
  ) throws(JournalError) {
    try replaceAttributes(ofItem: id, with: Self.attributes(encoding: value, for: id.entity))
  }

  /// Changes an item's attributes as a value of your own type.
  ///
  /// Attributes that the type does not know stay as they are, so that an older version of an app keeps what a
  /// newer one has written; use this where values are edited. What is inside of an attribute is set as one.
  ///
  /// ```swift
  /// try draft.updateItem(7, as: Book.self) { $0.stars = nil }
  /// ```
  /// - Throws: as ``updateItem(_:set:remove:)``, `DecodingError` when the attributes don't make such a value,
  ///   and what `body` throws.
  public mutating func updateItem<T: Codable>(
    _ id: Catalog.Item.ID, as type: T.Type = T.self, _ body: (inout T) throws -> Void
  ) throws {
    let record = try state.presentRecord(of: id.entity)
    var value = try ValueDecoder().decode(type, from: .dictionary(record.attributes))
    let before = try Self.attributes(encoding: value, for: id.entity)
    try body(&value)
    let after = try Self.attributes(encoding: value, for: id.entity)
    // What the body left alone must not be written, even where the type writes it in another way.
    var changed: [String: FieldValue] = [:]
    var removed: [String] = []
    EntityRecord(before).changes(to: EntityRecord(after))?.visit { key, value in
      guard case .attribute(let name) = key else { return }
      if let value { changed[name] = value } else { removed.append(name) }
    }
    try updateItem(id, set: changed, remove: removed)
  }

  /// Puts an item into a category, or with nil into none.
  /// - Throws: ``JournalError`` with code `rejected` when the item or the category is not there.
  public mutating func setCategory(ofItem id: Catalog.Item.ID, to category: CategoryID?) throws(JournalError)
  {
    let record = try state.presentRecord(of: id.entity)
    try state.checkCategory(category, for: id.entity)
    try update(id.entity, to: record.setting(ItemField.category, to: category?.value))
  }

  /// Makes an item one of another kind.
  /// - Throws: ``JournalError`` with code `rejected` when the item is not there or the kind is empty.
  public mutating func setKind(ofItem id: Catalog.Item.ID, to kind: String) throws(JournalError) {
    let record = try state.presentRecord(of: id.entity)
    try Rules.checkName(kind, "kind", of: id.entity)
    try update(id.entity, to: record.setting(ItemField.kind, to: .string(kind)))
  }

  /// Deletes an item, and its images before it, each as an event of its own.
  /// - Throws: ``JournalError`` with code `rejected` when the item is not there.
  public mutating func deleteItem(_ id: Catalog.Item.ID) throws(JournalError) {
    try state.checkPresence(of: id.entity)
    // An array, since a listing that is still open would make each deletion copy what it changes.
    let images = Array(state.imagesByItem.members(of: id.number))
    for image in images { try delete(.image(image)) }
    try delete(id.entity)
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
        "the attributes of \(Catalog.name(of: entity)) must have names, and \(type(of: value)) has none")
    }
    return attributes
  }
}

extension EntityRecord {
  /// This record with a numbered field set, or with nil without it.
  func setting(_ field: UInt8, to value: FieldValue?) -> EntityRecord {
    applying(RecordChanges(setFields: value.map { [field: $0] } ?? [:], removeFields: [field]))
  }
}
