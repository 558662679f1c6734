import CBOR
import PropertyLists

/// The segments from which the indexes of words of a layer are merged. A version may be in several of them.
struct TextSources {
  private var segments: [IndexDefinition: [TextSegment]] = [:]

  /// Takes the indexes of the layer's sources. If sources lack one, the versions that their entries made are read, once
  /// for all indexes.
  init(_ sources: [any LayerSource], _ header: LayerHeader) throws {
    var missing: [IndexDefinition] = []
    var lacking: Set<Int> = []
    for definition in header.wordIndexes {
      let known = sources.map { $0.words(definition) }
      segments[definition] = known.compactMap { $0 }
      let without = known.indices.filter { known[$0] == nil }
      if !without.isEmpty { missing.append(definition) }
      lacking.formUnion(without)
    }
    if missing.isEmpty { return }
    if let history = header.history {
      let entries = lacking.map { history.entries[$0] }
      let range = (
        after: entries.map(\.after).min() ?? 0, through: entries.map(\.through).max() ?? header.top.revision
      )
      var batches = TextBatches(missing, history.checkIsWanted)
      try history.forEachVersion(Set(missing.map(\.scope.table)), range) {
        kind, number, revision, record throws(JournalError) in
        try batches.append(kind, number, revision, record)
      }
      segments.merge(try batches.finish()) { $0 + $1 }
    } else {
      for definition in missing {
        segments[definition] = try sources.map { try $0.words(definition) ?? $0.scannedWords(definition) }
      }
    }
  }

  /// Returns the segments of an index, and releases them.
  mutating func take(_ definition: IndexDefinition) -> [TextSegment] {
    segments.removeValue(forKey: definition) ?? []
  }
}

/// Makes segments of versions that come in any order.
private struct TextBatches {
  private let definitions: [IndexDefinition]
  private let checkIsWanted: () throws(JournalError) -> Void
  private var versions: [(kind: Int, number: Int, revision: Revision, record: EntityRecord)] = []
  /// About how many bytes `versions` takes.
  private var byteCount = 0
  private var segments: [IndexDefinition: [TextSegment]] = [:]

  private static let byteLimit = 16 << 20
  /// The bytes of records after which a batch checks whether it is still wanted.
  private static let checkByteCount = 64 << 10

  init(_ definitions: [IndexDefinition], _ checkIsWanted: @escaping () throws(JournalError) -> Void) {
    self.definitions = definitions
    self.checkIsWanted = checkIsWanted
  }

  mutating func append(
    _ kind: Int, _ number: Int, _ revision: Revision, _ record: EntityRecord
  ) throws(JournalError) {
    versions.append((kind, number, revision, record))
    byteCount += 64 + record.bytes.count
    if byteCount >= Self.byteLimit { try endBatch() }
  }

  private mutating func endBatch() throws(JournalError) {
    versions.sort { ($0.number, $0.revision) < ($1.number, $1.revision) }
    for definition in definitions {
      var collector = TextCollector(definition)
      var uncheckedByteCount = 0
      for version in versions where version.kind == definition.scope.table {
        uncheckedByteCount += version.record.bytes.count
        if uncheckedByteCount >= Self.checkByteCount {
          try checkIsWanted()
          uncheckedByteCount = 0
        }
        collector.append(version.number, version.revision, version.record)
      }
      segments[definition, default: []].append(collector.finish().segment)
    }
    (versions, byteCount) = ([], 0)
  }

  mutating func finish() throws(JournalError) -> [IndexDefinition: [TextSegment]] {
    try endBatch()
    return segments
  }
}
