import CatalogModel
import Foundation

/// Recognises the elements of a store that an earlier import brought.
///
/// Elements of most files have neither names nor numbers, so they are told by what they say and where they stand:
/// 1. by their key, where they have one;
/// 2. by saying exactly the same. Of equal elements the first is the first, the second the second, and so on;
/// 3. by an identifier or a name that only one on either side has;
/// 4. by their place between two that were recognised, when they say something the same or when one stands there
///    and one did before;
/// 5. by saying most of the same among those that are left.
///
/// So an element that was put in, moved or taken out makes no other one a change, and one that was edited stays the
/// item that it was.
struct Alignment {
  /// The index of the row that each item of the store is, nil for a new one.
  private(set) var rows: [Int?]
  /// The rows of lists that were read whole, of which nothing was recognised.
  private(set) var gone: [Int] = []

  private let store: LegacyStore
  private let memory: ImportMemory
  private var taken: [Bool]

  /// - Parameter attributes: what the file once said of a row.
  init(
    _ store: LegacyStore, fingerprints: [Data], _ memory: ImportMemory,
    attributes: (ImportMemory.Element) -> [String: FieldValue]
  ) {
    self.store = store
    self.memory = memory
    rows = Array(repeating: nil, count: store.items.count)
    taken = Array(repeating: false, count: memory.rows.count)
    matchKeys()
    matchContents(fingerprints)
    if rows.contains(where: { $0 == nil }), taken.contains(false) {
      var known: [Int: [String: FieldValue]] = [:]
      for (index, row) in memory.rows.enumerated() where !taken[index] && row.key == nil {
        known[index] = attributes(row)
      }
      matchNames(known)
      matchPlaces(known)
      matchLikeness(known)
    }
    gone = memory.rows.indices.filter { index in
      let row = memory.rows[index]
      guard !taken[index], !store.isUnreadable(row) else { return false }
      return store.lists.contains(row.list) || row.list.isEmpty && store.hasDerivedItems
    }
  }

  private mutating func match(_ item: Int, _ row: Int) {
    rows[item] = row
    taken[row] = true
  }

  private func mayBe(_ item: Int, _ row: Int) -> Bool {
    let (item, row) = (store.items[item], memory.rows[row])
    // What is in no list of its own may have been in any.
    return store.lists.contains(row.list) || item.list == row.list || item.list.isEmpty || row.list.isEmpty
  }

  private mutating func matchKeys() {
    var byKey: [String: Int] = [:]
    for (index, row) in memory.rows.enumerated() { if let key = row.key { byKey[key] = index } }
    for (index, item) in store.items.enumerated() {
      if let key = item.key, let row = byKey[key], !taken[row] { match(index, row) }
    }
  }

  private mutating func matchContents(_ fingerprints: [Data]) {
    // In its own list first, then in any.
    for inOwnList in [true, false] {
      var waiting: [Data: [Int]] = [:]
      for (index, row) in memory.rows.enumerated().reversed() where !taken[index] && row.key == nil {
        waiting[row.fingerprint, default: []].append(index)
      }
      if waiting.isEmpty { return }
      for (index, item) in store.items.enumerated() where rows[index] == nil && item.key == nil {
        guard let candidates = waiting[fingerprints[index]],
          let place = candidates.lastIndex(where: {
            (inOwnList ? memory.rows[$0].list == item.list : mayBe(index, $0))
              && memory.rows[$0].className == item.className
          })
        else { continue }
        match(index, candidates[place])
        waiting[fingerprints[index]]?.remove(at: place)
      }
    }
  }

  private mutating func matchNames(_ known: [Int: [String: FieldValue]]) {
    func names(_ attributes: [String: FieldValue]) -> [String] {
      var names: [String] = []
      for key in ["uuid", "UUID", "identifier", "id", "guid"] {
        switch attributes[key] {
        case .string(let text)?: names.append("id \(text)")
        case .integer(let number)?: names.append("id \(number)")
        default: break
        }
      }
      if let label = LegacyItem.label(of: attributes) { names.append("label \(label)") }
      return names
    }
    for order in 0..<2 {
      var old: [String: [Int]] = [:]
      var new: [String: [Int]] = [:]
      for (index, attributes) in known where !taken[index] {
        let names = names(attributes)
        if order < names.count { old[names[order], default: []].append(index) }
      }
      for (index, item) in store.items.enumerated() where rows[index] == nil && item.key == nil {
        let names = names(item.attributes)
        if order < names.count { new[names[order], default: []].append(index) }
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
    for list in Set(store.items.map(\.list)).sorted() {
      let items = store.items.indices.filter { store.items[$0].list == list }
      let old = memory.rows.indices.filter { memory.rows[$0].list == list }
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
        let between = old.filter { $0 > low && $0 < high && !taken[$0] && memory.rows[$0].key == nil }
        pair(Array(items[start..<end]), between, known)
        start = end
      }
    }
  }

  private mutating func pair(_ items: [Int], _ between: [Int], _ known: [Int: [String: FieldValue]]) {
    let isAlone = items.count == 1 && between.count == 1
    for item in items {
      let found = between.first { row in
        guard !taken[row], memory.rows[row].className == store.items[item].className else { return false }
        return isAlone || shares(store.items[item].attributes, known[row] ?? [:])
      }
      if let found { match(item, found) }
    }
  }

  private mutating func matchLikeness(_ known: [Int: [String: FieldValue]]) {
    // What says the same stands under the bytes of what it says; of values that many have, a few are looked at.
    let most = 16
    var saying: [[UInt8]: [Int]] = [:]
    for index in known.keys.sorted() where !taken[index] {
      for part in Self.parts(of: known[index] ?? [:]) {
        if saying[part, default: []].count < most { saying[part, default: []].append(index) }
      }
    }
    if saying.isEmpty { return }
    for (index, item) in store.items.enumerated() where rows[index] == nil && item.key == nil {
      var likeness: [Int: Int] = [:]
      for part in Self.parts(of: item.attributes) {
        for row in saying[part] ?? [] where !taken[row] && mayBe(index, row) {
          if memory.rows[row].className == item.className { likeness[row, default: 0] += 1 }
        }
      }
      // The first of those that are equally like it.
      if let best = likeness.max(by: { ($0.value, -$0.key) < ($1.value, -$1.key) }) { match(index, best.key) }
    }
  }

  /// What an element says that is worth saying, each part encoded.
  private static func parts(of attributes: [String: FieldValue]) -> [[UInt8]] {
    attributes.compactMap { name, value in
      switch value {
      case .string(""), .integer(0), .double(0), .bool, .null, .array([]): nil
      default: EntityRecord([name: value]).bytes
      }
    }
  }

  /// Whether two elements say something the same that is worth saying.
  private func shares(_ left: [String: FieldValue], _ right: [String: FieldValue]) -> Bool {
    !Set(Self.parts(of: left)).isDisjoint(with: Self.parts(of: right))
  }
}

extension LegacyStore {
  /// Whether it holds items that are in no list of their own.
  var hasDerivedItems: Bool { items.contains { $0.list.isEmpty } }

  /// Whether what a row was may be there, and can't be read.
  func isUnreadable(_ row: ImportMemory.Element) -> Bool {
    // What is in no list of its own may be reached from what can't be read.
    if row.list.isEmpty, !incompleteLists.isEmpty { return true }
    return incompleteLists.contains(row.list) || row.key.map { unreadableKeys.contains($0) } ?? false
  }
}
