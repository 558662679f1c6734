import CBOR

extension Draft where State == Catalog {
  /// Adds a category.
  /// - Parameter name: its name, up to 4,096 bytes, which need not be unique.
  /// - Returns: the new category's number.
  /// - Throws: ``JournalError`` with code `rejected` if the name is empty or too long.
  @discardableResult
  public mutating func addCategory(name: String, color: Catalog.Color? = nil) throws(JournalError) -> Int {
    let number = state.categoryTable.highest + 1
    try Rules.checkName(name, "name", of: .category(number))
    try Rules.checkColor(color, of: .category(number))
    var fields = [CategoryField.name: FieldValue.string(name)]
    if let color { fields[CategoryField.color] = color.value }
    try add(.category(number), EntityRecord(fields: fields))
    return number
  }

  /// Sets the name and the color of a category; nil removes the color. Only what differs is recorded.
  /// - Throws: ``JournalError`` with code `rejected` if the category does not exist, or its name is empty or too long.
  public mutating func updateCategory(_ id: Int, name: String, color: Catalog.Color?) throws(JournalError) {
    let record = try state.presentRecord(of: .category(id))
    try Rules.checkName(name, "name", of: .category(id))
    try Rules.checkColor(color, of: .category(id))
    try update(
      .category(id),
      to: record.setting(CategoryField.name, to: .string(name))
        .setting(CategoryField.color, to: color?.value))
  }

  /// Renames a category.
  /// - Throws: ``JournalError`` with code `rejected` if the category does not exist, or its name is empty or too long.
  public mutating func setName(ofCategory id: Int, to name: String) throws(JournalError) {
    let record = try state.presentRecord(of: .category(id))
    try Rules.checkName(name, "name", of: .category(id))
    try update(.category(id), to: record.setting(CategoryField.name, to: .string(name)))
  }

  /// Sets the color of a category; nil removes it.
  /// - Throws: ``JournalError`` with code `rejected` if the category does not exist.
  public mutating func setColor(ofCategory id: Int, to color: Catalog.Color?) throws(JournalError) {
    let record = try state.presentRecord(of: .category(id))
    try Rules.checkColor(color, of: .category(id))
    try update(.category(id), to: record.setting(CategoryField.color, to: color?.value))
  }

  /// Deletes a category. Its items stay without one, each with an event that records this.
  /// - Throws: ``JournalError`` with code `rejected` if the category does not exist.
  public mutating func deleteCategory(_ id: Int) throws(JournalError) {
    try state.checkPresence(of: .category(id))
    // An array, because an open listing would make each update copy what it changes.
    let items = Array(state.itemsByCategory.members(of: id))
    for item in items { try setCategory(ofItem: item, to: nil) }
    try delete(.category(id))
  }
}
