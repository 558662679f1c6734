import PropertyLists

/// The entities of one kind in the file of a layer or snapshot: their versions, and their deletions. Each is decoded on
/// demand.
final class LayerEntities: Sendable {
  private let versions: any LayerVersions
  /// For each deletion, the entity's number and the revision.
  private let deletions: PackedVersions
  /// The deletions that are erasures, which are also in `deletions`.
  private let erased: PackedNumbers
  let highest: Int
  /// The lowest and the highest number in the layer.
  private let numbers: ClosedRange<Int>?

  /// Numbers above this are in no layer or snapshot, so that counting on from one never overflows.
  static let numberLimit = Int.max >> 1

  init(
    _ versions: any LayerVersions, deletions: PackedNumbers, erased: PackedNumbers, highest: Int,
    revision: Revision
  ) throws(ArchiveError) {
    self.versions = versions
    self.deletions = PackedVersions(deletions, highest: highest, revision: revision)
    self.erased = erased
    self.highest = highest
    var bounds = try versions.bounds().map { [$0] } ?? []
    if let deleted = try self.deletions.bounds() { bounds.append(deleted) }
    let lowest = bounds.map(\.lowerBound).min()
    numbers = lowest.flatMap { low in bounds.map(\.upperBound).max().map { low...$0 } }
  }

  /// The newest version of an entity as of a revision, nil if there is none.
  func version(_ number: Int, asOf revision: Revision) throws(ArchiveError) -> EntityVersion? {
    guard let numbers, number > 0, numbers.contains(number) else { return nil }
    let archived = try versions.newest(number, asOf: revision)
    let deleted = try deletions.newest(number, asOf: revision)
    if let deleted, deleted.revision > archived?.revision ?? 0 { return try gone(number, deleted.revision) }
    guard let archived else { return nil }
    return EntityVersion(number: number, revision: archived.revision, content: .archived(archived.position))
  }

  fileprivate func gone(_ number: Int, _ revision: Revision) throws(ArchiveError) -> EntityVersion {
    var isErased = false
    if erased.count > 0 {
      let place = (UInt64(number), UInt64(revision), UInt64(0))
      let position = try erased.position(of: place)
      if position < erased.count { isErased = try erased.row(at: position) == place }
    }
    return EntityVersion(number: number, revision: revision, content: .deleted(isErased: isErased))
  }

  /// Decodes entities of this layer, one after the other.
  func rows() -> RowReader { versions.rows() }

  /// The entity of a version; nil for a deleted one.
  func row(_ version: EntityVersion) throws(ArchiveError) -> EntityRow? {
    guard case .archived(let position) = version.content else { return nil }
    return try versions.row(version, at: position)
  }

  /// All versions, or the newest of each entity as of a revision, from a number on.
  func cursor(from number: Int, asOf revision: Revision?) throws(ArchiveError) -> VersionCursor {
    var cursor = try LayerEntitiesCursor(
      self, archived: versions.cursor(from: number, asOf: revision),
      deleted: deletions.cursor(from: number, asOf: revision), onlyNewest: revision != nil)
    return { () throws(ArchiveError) in try cursor.next() }
  }
}

/// Merges the versions and the deletions of a layer. A value for the same reason as the cursors that it merges.
private struct LayerEntitiesCursor {
  typealias Next = () throws(ArchiveError) -> LayerVersions.Found?

  private let entities: LayerEntities
  private let nextArchived: Next
  private let nextDeleted: Next
  private let onlyNewest: Bool
  private var archived: LayerVersions.Found?
  private var deleted: LayerVersions.Found?

  /// - Parameter onlyNewest: whether only the newer one counts if an entity has a version and a deletion.
  init(
    _ entities: LayerEntities, archived: @escaping Next, deleted: @escaping Next, onlyNewest: Bool
  ) throws(ArchiveError) {
    self.entities = entities
    self.onlyNewest = onlyNewest
    nextArchived = archived
    nextDeleted = deleted
    self.archived = try archived()
    self.deleted = try deleted()
  }

  mutating func next() throws(ArchiveError) -> EntityVersion? {
    if onlyNewest, let left = archived, let right = deleted, left.number == right.number {
      archived = try nextArchived()
      deleted = try nextDeleted()
      return left.revision >= right.revision ? version(left) : try entities.gone(right.number, right.revision)
    }
    if let left = archived,
      deleted.map({ (left.number, left.revision) < ($0.number, $0.revision) }) ?? true
    {
      archived = try nextArchived()
      return version(left)
    }
    guard let right = deleted else { return nil }
    deleted = try nextDeleted()
    return try entities.gone(right.number, right.revision)
  }

  private func version(_ found: LayerVersions.Found) -> EntityVersion {
    EntityVersion(number: found.number, revision: found.revision, content: .archived(found.position))
  }
}
