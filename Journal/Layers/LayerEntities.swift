import PropertyLists

/// The entities of one kind in the file of a layer: their versions, and their deletions. Each is decoded on demand.
final class LayerEntities: Sendable {
  private let versions: EntityBlocks
  /// For each deletion, the entity's number and the revision.
  fileprivate let deletions: PackedNumbers
  /// The deletions that are erasures, which are also in `deletions`.
  private let erased: PackedNumbers
  let highest: Int
  private let revision: Revision
  private let numbers: ClosedRange<Int>?

  /// No layer has numbers above this limit, so adding to a number can't overflow.
  static let numberLimit = Int.max >> 1

  init(
    _ versions: EntityBlocks, deletions: PackedNumbers, erased: PackedNumbers, highest: Int,
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

  func version(_ number: Int, asOf revision: Revision) throws(ArchiveError) -> EntityVersion? {
    guard let numbers, number > 0, numbers.contains(number) else { return nil }
    let archived = try versions.newest(number, asOf: revision)
    if let deleted = try newestDeletion(of: number, asOf: revision), deleted > archived?.revision ?? 0 {
      return try gone(number, deleted)
    }
    return archived
  }

  /// The entity in its newest version as of a revision; `.some(nil)` if that is a deletion, and nil if there is none.
  func row(_ number: Int, asOf revision: Revision) throws(ArchiveError) -> EntityRow?? {
    guard let numbers, number > 0, numbers.contains(number) else { return nil }
    let row = try versions.newestRow(number, asOf: revision)
    if let deleted = try newestDeletion(of: number, asOf: revision), deleted > row?.modified ?? 0 {
      return .some(nil)
    }
    return row.map { .some($0) }
  }

  private func newestDeletion(of number: Int, asOf revision: Revision) throws(ArchiveError) -> Revision? {
    let position = try deletions.position(of: (UInt64(number), UInt64(revision) + 1, 0)) - 1
    guard position >= 0, case let deleted = try deletion(at: position), deleted.number == number else {
      return nil
    }
    return deleted.revision
  }

  fileprivate func deletion(at position: Int) throws(ArchiveError) -> (number: Int, revision: Revision) {
    let row = try deletions.row(at: position)
    guard row.0 > 0, row.0 <= UInt64(highest), row.1 > 0, row.1 <= UInt64(revision) else {
      throw deletions.foreign
    }
    return (Int(row.0), Int(row.1))
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

  func rows() -> RowReader { versions.rows() }

  /// All versions from a number on or, if there is a revision, only each entity's newest version as of the revision.
  func cursor(from number: Int, asOf revision: Revision? = nil) throws(ArchiveError) -> VersionCursor {
    var all = try LayerEntitiesCursor(self, EntityBlocks.Versions(versions, from: number), from: number)
    guard let revision else { return { () throws(ArchiveError) in try all.next() } }
    var newest = try NewestElements(all, asOf: revision)
    return { () throws(ArchiveError) in try newest.next() }
  }
}

/// Merges the versions and the deletions of a layer.
private struct LayerEntitiesCursor: ElementCursor {
  private let entities: LayerEntities
  private var blocks: EntityBlocks.Versions
  private var archived: EntityVersion?
  private var deleted: (number: Int, revision: Revision)?
  /// The position of the next deletion to read.
  private var deletionCount: Int

  init(
    _ entities: LayerEntities, _ blocks: EntityBlocks.Versions, from number: Int
  ) throws(ArchiveError) {
    self.entities = entities
    self.blocks = blocks
    deletionCount = try entities.deletions.position(of: (UInt64(max(number, 0)), 0, 0))
    archived = try self.blocks.next()
    try readDeletion()
  }

  private mutating func readDeletion() throws(ArchiveError) {
    guard deletionCount < entities.deletions.count else {
      deleted = nil
      return
    }
    let next = try entities.deletion(at: deletionCount)
    // Readers rely on the order.
    if let deleted, next <= deleted { throw entities.deletions.foreign }
    deleted = next
    deletionCount += 1
  }

  mutating func next() throws(ArchiveError) -> EntityVersion? {
    if let left = archived,
      deleted.map({ (left.number, left.revision) < ($0.number, $0.revision) }) ?? true
    {
      archived = try blocks.next()
      return left
    }
    guard let right = deleted else { return nil }
    try readDeletion()
    return try entities.gone(right.number, right.revision)
  }
}
