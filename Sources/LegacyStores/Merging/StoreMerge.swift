import CatalogModel
import Foundation

/// Merges a store into a catalog: what changed in the files since the last import is applied, what people added in the
/// journal stays, and a conflict is reported; the history has both.
///
/// A conflict is an attribute, category or image that both sides have changed; the file's is then used. An item that
/// the files no longer have stays if people have changed it. An item that people have deleted comes back if the files
/// change it. Digests of what the files had at the last import tell which side has changed a value.
///
/// The result depends only on the store and the catalog, so running an interrupted import again continues it.
struct StoreMerge {
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

  var store: LegacyStore
  /// The digests of each item's attributes, where references are indexes into the store.
  private let digests: [Digests]
  /// The blobs of each item's images. Nil for an image that can't be read.
  let blobs: [[Blob?]]
  /// The blobs of the store's own images.
  let ownBlobs: [Blob?]
  var memory: ImportMemory
  private let limit: Budget
  var budget = Budget()
  var report = LegacyImportReport()
  /// The items that the catalog's rules reject, by the reason.
  private(set) var rejections: [String: [String]] = [:]
  /// The paths of files with rejected items.
  var rejected: Set<String> = []
  /// The number of each category of the store, which may be deleted in the journal.
  var categories: [CategoryID] = []
  /// The index in the memory of each category of the store.
  var groupIndexes: [Int] = []
  /// The index in the memory of each item's row. Nil for an item that is yet to be added.
  private var rows: [Int?] = []
  /// The rows that this entry adds or changes, by the index of the item.
  private var changed: [Int: ImportMemory.Element] = [:]
  /// The number of each item. Nil for an item that is yet to be added.
  private var numbers: [Catalog.Item.ID?] = []
  /// Whether each item is merged. Empty before the first entry.
  private var isDone: [Bool] = []
  /// How many of the memory's first rows are as they are stored.
  var unchangedRowCount = 0
  /// Whether items refer to each other, so that no state may have only some of them.
  private let hasReferences: Bool
  /// The position of each item in its list, for reports.
  private lazy var positions: [Int] = {
    var counts: [String: Int] = [:]
    return store.items.map { item in
      defer { counts[item.list, default: 0] += 1 }
      return counts[item.list, default: 0]
    }
  }()
  /// The classes that have another name now, each with its names.
  private var newClasses: [String: Set<String>] = [:]

  init(
    _ store: LegacyStore, digests: [Digests], blobs: [[Blob?]], ownBlobs: [Blob?], _ memory: ImportMemory,
    limit: Budget
  ) {
    (self.store, self.memory, self.digests) = (store, memory, digests)
    (self.blobs, self.ownBlobs, self.limit) = (blobs, ownBlobs, limit)
    hasReferences = store.items.contains(where: \.refersToItems)
  }

  /// Changes items up to the limit. The next call, on the state that this one leaves, changes further ones.
  /// - Returns: whether everything is merged.
  mutating func run(_ draft: inout Draft<Catalog>) throws -> Bool {
    (report, budget, changed) = (LegacyImportReport(), hasReferences ? Budget() : limit, [:])
    unchangedRowCount = memory.rows.count
    let before = draft.state
    let exported = isDone.isEmpty ? start(before) : [:]
    try mergeCategories(&draft)
    numbers = rows.indices.map { index in rows[index].map { memory.rows[$0].item } ?? exported[index] }
    for (index, number) in exported {
      changed[index] = before.item(number).map { adopted($0, as: index, before) }
    }
    let areMerged = try mergeItems(before, &draft)
    try order(&draft)
    let areDeleted = try updateRows(&draft)
    reportRenamedClasses()
    try finish(&draft, isComplete: areMerged && areDeleted)
    return areMerged && areDeleted
  }

  /// - Returns: the items of elements that have no row, because an export wrote them.
  private mutating func start(_ catalog: Catalog) -> [Int: Catalog.Item.ID] {
    // In a file that was not read completely, a list may be empty because its elements are unreadable.
    for (name, file) in store.files where !store.incompleteFiles.contains(name) {
      guard let old = memory.files[name] else { continue }
      store.files[name] = Layout.findingEmptyLists(old, in: file, &store.lists)
    }
    isDone = Array(repeating: false, count: store.items.count)
    let matching = Matching(store, digests, memory, blobs, catalog)
    rows = matching.rows
    if matching.exported.isEmpty { reportReplacement(catalog) }
    findRenamedClasses()
    return matching.exported
  }

