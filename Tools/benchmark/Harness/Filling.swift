import CatalogModel

extension CatalogJournal {
  /// Commits entries in a pipeline, so that a flush makes many of them durable.
  /// - Parameter body: makes the events of an entry. It gets the entry's index, from 0.
  func fill(_ count: Int, _ body: (inout Draft<Catalog>, Int) throws -> Void) throws {
    try withPipeline { pipeline in
      for index in 0..<count { try pipeline.commit { try body(&$0, index) } }
    }
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
