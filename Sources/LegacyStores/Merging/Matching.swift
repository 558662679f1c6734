import CatalogModel
import Foundation

/// Matches the elements of a store with those of an earlier import.
///
/// Elements of most files have no identity, so they are matched by contents and position:
/// 1. by key, if they have one;
/// 2. by equal contents; equal elements are matched in order, first with those of their own list and class;
/// 3. with items that were added in the journal and exported; see ``ExportedElements``;
/// 4. by an identifier or a name that is unique on both sides;
/// 5. by position after or before a matched element, if they share some content or there is only one on each side.
///
/// So inserting, moving or removing an element does not change others, and an edited element stays the same item. The
/// class of an edited element may only differ if it was renamed, split or joined: if the files no longer have the old
/// class, or have not had the new one before.
struct Matching {
  /// The row of each item of the store by index, nil for a new item.
  private(set) var rows: [Int?]
  /// The items of elements that an export wrote and no import has read. Such an element has no row.
  private(set) var exported: [Int: Catalog.Item.ID] = [:]

  private static let identifiers = ["uuid", "UUID", "identifier", "id", "guid"]
  private let store: LegacyStore
  private let memory: ImportMemory
  private var taken: [Bool]
  /// The digests of rows and items, without those that depend on other items, and those of the list and the place of a
  /// to-do, which are attributes of its item only.
  private let (old, new): ([Digests], [Digests])
  private let (oldClasses, newClasses): (Set<String>, Set<String>)

  /// - Parameters:
  ///   - digests: the digests of each item's attributes.
  ///   - blobs: the blobs of each item's images.
  ///   - catalog: the state before the import.
  init(
    _ store: LegacyStore, _ digests: [Digests], _ memory: ImportMemory, _ blobs: [[Blob?]], _ catalog: Catalog
  ) {
    self.store = store
    self.memory = memory
    rows = Array(repeating: nil, count: store.items.count)
    taken = Array(repeating: false, count: memory.rows.count)
    let hasToDos =
      store.items.contains { $0.isDone != nil } || memory.rows.contains { $0.kind == KnownKind.toDo.name }
    let others = hasToDos ? KnownKind.toDo.others : []
    old = memory.rows.map { $0.digests.own(without: others) }
    new = digests.map { $0.own(without: others) }
    oldClasses = Set(memory.rows.map(\.className))
    newClasses = Set(store.items.map(\.className))
    matchKeys()
    matchContents()
    // An export may give a new item the key of a deleted one.
    let unknown = store.items.indices.filter { index in
      rows[index].map { old[$0] != new[index] && catalog.item(memory.rows[$0].item) == nil } ?? true
    }
    exported = ExportedElements.items(of: unknown, in: store, blobs, catalog, memory)
    for index in exported.keys { rows[index] = nil }
    if rows.contains(where: { $0 == nil }), taken.contains(false) {
      for keys in [Self.identifiers, ["name", "title", "value"]] {
        matchNames(keys)
      }
      matchPlaces()
    }
  }

  private mutating func match(_ item: Int, _ row: Int) {
    rows[item] = row
    taken[row] = true
  }

  private func isOpen(_ item: Int) -> Bool {
    rows[item] == nil && exported[item] == nil && store.items[item].key == nil
  }

  private func isOpen(row: Int) -> Bool { !taken[row] && memory.rows[row].key == nil }

  /// An item without its own list may have been in any, and another item in each list that was read.
  private func mayBe(_ item: Int, _ row: Int) -> Bool {
    let (item, row) = (store.items[item], memory.rows[row])
    return store.lists.contains(row.list) || item.list.isEmpty || row.list.isEmpty
  }

  /// Whether an element with other contents than a row may be the same: its class is not another one of before, and
  /// neither is its identifier.
  private func mayHaveChanged(_ item: Int, from row: Int) -> Bool {
    let (new, old) = (store.items[item].className, memory.rows[row].className)
    guard new == old || !oldClasses.contains(new) || !newClasses.contains(old) else { return false }
    return Self.identifiers.allSatisfy { key in
      self.new[item][key] == nil || self.old[row][key] == nil || self.new[item][key] == self.old[row][key]
    }
  }

  private mutating func matchKeys() {
    var byKey: [String: Int] = [:]
    for (index, row) in memory.rows.enumerated() { if let key = row.key { byKey[key] = index } }
    for (index, item) in store.items.enumerated() {
      if let key = item.key, let row = byKey[key], !taken[row] { match(index, row) }
    }
  }

