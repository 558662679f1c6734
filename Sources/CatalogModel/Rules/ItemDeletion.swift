import CBOR

/// The effects of deleting an item by the rules: the items that are deleted too, and the items that lose a reference.
struct ItemDeletion {
  /// The items to delete. The first one is the item whose deletion was requested.
  private(set) var deleted: [Int]
  /// The items that lose references, with their new records.
  private(set) var changed: [Int: EntityRecord] = [:]

  /// - Throws: ``JournalError`` with code `rejected` if a remaining item refers to a deleted one by a `deny` rule.
  init(of number: Int, in catalog: Catalog) throws(JournalError) {
    deleted = [number]
    if catalog.rules.isEmpty { return }
    var all: Set<Int> = [number]
    var denials: [(referrer: Int, target: Int, rule: Catalog.Rule)] = []
    /// By item and rule, the references that the item loses.
    var losses: [Int: [Catalog.Rule: Set<Int>]] = [:]
    var next = [number]
    while !next.isEmpty {
      let found = catalog.referrers(toItems: next.sorted(), except: all)
      next = []
      for (target, referrer, rule) in found where !all.contains(referrer) {
        guard case .reference(_, let action) = rule.form else { continue }
        switch action {
        case .deny: denials.append((referrer, target, rule))
        case .cascade:
          all.insert(referrer)
          next.append(referrer)
        case .nullify: losses[referrer, default: [:]][rule, default: []].insert(target)
        case .keep: break
        }
      }
      deleted += next
    }
    // Losses and denials of items that are deleted too do not count.
    for (referrer, lost) in losses where !all.contains(referrer) {
      guard let record = catalog.itemTable[referrer]?.record else { continue }
      changed[referrer] = lost.reduce(record) { $1.key.removing($1.value, from: $0) }
    }
    guard let denial = denials.first(where: { !all.contains($0.referrer) }) else { return }
    throw Rules.rejected(
      "item:\(denial.target) can't be deleted: item:\(denial.referrer) refers to it (\(denial.rule.named))")
  }
}

extension Draft where State == Catalog {
  /// Deletes an item and its images. The rules decide what happens to the items that refer to it.
  /// - Throws: ``JournalError`` with code `rejected` if the item does not exist, or a rule denies its deletion.
  /// - Complexity: O(d log n) if d items are deleted or changed.
  public mutating func deleteItem(_ id: Catalog.Item.ID) throws(JournalError) {
    try state.checkPresence(of: id.entity)
    let deletion = try ItemDeletion(of: id.number, in: state)
    for (number, record) in deletion.changed.sorted(by: { $0.key < $1.key }) {
      try update(.item(number), to: record)
    }
    let images = Dictionary(
      grouping: state.imagesByItem.lines(ofGroups: deletion.deleted.sorted()), by: \.group)
    let items = state.itemTable
    try items.forEach(deletion.deleted) { (number) throws(JournalError) in
      for image in images[number] ?? [] { try delete(.image(image.member)) }
      try delete(.item(number))
    }
  }
}
