import CatalogModel

/// The categories of a catalog by name, created when first needed and deleted with their last item.
struct CategoryNames {
  private var numbers: [ExactText: Int] = [:]
  /// Categories that lost an item in this entry.
  private var left: Set<Int> = []

  init(_ catalog: Catalog) {
    for category in catalog.categories where numbers[ExactText(category.name)] == nil {
      numbers[ExactText(category.name)] = category.id
    }
  }

  /// The category of that name.
  mutating func number(of name: String, _ draft: inout Draft<Catalog>, _ touched: inout Set<EntityKey>) throws
    -> Int
  {
    let name = ExactText(EntityName.usable(name))
    if let number = numbers[name] { return number }
    let number = try draft.addCategory(name: name.text)
    numbers[name] = number
    touched.insert(.category(number))
    return number
  }

  /// Notes that an item left a category.
  mutating func leave(_ number: Int?) {
    if let number { left.insert(number) }
  }

  /// Deletes the categories that have lost their last item; called at the end of an entry.
  mutating func deleteUnused(_ draft: inout Draft<Catalog>, _ touched: inout Set<EntityKey>) throws {
    for number in left.sorted() {
      guard let name = draft.state.category(number)?.name,
        draft.state.items(in: number).first(where: { _ in true }) == nil
      else { continue }
      try draft.deleteCategory(number)
      if numbers[ExactText(name)] == number { numbers[ExactText(name)] = nil }
      touched.insert(.category(number))
    }
    left = []
  }
}
