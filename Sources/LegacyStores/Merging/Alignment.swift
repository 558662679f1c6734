import CatalogModel
import Foundation

/// Matches the elements of a store with those of an earlier import.
///
/// Elements of most files have no identity, so they are matched by contents and position:
/// 1. by key, if they have one;
/// 2. by equal contents; equal elements are matched in order, first with those of their own list and class;
/// 3. with items that were added in the journal and exported; see ``ExportedElements``;
/// 4. by an identifier or a name that is unique on both sides;
/// 5. by position between two matched elements, if they share some content or there is only one on each side;
/// 6. by similarity among the rest.
///
/// So inserting, moving or removing an element does not change others, and an edited element stays the same item. The
/// class of an edited element may only differ if it was renamed, split or joined: if the files no longer have the old
/// class, or have not had the new one before.
struct Alignment {
  /// The index of the row for each item of the store, or nil for a new item.
  private(set) var rows: [Int?]
  /// The items of elements that an export wrote and no import has read. Such an element has no row.
  private(set) var exported: [Int: Catalog.Item.ID] = [:]
  /// For each row, whether the store has its element if the files still have it.
  private(set) var areCovered: [Bool] = []
  /// The unmatched rows among them.
  private(set) var gone: [Int] = []

  private let store: LegacyStore
  private let memory: ImportMemory
  private var taken: [Bool]
  /// The classes of the earlier elements, and of those of the store.
  private let (oldClasses, newClasses): (Set<String>, Set<String>)

  /// - Parameters:
  ///   - blobs: the blobs of each item's images.
  ///   - catalog: the state before the import.
  ///   - attributes: the earlier contents of a row in the file.
  init(
    _ store: LegacyStore, fingerprints: [Data], _ blobs: [[Blob?]], _ catalog: Catalog,
    _ memory: ImportMemory, attributes: (ImportMemory.Element) throws -> [String: FieldValue]
  ) throws {
    self.store = store
    self.memory = memory
    rows = Array(repeating: nil, count: store.items.count)
    taken = Array(repeating: false, count: memory.rows.count)
    oldClasses = Set(memory.rows.map(\.className))
    newClasses = Set(store.items.map(\.className))
    matchKeys()
    matchContents(memory.rows.map(\.fingerprint), fingerprints)
    var known: [Int: [String: FieldValue]] = [:]
    if rows.contains(where: { $0 == nil }), taken.contains(false) {
      for (index, row) in memory.rows.enumerated() where !taken[index] && row.key == nil {
        known[index] = try attributes(row)
      }
      matchReclassified(known, catalog)
    }
    // An export may give a new item the key of a deleted one.
    let unknown = store.items.indices.filter { index in
      guard let row = rows[index].map({ memory.rows[$0] }) else { return true }
      return row.fingerprint != fingerprints[index] && catalog.item(row.item) == nil
    }
    exported = ExportedElements.items(of: unknown, in: store, blobs, catalog, memory)
    for index in exported.keys { rows[index] = nil }
    if rows.contains(where: { $0 == nil }), taken.contains(false) {
      matchNames(known)
      matchPlaces(known)
      matchLikeness(known)
    }
    let hasDerivedItems = store.items.contains { $0.list.isEmpty }
    let lists = Dictionary(memory.groups.map { ($0.category, $0.list) }) { first, _ in first }
    areCovered = memory.rows.map { row in
      if !row.list.isEmpty { return store.lists.contains(row.list) }
      // The element was reached through its category.
      return hasDerivedItems || row.category.flatMap { lists[$0] }.map { store.lists.contains($0) } ?? false
    }
    gone = memory.rows.indices.filter { index in
      !taken[index] && areCovered[index] && !store.isUnreadable(memory.rows[index])
    }
  }

  private mutating func match(_ item: Int, _ row: Int) {
    rows[item] = row
    taken[row] = true
  }

  /// The items that have no row yet, and no key.
  private func unmatchedItems() -> [Int] {
    store.items.indices.filter { rows[$0] == nil && exported[$0] == nil && store.items[$0].key == nil }
  }

  private func mayBe(_ item: Int, _ row: Int) -> Bool {
    let (item, row) = (store.items[item], memory.rows[row])
    // An item without its own list may have been in any.
    return store.lists.contains(row.list) || item.list == row.list || item.list.isEmpty || row.list.isEmpty
  }

