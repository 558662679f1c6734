import CatalogModel
import Foundation

/// Merges several archives, with each object and category once.
///
/// A reader refers to items and categories by their indexes in its archive. The items of all archives are numbered one
/// after the other here, and these numbers become indexes into the store at the end.
struct ArchiveMerge {
  private struct Found {
    /// Nil if it could not be converted.
    var item: LegacyItem?
    let file: Int
    /// Whether the file reaches it only through its category, so that it may be an item of another file.
    let isDerived: Bool
  }

  var store: LegacyStore
  /// Gives the store's own images their names.
  var imageNames = UniqueNames()
  private var items: [Found] = []
  private var fileCount = 0

  init(store: LegacyStore) { self.store = store }

  /// Adds everything in an archive.
  /// - Returns: the layout of the archive.
  @discardableResult
  mutating func add(_ reader: ArchiveReader, isOneOfSeveral: Bool) -> FieldValue {
    fileCount += 1
    store.problems += reader.problems
    store.images += reader.images
    store.lists.formUnion(reader.lists)
    store.incompleteLists.formUnion(reader.incompleteLists)
    store.classes.merge(reader.classes)
    let (categories, isNew) = mergeCategories(reader.categories)
    let first = items.count
    func resolved(_ value: FieldValue) -> FieldValue {
      value.resolvingReferences { key, target in
        Reference.make(key, key == Reference.category ? categories[target] : first + target)
      }
    }
    for item in reader.items {
      let item = item.map { item in
        var item = item
        item.category = item.category.map { categories[$0] }
        item.attributes = item.attributes.mapValues(resolved)
        return item
      }
      let isDerived = isOneOfSeveral && item?.list.isEmpty ?? false
      items.append(Found(item: item, file: fileCount, isDerived: isDerived))
    }
    for (category, index) in zip(reader.categories, categories) where isNew.contains(index) {
      store.categories[index] = category
      store.categories[index].fields = category.fields.mapValues(resolved)
    }
    return resolved(reader.layout)
  }

  /// - Returns: the index in the store for each category of the file, and the indexes of those that are to be kept.
  private mutating func mergeCategories(_ categories: [LegacyCategory]) -> (indexes: [Int], isNew: Set<Int>) {
    // Existing categories by name. The first one is last, because `popLast` takes it first.
    var known: [[UInt8]: [Int]] = [:]
    for (index, category) in store.categories.enumerated().reversed() {
      known[Array(category.name.utf8), default: []].append(index)
    }
    var isNew: Set<Int> = []
    let indexes = categories.map { category in
      if let index = known[Array(category.name.utf8)]?.popLast() {
        if store.categories[index].list.isEmpty { isNew.insert(index) }
        return index
      }
      store.categories.append(category)
      isNew.insert(store.categories.count - 1)
      return store.categories.count - 1
    }
    return (indexes, isNew)
  }

  /// Moves the images of a category to the store, under names that are unique there.
  private mutating func moveImages(ofCategoryAt index: Int) {
    var category = store.categories[index]
    category.images.rename(in: &category.fields) { [name = category.name] image in
      imageNames.unused("category.\(name).\(image)".usableName)
    }
    store.images += category.images
    category.images = []
    store.categories[index] = category
  }

  /// Identifies the contents of an item. Copies of one item refer to different copies of other items.
  private func fingerprint(of item: LegacyItem) -> Data {
    let named = item.attributes.mapValues { value in
      value.resolvingReferences { key, target in
        if key == Reference.category { return .integer(Int64(target)) }
        return items[target].item.map { .string($0.label ?? $0.kind) } ?? .null
      }.sortingSets
    }
    return [item.kind: .dictionary(named)].fingerprint
  }

  mutating func finish() -> LegacyStore {
    for index in store.categories.indices { moveImages(ofCategoryAt: index) }
    let places = placeItems()
    func settled(_ value: FieldValue) -> FieldValue {
      value.resolvingReferences { key, target in
        if key == Reference.category { return Reference.make(key, target) }
        return places[target].map { Reference.make(key, $0) } ?? .null
      }
    }
    for index in store.items.indices {
      store.items[index].attributes = store.items[index].attributes.mapValues(settled)
    }
    for index in store.categories.indices {
      store.categories[index].fields = store.categories[index].fields.mapValues(settled)
    }
    store.files = store.files.mapValues(settled)
    return store
  }

  /// Puts each item into the store once.
  /// - Returns: the index in the store of each item.
  private mutating func placeItems() -> [Int?] {
    var places = [Int?](repeating: nil, count: items.count)
    func isHere(_ number: Int) -> Bool { items[number].item != nil && !items[number].isDerived }
    let originals = items.indices.filter(isHere)
    for (place, number) in originals.enumerated() { places[number] = place }
    store.items = originals.compactMap { items[$0].item }
    let derived = items.indices.filter { items[$0].isDerived }
    if derived.isEmpty { return places }
    func name(_ item: LegacyItem) -> Data? { item.label.map { Data("\(item.kind)\n\($0)".utf8) } }
    // First by equal contents, then by the name.
    for key in [fingerprint(of:), name] as [(LegacyItem) -> Data?] {
      var waiting: [Data: [Int]] = [:]
      let taken = Set(derived.compactMap { places[$0] })
      for (place, number) in originals.enumerated() where !taken.contains(place) {
        if let key = items[number].item.flatMap(key) { waiting[key, default: []].append(number) }
      }
      for number in derived where places[number] == nil {
        guard let found = items[number].item, let key = key(found),
          let match = waiting[key]?.firstIndex(where: { items[$0].file != items[number].file }),
          let original = waiting[key]?.remove(at: match), let place = places[original]
        else { continue }
        places[number] = place
        // The file with the item may not have its category.
        if store.items[place].category == nil { store.items[place].category = found.category }
      }
    }
    for number in derived where places[number] == nil {
      places[number] = store.items.count
      store.items += [items[number].item].compactMap(\.self)
    }
    return places
  }
}
