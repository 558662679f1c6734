import CatalogModel
import Foundation

/// Merges a store into a catalog: what changed in the files since the last import is applied, what people added in the
/// journal stays, and a conflict is reported; the history has both.
///
/// A conflict is an attribute, category or image that both sides have changed; the file's is then used. An
/// item that the files no longer have stays if people have changed it, and one that they have deleted comes back if the
/// files change it. Digests of what the files had at the last import tell which side has changed a value.
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
  /// The digest of each attribute of each item, where references are indexes into the store.
  private let digests: [[String: Data]]
  /// The blobs of each item's images. Nil for an image that can't be read.
  let blobs: [[Blob?]]
  /// The same for the images of the store itself.
  let ownBlobs: [Blob?]
  var memory: ImportMemory
  private let limit: Budget
  var budget = Budget()
  var report = LegacyImportReport()
  /// The paths of files with elements that the catalog's rules reject.
  var rejected: Set<String> = []
  /// The number of each category of the store, which may be deleted in the journal.
  var categories: [CategoryID] = []
  /// The index in the memory of each category of the store.
  var groupIndexes: [Int] = []
  /// The number of each item. One of an item that is yet to be added is nil.
  private var numbers: [Catalog.Item.ID?] = []
  /// Whether each item is merged. Empty before the first entry.
  private var isDone: [Bool] = []
  /// The rows of the memory that this entry may have changed.
  private var changedRows: Set<Catalog.Item.ID> = []
  /// How many rows the memory begins with that this entry has not changed.
  private var unchangedRowCount = 0
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
    _ store: LegacyStore, digests: [[String: Data]], blobs: [[Blob?]], ownBlobs: [Blob?],
    _ memory: ImportMemory, limit: Budget
  ) {
    (self.store, self.memory, self.digests) = (store, memory, digests)
    (self.blobs, self.ownBlobs, self.limit) = (blobs, ownBlobs, limit)
    hasReferences = store.items.contains(where: \.refersToItems)
  }

  /// Changes items up to the limit. The next call, on the state that this one leaves, changes further ones.
  /// - Returns: whether everything is merged.
  mutating func run(_ draft: inout Draft<Catalog>) throws -> Bool {
    (report, budget, changedRows) = (LegacyImportReport(), hasReferences ? Budget() : limit, [])
    let before = draft.state
    let matching = isDone.isEmpty ? start(before) : Matching(store, memory, items: numbers)
    try mergeCategories(&draft)
    numbers = store.items.indices.map { index in
      matching.rows[index].map { memory.rows[$0].item } ?? matching.exported[index]
    }
    var rows: [ImportMemory.Element?] = store.items.indices.map { index in
      if let item = matching.exported[index].flatMap({ before.item($0) }) {
        return adopted(item, as: index, before)
      }
      return matching.rows[index].map { memory.rows[$0] }
    }
    var isComplete = try mergeItems(&rows, before, &draft)
    try order(&rows, matching, &draft)
    try updateRows(rows, matching, &draft, &isComplete)
    reportRenamedClasses()
    try finish(&draft, isComplete: isComplete)
    return isComplete
  }

  /// Prepares the first entry.
  private mutating func start(_ catalog: Catalog) -> Matching {
    // In a file that was not read completely, a list may be empty because its elements are unreadable.
    for (name, file) in store.files where !store.incompleteFiles.contains(name) {
      guard let old = memory.files[name] else { continue }
      store.files[name] = Layout.findingEmptyLists(old, in: file, &store.lists)
    }
    isDone = Array(repeating: false, count: store.items.count)
    let matching = Matching(store, digests, memory, blobs, catalog)
    reportReplacement(matching, catalog)
    findRenamedClasses(matching)
    return matching
  }

  /// Adds and changes items up to the limit.
  /// - Returns: whether all are merged.
  private mutating func mergeItems(
    _ rows: inout [ImportMemory.Element?], _ before: Catalog, _ draft: inout Draft<Catalog>
  ) throws -> Bool {
    var isComplete = true
    // New items and those that come back are first, so that all others can refer to them.
    let isNew = rows.indices.map { index in
      if isDone[index] { return false }
      guard let row = rows[index] else { return true }
      return before.item(row.item) == nil && hasChanged(index, row, digests(index, wanted(index)))
    }
    for index in rows.indices where isNew[index] {
      if budget.isSpent {
        isComplete = false
        continue
      }
      if let old = rows[index] {
        report.note(
          place(of: index),
          "item:\(old.item) was deleted in the journal but has changed in the file since, so it is added again"
        )
      }
      rows[index] = try add(index, &draft) ?? rows[index]
      isDone[index] = true
    }
    for index in rows.indices {
      guard let old = rows[index] else { continue }
      if isNew[index] {
        if hasReferences, store.items[index].refersToItems {
          rows[index] = try change(index, old, wanted(index), &draft)
        }
      } else if isDone[index] {
        // An earlier entry has it.
        report.unchanged += 1
        continue
      } else {
        let wanted = wanted(index)
        if budget.isSpent, hasChanged(index, old, digests(index, wanted)) {
          isComplete = false
          continue
        }
        rows[index] = try merge(index, old, wanted, &draft)
        isDone[index] = true
      }
      if let item = rows[index]?.item { changedRows.insert(item) }
    }
    return isComplete
  }

  /// Deletes the items of removed elements, and records all others.
  private mutating func updateRows(
    _ new: [ImportMemory.Element?], _ matching: Matching, _ draft: inout Draft<Catalog>,
    _ isComplete: inout Bool
  ) throws {
    let new = new.compactMap(\.self)
    let byItem = Dictionary(new.map { ($0.item, $0) }) { first, _ in first }
    // Elements of lists that were not read keep their positions.
    var rows = zip(memory.rows, matching.areCovered).filter { !$1 }.map { row, _ in byItem[row.item] ?? row }
    let placed = Set(rows.map(\.item))
    rows += new.filter { !placed.contains($0.item) }
    let gone = Set(matching.gone)
    for (index, row) in memory.rows.enumerated() where byItem[row.item] == nil && matching.areCovered[index] {
      if !gone.contains(index) {
        // Unreadable elements are kept.
        if store.isUnreadable(row) { rows.append(row) }
      } else if budget.isSpent {
        rows.append(row)
        isComplete = false
      } else if try delete(row, &draft) {
        budget.spend(on: nil)
      }
    }
    // Sorted by list, so that the same state always has the same memory. The order of a set has no meaning.
    let sets = Layout.unorderedLists(in: store.files)
    func place(_ offset: Int, _ row: ImportMemory.Element) -> Int {
      sets.contains(row.list) ? row.item.number : offset
    }
    rows = rows.enumerated().map { (row: $1, place: place($0, $1)) }
      .sorted { ($0.row.list, $0.place) < ($1.row.list, $1.place) }.map(\.row)
    unchangedRowCount =
      zip(memory.rows, rows).prefix { $0.item == $1.item && !changedRows.contains($1.item) }.count
    memory.rows = rows
  }

  private mutating func finish(_ draft: inout Draft<Catalog>, isComplete: Bool) throws {
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
    memory.files.merge(resolved(store.files)) { old, new in Layout.keeping(old, in: new, unread.contains) }
    memory.classes.merge(store.classes)
    // A folder of bugs is always read as a whole.
    memory.incomplete = store.source == .scarybugs ? [] : memory.incomplete.subtracting(store.files.keys)
    memory.incomplete.formUnion(store.incompleteFiles.union(rejected))
    guard !(memory.rows.isEmpty && memory.groups.isEmpty && memory.files.isEmpty) else { return }
    try memory.write(to: &draft, unchanged: unchangedRowCount)
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

  // MARK: One item

  /// The digests of what the file has for an item.
  private func digests(_ index: Int, _ wanted: [String: FieldValue]) -> [String: Data] {
    var digests = digests[index]
    for (name, digest) in digests where digest.isOfReference || wanted[name] == nil {
      digests[name] = wanted[name]?.digest
    }
    if let done = wanted["done"], digests["done"] == nil { digests["done"] = done.digest }
    return digests
  }

  /// The attributes that the file has for an item.
  private func wanted(_ index: Int) -> [String: FieldValue] {
    let hasReferences = digests[index].values.contains { $0.isOfReference }
    var wanted = store.items[index].attributes
    if hasReferences { wanted = resolved(wanted) }
    if let isDone = store.items[index].isDone { wanted["done"] = .bool(isDone) }
    return wanted
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

  private func categoryNumber(of item: LegacyItem) -> CategoryID? { item.category.map { categories[$0] } }

  /// The attributes of a row and an item that may have changed. The order of to-dos is merged by ``order``.
  private func names(_ index: Int, _ row: ImportMemory.Element, _ digests: [String: Data]) -> Set<String> {
    var names = Set(digests.keys).union(row.digests.keys).subtracting(store.items[index].unreadable)
    if store.items[index].isDone != nil { names.remove("order") }
    return names
  }

  /// Whether an element has changed in the file in more than the names of classes.
  private func hasChanged(_ index: Int, _ row: ImportMemory.Element, _ digests: [String: Data]) -> Bool {
    let item = store.items[index]
    return item.kind != row.kind || categoryNumber(of: item) != row.category
      || names(index, row, digests).contains { digests[$0] != row.digests[$0] }
      || zip(item.images, blobs[index]).contains { $1 != nil && row.images[$0.name]?.blob != $1 }
      || !Set(row.images.keys).isSubset(of: item.images.map(\.name))
  }

  private func element(_ index: Int, _ number: Catalog.Item.ID, _ wanted: [String: FieldValue])
    -> ImportMemory.Element
  {
    let item = store.items[index]
    return ImportMemory.Element(
      item: number, kind: item.kind, list: item.list, key: item.key, className: item.className,
      category: categoryNumber(of: item), digests: digests(index, wanted), sources: item.sources)
  }

  /// - Returns: the element for the memory, or nil if the catalog's rules reject the item.
  private mutating func add(_ index: Int, _ draft: inout Draft<Catalog>) throws -> ImportMemory.Element? {
    let item = store.items[index]
    // References wait until all items have numbers.
    let wanted = wanted(index).filter { !(item.attributes[$0.key]?.refersToItems ?? false) }
    let category = categoryNumber(of: item).flatMap { draft.state.category($0)?.id }
    let number: Catalog.Item.ID
    do throws(JournalError) {
      number = try draft.addItem(kind: item.kind, category: category, attributes: wanted)
    } catch {
      guard error.code == .rejected else { throw error }
      // The next item gets the number that this one would have had.
      reportRejection(of: index, "\(error)".replacing(/item:[0-9]+/, with: "it"))
      return nil
    }
    numbers[index] = number
    var row = element(index, number, wanted)
    try mergeImages(index, &row, &draft)
    report.added += 1
    budget.spend(on: draft.state.item(number))
    return row
  }

  /// The element of an item that was added in the journal and exported. The app may have moved it to another list or
  /// category since; nothing else of it has changed.
  private func adopted(_ item: Catalog.Item, as index: Int, _ catalog: Catalog) -> ImportMemory.Element {
    var row = element(index, item.id, wanted(index))
    row.wasExported = true
    if row.category != nil { row.category = item.category }
    if let isDone = store.items[index].isDone {
      if item.isDone != isDone { row.digests["done"] = item["done"]?.digest }
      row.digests["order"] = item["order"]?.digest
    }
    // In the file its images may have other names.
    let images = Dictionary(catalog.images(of: item.id).map { ($0.blob, $0.id) }) { first, _ in first }
    for (image, blob) in zip(store.items[index].images, blobs[index]) {
      if let blob, let there = images[blob] { row.images[image.name] = ImportMemory.Picture(there, blob) }
    }
    return row
  }

  private mutating func merge(
    _ index: Int, _ old: ImportMemory.Element, _ wanted: [String: FieldValue], _ draft: inout Draft<Catalog>
  ) throws -> ImportMemory.Element {
    let item = store.items[index]
    guard let current = draft.state.item(old.item) else {
      report.unchanged += 1
      var row = old
      (row.list, row.className, row.sources) = (item.list, item.className, item.sources)
      // An item to which it refers may have come back under another number.
      row.digests.merge(digests(index, wanted)) { $1 }
      return row
    }
    let imageChanges = report.images
    var row = try change(index, old, wanted, &draft)
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

  /// Applies what has changed in an element to its item, except for images.
  private mutating func change(
    _ index: Int, _ old: ImportMemory.Element, _ wanted: [String: FieldValue], _ draft: inout Draft<Catalog>
  ) throws -> ImportMemory.Element {
    guard let current = draft.state.item(old.item) else { return old }
    let item = store.items[index]
    let (now, digests) = (current.attributes, digests(index, wanted))
    var row = element(index, old.item, wanted)
    (row.list, row.images) = (item.list.isEmpty ? old.list : item.list, old.images)
    row.wasExported = old.wasExported
    let names = names(index, old, digests)
    for name in old.digests.keys where !names.contains(name) { row.digests[name] = old.digests[name] }
    var (set, removed, conflicts): ([String: FieldValue], [String], [String]) = ([:], [], [])
    for name in names {
      if digests[name] == old.digests[name] {
        set[name] = now[name]?.namingClasses(like: wanted[name], newClasses)
      } else {
        if now[name]?.digest != old.digests[name], !now[name].isIdentical(to: wanted[name]) {
          conflicts.append(name)
        }
        if let value = wanted[name] { set[name] = value } else { removed.append(name) }
      }
    }
    let category = categoryNumber(of: item)
    let present = category.flatMap { draft.state.category($0)?.id }
    do throws(JournalError) {
      try draft.updateItem(old.item, set: set, remove: removed)
      if item.kind != old.kind {
        if current.kind != old.kind, current.kind != item.kind { conflicts.append("the kind") }
        try draft.setKind(ofItem: old.item, to: item.kind)
      }
      // One that was deleted in the journal replaces no other.
      if category != old.category, category == present || current.category == old.category {
        if current.category != old.category, current.category != present { conflicts.append("its category") }
        try draft.setCategory(ofItem: old.item, to: present)
      }
    } catch {
      guard error.code == .rejected else { throw error }
      reportRejection(of: index, "\(error)")
      return old
    }
    for part in conflicts.sorted() { reportConflict(part, index, old.item) }
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
          report.note(
            place(of: index),
            "\(image.name) was changed both in the journal and in the file; the file's image is used, and the "
              + "history of image:\(there.id) has the other one")
        }
        try draft.updateImage(there.id, mediaType: image.mediaType, blob: blob)
        row.images[image.name] = ImportMemory.Picture(there.id, blob)
      } else {
        if known != nil {
          report.note(
            place(of: index),
            "\(image.name) of item:\(row.item) was deleted in the journal but has changed in the file since, so it is added again"
          )
        }
        let number = try draft.addImage(
          to: row.item, name: image.name, mediaType: image.mediaType, blob: blob)
        row.images[image.name] = ImportMemory.Picture(number, blob)
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
        report.note(
          place(of: index),
          "the file no longer has \(name) of item:\(row.item), but it was changed in the journal since, so it stays"
        )
      }
    }
  }

  private mutating func delete(_ row: ImportMemory.Element, _ draft: inout Draft<Catalog>) throws -> Bool {
    guard let item = draft.state.item(row.item) else { return false }
    guard !isEdited(item, row, draft.state) else {
      report.note(
        "item:\(row.item)",
        "the file no longer has it, but it was changed in the journal since, so it stays")
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
      || Set(attributes.keys).union(row.digests.keys).contains { name in
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

  private mutating func order(
    _ rows: inout [ImportMemory.Element?], _ matching: Matching, _ draft: inout Draft<Catalog>
  ) throws {
    let ordered = store.items.indices.filter { store.items[$0].isDone != nil }
    for (list, indexes) in Dictionary(grouping: ordered, by: { store.items[$0].list })
      .sorted(by: { $0.key < $1.key })
    {
      var elements: [ItemOrder.Element] = []
      for index in indexes {
        guard let row = rows[index], let there = draft.state.item(row.item) else { continue }
        let before = matching.rows[index].flatMap { memory.rows[$0].list == list ? $0 : nil }
        let order = there["order"]?.integer.map { Int64($0) }
        elements.append(ItemOrder.Element(item: row.item, place: before, order: order))
      }
      let changes = Dictionary(ItemOrder.changes(elements)) { first, _ in first }
      for index in indexes {
        guard let item = rows[index]?.item, let order = changes[item] else { continue }
        if let old = rows[index]?.digests["order"], old != draft.state.item(item)?["order"]?.digest {
          reportConflict("its position", index, item)
        }
        changedRows.insert(item)
        try draft.updateItem(item, set: ["order": .integer(order)])
        rows[index]?.digests["order"] = FieldValue.integer(order).digest
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

  private mutating func reportConflict(_ part: String, _ index: Int, _ item: Catalog.Item.ID) {
    report.note(
      place(of: index),
      "\(part) was changed both in the journal and in the file; the file's value is used, and the history of "
        + "item:\(item) has the other one")
  }

  private mutating func reportRejection(of index: Int, _ reason: String) {
    let item = store.items[index]
    report.note(place(of: index), reason, isLoss: true)
    if let key = item.key {
      rejected.insert("\(key)/\(ScaryBugReader.dataFile)")
    } else {
      rejected.formUnion(
        store.files.filter { item.list.isEmpty || Layout.lists(in: [$0: $1]).contains(item.list) }.keys)
    }
  }

  /// Says so if no element is one of the previous import. The files are then probably those of another app or device.
  private mutating func reportReplacement(_ matching: Matching, _ catalog: Catalog) {
    let isOther = matching.exported.isEmpty && matching.rows.allSatisfy { $0 == nil }
    guard isOther, !store.items.isEmpty, matching.gone.count == memory.rows.count,
      memory.rows.contains(where: { catalog.item($0.item) != nil })
    else { return }
    report.note(
      store.source.rawValue,
      "no element is one of the previous import, so all its elements count as removed; if the files are those of "
        + "another app or device, restore the state before this import, and import them with --store NAME (in Swift, "
        + "name)")
  }

  /// Finds the classes of elements that have other names now, and those of their parts, which fields name.
  private mutating func findRenamedClasses(_ matching: Matching) {
    for (item, row) in zip(store.items, matching.rows) {
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

  /// Values that are not objects have names in braces, or none.
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
