import CBOR

/// The words of the versions that the entries above the layers have made, kept from one search of all versions to the
/// next one by the same indexes.
struct RecentWords: Sendable {
  typealias Version = (number: Int, revision: Revision, record: EntityRecord)

  let definitions: [IndexDefinition]
  /// The newest entry that layers with these indexes have.
  let start: Revision
  /// The newest entry whose versions these are.
  private(set) var end: Revision
  /// The segments of each index.
  private var parts: [[TextSegment]]
  private var byteCount = 0

  /// The most bytes of records whose words are kept.
  private static let byteLimit = 8 << 20
  /// A search reads the segments of an index one after the other, so more are merged.
  private static let partLimit = 8

  init(_ definitions: [IndexDefinition], after start: Revision) {
    (self.definitions, self.start, end) = (definitions, start, start)
    parts = definitions.map { _ in [] }
  }

  var segments: [TextSegment] { parts.flatMap { $0 } }
  /// Whether the versions are so many that their words must not be kept.
  var isFull: Bool { byteCount > Self.byteLimit }

  /// Takes the bytes of a version that will be added. Returns whether the words are still to be kept.
  mutating func reserve(_ record: EntityRecord) -> Bool {
    byteCount += 64 + record.bytes.count
    return !isFull
  }

  /// Adds the words of the versions that the entries up to another one have made.
  mutating func append(_ versions: [Version], through revision: Revision) throws {
    end = revision
    let sorted = versions.sorted { ($0.number, $0.revision) < ($1.number, $1.revision) }
    for place in parts.indices where !sorted.isEmpty {
      var collector = TextCollector(definitions[place])
      for version in sorted { collector.append(version.number, version.revision, version.record) }
      parts[place].append(collector.finish().segment)
      if parts[place].count <= Self.partLimit { continue }
      let merged = try TextSegmentBuilder(
        merging: parts[place], isNewest: { _ in false }, checkIsWanted: {})
      parts[place] = [merged.segment]
    }
  }
}
