import CatalogModel
import Foundation

/// Merges a store into a catalog: updates the items where the files have changed.
///
/// The files are compared with their contents at the previous import, not with the items. So a change in the journal
/// stays until the files change the same part. Then the files win: the report says so, and the journal's history has
/// the other value. An item that was deleted in the journal stays deleted unless the files have changed it. An item
/// that was removed from the files is deleted unless the journal has changed it. An element that an export wrote for an
/// item that was added in the journal is matched with that item.
///
/// What an item was at the previous import is in the journal's history. If that was pruned, or if the journal is a copy
/// without history, an item that was changed since then keeps its values, because either side may have changed them.
///
/// The result depends only on the store and the catalog, so running an interrupted import again continues it.
struct StoreMerge {
  var store: LegacyStore
  let fingerprints: [Data]
  /// The blobs of each item's images. Nil for an image that can't be read.
  let blobs: [[Blob?]]
  /// The same for the images of the store itself.
  let ownBlobs: [Blob?]
  /// The first revision, of at least 1, whose state the journal still has.
  let start: Revision
  /// The attributes that an item had as of an earlier revision. Nil if they were erased.
  let past: (_ item: Catalog.Item.ID, _ revision: Revision) throws -> [String: FieldValue]?
  var memory: ImportMemory

  var report = LegacyImportReport()
  var budget = Budget()
  /// The paths of files with elements that the catalog's rules reject.
  var rejected: Set<String> = []
  /// The number of each category of the store, which may be deleted in the journal.
  var categories: [CategoryID] = []
  /// The index in the memory of each category of the store.
  var groupIndexes: [Int] = []
  /// The number of each item. If anything refers to items, it is nil for deleted ones.
  var numbers: [Catalog.Item.ID?] = []
  /// The classes that elements and their parts had, each with those that they have now.
  var newClasses: [String: Set<String>] = [:]

  /// What an entry may still change.
  struct Budget {
    var itemCount = Int.max
    /// The bytes of the changed records. An entry has a limit, which is lower in a shared journal.
    var byteCount = Int.max

    var isSpent: Bool { itemCount <= 0 || byteCount <= 0 }

    mutating func spend(on item: Catalog.Item?) {
      itemCount -= 1
      byteCount -= item?.record.bytes.count ?? 0
    }
  }

