import PropertyLists

/// The deletions of entities: packed rows of an entity's number and a revision.
struct PackedVersions: Sendable {
  private let rows: PackedNumbers
  /// No entity has a higher number.
  private let highest: Int
  /// No version is newer.
  private let revision: Revision

  init(_ rows: PackedNumbers, highest: Int, revision: Revision) {
    self.rows = rows
    self.highest = highest
    self.revision = revision
  }

  func bounds() throws(ArchiveError) -> ClosedRange<Int>? { try rows.bounds(highest: highest) }

  func newest(_ number: Int, asOf revision: Revision) throws(ArchiveError) -> EntityBlocks.Found? {
    let position = try rows.position(of: (UInt64(number), UInt64(revision) + 1, 0)) - 1
    guard position >= 0 else { return nil }
    let found = try found(at: position)
    return found.number == number ? found : nil
  }

  private func found(at position: Int) throws(ArchiveError) -> EntityBlocks.Found {
    let row = try rows.row(at: position)
    guard row.0 > 0, row.0 <= UInt64(highest), row.1 > 0, row.1 <= UInt64(revision) else {
      throw rows.foreign
    }
    return (Int(row.0), Int(row.1), position)
  }

  /// Iterates over deletions from an entity on.
  struct Cursor {
    private let versions: PackedVersions
    private var position: Int
    private var last = (number: 0, revision: 0)

    init(_ versions: PackedVersions, from number: Int) throws(ArchiveError) {
      self.versions = versions
      position = try versions.rows.position(of: (UInt64(max(number, 0)), 0, 0))
    }

    mutating func next() throws(ArchiveError) -> EntityBlocks.Found? {
      guard position < versions.rows.count else { return nil }
      let next = try versions.found(at: position)
      // Readers rely on the order.
      guard (next.number, next.revision) > last else { throw versions.rows.foreign }
      last = (next.number, next.revision)
      position += 1
      return next
    }
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
