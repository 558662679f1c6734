import KeyedArchiving

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
}

/// Entities that are objects of a keyed archive, in the order of their numbers. Packed numbers also hold each entity's
/// number and revision, so a search decodes no entity.
final class ArchivedObjects: LayerVersions {
  let reader: SnapshotReader
  /// The array of entities.
  let elements: ObjectHeader
  /// The object numbers of the names of all fields, in the order in which entities have them.
  let fieldKeys: [Int]
  /// For each entity in the array, its number and the revision of the version.
  private let versions: PackedNumbers
  let highest: Int
  /// The newest revision of the layer: no entity was changed after it.
  let revision: Revision

  init(
    _ reader: SnapshotReader, _ header: ObjectHeader, versions: PackedNumbers, highest: Int,
    revision: Revision, fieldKeys: [Int]
  ) throws(ArchiveError) {
    self.reader = reader
    elements = try reader.elements(of: header)
    self.versions = versions
    self.highest = highest
    self.revision = revision
    self.fieldKeys = fieldKeys
    guard versions.count == elements.count else { throw SnapshotReader.foreign(at: header.offset) }
  }

  /// The error for something that no snapshot has.
  var foreign: ArchiveError { versions.foreign }

  func bounds() throws(ArchiveError) -> ClosedRange<Int>? { try versions.bounds(highest: highest) }

  func newest(_ number: Int, asOf revision: Revision) throws(ArchiveError) -> Found? {
    try versions.newest(number, asOf: revision).map { (found) throws(ArchiveError) in try checked(found) }
  }

  func cursor(
    from number: Int, asOf revision: Revision?
  ) throws(ArchiveError) -> () throws(ArchiveError) -> Found? {
    let next = try versions.cursor(from: number, asOf: revision)
    return { () throws(ArchiveError) in
      try next().map { (found) throws(ArchiveError) in try self.checked(found) }
    }
  }

  private func checked(_ found: Found) throws(ArchiveError) -> Found {
    guard found.number <= highest, found.revision <= revision else { throw foreign }
    return found
  }

  func rows() -> RowReader {
    var rows = SnapshotRows(self)
    return { (version) throws(ArchiveError) in
      guard case .archived(let position) = version.content else { return nil }
      return try rows.row(version, at: position)
    }
  }
}

/// Rows of an entity's number and a revision.
extension PackedNumbers {
  func bounds(highest: Int) throws(ArchiveError) -> ClosedRange<Int>? {
    guard count > 0 else { return nil }
    let (lowest, last) = (try row(at: 0).0, try row(at: count - 1).0)
    guard lowest > 0, lowest <= last, last <= UInt64(highest) else { throw foreign }
    return Int(lowest)...Int(last)
  }

  func newest(_ number: Int, asOf revision: Revision) throws(ArchiveError) -> LayerVersions.Found? {
    let position = try position(of: (UInt64(number), UInt64(revision) + 1, 0)) - 1
    guard position >= 0, try row(at: position).0 == UInt64(number) else { return nil }
    return try found(position)
  }

  func cursor(
    from number: Int, asOf revision: Revision?
  ) throws(ArchiveError) -> () throws(ArchiveError) -> LayerVersions.Found? {
    var position = try position(of: (UInt64(max(number, 0)), 0, 0))
    var last = (number: 0, revision: 0)
    return { () throws(ArchiveError) in
      while position < count {
        var found = position
        if let revision {
          let (newest, end) = try newest(at: position, notAfter: UInt64(revision))
          position = end
          guard let newest else { continue }
          found = newest
        } else {
          position += 1
        }
        let next = try self.found(found)
        // Readers rely on the order.
        guard (next.number, next.revision) > last else { throw foreign }
        last = (next.number, next.revision)
        return next
      }
      return nil
    }
  }

  private func found(_ position: Int) throws(ArchiveError) -> LayerVersions.Found {
    let row = try row(at: position)
    let limit = UInt64(SnapshotEntities.numberLimit)
    guard row.0 > 0, row.0 <= limit, row.1 > 0, row.1 <= limit else { throw foreign }
    return (Int(row.0), Int(row.1), position)
  }
}
