import KeyedArchiving

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