  private mutating func matchKeys() {
    var byKey: [String: Int] = [:]
    for (index, row) in memory.rows.enumerated() { if let key = row.key { byKey[key] = index } }
    for (index, item) in store.items.enumerated() {
      if let key = item.key, let row = byKey[key], !taken[row] { match(index, row) }
    }
  }

  /// Whether an element may have had the class of a row.
  private func mayHaveClass(_ item: Int, of row: Int) -> Bool {
    let (new, old) = (store.items[item].className, memory.rows[row].className)
    return new == old || !oldClasses.contains(new) || !newClasses.contains(old)
  }

  /// - Parameters:
  ///   - old: the fingerprint of each row; nil for those that are not to be matched.
  ///   - new: the same for the items.
  private mutating func matchContents(_ old: [Data?], _ new: [Data]) {
    // First in the element's own list and class, then in any.
    for (inOwnList, inOwnClass) in [(true, true), (false, true), (true, false), (false, false)] {
      var waiting: [Data: [Int]] = [:]
      for (index, row) in memory.rows.enumerated().reversed() where !taken[index] && row.key == nil {
        if let print = old[index] { waiting[print, default: []].append(index) }
      }
      if waiting.isEmpty { return }
      for index in unmatchedItems() {
        let item = store.items[index]
        guard
          let place = waiting[new[index]]?.lastIndex(where: {
            (inOwnList ? memory.rows[$0].list == item.list : mayBe(index, $0))
              && (!inOwnClass || memory.rows[$0].className == item.className)
          }), let row = waiting[new[index]]?.remove(at: place)
        else { continue }
        match(index, row)
      }
    }
  }

  /// Matches elements with equal contents whose class, or the classes of whose parts, have other names now.
  private mutating func matchReclassified(_ known: [Int: [String: FieldValue]], _ catalog: Catalog) {
    func print(_ attributes: [String: FieldValue], label: (_ key: String, _ target: Int) -> String) -> Data {
      // The list and the position of a to-do are attributes of its item only.
      let contents = attributes.filter { $0.key != "done" && $0.key != "order" }
      return LegacyItem.fingerprint("", contents.mapValues(\.withoutClasses), name: label)
    }
    let old = memory.rows.indices.map { row in
      known[row].map { attributes in
        print(attributes) { key, target in
          key == Reference.category
            ? catalog.name(ofTarget: target, key)
            : catalog.item(Catalog.Item.ID(target)).flatMap { LegacyItem.label(of: $0.attributes) } ?? ""
        }
      }
    }
    let open = Set(unmatchedItems())
    matchContents(
      old,
      store.items.indices.map { index in
        guard open.contains(index) else { return Data() }
        return print(store.items[index].attributes) { key, target in
          key == Reference.category ? store.categories[target].name : store.items[target].label ?? ""
        }
      })
  }

  private mutating func matchNames(_ known: [Int: [String: FieldValue]]) {
    func names(_ attributes: [String: FieldValue]) -> [String] {
      let identifiers = ["uuid", "UUID", "identifier", "id", "guid"].compactMap { key in
        (attributes[key]?.string ?? attributes[key]?.integer.map { "\($0)" }).map { "id \($0)" }
      }
      return identifiers + [LegacyItem.label(of: attributes)].compactMap { $0.map { "label \($0)" } }
    }
    for order in 0..<2 {
      var old: [String: [Int]] = [:]
      var new: [String: [Int]] = [:]
      for (index, attributes) in known where !taken[index] {
        if let name = names(attributes).dropFirst(order).first { old[name, default: []].append(index) }
      }
      for index in unmatchedItems() {
        let name = names(store.items[index].attributes).dropFirst(order).first
        if let name { new[name, default: []].append(index) }
      }
      for (name, items) in new {
        guard items.count == 1, let rows = old[name], rows.count == 1, mayBe(items[0], rows[0]) else {
          continue
        }
        match(items[0], rows[0])
      }
    }
  }