  /// Changes items up to a limit.
  /// - Returns: whether everything is merged.
  mutating func run(_ draft: inout Draft<Catalog>, limit: Budget) throws -> Bool {
    // In a file that was not read completely, a list may be empty because its elements are unreadable.
    for (name, file) in store.files where !store.incompleteFiles.contains(name) {
      guard let old = memory.files[name] else { continue }
      store.files[name] = Layout.findingEmptyLists(old, in: file, &store.lists)
    }
    let hasReferences = store.items.contains(where: \.refersToItems)
    // Items that refer to each other are added in one entry, so that no state has only some of them.
    budget = hasReferences ? Budget() : limit
    let before = draft.state
    let alignment = try Alignment(store, fingerprints: fingerprints, blobs, before, memory) { row in
      if let base = try baseAttributes(row, before) { return base }
      return before.item(row.item).map { contents(of: $0, row) } ?? row.kept.compactMapValues(\.self)
    }
    noteReplacement(alignment, before)
    for (item, row) in zip(store.items, alignment.rows) {
      guard let old = row.map({ memory.rows[$0].className }), old != item.className else { continue }
      newClasses[old, default: []].insert(item.className)
    }
    try mergeCategories(&draft)
    var rows = memory.rows.indices.filter { !alignment.areCovered[$0] }.map { memory.rows[$0] }
    let untouched = Dictionary(rows.enumerated().map { ($1.item, $0) }) { first, _ in first }
    // If nothing refers to items, it does not matter which of them were deleted.
    let areReferredTo =
      hasReferences || store.files.values.contains(where: \.refersToItems)
      || store.categories.contains { $0.fields.values.contains(where: \.refersToItems) }
    numbers = alignment.rows.map { row in
      row.map { memory.rows[$0].item }.flatMap { areReferredTo && before.item($0) == nil ? nil : $0 }
    }
    for (index, item) in alignment.exported { numbers[index] = item }
    var isComplete = true
    var newRows: [ImportMemory.Element?] = Array(repeating: nil, count: store.items.count)
    // New items come first, so that those that are there can be compared with their references to new ones.
    let new = hasReferences ? store.items.indices.filter { numbers[$0] == nil } : []
    let others =
      hasReferences ? store.items.indices.filter { numbers[$0] != nil } : Array(store.items.indices)
    for index in new + others {
      let old = alignment.rows[index].map { memory.rows[$0] }
      if budget.isSpent, old == nil || isChanged(index, old) {
        newRows[index] = old
        isComplete = false
      } else if let item = alignment.exported[index] {
        newRows[index] = try adopt(item, as: index, &draft)
      } else {
        newRows[index] = try merge(index, old, &draft)
      }
    }
    for index in new where store.items[index].refersToItems {
      guard let row = newRows[index], draft.state.item(row.item) != nil else { continue }
      newRows[index] = try addReferences(index, row, &draft)
    }
    try order(&newRows, alignment, &draft)
    for row in newRows.compactMap(\.self) {
      // Elements of lists that were not read keep their positions.
      if let place = untouched[row.item] { rows[place] = row } else { rows.append(row) }
    }
    for index in alignment.gone {
      let row = memory.rows[index]
      guard !budget.isSpent else {
        rows.append(row)
        isComplete = false
        continue
      }
      if try delete(row, &draft) { budget.spend(on: nil) }
    }
    // Unreadable elements are kept.
    let present = Set(rows.map(\.item))
    rows += memory.rows.enumerated().filter { index, row in
      !present.contains(row.item) && !alignment.gone.contains(index) && store.isUnreadable(row)
    }.map(\.element)
    // Sorted by list, so that the same state always has the same memory.
    memory.rows = rows.enumerated().sorted { ($0.element.list, $0.offset) < ($1.element.list, $1.offset) }
      .map(\.element)
    noteClasses()
    try finish(&draft, isComplete: isComplete)
    return isComplete
  }

  /// Says which classes have other names now. Values that are not objects have names in braces, or none.
  private mutating func noteClasses() {
    for (old, names) in newClasses.sorted(by: { $0.key < $1.key }) {
      let names = names.filter { !$0.isEmpty && !$0.hasPrefix("{") }.sorted()
      if old.isEmpty || old.hasPrefix("{") || names.isEmpty { continue }
      report.note(
        store.source.rawValue,
        "objects of the class \(old) now have the class \(names.joined(separator: " or ")); their items stay the same"
      )
    }
  }

  /// Says so if no element is one of the previous import. The files are then probably those of another app or device.
  private mutating func noteReplacement(_ alignment: Alignment, _ catalog: Catalog) {
    let isOther = alignment.exported.isEmpty && alignment.rows.allSatisfy { $0 == nil }
    guard isOther, !store.items.isEmpty, alignment.gone.count == memory.rows.count,
      memory.rows.contains(where: { catalog.item($0.item) != nil })
    else { return }
    report.note(
      store.source.rawValue,
      "no element is one of the previous import, so all its elements count as removed; if the files are those of "
        + "another app or device, restore the state before this import, and import them with --store NAME (in Swift, "
        + "name)")
  }

