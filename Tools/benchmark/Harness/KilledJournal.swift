import CatalogModel
import Foundation

/// A journal of items and of updates of random ones, whose process was killed at the worst moment for the next opening:
/// just before the next layer was due.
struct KilledJournal {
  let itemCount: Int
  let itemsPerEntry: Int
  let updateCount: Int
  let updatesPerEntry: Int

  func make(at url: URL, _ bench: Workbench) throws {
    let writing = bench.newPath("writing.journal")
    defer { bench.discard(writing) }
    bench.progress.show("writing a journal of \(itemCount) items and \(updateCount) updates of them")
    let journal = try CatalogJournal.create(at: writing)
    defer { try? journal.close() }
    try journal.addItems(itemCount, perEntry: itemsPerEntry, seed: bench.seed)
    var random = SeededGenerator(seed: bench.seed)
    var turn = 0
    func update(_ draft: inout Draft<Catalog>) throws {
      turn += 1
      let item = Int.random(in: 1...itemCount, using: &random)
      try draft.updateItem(EntityID(item), set: ["count": .integer(Int64(1_000_000 + turn))])
    }
    try journal.fill(updateCount / updatesPerEntry) { draft, _ in
      for _ in 0..<updatesPerEntry { try update(&draft) }
    }
    // Until just after a layer was written, and then until just before the next one is due.
    journal.waitForLayers()
    let known = try journal.statistics().newestCheckpoint
    while try journal.statistics().newestCheckpoint == known {
      try journal.fill(16) { draft, _ in try update(&draft) }
      journal.waitForLayers()
    }
    let since = try journal.head.revision - journal.statistics().newestCheckpoint
    try journal.fill(LayerPolicy.automatic.eventCount - since - 1) { draft, _ in try update(&draft) }
    // The files are now as a process would leave them if it were killed here.
    try FileManager.default.copyItem(at: writing, to: url)
  }
}
