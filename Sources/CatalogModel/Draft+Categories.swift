import CBOR

extension Draft where State == Catalog {
  /// Adds a category.
  /// - Parameter name: what it is called, up to 4,096 bytes; others may be called the same.
  /// - Returns: the new category's number.
  /// - Throws: ``JournalError`` with code `rejected` when the name is empty or too long.
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

  /// Sets both the name and the color of a category; a color of nil takes it away. Only what differs is
  /// recorded.
  /// - Throws: ``JournalError`` with code `rejected` when the category is not there, or its name is empty or
  ///   too long.
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
  /// - Throws: ``JournalError`` with code `rejected` when the category is not there, or its name is empty or
  ///   too long.
  public mutating func setName(ofCategory id: CategoryID, to name: String) throws(JournalError) {
    let record = try state.presentRecord(of: id.entity)
    try Rules.checkName(name, "name", of: id.entity)
    try update(id.entity, to: record.setting(CategoryField.name, to: .string(name)))
  }

  /// Gives a category a color, or with nil takes it away.
  /// - Throws: ``JournalError`` with code `rejected` when the category is not there.
  public mutating func setColor(ofCategory id: CategoryID, to color: Catalog.Color?) throws(JournalError) {
    let record = try state.presentRecord(of: id.entity)
    try Rules.checkColor(color, of: id.entity)
    try update(id.entity, to: record.setting(CategoryField.color, to: color?.value))
  }

  /// Deletes a category. Its items stay, in no category: each has an event that says so.
  /// - Throws: ``JournalError`` with code `rejected` when the category is not there.
  public mutating func deleteCategory(_ id: CategoryID) throws(JournalError) {
    try state.checkPresence(of: id.entity)
    // An array, since a listing that is still open would make each update copy what it changes.
    let items = Array(state.itemsByCategory.members(of: id.number))
    for item in items { try setCategory(ofItem: Catalog.Item.ID(item), to: nil) }
    try delete(id.entity)
  }
}
