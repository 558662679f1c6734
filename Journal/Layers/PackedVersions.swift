import PropertyLists

/// Versions or deletions of entities: packed rows of an entity's number and a revision.
struct PackedVersions: Sendable {
  fileprivate let rows: PackedNumbers
  /// No entity has a higher number.
  private let highest: Int
  /// No version is newer.
  private let revision: Revision

  init(_ rows: PackedNumbers, highest: Int, revision: Revision) {
    self.rows = rows
    self.highest = highest
    self.revision = revision
  }

  var count: Int { rows.count }
  /// The error for rows that no layer or snapshot has.
  var foreign: ArchiveError { rows.foreign }

  func bounds() throws(ArchiveError) -> ClosedRange<Int>? { try rows.bounds(highest: highest) }

  func newest(_ number: Int, asOf revision: Revision) throws(ArchiveError) -> LayerVersions.Found? {
    let position = try rows.position(of: (UInt64(number), UInt64(revision) + 1, 0)) - 1
    guard position >= 0 else { return nil }
    let row = try rows.row(at: position)
    return row.0 == UInt64(number) ? try found(row, position) : nil
  }

  func cursor(
    from number: Int, asOf revision: Revision?
  ) throws(ArchiveError) -> () throws(ArchiveError) -> LayerVersions.Found? {
    var cursor = PackedVersionsCursor(
      self, at: try rows.position(of: (UInt64(max(number, 0)), 0, 0)), asOf: revision)
    return { () throws(ArchiveError) in try cursor.next() }
  }

  fileprivate func found(
    _ row: PackedNumbers.Row, _ position: Int
  ) throws(ArchiveError) -> LayerVersions.Found {
    guard row.0 > 0, row.0 <= UInt64(highest), row.1 > 0, row.1 <= UInt64(revision) else { throw foreign }
    return (Int(row.0), Int(row.1), position)
  }
}

/// Iterates over versions. It reads each row once, except where an entity has several.
///
/// A value: variables that a closure captures are checked for exclusive access at each use.
private struct PackedVersionsCursor {
  private let versions: PackedVersions
  private let revision: Revision?
  private var position: Int
  /// The row at the position, if it was read already.
  private var row: PackedNumbers.Row?
  private var last = (number: 0, revision: 0)

  /// - Parameter revision: if not nil, only the newest version of each entity as of it counts.
  init(_ versions: PackedVersions, at position: Int, asOf revision: Revision?) {
    self.versions = versions
    self.position = position
    self.revision = revision
  }

  mutating func next() throws(ArchiveError) -> LayerVersions.Found? {
    let rows = versions.rows
    while position < rows.count {
      var row = if let row = self.row { row } else { try rows.row(at: position) }
      var place = position
      position += 1
      self.row = position < rows.count ? try rows.row(at: position) : nil
      if let revision {
        if self.row?.0 == row.0 {
          let (newest, end) = try rows.newest(at: place, notAfter: UInt64(revision))
          position = end
          self.row = nil
          guard let newest else { continue }
          place = newest
          row = try rows.row(at: newest)
        } else if row.1 > UInt64(revision) {
          continue
        }
      }
      let next = try versions.found(row, place)
      // Readers rely on the order.
      guard (next.number, next.revision) > last else { throw versions.foreign }
      last = (next.number, next.revision)
      return next
    }
    return nil
  }
}

extension PackedNumbers {
  /// The lowest and the highest of the numbers of entities with which rows begin; nil if there are none.
  func bounds(highest: Int) throws(ArchiveError) -> ClosedRange<Int>? {
    guard count > 0 else { return nil }
    let (lowest, last) = (try row(at: 0).0, try row(at: count - 1).0)
    guard lowest > 0, lowest <= last, last <= UInt64(highest) else { throw foreign }
    return Int(lowest)...Int(last)
  }
}
