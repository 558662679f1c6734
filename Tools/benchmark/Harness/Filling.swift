import CatalogModel

extension CatalogJournal {
  /// Makes entries one after the other, of which many become durable with each flush.
  /// - Parameter body: makes the events of the entry of that number, from 0.
  func fill(_ count: Int, _ body: (inout Draft<Catalog>, Int) throws -> Void) throws {
    // So many are under way at a time, and twice as many at the most.
    let stride = 4_096
    var pending: [PendingCommit<Void>] = []
    for index in 0..<count {
      let commit = try submit { try body(&$0, index) }
      if index % stride == stride - 1 || index == count - 1 {
        pending.append(commit)
        if pending.count == 2 { try pending.removeFirst().wait() }
      }
    }
    try pending.last?.wait()
  }

  /// Adds items, so many with each entry.
  func addItems(_ count: Int, perEntry: Int, seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    try fill((count + perEntry - 1) / perEntry) { draft, entry in
      for _ in entry * perEntry..<min((entry + 1) * perEntry, count) {
        _ = try draft.addItem(kind: SampleData.kind, attributes: SampleData.attributes(&random))
      }
    }
  }
}