  mutating func finish(_ draft: inout Draft<Catalog>, isComplete: Bool) throws {
    // Categories and layouts may refer to categories and items, whose numbers are known only now.
    for (category, group) in zip(store.categories, groupIndexes) {
      memory.groups[group].fields = resolved(category.fields)
    }
    if isComplete { try deleteUnusedCategories(&draft) }
    var unread: Set<String> = []
    // One item of a list is enough: to look up all would take longer with each entry of the import.
    for row in memory.rows where !store.lists.contains(row.list) && !unread.contains(row.list) {
      if draft.state.item(row.item) != nil { unread.insert(row.list) }
    }
    for group in memory.groups where !store.lists.contains(group.list) {
      if draft.state.category(group.category) != nil { unread.insert(group.list) }
    }
    memory.files.merge(resolved(store.files)) { old, new in
      Layout.keeping(old, in: new, unread.contains)
    }
    memory.classes.merge(store.classes)
    // A folder of bugs is always read as a whole.
    memory.incomplete = store.source == .scarybugs ? [] : memory.incomplete.subtracting(store.files.keys)
    memory.incomplete.formUnion(store.incompleteFiles.union(rejected))
    guard !(memory.rows.isEmpty && memory.groups.isEmpty && memory.files.isEmpty) else { return }
    try memory.write(to: &draft)
    guard let own = memory.firstPart else { return }
    let known = Dictionary(draft.state.images(of: own).map { ($0.name, $0) }) { first, _ in first }
    for (image, blob) in zip(store.images, ownBlobs) {
      guard let blob else { continue }
      if let there = known[image.name] {
        if there.blob != blob { try draft.updateImage(there.id, mediaType: image.mediaType, blob: blob) }
      } else {
        try draft.addImage(to: own, name: image.name, mediaType: image.mediaType, blob: blob)
      }
    }
  }

  /// Whether an element has changed in the file.
  func isChanged(_ index: Int, _ old: ImportMemory.Element?) -> Bool {
    guard let old else { return true }
    let item = store.items[index]
    return fingerprints[index] != old.fingerprint || categoryNumber(of: item) != old.category
      || item.list != old.list && !item.list.isEmpty || item.className != old.className
      || zip(item.images, blobs[index]).contains { $1 != nil && old.images[$0.name]?.blob != $1 }
      || !Set(old.images.keys).isSubset(of: item.images.map(\.name))
  }

  /// Whether an element has changed in more than the names of classes.
  private func hasNewContents(
    _ index: Int, _ old: ImportMemory.Element, _ catalog: Catalog
  ) throws -> Bool {
    var same = old
    (same.className, same.fingerprint) = (store.items[index].className, fingerprints[index])
    if isChanged(index, same) { return true }
    if old.fingerprint == fingerprints[index] { return false }
    guard let base = try baseAttributes(old, catalog) else { return true }
    let wanted = resolved(store.items[index].attributes)
    return Set(wanted.keys).union(base.keys).subtracting(ownAttributes(index)).contains { name in
      !(wanted[name]?.withoutClasses).isIdentical(to: base[name]?.withoutClasses)
    }
  }

  func categoryNumber(of item: LegacyItem) -> CategoryID? { item.category.map { categories[$0] } }

  // MARK: One item

  /// - Returns: the element for the memory, or nil if the catalog's rules reject the item.
  mutating func merge(
    _ index: Int, _ old: ImportMemory.Element?, _ draft: inout Draft<Catalog>
  ) throws -> ImportMemory.Element? {
    let item = store.items[index]
    guard let old else { return try add(index, &draft) }
    guard isChanged(index, old) else {
      report.unchanged += 1
      var row = old
      row.sources = item.sources
      // The file still has what it had, so the next import can tell again what the journal has changed.
      if old.revision < start, isModified(old, draft.state) {
        agree(&row, index, draft.state, at: draft.revision)
      }
      return row
    }
    guard let current = draft.state.item(old.item) else {
      if try !hasNewContents(index, old, draft.state) {
        report.unchanged += 1
        var row = old
        row.fingerprint = fingerprints[index]
        row.className = item.className
        row.sources = item.sources
        return row
      }
      report.note(
        place(of: item),
        "it was deleted in the journal but has changed in the file since, so it is added again")
      return try add(index, &draft)
    }
    var row = old
    do {
      try change(index, &row, current, &draft)
    } catch let error as JournalError where error.code == .rejected {
      noteRejection(of: item, error)
      return old
    }
    let isSame = draft.state.item(old.item)?.record == current.record
    try mergeImages(index, &row, &draft)
    budget.spend(on: draft.state.item(old.item))
    let revision = draft.revision
    let catalog = draft.state
    let isTouched = !isSame || catalog.images(of: old.item).contains { $0.modified == revision }
    if isTouched || old.images.count != row.images.count {
      report.updated += 1
    } else {
      report.unchanged += 1
    }
    if row != old || !isSame { agree(&row, index, draft.state, at: revision) }
    return row
  }