  /// The row of an item, or of a row's index if the complement of that is given. Nil for an item that is yet to be added.
  private func row(_ index: Int) -> ImportMemory.Element? {
    if index < 0 { return memory.rows[~index] }
    return changed[index] ?? rows[index].map { memory.rows[$0] }
  }

  /// - Returns: whether all are merged.
  private mutating func mergeItems(_ before: Catalog, _ draft: inout Draft<Catalog>) throws -> Bool {
    var isComplete = true
    // New items and those that come back are first, so that all others can refer to them.
    let isNew = store.items.indices.map { index in
      if isDone[index] { return false }
      guard let row = row(index) else { return true }
      // Resolving references takes longer than looking up an item.
      if !digests[index].references.isEmpty, before.item(row.item) != nil { return false }
      return hasChanged(index, row) && before.item(row.item) == nil
    }
    for index in isNew.indices where isNew[index] {
      if budget.isSpent {
        isComplete = false
        continue
      }
      if let old = row(index) { report.noteReturn(place(of: index), of: "item:\(old.item)") }
      if let row = try add(index, &draft) { changed[index] = row }
      isDone[index] = true
    }
    for index in isNew.indices {
      guard let old = row(index) else { continue }
      if isNew[index] {
        if hasReferences, store.items[index].refersToItems {
          changed[index] = try change(index, old, &draft)
        }
      } else if isDone[index] || isUnchanged(index, old) {
        report.unchanged += 1
        isDone[index] = true
      } else if budget.isSpent, hasChanged(index, old) {
        isComplete = false
      } else {
        changed[index] = try merge(index, old, &draft)
        isDone[index] = true
      }
    }
    return isComplete
  }

  /// Deletes the items of removed elements, and records all others.
  /// - Returns: whether all are deleted.
  private mutating func updateRows(_ draft: inout Draft<Catalog>) throws -> Bool {
    var isComplete = true
    var items = [Int?](repeating: nil, count: memory.rows.count)
    for (index, row) in rows.enumerated() { if let row { items[row] = index } }
    let areCovered = self.areCovered
    // Elements of lists that were not read keep their positions.
    var order = items.indices.filter { !areCovered[$0] }.map { items[$0] ?? ~$0 }
    order += rows.indices.filter { row($0) != nil && rows[$0].map { areCovered[$0] } ?? true }
    for index in items.indices where items[index] == nil && areCovered[index] {
      let row = memory.rows[index]
      if store.isUnreadable(row) {
        order.append(~index)
      } else if budget.isSpent {
        order.append(~index)
        isComplete = false
      } else if try delete(row, &draft) {
        budget.spend(on: nil)
      }
    }
    // Sorted by list, so that the same state always has the same memory. The order of a set has no meaning.
    let sets = Layout.unorderedLists(in: store.files)
    func key(_ index: Int) -> (String, Int) {
      guard let row = row(index) else { return ("", 0) }
      return (row.list, sets.contains(row.list) ? row.item.number : 0)
    }
    order.sort { key($0) < key($1) }
    let unchanged = order.enumerated().prefix { place, index in
      changed[index] == nil && place == (index < 0 ? ~index : rows[index])
    }
    unchangedRowCount = min(unchangedRowCount, unchanged.count)
    if unchanged.count < max(order.count, memory.rows.count) {
      var all: [ImportMemory.Element] = []
      all.reserveCapacity(order.count)
      for index in order { if let row = row(index) { all.append(row) } }
      memory.rows = all
    }
    for (place, index) in order.enumerated() where index >= 0 { rows[index] = place }
    return isComplete
  }

