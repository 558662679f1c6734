import PropertyLists

/// A version of an entity: it was added or changed, deleted or erased.
struct EntityVersion: Sendable {
  enum Content: Sendable {
    /// Deleted or erased.
    case deleted(isErased: Bool)
    case row(EntityRow)
    /// The version is in the archive, at this position among those of its kind.
    case archived(Int)
  }

  let number: Int
  let revision: Revision
  let content: Content

  /// The entity, if it is in memory.
  var row: EntityRow? { if case .row(let row) = content { row } else { nil } }
  var isErased: Bool { if case .deleted(isErased: true) = content { true } else { false } }
}

/// A line of an index that was inserted or removed. The revision is that of the first checkpoint that shows the change.
struct LineVersion {
  let key: IndexKey
  let revision: Revision
  let isThere: Bool
}

/// Returns the next version, nil at the end.
typealias VersionCursor = () throws(ArchiveError) -> EntityVersion?
typealias LineCursor = () throws(ArchiveError) -> LineVersion?
/// Reads the entity of a version of one source; nil if the entity is deleted. Used by one thread.
typealias RowReader = (EntityVersion) throws(ArchiveError) -> EntityRow?

/// A source of a layer: all changes between two revisions.
protocol LayerSource {
  /// All versions of all entities of a kind, in the order of numbers and then of revisions.
  func versions(_ kind: Int) throws(ArchiveError) -> VersionCursor
  func rows(_ kind: Int) -> RowReader
  /// All changed lines of an index, in the order of keys and then of revisions.
  func lines(_ index: Int) throws(ArchiveError) -> LineCursor
  /// The texts of a list that got a number between the two revisions, in the order of numbers.
  func texts(_ list: Int) throws(ArchiveError) -> [String]
  /// The lines of a declared index; nil if they must be made from the entities.
  func valueLines(_ definition: IndexDefinition) -> (any LayerValueLines)?
  /// The words of all versions; nil if they must be made from the entities and the log.
  func words(_ definition: IndexDefinition) -> TextSegment?
}

extension LayerSource {
  func valueLines(_ definition: IndexDefinition) -> (any LayerValueLines)? { nil }
  func words(_ definition: IndexDefinition) -> TextSegment? { nil }

  /// The lines of a declared index, made from the entities if the source lacks the index.
  func knownOrScannedLines(_ definition: IndexDefinition) throws(ArchiveError) -> any LayerValueLines {
    if let known = valueLines(definition) { return known }
    return try ScannedValueLines(self, definition)
  }

  /// The words of the versions that the source has.
  /// - Complexity: O(n log n) in their words.
  func scannedWords(_ definition: IndexDefinition) throws(ArchiveError) -> TextSegment {
    var collector = TextCollector(definition)
    let next = try versions(definition.scope.table)
    let rows = rows(definition.scope.table)
    var current = try next()
    while let version = current {
      current = try next()
      guard let row = try rows(version) else { continue }
      collector.append(
        version.number, version.revision, row.record, isNewest: current?.number != version.number)
    }
    return collector.finish().segment
  }
}

/// The contents of a layer, in memory or in its file, with the lookups that a state needs.
///
/// *As of* a revision means without later changes. What this layer lacks, a layer below may have.
protocol LayerContents: LayerSource, AnyObject, Sendable {
  /// The newest version of an entity, nil if the layer has none.
  func version(_ kind: Int, _ number: Int, asOf revision: Revision) throws(ArchiveError) -> EntityVersion?
  /// The entity in its newest version; `.some(nil)` if that is a deletion, and nil if the layer has no version.
  func row(_ kind: Int, _ number: Int, asOf revision: Revision) throws(ArchiveError) -> EntityRow??
  /// Whether a line exists, nil if the layer has no change of the line.
  func line(_ index: Int, _ key: IndexKey, asOf revision: Revision) throws(ArchiveError) -> Bool?
  /// Whether the layer may have changes of lines from one key through another.
  func hasLines(_ index: Int, from first: IndexKey, through last: IndexKey) throws(ArchiveError) -> Bool
  /// The newest version of each entity of a kind, in the order of numbers, from a number on.
  func newestVersions(
    _ kind: Int, from number: Int, asOf revision: Revision
  ) throws(ArchiveError) -> VersionCursor
  /// The newest version of each line, in the order of keys, from a key on.
  func newestLines(
    _ index: Int, from key: IndexKey, asOf revision: Revision
  ) throws(ArchiveError) -> LineCursor
  /// Whether a query can use a declared index of this layer. A layer in memory is small, and makes any index on demand.
  func hasIndex(_ definition: IndexDefinition) -> Bool
  /// The words of the versions that checkpoints show and, if a file has the index, also of all others. The newest version
  /// of each entity that exists at the end of the layer is marked.
  func knownOrScannedWords(_ definition: IndexDefinition) throws(ArchiveError) -> TextSegment
  /// The contents for one thread that reads all of them from the start to the end, as a merge does.
  /// - Throws: ``ArchiveError`` if the start or the end of the file can't be read.
  func sequential() throws(ArchiveError) -> any LayerSource
}

extension LayerContents {
  func knownOrScannedWords(_ definition: IndexDefinition) throws(ArchiveError) -> TextSegment {
    if let known = words(definition) { return known }
    return try scannedWords(definition)
  }

  func row(_ kind: Int, _ number: Int, asOf revision: Revision) throws(ArchiveError) -> EntityRow?? {
    guard let version = try version(kind, number, asOf: revision) else { return nil }
    return .some(try rows(kind)(version))
  }

  func sequential() throws(ArchiveError) -> any LayerSource { self }
}