  private mutating func noteRejection(of item: LegacyItem, _ error: JournalError) {
    report.note(place(of: item), "\(error)", isLoss: true)
    if let key = item.key {
      rejected.insert("\(key)/\(ScaryBugReader.dataFile)")
    } else {
      rejected.formUnion(
        store.files.filter { item.list.isEmpty || Layout.lists(in: [$0: $1]).contains(item.list) }.keys)
    }
  }

  /// Records that an item agrees with the file, except for attributes that differ in the journal.
  func agree(_ row: inout ImportMemory.Element, _ index: Int, _ catalog: Catalog, at revision: Revision) {
    guard let item = catalog.item(row.item) else { return }
    let wanted = resolved(store.items[index].attributes)
    let now = item.attributes
    row.revision = revision
    row.kept = [:]
    for name in Set(wanted.keys).union(now.keys).subtracting(ownAttributes(index)) {
      if !wanted[name].isIdentical(to: now[name]) { row.kept[name] = .some(wanted[name]) }
    }
  }

  /// Attributes that follow from the position of an element, not from its contents.
  func ownAttributes(_ index: Int) -> Set<String> {
    store.items[index].isDone == nil ? [] : ["done", "order"]
  }

  mutating func add(_ index: Int, _ draft: inout Draft<Catalog>) throws -> ImportMemory.Element? {
    let item = store.items[index]
    var attributes = resolved(item.attributes)
    if let isDone = item.isDone, attributes["done"] == nil { attributes["done"] = .bool(isDone) }
    let category = categoryNumber(of: item)
    let number: Catalog.Item.ID
    do throws(JournalError) {
      let present = category.flatMap { draft.state.category($0)?.id }
      number = try draft.addItem(kind: item.kind, category: present, attributes: attributes)
    } catch {
      guard error.code == .rejected else { throw error }
      noteRejection(of: item, error)
      return nil
    }
    numbers[index] = number
    var row = ImportMemory.Element(
      item: number, revision: draft.revision, fingerprint: fingerprints[index], list: item.list,
      key: item.key,
      className: item.className, category: category, sources: item.sources)
    try mergeImages(index, &row, &draft)
    report.added += 1
    budget.spend(on: draft.state.item(number))
    return row
  }

  /// Records that an element is an item that was added in the journal. If the app has moved it to another list or
  /// category, the item follows; nothing else of it changes.
  mutating func adopt(
    _ number: Catalog.Item.ID, as index: Int, _ draft: inout Draft<Catalog>
  ) throws -> ImportMemory.Element {
    let item = store.items[index]
    let category = categoryNumber(of: item)
    let before = draft.state.item(number)
    if let present = category.flatMap({ draft.state.category($0)?.id }) {
      try draft.setCategory(ofItem: number, to: present)
    }
    if let isDone = item.isDone, isDone != before?.isDone {
      try draft.updateItem(number, set: ["done": .bool(isDone)])
    }
    var row = ImportMemory.Element(
      item: number, revision: draft.revision, fingerprint: fingerprints[index], list: item.list,
      key: item.key, className: item.className, category: category, sources: item.sources)
    // In the file its images may have other names.
    let images = Dictionary(draft.state.images(of: number).map { ($0.blob, $0.id) }) { first, _ in first }
    for (image, blob) in zip(item.images, blobs[index]) {
      guard let blob, let there = images[blob] else { continue }
      row.images[image.name] = ImportMemory.Picture(image: there, blob: blob)
    }
    agree(&row, index, draft.state, at: draft.revision)
    if draft.state.item(number)?.record == before?.record {
      report.unchanged += 1
    } else {
      report.updated += 1
    }
    return row
  }

