import PropertyLists

/// The versions of the entities of one kind in a layer's file, without those that are deletions.
///
/// A layer has them in blocks (``EntityBlocks``), a requested snapshot as objects (``ArchivedObjects``).
protocol LayerVersions: Sendable {
  /// A version, and where the file has it.
  typealias Found = (number: Int, revision: Revision, position: Int)

  /// A range that has all numbers of entities; nil if there are no versions.
  func bounds() throws(ArchiveError) -> ClosedRange<Int>?
  /// The newest version of an entity as of a revision, nil if there is none.
  func newest(_ number: Int, asOf revision: Revision) throws(ArchiveError) -> Found?
  /// All versions, or the newest of each entity as of a revision, from a number on.
  func cursor(
    from number: Int, asOf revision: Revision?
  ) throws(ArchiveError) -> () throws(ArchiveError) -> Found?
  /// Decodes entities, one after the other.
  func rows() -> RowReader
  /// Decodes one entity.
  func row(_ version: EntityVersion, at position: Int) throws(ArchiveError) -> EntityRow
}