  /// For each row, whether the store has its element if the files still have it.
  private var areCovered: [Bool] {
    let hasDerivedItems = store.items.contains { $0.list.isEmpty }
    let lists = Dictionary(memory.groups.map { ($0.category, $0.list) }) { first, _ in first }
    return memory.rows.map { row in
      if !row.list.isEmpty { return store.lists.contains(row.list) }
      // The element was reached through its category.
      return hasDerivedItems || row.category.flatMap { lists[$0] }.map { store.lists.contains($0) } ?? false
    }
  }

  private mutating func finish(_ draft: inout Draft<Catalog>, isComplete: Bool) throws {
    // Categories and layouts may refer to categories and items, whose numbers are known only now.
    for (category, group) in zip(store.categories, groupIndexes) {
      memory.groups[group].fields = resolved(category.fields)
    }
    if isComplete { try deleteUnusedCategories(&draft) }
    var unread: Set<String> = []
    // One item of a list is enough. To look up all would take longer with each entry of the import.
    for row in memory.rows where !store.lists.contains(row.list) && !unread.contains(row.list) {
      if draft.state.item(row.item) != nil { unread.insert(row.list) }
    }
    for group in memory.groups where !store.lists.contains(group.list) {
      if draft.state.category(group.category) != nil { unread.insert(group.list) }
    }
    memory.files.merge(resolved(store.files)) { old, new in Layout.keeping(old, in: new, unread.contains) }
    memory.classes.merge(store.classes)
    // A folder of bugs is always read as a whole.
    memory.incomplete = store.source == .scarybugs ? [] : memory.incomplete.subtracting(store.files.keys)
    memory.incomplete.formUnion(store.incompleteFiles.union(rejected))
    guard !(memory.rows.isEmpty && memory.groups.isEmpty && memory.files.isEmpty) else { return }
    try memory.write(to: &draft, unchanged: unchangedRowCount)
    guard let own = memory.parts.first else { return }
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

  // MARK: One item

  /// What the file has for an item: the element for the memory, and the attributes.
  /// - Parameters:
  ///   - old: its element of the last import, if any. What can't be read now stays as it was, and so does the place of a
  ///     to-do, which ``order(_:)`` merges.
  ///   - isNew: whether other items may have no numbers yet, so that references to them have to wait.
  private func found(
    _ index: Int, _ old: ImportMemory.Element? = nil, isNew: Bool = false
  ) -> (row: ImportMemory.Element, attributes: [String: FieldValue]) {
    let item = store.items[index]
    var (attributes, digests) = (item.attributes, digests[index])
    let references = digests.references
    if !references.isEmpty {
      attributes = resolved(isNew ? attributes.filter { !$0.value.refersToItems } : attributes)
      for name in references { digests[name] = attributes[name]?.digest }
    }
    if let isDone = item.isDone {
      attributes["done"] = .bool(isDone)
      digests["done"] = FieldValue.bool(isDone).digest
      digests["order"] = old?.digests["order"]
    }
    if let old { for name in item.unreadable { digests[name] = old.digests[name] } }
    let row = ImportMemory.Element(
      item: old?.item ?? Catalog.Item.ID(0), kind: item.kind,
      list: item.list.isEmpty ? old?.list ?? "" : item.list, key: item.key, className: item.className,
      category: item.category.map { categories[$0] }, digests: digests, images: old?.images ?? [:],
      sources: item.sources, wasExported: old?.wasExported ?? false)
    return (row, attributes)
  }

  /// The attributes with numbers in place of indexes into the store.
  private func resolved(_ attributes: [String: FieldValue]) -> [String: FieldValue] {
    attributes.mapValues { value in
      value.resolvingReferences { key, target in
        let number = key == Reference.item ? numbers[target]?.number : categories[target].number
        return number.map { Reference.make(key, $0) } ?? .null
      }.sortingSets
    }
  }

  /// Whether an element has changed in the file in more than the names of classes.
  private func hasChanged(_ index: Int, _ old: ImportMemory.Element) -> Bool {
    let (images, new) = (store.items[index].images, found(index, old).row)
    return new.kind != old.kind || new.category != old.category || new.digests != old.digests
      || zip(images, blobs[index]).contains { $1 != nil && old.images[$0.name]?.blob != $1 }
      || !Set(old.images.keys).isSubset(of: images.map(\.name))
  }

  /// Whether an element is as at the last import. Only values without parts are compared, because digests say nothing
  /// about the classes of parts.
  private func isUnchanged(_ index: Int, _ old: ImportMemory.Element) -> Bool {
    let item = store.items[index]
    return item.list == old.list && item.className == old.className && item.sources == old.sources
      && item.attributes.values.allSatisfy { $0.array == nil && $0.dictionary == nil }
      && !hasChanged(index, old)
  }

  /// - Returns: the element for the memory, or nil if the catalog's rules reject the item.
  private mutating func add(_ index: Int, _ draft: inout Draft<Catalog>) throws -> ImportMemory.Element? {
    let item = store.items[index]
    var (row, attributes) = found(index, isNew: true)
    let category = row.category.flatMap { draft.state.category($0)?.id }
    do throws(JournalError) {
      row.item = try draft.addItem(kind: item.kind, category: category, attributes: attributes)
    } catch {
      guard error.code == .rejected else { throw error }
      reportRejection(of: index, error)
      return nil
    }
    numbers[index] = row.item
    try mergeImages(index, &row, &draft)
    report.added += 1
    budget.spend(on: draft.state.item(row.item))
    return row
  }

  /// The element of an item that was added in the journal and exported. The app may have moved it to another list or
  /// category since; nothing else of it has changed.
  private func adopted(_ item: Catalog.Item, as index: Int, _ catalog: Catalog) -> ImportMemory.Element {
    var row = found(index).row
    (row.item, row.wasExported) = (item.id, true)
    if row.category != nil { row.category = item.category }
    if let isDone = store.items[index].isDone {
      if item.isDone != isDone { row.digests["done"] = item["done"]?.digest }
      row.digests["order"] = item["order"]?.digest
    }
    // In the file its images may have other names.
    let images = Dictionary(catalog.images(of: item.id).map { ($0.blob, $0.id) }) { first, _ in first }
    for (image, blob) in zip(store.items[index].images, blobs[index]) {
      if let blob, let there = images[blob] {
        row.images[image.name] = ImportMemory.Picture(image: there, blob: blob)
      }
    }
    return row
  }

  private mutating func merge(
    _ index: Int, _ old: ImportMemory.Element, _ draft: inout Draft<Catalog>
  ) throws -> ImportMemory.Element {
    guard let current = draft.state.item(old.item) else {
      report.unchanged += 1
      // An item to which it refers may have come back under another number.
      var row = found(index, old).row
      (row.kind, row.category) = (old.kind, old.category)
      return row
    }
    let imageChanges = report.images
    var row = try change(index, old, &draft)
    try mergeImages(index, &row, &draft)
    let after = draft.state.item(old.item)
    if after?.record != current.record || report.images != imageChanges {
      budget.spend(on: after)
      report.updated += 1
    } else {
      report.unchanged += 1
    }
    return row
  }

  /// Applies to an item what has changed in its element, except for images.
  private mutating func change(
    _ index: Int, _ old: ImportMemory.Element, _ draft: inout Draft<Catalog>
  ) throws -> ImportMemory.Element {
    guard let current = draft.state.item(old.item) else { return old }
    let now = current.attributes
    let (row, wanted) = found(index, old)
    var (set, removed, conflicts): ([String: FieldValue], [String], [String]) = ([:], [], [])
    for name in Set(row.digests.names + old.digests.names) {
      if row.digests[name] == old.digests[name] {
        set[name] = now[name]?.namingClasses(like: wanted[name], newClasses)
      } else {
        if now[name]?.digest != old.digests[name], !now[name].isIdentical(to: wanted[name]) {
          conflicts.append(name)
        }
        if let value = wanted[name] { set[name] = value } else { removed.append(name) }
      }
    }
    let present = row.category.flatMap { draft.state.category($0)?.id }
    do throws(JournalError) {
      try draft.updateItem(old.item, set: set, remove: removed)
      if row.kind != old.kind {
        if current.kind != old.kind, current.kind != row.kind { conflicts.append("the kind") }
        try draft.setKind(ofItem: old.item, to: row.kind)
      }
      // A category that was deleted in the journal does not take the place of another one.
      if row.category != old.category, row.category == present || current.category == old.category {
        if current.category != old.category, current.category != present { conflicts.append("its category") }
        try draft.setCategory(ofItem: old.item, to: present)
      }
    } catch {
      guard error.code == .rejected else { throw error }
      reportRejection(of: index, error)
      return old
    }
    for part in conflicts.sorted() { report.noteConflict(place(of: index), part, of: "item:\(old.item)") }
    return row
  }

  private mutating func mergeImages(
    _ index: Int, _ row: inout ImportMemory.Element, _ draft: inout Draft<Catalog>
  ) throws {
    let item = store.items[index]
    let byName = Dictionary(draft.state.images(of: row.item).map { ($0.name, $0) }) { first, _ in first }
    for (image, blob) in zip(item.images, blobs[index]) {
      let known = row.images[image.name]
      guard let blob, known?.blob != blob else { continue }
      if let there = known.flatMap({ draft.state.image($0.image) }) ?? byName[image.name] {
        if there.blob != known?.blob, there.blob != blob {
          report.noteConflict(place(of: index), image.name, of: "image:\(there.id)", used: "image")
        }
        try draft.updateImage(there.id, mediaType: image.mediaType, blob: blob)
        row.images[image.name] = ImportMemory.Picture(image: there.id, blob: blob)
      } else {
        if known != nil { report.noteReturn(place(of: index), of: "\(image.name) of item:\(row.item)") }
        let number = try draft.addImage(
          to: row.item, name: image.name, mediaType: image.mediaType, blob: blob)
        row.images[image.name] = ImportMemory.Picture(image: number, blob: blob)
      }
      report.images += 1
    }
    let names = Set(item.images.map(\.name))
    for (name, picture) in row.images where !names.contains(name) {
      row.images[name] = nil
      // An image that was renamed in the journal and exported is in the files under its new name.
      if row.images.values.contains(where: { $0.image == picture.image }) { continue }
      guard let there = draft.state.image(picture.image) else { continue }
      if there.blob == picture.blob {
        try draft.deleteImage(there.id)
        report.images += 1
      } else {
        report.noteRemoval(place(of: index), of: "\(name) of item:\(row.item)")
      }
    }
  }

  private mutating func delete(_ row: ImportMemory.Element, _ draft: inout Draft<Catalog>) throws -> Bool {
    guard let item = draft.state.item(row.item) else { return false }
    guard !isEdited(item, row, draft.state) else {
      report.noteRemoval("item:\(row.item)")
      return false
    }
    try draft.deleteItem(row.item)
    report.images += row.images.count
    report.deleted += 1
    return true
  }

  /// Whether people have changed an item.
  private func isEdited(_ item: Catalog.Item, _ row: ImportMemory.Element, _ catalog: Catalog) -> Bool {
    let attributes = item.attributes
    return item.kind != row.kind || item.category != row.category.flatMap { catalog.category($0)?.id }
      || Set(attributes.keys).union(row.digests.names).contains { name in
        let (now, old) = (attributes[name], row.digests[name])
        if row.wasExported, now == nil || old == nil {
          return !FieldValue.insignificantDigests.contains(now?.digest ?? old ?? FieldValue.null.digest)
        }
        return now?.digest != old
      }
      || catalog.images(of: item.id).contains { image in
        !row.images.values.contains { $0.image == image.id && $0.blob == image.blob }
      }
  }

  private mutating func order(_ draft: inout Draft<Catalog>) throws {
    let ordered = store.items.indices.filter { store.items[$0].isDone != nil }
    for (list, indexes) in Dictionary(grouping: ordered, by: { store.items[$0].list })
      .sorted(by: { $0.key < $1.key })
    {
      var elements: [ItemOrder.Element] = []
      for index in indexes {
        guard let row = row(index), let there = draft.state.item(row.item) else { continue }
        let before = rows[index].flatMap { memory.rows[$0].list == list ? $0 : nil }
        let order = there["order"]?.integer.map { Int64($0) }
        elements.append(ItemOrder.Element(item: row.item, place: before, order: order))
      }
      let changes = Dictionary(ItemOrder.changes(elements)) { first, _ in first }
      for index in indexes {
        guard var row = row(index), let order = changes[row.item] else { continue }
        if let old = row.digests["order"], old != draft.state.item(row.item)?["order"]?.digest {
          report.noteConflict(place(of: index), "its position", of: "item:\(row.item)")
        }
        try draft.updateItem(row.item, set: ["order": .integer(order)])
        row.digests["order"] = FieldValue.integer(order).digest
        changed[index] = row
      }
    }
  }
}

// What the report says.
extension StoreMerge {
  private mutating func place(of index: Int) -> String {
    let item = store.items[index]
    if let key = item.key { return key }
    let label = item.label.map { " \"\($0.prefix(60))\"" } ?? "[\(positions[index])]"
    return "\(item.list.isEmpty ? item.kind : item.list)\(label)"
  }