  mutating func change(
    _ index: Int, _ row: inout ImportMemory.Element, _ current: Catalog.Item, _ draft: inout Draft<Catalog>
  ) throws {
    let item = store.items[index]
    if fingerprints[index] != row.fingerprint {
      try changeAttributes(resolved(item.attributes), index, &row, current, &draft)
    }
    let category = categoryNumber(of: item)
    if category != row.category {
      let present = category.flatMap { draft.state.category($0)?.id }
      // One that was deleted in the journal replaces no other.
      if category == present || current.category == row.category {
        if current.category != row.category, current.category != present {
          noteConflict("its category", index, row)
        }
        try draft.setCategory(ofItem: row.item, to: present)
      }
      row.category = category
    }
    if item.list != row.list, !item.list.isEmpty {
      if let isDone = item.isDone { try draft.updateItem(row.item, set: ["done": .bool(isDone)]) }
      row.list = item.list
    }
    row.className = item.className
    row.sources = item.sources
  }

  mutating func changeAttributes(
    _ wanted: [String: FieldValue], _ index: Int, _ row: inout ImportMemory.Element, _ current: Catalog.Item,
    _ draft: inout Draft<Catalog>
  ) throws {
    let base = try baseAttributes(row, draft.state)
    var old = base ?? row.kept.compactMapValues(\.self)
    var now = current.attributes
    var set: [String: FieldValue] = [:]
    var removed: [String] = []
    var undecided: [String] = []
    // The name of an attribute may begin with that of the class.
    let prefixes = [row.className, store.items[index].className].map { ClassSurvey.shortName($0) + "." }
    for name in old.keys where prefixes[0] != prefixes[1] && name.hasPrefix(prefixes[0]) {
      let newName = prefixes[1] + name.dropFirst(prefixes[0].count)
      guard wanted[name] == nil, wanted[newName] != nil, old[newName] == nil, now[newName] == nil else {
        continue
      }
      old[newName] = old.removeValue(forKey: name)
      guard let value = now.removeValue(forKey: name) else { continue }
      (now[newName], set[newName]) = (value, value)
      removed.append(name)
    }
    let unreadable = store.items[index].unreadable
    for name in Set(wanted.keys).union(old.keys).subtracting(ownAttributes(index)).subtracting(unreadable) {
      if base == nil, !row.kept.keys.contains(name) {
        if now[name] == nil { set[name] = wanted[name] }
        if !(set[name] ?? now[name]).isIdentical(to: wanted[name]) { undecided.append(name) }
        continue
      }
      if wanted[name].isIdentical(to: old[name]) { continue }
      if let before = old[name], let new = wanted[name],
        before.withoutClasses.isIdentical(to: new.withoutClasses)
      {
        // Only classes have other names, so a change in the journal stays.
        var names: [String: String] = [:]
        before.addClasses(in: new, to: &names)
        for (old, new) in names { newClasses[old, default: []].insert(new) }
        if let value = now[name] { set[name] = value.renamingClasses(names) }
        continue
      }
      if !now[name].isIdentical(to: old[name]), !now[name].isIdentical(to: wanted[name]) {
        noteConflict(name, index, row)
      }
      if let value = wanted[name] { set[name] = value } else { removed.append(name) }
    }
    try draft.updateItem(row.item, set: set, remove: removed)
    let kind = store.items[index].kind
    if current.kind != kind {
      let fileKind = memory.classes[row.className]?.kind ?? ""
      if fileKind == kind {
        // The journal has changed it.
      } else if let base {
        if !wasInFile(kind, base, row, draft.state) {
          if !fileKind.isEmpty, fileKind != current.kind {
            noteConflict("the kind", index, row)
          }
          try draft.setKind(ofItem: row.item, to: kind)
        }
      } else {
        undecided.append("the kind")
      }
    }
    if !undecided.isEmpty {
      report.note(
        place(of: store.items[index]),
        "\(undecided.sorted().joined(separator: ", ")) in the file and in item:\(row.item) differ, and the journal no "
          + "longer has the history that tells which of them was changed; the journal's value stays")
    }
    row.fingerprint = fingerprints[index]
  }

