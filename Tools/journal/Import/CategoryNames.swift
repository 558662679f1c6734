import CatalogModel

/// The categories of a catalog by their names in the source, created when first needed. Categories that an
/// import created and people did not change are deleted with their last item.
struct CategoryNames {
  private let journal: CatalogJournal
  private var ids: [ExactText: CategoryID] = [:]
  /// Categories that may have lost an item in this entry.
  private var left: Set<CategoryID> = []

  init(_ journal: CatalogJournal) { self.journal = journal }

  mutating func start(from catalog: Catalog) throws {
    (ids, left) = ([:], [])
    var renamed: [(name: String, category: CategoryID)] = []
    for category in catalog.categories {
      let name = category.modified > category.created ? try Self.sourceName(of: category, journal) : nil
      if let name { renamed.append((name, category.id)) } else { add(category.name, category.id) }
    }
    for (name, category) in renamed { add(name, category) }
  }

  private mutating func add(_ name: String, _ category: CategoryID) {
    if ids[ExactText(name)] == nil { ids[ExactText(name)] = category }
  }

  /// The name with which a category was imported; nil if people added it, or if its origin was pruned or erased.
  private static func sourceName(of category: Catalog.Category, _ journal: CatalogJournal) throws -> String? {
    guard try journal.isImported(category.created) else { return nil }
    let row = try journal.entity(category.id.entity, asOf: .revision(category.created))
    return row?.record[field: CategoryField.name]?.string
  }

  func known(_ name: String?) -> CategoryID? { name.flatMap { ids[ExactText(EntityName.usable($0))] } }

  mutating func category(
    of name: String, _ draft: inout Draft<Catalog>, _ touched: inout Set<EntityKey>
  ) throws -> CategoryID {
    if let id = known(name), draft.state.category(id) != nil { return id }
    let name = ExactText(EntityName.usable(name))
    let id = try draft.addCategory(name: name.text)
    ids[name] = id
    touched.insert(.category(id))
    return id
  }

  mutating func leave(_ id: CategoryID?) {
    if let id { left.insert(id) }
  }

  /// Deletes imported categories that people did not change and that lost their last item. Called at an entry's end.
  mutating func deleteUnused(_ draft: inout Draft<Catalog>, _ touched: inout Set<EntityKey>) throws {
    for id in left.sorted() {
      guard let category = draft.state.category(id),
        draft.state.items(in: id).first(where: { _ in true }) == nil,
        category.modified == category.created, try journal.isImported(category.created)
      else { continue }
      try draft.deleteCategory(id)
      if known(category.name) == id { ids[ExactText(category.name)] = nil }
      touched.insert(.category(id))
    }
    left = []
  }
}
