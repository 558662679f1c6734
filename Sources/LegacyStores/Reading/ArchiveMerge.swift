import CatalogModel
import Foundation

/// Merges several archives, with each object and category once.
///
/// A reader refers to items and categories by their indexes in its archive. Here these references become indexes into
/// the store. The indexes of derived items are known only when all archives were read; until then, -1 refers to the
/// first of them, -2 to the second, and so on.
struct ArchiveMerge {
  var store: LegacyStore
  /// Gives the store's own images their names.
  var imageNames = UniqueNames()
  /// Objects that a file reaches only through their categories, to be matched at the end.
  private var derived: [(item: LegacyItem, file: Int)] = []
  private var fileCount = 0
  private var fileOfItem: [Int] = []

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
    var numbers: [Int: Int] = [:]
    var (keptCount, derivedCount) = (store.items.count, derived.count)
    func isDerived(_ item: LegacyItem) -> Bool { item.list.isEmpty && isOneOfSeveral }
    for (pending, index) in reader.indexes.enumerated() {
      guard let index else { continue }
      if isDerived(reader.items[index]) {
        derivedCount += 1
        numbers[pending] = -derivedCount
      } else {
        numbers[pending] = keptCount
        keptCount += 1
      }
    }
    func resolved(_ value: FieldValue) -> FieldValue {
      value.resolvingReferences { key, target in
        if key == Reference.category { return Reference.make(key, categories[target]) }
        return numbers[target].map { Reference.make(key, $0) } ?? .null
      }
    }
    for index in reader.indexes.compactMap(\.self) {
      var item = reader.items[index]
      let isDerived = isDerived(item)
      item.category = item.category.map { categories[$0] }
      item.attributes = item.attributes.mapValues(resolved)
      if isDerived {
        derived.append((item, fileCount))
      } else {
        store.items.append(item)
        fileOfItem.append(fileCount)
      }
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
        let item = target < 0 ? derived[-target - 1].item : store.items[target]
        return .string(item.label ?? item.kind)
      }.sortingSets
    }
    return [item.kind: .dictionary(named)].fingerprint
  }

  mutating func finish() -> LegacyStore {
    for index in store.categories.indices { moveImages(ofCategoryAt: index) }
    guard !derived.isEmpty else { return store }
    var taken: Set<Int> = []
    var prints: [Data: [Int]] = [:]
    var names: [String: [Int]] = [:]
    for (index, item) in store.items.enumerated() {
      prints[fingerprint(of: item), default: []].append(index)
      if let label = item.label { names["\(item.kind)\n\(label)", default: []].append(index) }
    }
    func match(_ candidates: [Int]?, _ file: Int) -> Int? {
      let index = candidates?.first { !taken.contains($0) && fileOfItem[$0] != file }
      if let index { taken.insert(index) }
      return index
    }
    var places = derived.map { match(prints[fingerprint(of: $0.item)], $0.file) }
    for (number, found) in derived.enumerated() {
      let place =
        places[number]
        ?? found.item.label.flatMap { match(names["\(found.item.kind)\n\($0)"], found.file) }
      if let place {
        // The file with the item may not have its category.
        if store.items[place].category == nil { store.items[place].category = found.item.category }
      } else {
        store.items.append(found.item)
      }
      places[number] = place ?? store.items.count - 1
    }
    func settled(_ value: FieldValue) -> FieldValue {
      value.resolvingReferences { key, target in
        Reference.make(key, target < 0 ? places[-target - 1] ?? 0 : target)
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
}