  private mutating func matchPlaces(_ known: [Int: [String: FieldValue]]) {
    let others = store.items.indices.filter { exported[$0] == nil }
    let itemsByList = Dictionary(grouping: others) { store.items[$0].list }
    let rowsByList = Dictionary(grouping: memory.rows.indices) { memory.rows[$0].list }
    for (list, items) in itemsByList.sorted(by: { $0.key < $1.key }) {
      // The rows that an item may still be: all of them, and by class and part. An item of a new class may be of any.
      var open = WaitingRows()
      var saying: [ClassGroup: [[UInt8]: WaitingRows]] = [:]
      for row in rowsByList[list] ?? [] {
        guard !taken[row], memory.rows[row].key == nil else { continue }
        open.append(row)
        let name = memory.rows[row].className
        let groups = [.any, newClasses.contains(name) ? .named(name) : ClassGroup.gone]
        for part in Self.parts(of: known[row] ?? [:]) {
          for group in groups { saying[group, default: [:]][part, default: WaitingRows()].append(row) }
        }
      }
      var start = 0
      while start < items.count {
        guard rows[items[start]] == nil, store.items[items[start]].key == nil else {
          start += 1
          continue
        }
        var end = start
        while end < items.count, rows[items[end]] == nil { end += 1 }
        let low = start == 0 ? -1 : rows[items[start - 1]] ?? -1
        let high = end == items.count ? Int.max : rows[items[end]] ?? Int.max
        if end - start == 1, let row = open.first(after: low, before: high, taken),
          open.first(after: row, before: high, taken) == nil
        {
          // One on each side.
          if mayHaveClass(items[start], of: row) { match(items[start], row) }
        } else {
          for item in items[start..<end] {
            let name = store.items[item].className
            let groups: [ClassGroup] = oldClasses.contains(name) ? [.named(name), .gone] : [.any]
            let found = Self.parts(of: store.items[item].attributes).flatMap { part in
              groups.compactMap { saying[$0]?[part]?.first(after: low, before: high, taken) }
            }
            if let row = found.min() { match(item, row) }
          }
        }
        start = end
      }
    }
  }

  private mutating func matchLikeness(_ known: [Int: [String: FieldValue]]) {
    // Elements are grouped by the bytes of each part; for frequent values, only a few are compared.
    let most = 16
    var saying: [[UInt8]: [Int]] = [:]
    for index in known.keys.sorted() where !taken[index] {
      for part in Self.parts(of: known[index] ?? [:]) {
        if saying[part, default: []].count < most { saying[part, default: []].append(index) }
      }
    }
    if saying.isEmpty { return }
    for index in unmatchedItems() {
      let item = store.items[index]
      var likeness: [Int: Int] = [:]
      for part in Self.parts(of: item.attributes) {
        for row in saying[part] ?? [] where !taken[row] && mayBe(index, row) {
          if mayHaveClass(index, of: row) { likeness[row, default: 0] += 1 }
        }
      }
      // If several are equally similar, the first one is taken.
      if let best = likeness.max(by: { ($0.value, -$0.key) < ($1.value, -$1.key) }) { match(index, best.key) }
    }
  }

  /// The significant parts of an element, encoded.
  private static func parts(of attributes: [String: FieldValue]) -> [[UInt8]] {
    attributes.compactMap { name, value in
      switch value {
      case .string(""), .integer(0), .double(0), .bool, .null, .array([]): nil
      default: EntityRecord([name: value.withoutClasses]).bytes
      }
    }
  }

  /// The classes of rows that an item may have been.
  private enum ClassGroup: Hashable {
    case any
    /// Those that no item has any more.
    case gone
    case named(String)
  }
}

/// Rows in order, from which the first one in a range that is not yet taken is found without passing the same taken
/// ones each time.
private struct WaitingRows {
  private var rows: [Int] = []
  /// For each row, the place of a later one; all between are taken if this one is.
  private var later: [Int] = []

  mutating func append(_ row: Int) {
    rows.append(row)
    later.append(rows.count)
  }

  mutating func first(after low: Int, before high: Int, _ taken: [Bool]) -> Int? {
    var (start, end) = (0, rows.count)
    while start < end {
      let middle = (start + end) / 2
      if rows[middle] > low { end = middle } else { start = middle + 1 }
    }
    var place = start
    var passed: [Int] = []
    while place < rows.count, taken[rows[place]] {
      passed.append(place)
      place = later[place]
    }
    for index in passed { later[index] = place }
    return place < rows.count && rows[place] < high ? rows[place] : nil
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