  private mutating func noteConflict(_ part: String, _ index: Int, _ row: ImportMemory.Element) {
    report.note(
      place(of: store.items[index]),
      "\(part) was changed both in the journal and in the file; the file's value is used, and the "
        + "history of item:\(row.item) has the other one")
  }

  /// The second pass over new items with references, after all items have numbers.
  mutating func addReferences(
    _ index: Int, _ row: ImportMemory.Element, _ draft: inout Draft<Catalog>
  ) throws -> ImportMemory.Element {
    var row = row
    try draft.updateItem(
      row.item,
      set: resolved(store.items[index].attributes.filter { $0.value.refersToItems }))
    agree(&row, index, draft.state, at: draft.revision)
    return row
  }

  /// The attributes with numbers in place of indexes into the store.
  func resolved(_ attributes: [String: FieldValue]) -> [String: FieldValue] {
    attributes.mapValues { value in
      value.resolvingReferences { key, target in
        let number = key == Reference.item ? numbers[target]?.number : categories[target].number
        return number.map { Reference.make(key, $0) } ?? .null
      }.sortingSets
    }
  }

  mutating func delete(_ row: ImportMemory.Element, _ draft: inout Draft<Catalog>) throws -> Bool {
    let catalog = draft.state
    guard let item = catalog.item(row.item) else { return false }
    let differs = row.kept.contains { name, value in
      (value ?? .null).content() != (item[name] ?? .null).content()
    }
    let isEdited = row.revision > 0 ? isModified(row, catalog) : !isProvenUnchanged(item, row, catalog)
    let isOurs =
      isEdited || differs || item.category != row.category.flatMap { catalog.category($0)?.id }
      || catalog.images(of: item.id).contains { image in
        !row.images.values.contains { $0.image == image.id && $0.blob == image.blob }
      }
    if isOurs {
      let reason =
        row.revision > 0
        ? "it was changed in the journal since"
        : "the journal no longer has the history that tells whether it was changed there"
      report.note("item:\(row.item)", "the file no longer has it, but \(reason), so it stays")
      return false
    }
    try draft.deleteItem(row.item)
    report.images += row.images.count
    report.deleted += 1
    return true
  }

  func place(of item: LegacyItem) -> String {
    if let key = item.key { return key }
    let label = item.label.map { " \"\($0.prefix(60))\"" } ?? ""
    return "\(item.list.isEmpty ? item.kind : item.list)\(label)"
  }

  mutating func order(
    _ rows: inout [ImportMemory.Element?], _ alignment: Alignment, _ draft: inout Draft<Catalog>
  ) throws {
    let ordered = store.items.indices.filter { store.items[$0].isDone != nil }
    for (list, indexes) in Dictionary(grouping: ordered, by: { store.items[$0].list })
      .sorted(by: { $0.key < $1.key })
    {
      var elements: [ItemOrder.Element] = []
      for index in indexes {
        guard let row = rows[index], let there = draft.state.item(row.item) else { continue }
        let before = alignment.rows[index].flatMap { memory.rows[$0].list == list ? $0 : nil }
        let order = there["order"]?.integer.map { Int64($0) }
        elements.append(ItemOrder.Element(item: row.item, place: before, order: order))
      }
      let changes = Dictionary(ItemOrder.changes(elements)) { first, _ in first }
      for index in indexes {
        guard var row = rows[index], let order = changes[row.item] else { continue }
        if let old = alignment.rows[index].map({ memory.rows[$0] }),
          let base = try baseAttributes(old, draft.state)?["order"],
          !base.isIdentical(to: draft.state.item(row.item)?["order"])
        {
          noteConflict("its position", index, row)
        }
        try draft.updateItem(row.item, set: ["order": .integer(order)])
        agree(&row, index, draft.state, at: draft.revision)
        rows[index] = row
      }
    }
  }
}
