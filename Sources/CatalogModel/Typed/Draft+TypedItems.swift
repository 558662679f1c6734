import CBOR

extension Draft where State == Catalog {
  /// Adds a value as an item of its kind.
  ///
  /// ```swift
  /// let soup = try journal.commit(by: "ana") { try $0.insert(Recipe(title: "Soup")) }.value
  /// ```
  /// - Parameter category: one that is there; nil for none.
  /// - Returns: the new item's number.
  /// - Throws: ``JournalError`` with code `rejected` when the value can't be encoded, or not as a dictionary, when it
  ///   is too large (16 MiB) or nested too deep (127), or when the category is not there.
  @discardableResult
  public mutating func insert<Model: CatalogItem>(
    _ value: Model, category: CategoryID? = nil
  ) throws(JournalError) -> ItemID<Model> {
    let attributes = try Self.attributes(encoding: value, for: .item(state.itemTable.highest + 1))
    try Model.checkIndexes(value, encodedAs: attributes)
    return ItemID(try addItem(kind: Model.kind, category: category, attributes: attributes).number)
  }

  /// Changes the value of an item. Attributes that the type does not know stay as they are, and only what differs is
  /// recorded.
  ///
  /// ```swift
  /// try journal.commit(by: "ana") { try $0.update(soup) { $0.stars = 5 } }
  /// ```
  /// - Throws: ``JournalError`` with code `rejected` when the item is not there or of another kind, and as
  ///   ``insert(_:category:)``; `DecodingError` when its attributes don't make such a value; and what `body` throws.
  public mutating func update<Model: CatalogItem>(
    _ id: ItemID<Model>, _ body: (inout Model) throws -> Void
  ) throws {
    try checkKind(of: id)
    try updateItem(id.item, as: Model.self, body)
  }

  /// Makes a value that of an item; a property that is nil now is removed. Attributes that the type does not know stay
  /// as they are.
  /// - Throws: as ``update(_:_:)``.
  public mutating func replace<Model: CatalogItem>(_ id: ItemID<Model>, with value: Model) throws {
    try update(id) { $0 = value }
  }

  /// Deletes an item, and its images with it.
  /// - Throws: ``JournalError`` with code `rejected` when the item is not there or of another kind.
  public mutating func delete<Model: CatalogItem>(_ id: ItemID<Model>) throws(JournalError) {
    try checkKind(of: id)
    try deleteItem(id.item)
  }

  /// Puts an item into a category, or with nil into none.
  /// - Throws: ``JournalError`` with code `rejected` when the item or the category is not there.
  public mutating func setCategory<Model: CatalogItem>(
    of id: ItemID<Model>, to category: CategoryID?
  ) throws(JournalError) {
    try checkKind(of: id)
    try setCategory(ofItem: id.item, to: category)
  }

  /// Adds an image to an item. Its bytes must be in the journal's blob store when the commit ends.
  /// - Throws: ``JournalError`` with code `rejected` when the item is not there, or a name is empty or too long.
  @discardableResult
  public mutating func addImage<Model: CatalogItem>(
    to id: ItemID<Model>, name: String, mediaType: String, blob: Blob
  ) throws(JournalError) -> ImageID {
    try checkKind(of: id)
    return try addImage(to: id.item, name: name, mediaType: mediaType, blob: blob)
  }

  private func checkKind<Model: CatalogItem>(of id: ItemID<Model>) throws(JournalError) {
    try state.checkPresence(of: id.entity)
    guard state.item(id) == nil else { return }
    throw Rules.rejected(
      "\(Catalog.name(of: id.entity)) is a \(state.item(id.item)?.kind ?? ""), not a \(Model.kind)")
  }
}
