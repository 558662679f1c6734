import Foundation
import PropertyLists

@testable import Journaling

extension StateParts {
  /// The same parts, backed by a layer whose archive is in memory.
  func frozen(highest: Int? = nil) throws -> StateParts {
    let shape = StateShape(
      schema: "test/1", kinds: tables.indices.map { "kind\($0)" }, fieldNames: tables.map { _ in [] },
      indexes: indexes.map(\.name), lists: lists.map(\.name))
    let revision = 1 << 40
    var checkpoint = LayerCheckpoint(revision: revision, eventCount: 0, self)
    let head = Head(revision: revision, timestamp: Timestamp(microseconds: 0), digest: .zero)
    let header = LayerHeader(
      journal: JournalID(), shape: shape, head: head, start: .start(shape), checkpoints: [checkpoint])
    var bytes: [UInt8] = []
    _ = try unsafe LayerWriter.write([WholeState(parts: self, revision: revision)], header) {
      unsafe bytes.append(contentsOf: $0)
    }
    let footer = LayerFooter(
      byteCount: bytes.count, pageChecksums: [], entryDigest: .zero, schema: shape.schema, generation: 1,
      start: header.start, checkpoints: [checkpoint])
    let faults = ReadFaults()
    let layer = Layer(
      LayerName(from: 0, to: revision), footer,
      try LayerFile(ArchiveBytes(bytes), revision: revision, shape: shape), faults: faults
    ) { (_) throws(JournalError) in throw JournalError(.io, "a layer in memory can't fail") }
    if let highest { checkpoint.tables[0].highest = highest }
    return LayerStack([layer], at: checkpoint, faults: faults).parts(shape, lists.map(\.texts))
  }
}

extension EntityTable {
  /// The same table, backed by a layer.
  func frozen(highest: Int? = nil) throws -> EntityTable {
    try StateParts(tables: [self]).frozen(highest: highest).tables[0]
  }
}

extension EntityIndex {
  /// The same index, backed by a layer.
  func frozen() throws -> EntityIndex {
    try StateParts(tables: [], indexes: [("index", self)]).frozen().indexes[0].index
  }
}