  private mutating func reportRejection(of index: Int, _ error: JournalError) {
    let item = store.items[index]
    // The next new item gets the number that this one would have had.
    let reason = "\(error)".replacing(/item:[0-9]+/, with: "it")
    rejections[reason, default: []].append(place(of: index))
    if let key = item.key {
      rejected.insert("\(key)/\(ScaryBugReader.dataFile)")
    } else {
      rejected.formUnion(
        store.files.filter { item.list.isEmpty || Layout.lists(in: [$0: $1]).contains(item.list) }.keys)
    }
  }

  /// Reports that no element is one of the previous import: the files are then probably of another app or device.
  private mutating func reportReplacement(_ catalog: Catalog) {
    guard !store.items.isEmpty, rows.allSatisfy({ $0 == nil }), areCovered.allSatisfy(\.self),
      !memory.rows.contains(where: store.isUnreadable),
      memory.rows.contains(where: { catalog.item($0.item) != nil })
    else { return }
    report.note(
      store.source.rawValue,
      "no element is one of the previous import, so all its elements count as removed; if the files are those of "
        + "another app or device, restore the state before this import, and import them with --store NAME (in Swift, "
        + "name)")
  }

  /// Finds the classes of elements that have other names now, and those of their parts, which fields name.
  private mutating func findRenamedClasses() {
    for (item, row) in zip(store.items, rows) {
      guard let old = row.map({ memory.rows[$0].className }), old != item.className else { continue }
      newClasses[old, default: []].insert(item.className)
    }
    for name in memory.classes.keys {
      for new in newClasses[name] ?? [name] {
        for (field, old) in memory.classes[name]?.fields ?? [:] {
          guard let form = store.classes[new]?.fields[field], form != old, store.classes[old] == nil,
            memory.classes[old] != nil, store.classes[form] != nil, !ClassSurvey.isSystem(old)
          else { continue }
          newClasses[old, default: []].insert(form)
        }
      }
    }
  }

