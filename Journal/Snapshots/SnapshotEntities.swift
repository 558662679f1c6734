import KeyedArchiving

/// The versions of the entities of one kind in a layer's file. Each is decoded on demand.
///
/// They are in the order of numbers and then of revisions. Packed numbers also hold each entity's number and revision, so
/// a search decodes no entity.
final class SnapshotEntities: Sendable {
  let reader: SnapshotReader
  /// The array of entities.
  let elements: ObjectHeader
  /// The object numbers of the names of all fields, in the order in which entities have them.
  let fieldKeys: [Int]
  /// For each entity in the array, its number and the revision of the version.
  let versions: PackedNumbers
  /// For each deletion, the entity's number and the revision.
  let deletions: PackedNumbers
  /// The deletions that are erasures, which are also in `deletions`.
  private let erased: PackedNumbers
  let highest: Int
  /// The newest revision of the layer: no entity was changed after it.
  let revision: Revision
  /// The lowest and the highest number in the layer.
  private let numbers: ClosedRange<UInt64>?

  /// Numbers above this are in no snapshot, so that counting on from one never overflows.
  private static let numberLimit = Int.max >> 1

  init(
    _ reader: SnapshotReader, _ header: ObjectHeader, versions: PackedNumbers, deletions: PackedNumbers,
    erased: PackedNumbers, highest: Int, revision: Revision, fieldKeys: [Int]
  ) throws(ArchiveError) {
    self.reader = reader
    elements = try reader.elements(of: header)
    self.versions = versions
    self.deletions = deletions
    self.erased = erased
    self.highest = highest
    self.revision = revision
    self.fieldKeys = fieldKeys
    guard versions.count == elements.count, highest <= Self.numberLimit else {
      throw SnapshotReader.foreign(at: header.offset)
    }
    var bounds: [UInt64] = []
    for list in [versions, deletions] where list.count > 0 {
      bounds.append(try list.row(at: 0).0)
      bounds.append(try list.row(at: list.count - 1).0)
    }
    numbers = bounds.min().flatMap { low in bounds.max().map { low...$0 } }
  }

  /// The newest version of an entity as of a revision, nil if there is none.
  func version(_ number: Int, asOf revision: Revision) throws(ArchiveError) -> EntityVersion? {
    guard let numbers, number > 0, numbers.contains(UInt64(number)) else { return nil }
    let archived = try newest(number, versions, revision)
    let deleted = try newest(number, deletions, revision)
    if let deleted, deleted.revision > archived?.revision ?? 0 { return try gone(number, deleted.revision) }
    guard let archived else { return nil }
    return EntityVersion(number: number, revision: archived.revision, content: .archived(archived.position))
  }

  private func gone(_ number: Int, _ revision: Revision) throws(ArchiveError) -> EntityVersion {
    var isErased = false
    if erased.count > 0 {
      let place = (UInt64(number), UInt64(revision), UInt64(0))
      let position = try erased.position(of: place)
      if position < erased.count { isErased = try erased.row(at: position) == place }
    }
    return EntityVersion(number: number, revision: revision, content: .deleted(isErased: isErased))
  }

  private func newest(
    _ number: Int, _ list: PackedNumbers, _ revision: Revision
  ) throws(ArchiveError) -> (position: Int, revision: Revision)? {
    let position = try list.position(of: (UInt64(number), UInt64(revision) + 1, 0)) - 1
    guard position >= 0 else { return nil }
    let row = try list.row(at: position)
    guard row.0 == UInt64(number) else { return nil }
    return (position, try checked(row, list).revision)
  }

  /// The numbers of a row, which must be a valid entity number and revision.
  private func checked(
    _ row: PackedNumbers.Row, _ list: PackedNumbers
  ) throws(ArchiveError) -> (number: Int, revision: Revision) {
    guard row.0 > 0, row.0 <= UInt64(highest), row.1 > 0, row.1 <= UInt64(revision) else {
      throw list.foreign
    }
    return (Int(row.0), Int(row.1))
  }

  /// Decodes entities of this layer, one after the other.
  func rows() -> RowReader {
    var rows = SnapshotRows(self)
    return { (version) throws(ArchiveError) in
      guard case .archived(let position) = version.content else { return nil }
      return try rows.row(version, at: position)
    }
  }

  // MARK: Cursors

  /// All versions, or the newest of each entity as of a revision, from a number on.
  func cursor(from number: Int, asOf revision: Revision?) throws(ArchiveError) -> VersionCursor {
    let nextArchived = try cursor(versions, from: number, asOf: revision)
    let nextDeleted = try cursor(deletions, from: number, asOf: revision)
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

  private typealias Place = (number: Int, revision: Revision, position: Int)

  private func cursor(
    _ list: PackedNumbers, from number: Int, asOf revision: Revision?
  ) throws(ArchiveError) -> () throws(ArchiveError) -> Place? {
    var position = try list.position(of: (UInt64(max(number, 0)), 0, 0))
    return { () throws(ArchiveError) in
      while position < list.count {
        var found = position
        if let revision {
          let (newest, end) = try list.newest(at: position, notAfter: UInt64(revision))
          position = end
          guard let newest else { continue }
          found = newest
        } else {
          position += 1
        }
        let row = try self.checked(list.row(at: found), list)
        return (row.number, row.revision, found)
      }
      return nil
    }
  }
}