  private mutating func matchContents() {
    for (inOwnList, inOwnClass) in [(true, true), (false, true), (true, false), (false, false)] {
      func likeness(_ digests: Digests, _ list: String, _ className: String) -> Likeness {
        Likeness(digests: digests, list: inOwnList ? list : "", className: inOwnClass ? className : "")
      }
      for hasList in [true, false] {
        let items = store.items.indices.filter { isOpen($0) && store.items[$0].list.isEmpty != hasList }
        if items.isEmpty { continue }
        // The first row is last.
        var waiting: [Likeness: [Int]] = [:]
        for index in memory.rows.indices.reversed()
        where isOpen(row: index) && (inOwnList || mayBe(items[0], index)) {
          let row = memory.rows[index]
          waiting[likeness(old[index], row.list, row.className), default: []].append(index)
        }
        for index in items {
          let item = store.items[index]
          if let row = waiting[likeness(new[index], item.list, item.className)]?.popLast() {
            match(index, row)
          }
        }
      }
    }
  }

  /// What a row and an element with equal contents have in common.
  private struct Likeness: Hashable {
    let digests: Digests
    let list: String
    let className: String
  }

  /// - Parameter keys: the attributes that name an element; the first one that says something counts.
  private mutating func matchNames(_ keys: [String]) {
    let empty = [FieldValue.null, ""].map(\.digest)
    func name(_ digests: Digests) -> Data? {
      keys.lazy.compactMap { digests[$0] }.first { !empty.contains($0) }
    }
    var rowsByName: [Data: [Int]] = [:]
    var itemsByName: [Data: [Int]] = [:]
    for row in memory.rows.indices where isOpen(row: row) {
      if let name = name(old[row]) { rowsByName[name, default: []].append(row) }
    }
    for item in store.items.indices where isOpen(item) {
      if let name = name(new[item]) { itemsByName[name, default: []].append(item) }
    }
    for (name, items) in itemsByName {
      guard items.count == 1, let rows = rowsByName[name], rows.count == 1, mayBe(items[0], rows[0]) else {
        continue
      }
      match(items[0], rows[0])
    }
  }

  private mutating func matchPlaces() {
    // The open rows after each matched row, and those before it. -1 and `end` are the ends of a list.
    let end = memory.rows.count
    let rowsByList = Dictionary(grouping: memory.rows.indices) { memory.rows[$0].list }
    let itemsByList = Dictionary(grouping: store.items.indices) { store.items[$0].list }
    for (list, items) in itemsByList.sorted(by: { $0.key < $1.key }) {
      var (after, before): ([Int: [Int]], [Int: [Int]]) = ([:], [:])
      var (last, gap): (Int, [Int]) = (-1, [])
      for row in (rowsByList[list] ?? []) + [end] {
        if row < end, isOpen(row: row) {
          gap.append(row)
        } else {
          (after[last], before[row]) = (gap, gap)
          (last, gap) = (row, [])
        }
      }
      var waiting: [Int] = []
      last = -1
      for item in items + [-1] {
        if item >= 0, isOpen(item) {
          waiting.append(item)
          continue
        }
        let next = item < 0 ? end : rows[item] ?? end
        for gap in [after[last], before[next]].compactMap(\.self) {
          matchGap(&waiting, gap.filter { !taken[$0] }, isAlone: true)
        }
        waiting = []
        last = next
      }
      // Elements that were moved and edited.
      waiting = items.filter { isOpen($0) }
      matchGap(&waiting, (rowsByList[list] ?? []).filter { isOpen(row: $0) }, isAlone: false)
    }
  }

  /// - Parameters:
  ///   - items: open items. Those that are matched are removed.
  ///   - isAlone: whether one item and one row are a pair even if they have nothing in common.
  private mutating func matchGap(_ items: inout [Int], _ open: [Int], isAlone: Bool) {
    if items.isEmpty || open.isEmpty { return }
    if isAlone, items.count == 1, open.count == 1 {
      if mayHaveChanged(items[0], from: open[0]) { match(items.removeFirst(), open[0]) }
      return
    }
    // The rows that have each part, the first one last. Of a frequent part, at most 64 rows are compared.
    var having: [Data: [Int]] = [:]
    for row in open.reversed() {
      for part in old[row].parts { having[part, default: []].append(row) }
    }
    for item in items {
      var found: Int?
      for part in new[item].parts {
        while let row = having[part]?.last, taken[row] { having[part]?.removeLast() }
        let rows = having[part]?.suffix(64) ?? []
        if let row = rows.last(where: { !taken[$0] && mayHaveChanged(item, from: $0) }) {
          found = min(row, found ?? row)
        }
      }
      if let found { match(item, found) }
    }
    items.removeAll { rows[$0] != nil }
  }
}

extension LegacyStore {
  /// Whether the element of a row may exist but be unreadable.
  func isUnreadable(_ row: ImportMemory.Element) -> Bool {
    // An item without a list may be reachable only from an unreadable one.
    if row.list.isEmpty, !incompleteLists.isEmpty { return true }
    return incompleteLists.contains(row.list) || row.key.map { unreadableKeys.contains($0) } ?? false
  }
}