  /// Values that are no objects have classes whose names are in braces or empty; they are not reported.
  private mutating func reportRenamedClasses() {
    for (old, names) in newClasses.sorted(by: { $0.key < $1.key }) {
      let names = names.filter { !$0.isEmpty && !$0.hasPrefix("{") }.sorted()
      if old.isEmpty || old.hasPrefix("{") || names.isEmpty { continue }
      report.note(
        store.source.rawValue,
        "objects of the class \(old) now have the class \(names.joined(separator: " or ")); their items stay the same"
      )
    }
  }
}

extension FieldValue {
  /// The value with the names that its classes have now. Nil if that changes nothing.
  /// - Parameter wanted: the value in the file.
  fileprivate func namingClasses(like wanted: FieldValue?, _ names: [String: Set<String>]) -> FieldValue? {
    guard array != nil || dictionary != nil, !isIdentical(to: wanted) else { return nil }
    if let wanted, withoutClasses.isIdentical(to: wanted.withoutClasses) { return wanted }
    let renamed = mapped { value in
      guard let new = value.objectClass.flatMap({ names[$0] }), new.count == 1 else { return value }
      return value.setting(Reference.objectClass, new.first.map { .string($0) })
    }
    return renamed.isIdentical(to: self) ? nil : renamed
  }
}
