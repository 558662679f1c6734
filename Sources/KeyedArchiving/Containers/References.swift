/// The numbers of the objects in a collection, read in place without an allocation.
public struct References: Sendable {
  private let bytes: ArchiveBytes
  private let start: Int
  private let width: Int
  private let objectCount: Int
  /// How many numbers there are.
  public let count: Int

  /// Whether the collection is empty.
  public var isEmpty: Bool { count == 0 }

  init(_ list: PropertyList, start: Int, count: Int) {
    bytes = list.bytes
    width = list.referenceWidth
    objectCount = list.objectCount
    self.start = start
    self.count = count
  }

  /// The number at an index from 0.
  ///
  /// - Throws: `missing` if there is no such index; `danglingReference` if the property list has no such object; `io`
  ///   or `damaged` if a file can't be read.
  /// - Complexity: O(1).
  public func number(at index: Int) throws(ArchiveError) -> Int {
    guard index >= 0, index < count else {
      throw ArchiveError(.missing, "there is no member \(index): there are \(count)", path: bytes.path)
    }
    return try checkedReference(bytes, at: start + index * width, width, objectCount)
  }

  /// All numbers.
  ///
  /// - Throws: as ``number(at:)``.
  public func numbers() throws(ArchiveError) -> [Int] {
    var numbers: [Int] = []
    // The count can't be larger than the number of bytes.
    numbers.reserveCapacity(count)
    for index in 0..<count { numbers.append(try number(at: index)) }
    return numbers
  }
}

extension PropertyList {
  /// The number of a member of a collection. A dictionary of n members has n keys, and then n values.
  @inline(__always)
  package func reference(_ header: ObjectHeader, _ index: Int) throws(ArchiveError) -> Int {
    guard header.kind.isCollection, index >= 0, index < memberCount(header) else {
      throw ArchiveError(.missing, "there is no member \(index)", offset: header.offset, path: bytes.path)
    }
    return try checkedReference(
      bytes, at: header.start + index * referenceWidth, referenceWidth, objectCount)
  }

  /// How many references a collection holds: keys and values both count.
  @inline(__always)
  package func memberCount(_ header: ObjectHeader) -> Int {
    header.kind == .dictionary ? 2 * header.count : header.count
  }
}

@inline(__always)
private func checkedReference(
  _ bytes: ArchiveBytes, at offset: Int, _ width: Int, _ objectCount: Int
) throws(ArchiveError) -> Int {
  let number = try bytes.number(at: offset, width: width)
  guard number < UInt64(objectCount) else {
    throw ArchiveError(
      .danglingReference, "a collection names object number \(number), but there are \(objectCount)",
      offset: offset, path: bytes.path)
  }
  return Int(number)
}
