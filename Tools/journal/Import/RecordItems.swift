import CatalogModel

/// The items of the records in the journal: the item of each key, its image and its category.
struct RecordItems {
  struct Known {
    var item: Catalog.Item.ID
    var image: ImageID?
  }

  private let form: RecordsImporter.Form
  private let kind: String
  private var known: [ExactText: Known] = [:]
  private var categories: CategoryNames

  /// Reads the state of earlier commits.
  init(_ form: RecordsImporter.Form, _ catalog: Catalog) {
    self.form = form
    kind = form.kind
    categories = CategoryNames(catalog)
    for item in catalog.items(ofKind: kind) {
      guard let key = item[form.key]?.keyText, known[ExactText(key)] == nil else { continue }
      known[ExactText(key)] = Known(item: item.id, image: catalog.images(of: item.id).first { _ in true }?.id)
    }
  }

  var keys: Dictionary<ExactText, Known>.Keys { known.keys }

  subscript(key: ExactText) -> Known? { known[key] }

  mutating func delete(_ key: ExactText, _ draft: inout Draft<Catalog>, _ touched: inout Set<EntityKey>)
    throws
  {
    guard let entry = known.removeValue(forKey: key) else { return }
    categories.leave(draft.state.item(entry.item)?.category)
    touched.insert(.item(entry.item))
    if let image = entry.image { touched.insert(.image(image)) }
    try draft.deleteItem(entry.item)
  }

  mutating func set(
    _ record: RecordFile.Record, _ draft: inout Draft<Catalog>, _ touched: inout Set<EntityKey>
  ) throws {
    var category: CategoryID?
    if let field = form.category, case .string(let name)? = record.attributes[field],
      !name.allSatisfy(\.isWhitespace)
    {
      category = try categories.category(of: name, &draft, &touched)
      // If no item stays in it, it is deleted again.
      categories.leave(category)
    }
    if let entry = known[record.key] {
      touched.insert(.item(entry.item))
      try draft.replaceAttributes(ofItem: entry.item, with: record.attributes)
      let old = draft.state.item(entry.item)?.category
      if old != category {
        categories.leave(old)
        try draft.setCategory(ofItem: entry.item, to: category)
      }
    } else {
      let item = try draft.addItem(kind: kind, category: category, attributes: record.attributes)
      touched.insert(.item(item))
      known[record.key] = Known(item: item)
    }
  }

  mutating func setImage(
    _ change: RecordImages.Change, _ draft: inout Draft<Catalog>, _ touched: inout Set<EntityKey>
  ) throws {
    // A record that the catalog's rules rejected has no item, and so no image.
    guard var entry = known[change.key] else { return }
    if let image = entry.image { touched.insert(.image(image)) }
    switch (change.content, entry.image) {
    case (let content?, let image?):
      try draft.updateImage(
        image, name: content.name, mediaType: content.mediaType, blob: content.blob.wait())
    case (let content?, nil):
      let image = try draft.addImage(
        to: entry.item, name: content.name, mediaType: content.mediaType, blob: content.blob.wait())
      entry.image = image
      touched.insert(.image(image))
    case (nil, let image?):
      try draft.deleteImage(image)
      entry.image = nil
    case (nil, nil):
      break
    }
    known[change.key] = entry
  }

  mutating func deleteUnusedCategories(
    _ draft: inout Draft<Catalog>, _ touched: inout Set<EntityKey>
  ) throws {
    try categories.deleteUnused(&draft, &touched)
  }
}
