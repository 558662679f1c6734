import CatalogModel

extension CatalogJournal {
  /// Commits entries one after the other without waiting for each, so that each flush makes many of them durable.
  /// - Parameter body: makes the events of an entry. It gets the entry's index, from 0.
  func fill(_ count: Int, _ body: (inout Draft<Catalog>, Int) throws -> Void) throws {
    // At most twice this many commits are pending at a time.
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

  /// Adds items, `perEntry` of them with each entry.
  func addItems(_ count: Int, perEntry: Int, seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    try fill((count + perEntry - 1) / perEntry) { draft, entry in
      for _ in entry * perEntry..<min((entry + 1) * perEntry, count) {
        _ = try draft.addItem(kind: SampleData.kind, attributes: SampleData.attributes(&random))
      }
    }
  }
}
