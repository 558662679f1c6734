import CBOR
import PropertyLists

/// The segments from which the indexes of words of a layer are merged.
struct TextSources {
  private(set) var segments: [IndexDefinition: [TextSegment]] = [:]

  /// Takes the indexes of the layer's sources. If a source lacks one, all versions of the layer are read, once for all
  /// indexes.
  init(_ sources: [any LayerSource], _ header: LayerHeader) throws {
    var missing: [IndexDefinition] = []
    for definition in header.wordIndexes {
      let known = sources.compactMap { $0.words(definition) }
      if known.count == sources.count { segments[definition] = known } else { missing.append(definition) }
    }
    if missing.isEmpty { return }
    if let history = header.history {
      var batches = TextBatches(missing)
      try history.forEachVersion(Set(missing.map(\.scope.table))) {
        kind, number, revision, record throws(JournalError) in
        try history.checkIsWanted()
        batches.append(kind, number, revision, record)
      }
      segments.merge(batches.finish()) { known, _ in known }
    } else {
      for definition in missing {
        segments[definition] = try sources.map { try $0.words(definition) ?? $0.scannedWords(definition) }
      }
    }
  }
}

/// Makes segments of versions that come in any order.
private struct TextBatches {
  private let definitions: [IndexDefinition]
  private var versions: [(kind: Int, number: Int, revision: Revision, record: EntityRecord)] = []
  private var byteCount = 0
  private var segments: [IndexDefinition: [TextSegment]] = [:]

  private static let byteLimit = 16 << 20

  init(_ definitions: [IndexDefinition]) { self.definitions = definitions }

  mutating func append(_ kind: Int, _ number: Int, _ revision: Revision, _ record: EntityRecord) {
    versions.append((kind, number, revision, record))
    byteCount += record.bytes.count
    if byteCount >= Self.byteLimit { endBatch() }
  }

  private mutating func endBatch() {
    versions.sort { ($0.number, $0.revision) < ($1.number, $1.revision) }
    for definition in definitions {
      var collector = TextCollector(definition)
      for version in versions where version.kind == definition.scope.table {
        collector.append(version.number, version.revision, version.record)
      }
      segments[definition, default: []].append(collector.finish().segment)
    }
    (versions, byteCount) = ([], 0)
  }

  mutating func finish() -> [IndexDefinition: [TextSegment]] {
    endBatch()
    return segments
  }
}
