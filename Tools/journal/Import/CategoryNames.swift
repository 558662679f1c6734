import CatalogModel

/// The categories of a catalog by name, created when first needed and deleted with their last item.
struct CategoryNames {
  private var ids: [ExactText: CategoryID] = [:]
  /// Categories that lost an item in this entry.
  private var left: Set<CategoryID> = []

  init() {}

  init(_ catalog: Catalog) {
    for category in catalog.categories where ids[ExactText(category.name)] == nil {
      ids[ExactText(category.name)] = category.id
    }
  }

  /// The category of that name.
  mutating func category(
    of name: String, _ draft: inout Draft<Catalog>, _ touched: inout Set<EntityKey>
  ) throws -> CategoryID {
    let name = ExactText(EntityName.usable(name))
    if let id = ids[name] { return id }
    let id = try draft.addCategory(name: name.text)
    ids[name] = id
    touched.insert(.category(id))
    return id
  }

  /// Notes that an item left a category.
  mutating func leave(_ id: CategoryID?) {
    if let id { left.insert(id) }
  }

  /// Deletes the categories that have lost their last item; called at the end of an entry.
  mutating func deleteUnused(_ draft: inout Draft<Catalog>, _ touched: inout Set<EntityKey>) throws {
    for id in left.sorted() {
      guard let name = draft.state.category(id)?.name,
        draft.state.items(in: id).first(where: { _ in true }) == nil
      else { continue }
      try draft.deleteCategory(id)
      if ids[ExactText(name)] == id { ids[ExactText(name)] = nil }
      touched.insert(.category(id))
    }
    left = []
  }
}
