import CBOR

extension Draft where State == Catalog {
  /// Adds a category.
  /// - Parameter name: the name of the category, up to 4,096 bytes. It need not be unique.
  /// - Returns: the new category's number.
  /// - Throws: ``JournalError`` with code `rejected` if the name is empty or too long, or a component of the color is
  ///   not finite.
  @discardableResult
  public mutating func addCategory(name: String, color: Catalog.Color? = nil) throws(JournalError)
    -> CategoryID
  {
    let number = state.categoryTable.highest + 1
    try Rules.checkName(name, "name", of: .category(number))
    try Rules.checkColor(color, of: .category(number))
    var fields = [CategoryField.name: FieldValue.string(name)]
    if let color { fields[CategoryField.color] = color.value }
    try add(.category(number), EntityRecord(fields: fields))
    return CategoryID(number)
  }

  /// Sets the name and the color of a category. Nil removes the color. Only differences are recorded.
  /// - Throws: ``JournalError`` with code `rejected` if the category does not exist, its name is empty or too long, or a
  ///   component of the color is not finite.
  public mutating func updateCategory(_ id: CategoryID, name: String, color: Catalog.Color?)
    throws(JournalError)
  {
    let record = try state.presentRecord(of: id.entity)
    try Rules.checkName(name, "name", of: id.entity)
    try Rules.checkColor(color, of: id.entity)
    try update(
      id.entity,
      to: record.setting(CategoryField.name, to: .string(name))
        .setting(CategoryField.color, to: color?.value))
  }

  /// Renames a category.
  /// - Throws: ``JournalError`` with code `rejected` if the category does not exist, or its name is empty or too long.
  public mutating func setName(ofCategory id: CategoryID, to name: String) throws(JournalError) {
    let record = try state.presentRecord(of: id.entity)
    try Rules.checkName(name, "name", of: id.entity)
    try update(id.entity, to: record.setting(CategoryField.name, to: .string(name)))
  }

  /// Sets the color of a category. Nil removes the color.
  /// - Throws: ``JournalError`` with code `rejected` if the category does not exist, or a component of the color is not
  ///   finite.
  public mutating func setColor(ofCategory id: CategoryID, to color: Catalog.Color?) throws(JournalError) {
    let record = try state.presentRecord(of: id.entity)
    try Rules.checkColor(color, of: id.entity)
    try update(id.entity, to: record.setting(CategoryField.color, to: color?.value))
  }

  /// Deletes a category. Its items stay without a category; an event for each item records this.
  /// - Throws: ``JournalError`` with code `rejected` if the category does not exist.
  public mutating func deleteCategory(_ id: CategoryID) throws(JournalError) {
    try state.checkPresence(of: id.entity)
    // An array, because iterating over the index would make each update copy the nodes of the index that it changes.
    let items = Array(state.itemsByCategory.members(of: id.number))
    for item in items { try setCategory(ofItem: Catalog.Item.ID(item), to: nil) }
    try delete(id.entity)
  }
}
