import KeyedArchiving

/// The entities of one kind in a snapshot. Each is decoded when it is asked for.
///
/// They stand in the order of their numbers. A number is no lower than the count of those before it, so with
/// nothing deleted the place of an entity is known at once; else a bisection finds it.
final class SnapshotEntities: Sendable {
  let reader: SnapshotReader
  /// The array of entities.
  let elements: ObjectHeader
  /// The object numbers of the names of all fields, in the order in which entities have them.
  let fieldKeys: [Int]
  private let deletions: SnapshotPairs
  /// The numbers of those that are gone because they were erased.
  let erased: [Int]
  let highest: Int
  /// The revision that the snapshot is as of: no entity was changed after it.
  let revision: Revision

  /// Numbers above this are in no snapshot, so that nobody who counts on from one comes to the end of numbers.
  private static let numberLimit = Int.max >> 1

  init(
    _ reader: SnapshotReader, _ header: ObjectHeader, deletions: SnapshotPairs, erased: SnapshotPairs,
    highest: Int,
    revision: Revision, fieldKeys: [Int]
  ) throws(ArchiveError) {
    self.reader = reader
    elements = try reader.elements(of: header)
    self.deletions = deletions
    self.highest = highest
    var numbers: [Int] = []
    // There are few, and a table asks for them at every event.
    for position in 0..<erased.count { numbers.append(try erased.pair(at: position).0) }
    self.erased = numbers
    self.revision = revision
    self.fieldKeys = fieldKeys
    // What bisections rely on; that the numbers rise is part of what the checksums guard.
    guard highest >= elements.count, highest - elements.count >= deletions.count, highest <= Self.numberLimit
    else {
      throw SnapshotReader.foreign(at: header.offset)
    }
  }

  var count: Int { elements.count }
  var deletionCount: Int { deletions.count }

  func deletion(at position: Int) throws(ArchiveError) -> (number: Int, revision: Revision) {
    let (number, revision) = try deletions.pair(at: position)
    guard number > 0, number <= highest, revision > 0, revision <= self.revision else {
      throw deletions.foreign
    }
    return (number, revision)
  }

  func row(_ number: Int) throws(ArchiveError) -> Row? {
    let position = try position(of: number)
    guard position < count else { return nil }
    var entity = entity(at: position)
    return try entity.value(.number) == number ? try entity.row() : nil
  }

  func row(at position: Int) throws(ArchiveError) -> (number: Int, row: Row) {
    var entity = entity(at: position)
    return (try entity.value(.number), try entity.row())
  }

  func revision(of number: Int) throws(ArchiveError) -> Revision {
    let position = try position(of: number)
    if position < count {
      var entity = entity(at: position)
      if try entity.value(.number) == number { return try entity.value(.modified) }
    }
    let deletion = try deletions.position(of: (number, 0))
    guard deletion < deletions.count else { return 0 }
    let (found, revision) = try self.deletion(at: deletion)
    return found == number ? revision : 0
  }

  /// How many entities have a lower number.
  func position(of number: Int) throws(ArchiveError) -> Int {
    guard number > 0 else { return 0 }
    // The numbers that are missing up to `highest` bound how far an entity can be from its place.
    var low = min(max(number - 1 - (highest - count), 0), count)
    var high = min(max(number - 1, 0), count)
    while low < high {
      let middle = low + (high - low) / 2
      var entity = entity(at: middle)
      if try entity.value(.number) < number { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private func entity(at position: Int) -> SnapshotRow {
    SnapshotRow(at: position, of: self)
  }
}

/// Pairs of numbers in rising order, in data of a snapshot: a byte that says how many bytes a number has, and
/// the numbers, the most significant byte first.
struct SnapshotPairs: Sendable {
  private let list: PropertyList
  private let start: Int
  private let width: Int
  let count: Int

  init(_ reader: SnapshotReader, _ header: ObjectHeader) throws(ArchiveError) {
    list = reader.list
    guard header.kind == .data, header.count > 0 else { throw SnapshotReader.foreign(at: header.offset) }
    let width = try unsafe list.bytes.withBytes(in: header.start..<header.start + 1) {
      (bytes) throws(ArchiveError) in unsafe Int(bytes[0])
    }
    guard width == 4 || width == 8, (header.count - 1) % (2 * width) == 0 else {
      throw SnapshotReader.foreign(at: header.offset)
    }
    self.width = width
    start = header.start + 1
    count = (header.count - 1) / (2 * width)
  }

  /// What to throw for pairs that no snapshot has.
  var foreign: ArchiveError { SnapshotReader.foreign(at: start) }

  func pair(at position: Int) throws(ArchiveError) -> (Int, Int) {
    guard position >= 0, position < count else { throw foreign }
    let offset = start + position * 2 * width
    let pair = try unsafe list.bytes.withBytes(in: offset..<offset + 2 * width) {
      (bytes) throws(ArchiveError) -> (UInt64, UInt64) in
      width == 4
        ? unsafe (
          UInt64(UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self))),
          UInt64(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)))
        )
        : unsafe (
          UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
          UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        )
    }
    return (Int(truncatingIfNeeded: pair.0), Int(truncatingIfNeeded: pair.1))
  }

  /// What pairs are compared by: a negative number comes after all others.
  private static func words(_ pair: (Int, Int)) -> (UInt, UInt) {
    (UInt(bitPattern: pair.0), UInt(bitPattern: pair.1))
  }

  /// How many pairs come before that one, which need not be there.
  func position(of pair: (Int, Int)) throws(ArchiveError) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = low + (high - low) / 2
      if try Self.words(self.pair(at: middle)) < Self.words(pair) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
