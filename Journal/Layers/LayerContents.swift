import PropertyLists

/// A version of an entity: it was added or changed, deleted or erased.
struct EntityVersion: Sendable {
  enum Content: Sendable {
    /// Deleted or erased.
    case deleted(isErased: Bool)
    case row(EntityRow)
    /// In the archive, at this position among the entities of its kind.
    case archived(Int)
  }

  let number: Int
  let revision: Revision
  let content: Content

  /// The entity, if it is in memory.
  var row: EntityRow? { if case .row(let row) = content { row } else { nil } }
  var isErased: Bool { if case .deleted(isErased: true) = content { true } else { false } }
}

/// A line of an index that was inserted or removed. The revision is that of the first checkpoint that shows it.
struct LineVersion {
  let key: IndexKey
  let revision: Revision
  let isThere: Bool
}

/// Returns the next version, nil at the end.
typealias VersionCursor = () throws(ArchiveError) -> EntityVersion?
typealias LineCursor = () throws(ArchiveError) -> LineVersion?
/// Returns the entity of a version from one source; nil for a deleted one. Used by one thread.
typealias RowReader = (EntityVersion) throws(ArchiveError) -> EntityRow?

/// A source of a layer: all changes between two revisions.
protocol LayerSource {
  /// All versions of all entities of a kind, by their numbers and then by their revisions.
  func versions(_ kind: Int) throws(ArchiveError) -> VersionCursor
  func rows(_ kind: Int) -> RowReader
  /// All lines of an index that changed, by their keys and then by their revisions.
  func lines(_ index: Int) throws(ArchiveError) -> LineCursor
  /// The texts of a list that got a number, in the order of numbers.
  func texts(_ list: Int) throws(ArchiveError) -> [String]
  /// The lines of a declared index; nil if they must be made from the entities.
  func valueLines(_ definition: IndexDefinition) -> (any LayerValueLines)?
}

extension LayerSource {
  func valueLines(_ definition: IndexDefinition) -> (any LayerValueLines)? { nil }

  /// The lines of a declared index, made from the entities if the source does not have it.
  func knownOrScannedLines(_ definition: IndexDefinition) throws(ArchiveError) -> any LayerValueLines {
    if let known = valueLines(definition) { return known }
    return try ScannedValueLines(self, definition)
  }
}

/// The contents of a layer, in memory or in its file, and the lookups of a state.
///
/// *As of* a revision, later changes are invisible. A layer below may have what this one lacks.
protocol LayerContents: LayerSource, AnyObject, Sendable {
  /// The newest version of an entity, nil if the layer has none.
  func version(_ kind: Int, _ number: Int, asOf revision: Revision) throws(ArchiveError) -> EntityVersion?
  /// The entity in that version; `.some(nil)` if it was deleted, and nil if the layer has none.
  func row(_ kind: Int, _ number: Int, asOf revision: Revision) throws(ArchiveError) -> EntityRow??
  /// Whether a line exists, nil if the layer does not know.
  func line(_ index: Int, _ key: IndexKey, asOf revision: Revision) throws(ArchiveError) -> Bool?
  /// The newest version of each entity of a kind, by their numbers, from one on.
  func newestVersions(
    _ kind: Int, from number: Int, asOf revision: Revision
  ) throws(ArchiveError) -> VersionCursor
  /// The newest version of each line, by their keys, from one on.
  func newestLines(
    _ index: Int, from key: IndexKey, asOf revision: Revision
  ) throws(ArchiveError) -> LineCursor
  /// Whether a query can use a declared index. A layer in memory is small, and makes any index on demand.
  func hasIndex(_ definition: IndexDefinition) -> Bool
  /// The contents for one thread that reads them from the start to the end, as a merge does.
  /// - Throws: ``ArchiveError`` if the start or the end of the file can't be read.
  func sequential() throws(ArchiveError) -> any LayerSource
}

extension LayerContents {
  func row(_ kind: Int, _ number: Int, asOf revision: Revision) throws(ArchiveError) -> EntityRow?? {
    guard let version = try version(kind, number, asOf: revision) else { return nil }
    return .some(try rows(kind)(version))
  }

  func sequential() throws(ArchiveError) -> any LayerSource { self }
}
