import CatalogModel
import Foundation

extension StoreMerge {
  mutating func mergeCategories(_ draft: inout Draft<Catalog>) throws {
    var matches: [Int?] = Array(repeating: nil, count: store.categories.count)
    var free = Set(memory.groups.indices)
    var named = FreeIndexes(memory.groups.indices) { Array(memory.groups[$0].name.utf8) }
    for (index, category) in store.categories.enumerated() {
      matches[index] = named.first(Array(category.name.utf8), in: free)
      if let match = matches[index] { free.remove(match) }
    }
    let new = matches.indices.filter { matches[$0] == nil }
    if new.count == 1, free.count == 1 {
      // It was renamed.
      matches[new[0]] = free.removeFirst()
    } else if !new.isEmpty {
      var colored = FreeIndexes(free.sorted()) { memory.groups[$0].color }
      var filled = FreeIndexes(free.sorted()) { Self.fingerprint(memory.groups[$0].fields) }
      for index in new where !free.isEmpty {
        let category = store.categories[index]
        let found = [
          colored.first(category.color, in: free), filled.first(Self.fingerprint(category.fields), in: free),
        ]
        guard let match = found.compactMap(\.self).min() else { continue }
        matches[index] = match
        free.remove(match)
      }
    }
    let inUse = Set(memory.groups.map(\.category))
    var unused: [[UInt8]: [CategoryID]] = [:]
    if matches.contains(nil) {
      for category in draft.state.categories where !inUse.contains(category.id) {
        unused[Array(category.name.utf8), default: []].append(category.id)
      }
      for name in unused.keys { unused[name]?.reverse() }
    }
    categories = []
    groupIndexes = []
    for (index, category) in store.categories.enumerated() {
      if let match = matches[index] {
        groupIndexes.append(match)
        categories.append(try change(match, to: category, &draft))
      } else {
        let number = try addCategory(category, &unused, &draft)
        categories.append(number)
        groupIndexes.append(memory.groups.count)
        memory.groups.append(
          ImportMemory.Group(category, number: number, list: category.list))
      }
    }
  }

  /// Identifies the fields of a category. Many have an empty list.
  private static func fingerprint(_ fields: [String: FieldValue]) -> Data? {
    let fields = fields.filter { !$0.value.isEmptyList }
    return fields.isEmpty ? nil : fields.fingerprint
  }

  /// - Parameter unused: the categories of the journal that are not in the files, by name; the first one is last.
  mutating func addCategory(
    _ category: LegacyCategory, _ unused: inout [[UInt8]: [CategoryID]], _ draft: inout Draft<Catalog>
  ) throws -> CategoryID {
    // If the app has a category with that name, it is used.
    if let number = unused[Array(category.name.utf8)]?.popLast(), let there = draft.state.category(number) {
      if there.color == nil, let color = category.color {
        try draft.setColor(ofCategory: there.id, to: color)
        report.categories += 1
      }
      return there.id
    }
    let number = try draft.addCategory(name: category.name.usableName, color: category.color)
    report.categories += 1
    return number
  }

  mutating func change(
    _ match: Int, to category: LegacyCategory, _ draft: inout Draft<Catalog>
  ) throws -> CategoryID? {
    let old = memory.groups[match]
    memory.groups[match] = ImportMemory.Group(
      category, number: old.category, list: category.list.isEmpty ? old.list : category.list)
    guard let there = draft.state.category(old.category) else { return nil }
    let isRenamed = !old.name.utf8.elementsEqual(category.name.utf8)
    let name = isRenamed ? category.name.usableName : there.name
    let color = old.color == category.color ? there.color : category.color
    try draft.updateCategory(old.category, name: name, color: color)
    if name != there.name || color != there.color { report.categories += 1 }
    return old.category
  }

  mutating func deleteUnusedCategories(_ draft: inout Draft<Catalog>) throws {
    let present = Set(categories.compactMap(\.self))
    let used = Set(memory.rows.compactMap(\.category))
    let gone = memory.groups.filter { group in
      !present.contains(group.category) && !used.contains(group.category)
        && (group.list.isEmpty || store.lists.contains(group.list))
    }
    let numbers = Set(gone.map(\.category))
    memory.groups.removeAll { numbers.contains($0.category) }
    for group in gone {
      guard let there = draft.state.category(group.category), there.name == group.name,
        there.color == group.color,
        draft.state.items(in: there.id).first(where: { _ in true }) == nil
      else { continue }
      try draft.deleteCategory(there.id)
      report.categories += 1
    }
  }
}

/// Indexes by key, from which the first one that is still free is found.
private struct FreeIndexes<Key: Hashable> {
  private var indexes: [Key: [Int]] = [:]

  /// - Parameter key: the key of an index; nil if it has none.
  init(_ ascending: some BidirectionalCollection<Int>, key: (Int) -> Key?) {
    for index in ascending.reversed() {
      if let key = key(index) { indexes[key, default: []].append(index) }
    }
  }

  mutating func first(_ key: Key?, in free: Set<Int>) -> Int? {
    guard let key else { return nil }
    while let last = indexes[key]?.last {
      if free.contains(last) { return last }
      indexes[key]?.removeLast()
    }
    return nil
  }
}
