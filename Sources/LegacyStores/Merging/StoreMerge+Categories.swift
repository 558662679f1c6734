import CatalogModel

extension StoreMerge {
  mutating func mergeCategories(_ draft: inout Draft<Catalog>) throws {
    let matches = matchCategories()
    var unused: [String: [CategoryID]] = [:]
    if matches.contains(nil) {
      let inUse = Set(memory.groups.map(\.category))
      for category in draft.state.categories.reversed() where !inUse.contains(category.id) {
        unused[category.name, default: []].append(category.id)
      }
    }
    (categories, groupIndexes) = ([], [])
    for (category, match) in zip(store.categories, matches) {
      if let match {
        groupIndexes.append(match)
        categories.append(try change(match, to: category, &draft))
      } else {
        // If people made a category with that name, it is used.
        let there = unused[category.name]?.popLast().flatMap { draft.state.category($0) }
        let number = try there?.id ?? draft.addCategory(name: category.name.usableName, color: category.color)
        if let there, there.color == nil { try draft.setColor(ofCategory: number, to: category.color) }
        if there == nil || there?.color != draft.state.category(number)?.color { report.categories += 1 }
        categories.append(number)
        groupIndexes.append(memory.groups.count)
        memory.groups.append(
          ImportMemory.Group(category, number: number, list: category.list, isAdopted: there != nil))
      }
    }
  }

  /// The index in the memory of each category: by name, then by color or other fields. One on each side was renamed.
  private func matchCategories() -> [Int?] {
    var byName: [String: [Int]] = [:]
    for (index, group) in memory.groups.enumerated().reversed() {
      byName[group.name, default: []].append(index)
    }
    var matches = store.categories.map { byName[$0.name]?.popLast() }
    let new = matches.indices.filter { matches[$0] == nil }
    var free = Set(memory.groups.indices).subtracting(matches.compactMap(\.self)).sorted()
    if new.count == 1, free.count == 1 {
      matches[new[0]] = free[0]
      return matches
    }
    // Many categories have an empty list.
    func contents(_ fields: [String: FieldValue]) -> [String: FieldValue] {
      fields.filter { !$0.value.isEmptyList }
    }
    for index in new {
      let category = store.categories[index]
      let fields = contents(category.fields)
      let place = free.firstIndex { place in
        let group = memory.groups[place]
        return group.color != nil && group.color == category.color
          || !fields.isEmpty && fields.fingerprint == contents(group.fields).fingerprint
      }
      if let place { matches[index] = free.remove(at: place) }
    }
    return matches
  }

  private mutating func change(
    _ match: Int, to category: LegacyCategory, _ draft: inout Draft<Catalog>
  ) throws -> CategoryID {
    let old = memory.groups[match]
    memory.groups[match] = ImportMemory.Group(
      category, number: old.category, list: category.list.isEmpty ? old.list : category.list,
      isAdopted: old.isAdopted)
    let isRenamed = !old.name.utf8.elementsEqual(category.name.utf8)
    let isRecolored = old.color != category.color
    guard let there = draft.state.category(old.category) else {
      // The deleted category keeps its number, so that its items do not seem to be moved in the file.
      guard isRenamed || isRecolored else { return old.category }
      report.noteReturn("the category \"\(category.name)\"", of: "it")
      let number = try draft.addCategory(name: category.name.usableName, color: category.color)
      memory.groups[match].category = number
      for (index, row) in memory.rows.enumerated() where row.category == old.category {
        memory.rows[index].category = number
        unchangedRowCount = min(unchangedRowCount, index)
        if let item = draft.state.item(row.item), item.category == nil {
          try draft.setCategory(ofItem: item.id, to: number)
        }
      }
      report.categories += 1
      return number
    }
    let name = isRenamed ? category.name.usableName : there.name
    let color = isRecolored ? category.color : there.color
    for (part, isConflict) in [
      ("name", isRenamed && there.name != old.name.usableName && there.name != name),
      ("color", isRecolored && there.color != old.color && there.color != color),
    ] where isConflict {
      report.noteConflict("the category \"\(there.name)\"", "its \(part)", of: "category:\(there.id)")
    }
    try draft.updateCategory(old.category, name: name, color: color)
    if name != there.name || color != there.color { report.categories += 1 }
    return old.category
  }

  mutating func deleteUnusedCategories(_ draft: inout Draft<Catalog>) throws {
    let used = Set(memory.rows.compactMap(\.category)).union(categories)
    let gone = memory.groups.filter { group in
      !used.contains(group.category) && (group.list.isEmpty || store.lists.contains(group.list))
    }
    let numbers = Set(gone.map(\.category))
    memory.groups.removeAll { numbers.contains($0.category) }
    for group in gone {
      // A category that people made stays.
      guard let there = draft.state.category(group.category), !group.isAdopted else { continue }
      guard there.name == group.name.usableName, there.color == group.color,
        draft.state.items(in: there.id).first(where: { _ in true }) == nil
      else {
        report.noteRemoval("category:\(there.id)")
        continue
      }
      try draft.deleteCategory(there.id)
      report.categories += 1
    }
  }
}
