import PropertyLists

extension ArchivedValue {
  /// The indexes that an `NSIndexPath` holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if its count is wrong.
  public var indexPath: [Int]? {
    get throws(ArchiveError) {
      guard let object = kind(of: "NSIndexPath") else { return nil }
      guard let length = try object.integer("NSIndexPathLength") else {
        throw object.malformed("the index path has no NSIndexPathLength")
      }
      switch length {
      case 0: return []
      case 1:
        guard let index = try object.integer("NSIndexPathValue") else {
          throw object.malformed("the index path has no NSIndexPathValue")
        }
        return [index]
      default:
        // The bits are kept: a negative index is packed as a very large number.
        let indexes = try object.packedNumbers("NSIndexPathData").map { Int(truncatingIfNeeded: $0) }
        guard indexes.count == length else {
          throw object.malformed("the index path doesn't have as many indexes as it says")
        }
        return indexes
      }
    }
  }

  /// The ranges of indexes that an `NSIndexSet` holds, in ascending order.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if its count is wrong, or they are not in order.
  public var indexSet: [Range<Int>]? {
    get throws(ArchiveError) {
      guard let object = kind(of: "NSIndexSet") else { return nil }
      guard let count = try object.integer("NSRangeCount") else {
        throw object.malformed("the index set has no NSRangeCount")
      }
      switch count {
      case 0: return []
      case 1:
        guard let start = try object.integer("NSLocation"), let length = try object.integer("NSLength"),
          let range = Range(start: start, length: length)
        else {
          throw object.malformed("the index set has no NSLocation and NSLength, or impossible ones")
        }
        return [range]
      default:
        let ranges = try object.packedRanges("NSRangeData")
        guard ranges.count == count else {
          throw object.malformed("the index set doesn't have as many ranges as it says")
        }
        return ranges
      }
    }
  }
}

extension ArchivedObject {
  /// The numbers that are packed into the data in a field.
  func packedNumbers(_ key: String) throws(ArchiveError) -> [UInt64] {
    guard let data = try data(key) else { throw malformed("\(key) is missing") }
    guard let numbers = Varints.all(in: data) else { throw malformed("\(key) ends within a number") }
    return numbers
  }

  fileprivate func packedRanges(_ key: String) throws(ArchiveError) -> [Range<Int>] {
    let numbers = try packedNumbers(key)
    guard numbers.count.isMultiple(of: 2) else { throw malformed("a range in \(key) has no length") }
    var ranges: [Range<Int>] = []
    ranges.reserveCapacity(numbers.count / 2)
    for position in stride(from: 0, to: numbers.count, by: 2) {
      guard let start = Int(exactly: numbers[position]), let length = Int(exactly: numbers[position + 1]),
        let range = Range(start: start, length: length), start >= ranges.last?.upperBound ?? 0
      else {
        throw malformed("the ranges in \(key) are not in order")
      }
      ranges.append(range)
    }
    return ranges
  }
}
