import KeyedArchiving

/// The entities of one kind in a layer's file: their versions, and their deletions. Each is decoded on demand.
final class SnapshotEntities: Sendable {
  private let versions: any LayerVersions
  /// For each deletion, the entity's number and the revision.
  private let deletions: PackedNumbers
  /// The deletions that are erasures, which are also in `deletions`.
  private let erased: PackedNumbers
  let highest: Int
  /// The newest revision of the layer: no entity was changed after it.
  private let revision: Revision
  /// The lowest and the highest number in the layer.
  private let numbers: ClosedRange<Int>?

  /// Numbers above this are in no snapshot, so that counting on from one never overflows.
  static let numberLimit = Int.max >> 1

  init(
    _ versions: any LayerVersions, deletions: PackedNumbers, erased: PackedNumbers, highest: Int,
    revision: Revision
  ) throws(ArchiveError) {
    self.versions = versions
    self.deletions = deletions
    self.erased = erased
    self.highest = highest
    self.revision = revision
    var bounds = try versions.bounds().map { [$0] } ?? []
    if let deleted = try deletions.bounds(highest: highest) { bounds.append(deleted) }
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

  private func gone(_ number: Int, _ revision: Revision) throws(ArchiveError) -> EntityVersion {
    // Where the rows are read, only those of versions are compared with what the layer has.
    guard number <= highest, revision <= self.revision else { throw deletions.foreign }
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
    let nextArchived = try versions.cursor(from: number, asOf: revision)
    let nextDeleted = try deletions.cursor(from: number, asOf: revision)
    var archived = try nextArchived()
    var deleted = try nextDeleted()
    return { () throws(ArchiveError) in
      if let left = archived, let right = deleted, revision != nil, left.number == right.number {
        // For one entity, the newer version counts.
        archived = try nextArchived()
        deleted = try nextDeleted()
        return left.revision >= right.revision
          ? EntityVersion(number: left.number, revision: left.revision, content: .archived(left.position))
          : try self.gone(right.number, right.revision)
      }
      if let left = archived,
        deleted.map({ (left.number, left.revision) < ($0.number, $0.revision) }) ?? true
      {
        archived = try nextArchived()
        return EntityVersion(
          number: left.number, revision: left.revision, content: .archived(left.position))
      }
      guard let right = deleted else { return nil }
      deleted = try nextDeleted()
      return try self.gone(right.number, right.revision)
    }
  }
}
