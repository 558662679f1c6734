import CBOR

extension Draft where State == Catalog {
  /// Adds a value as an item of its kind.
  ///
  /// ```swift
  /// let soup = try journal.commit(by: "ana") { try $0.insert(Recipe(title: "Soup")) }.value
  /// ```
  /// - Parameter category: an existing category, or nil for none.
  /// - Returns: the new item's number.
  /// - Throws: ``JournalError`` with code `rejected` if the value can't be encoded as a dictionary, is too large (16
  ///   MiB) or nested too deeply (127), or if the category does not exist; `wrongUse` if the key path of an index leads
  ///   to no attribute, or the journal lacks a rule of the type.
  @discardableResult
  public mutating func insert<Model: CatalogItem>(
    _ value: Model, category: CategoryID? = nil
  ) throws(JournalError) -> ItemID<Model> {
    let entity = EntityKey.item(state.itemTable.highest + 1)
    let attributes = try Self.attributes(encoding: value, for: entity)
    try Model.checkDeclarations(in: state)
    return ItemID(try addItem(kind: Model.kind, category: category, attributes: attributes).number)
  }

  /// Changes the value of an item. Attributes that the type does not know are kept, and only differences are recorded.
  ///
  /// ```swift
  /// try journal.commit(by: "ana") { try $0.update(soup) { $0.stars = 5 } }
  /// ```
  /// - Throws: ``JournalError`` with code `rejected` if the item does not exist or is of another kind, and as
  ///   ``insert(_:category:)``; `DecodingError` if the attributes don't make such a value; what `body` throws.
  public mutating func update<Model: CatalogItem>(
    _ id: ItemID<Model>, _ body: (inout Model) throws -> Void
  ) throws {
    try checkKind(of: id)
    try Model.checkDeclarations(in: state)
    try updateItem(id.item, as: Model.self, body)
  }

  /// Replaces the value of an item: sets all attributes of the new value. A property that is nil is removed. Attributes
  /// that the type does not encode are kept.
  /// - Throws: as ``update(_:_:)``.
  public mutating func replace<Model: CatalogItem>(_ id: ItemID<Model>, with value: Model) throws {
    try checkKind(of: id)
    let record = try state.presentRecord(of: id.entity)
    let old = try record.decode(Model.self, of: id.entity)
    try Model.checkDeclarations(in: state)
    // Also sets missing attributes that the type reads as if they existed, which an update would not set.
    try updateItem(
      id.item, set: Self.attributes(encoding: value, for: id.entity),
      remove: Self.attributes(encoding: old, for: id.entity).keys)
  }

  /// Deletes an item and its images. Items that refer to it are deleted, or lose the reference, as their rules say.
  /// - Throws: ``JournalError`` with code `rejected` if the item does not exist or is of another kind, or if an item
  ///   refers to it by a rule that denies the deletion.
  public mutating func delete<Model: CatalogItem>(_ id: ItemID<Model>) throws(JournalError) {
    try checkKind(of: id)
    try deleteItem(id.item)
  }

  /// Moves an item to a category, or out of its category if `category` is nil.
  /// - Throws: ``JournalError`` with code `rejected` if the item or the category does not exist, or the item is of
  ///   another kind.
  public mutating func setCategory<Model: CatalogItem>(
    of id: ItemID<Model>, to category: CategoryID?
  ) throws(JournalError) {
    try checkKind(of: id)
    try setCategory(ofItem: id.item, to: category)
  }

  /// Adds an image to an item. The image's bytes must be in the journal's blob store when the commit ends.
  /// - Throws: ``JournalError`` with code `rejected` if the item does not exist or is of another kind, or a name is
  ///   empty or too long.
  @discardableResult
  public mutating func addImage<Model: CatalogItem>(
    to id: ItemID<Model>, name: String, mediaType: String, blob: Blob
  ) throws(JournalError) -> ImageID {
    try checkKind(of: id)
    return try addImage(to: id.item, name: name, mediaType: mediaType, blob: blob)
  }

  func checkKind<Model: CatalogItem>(of id: ItemID<Model>) throws(JournalError) {
    try state.checkPresence(of: id.entity)
    guard state.item(id) == nil else { return }
    throw Rules.rejected(
      "\(Catalog.name(of: id.entity)) is a \(state.item(id.item)?.kind ?? ""), not a \(Model.kind)")
  }
}
