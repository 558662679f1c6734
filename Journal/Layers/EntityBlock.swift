import CBOR
import PropertyLists

struct PackedVersion {
  var number = 0
  var created: Revision = 0
  var revision: Revision = 0
  /// Where the version's record is, in bytes from the first record of the block.
  var record = 0..<0
  /// Whether the record refers to no record before it.
  var startsOver = true
}

/// A block of versions in a file.
///
/// Documentation/Format.md, "Blocks", describes the bytes.
struct EntityBlock {
  private let index: Int
  private let bytes: ArchiveBytes
  /// Where the numbers of the versions are in the file, and where their records are.
  private let heads: Range<Int>
  private let records: Range<Int>
  /// No entity has a number above `highest`, and no version is newer than `revision`.
  private let highest: Int
  private let revision: Revision

  /// The low bits of a version's position are its place in the block. The others are the block's number.
  private static let placeBits = 12

  init(
    _ index: Int, _ bytes: ArchiveBytes, _ range: Range<Int>, highest: Int, revision: Revision
  ) throws(ArchiveError) {
    self.index = index
    self.bytes = bytes
    self.highest = highest
    self.revision = revision
    heads = try Self.string(at: range.lowerBound, in: bytes, before: range.upperBound)
    records = try Self.string(at: heads.upperBound, in: bytes, before: range.upperBound)
    guard records.upperBound == range.upperBound else { throw LayerReader.foreign(at: range.lowerBound) }
  }

  /// Where the content of a byte string is.
  private static func string(
    at offset: Int, in bytes: ArchiveBytes, before end: Int
  ) throws(ArchiveError) -> Range<Int> {
    let (start, count) = try unsafe bytes.withBytes(in: offset..<min(offset + 9, end)) {
      (bytes) throws(ArchiveError) in
      var reader = unsafe CBORReader(bytes)
      do throws(CBORError) {
        let count = try reader.readBytesHead()
        return (offset + reader.offset, count)
      } catch {
        throw LayerReader.foreign(at: offset)
      }
    }
    guard count <= end - start else { throw LayerReader.foreign(at: offset) }
    return start..<start + count
  }

  func versions() throws(ArchiveError) -> [PackedVersion] {
    var versions: [PackedVersion] = []
    versions.reserveCapacity(128)
    try visit { version in
      versions.append(version)
      return true
    }
    return versions
  }

  /// The versions that are needed to unpack the one at index `place`: those to which its record may refer, and that one last.
  func chain(to place: Int) throws(ArchiveError) -> [PackedVersion] {
    var chain: [PackedVersion] = []
    var rest = place
    try visit { version in
      if version.startsOver { chain.removeAll(keepingCapacity: true) }
      chain.append(version)
      rest -= 1
      return rest >= 0
    }
    guard rest < 0 else { throw foreign }
    return chain
  }

  /// The newest version of an entity as of a revision, after all versions that its record may refer to; empty if there
  /// is none.
  func chain(toNewest number: Int, asOf revision: Revision) throws(ArchiveError) -> [PackedVersion] {
    var chain: [PackedVersion] = []
    try visit { version in
      if (version.number, version.revision) > (number, revision) { return false }
      if version.startsOver { chain.removeAll(keepingCapacity: true) }
      chain.append(version)
      return true
    }
    return chain.last?.number == number ? chain : []
  }

  func archived(_ version: PackedVersion, at place: Int) -> EntityVersion {
    EntityVersion(
      number: version.number, revision: version.revision,
      content: .archived(index << Self.placeBits | place))
  }

  static func place(of position: Int) -> (block: Int, place: Int) {
    (position >> placeBits, position & ((1 << placeBits) - 1))
  }

  func newest(_ number: Int, asOf revision: Revision) throws(ArchiveError) -> EntityVersion? {
    var found: EntityVersion?
    var place = 0
    try visit { version in
      if version.number > number { return false }
      if version.number == number, version.revision <= revision { found = archived(version, at: place) }
      place += 1
      return true
    }
    return found
  }

  /// Calls `body` with each version in order, until `body` returns false.
  @inline(__always)
  private func visit(_ body: (PackedVersion) -> Bool) throws(ArchiveError) {
    let (highest, newest) = (highest, revision)
    let recordsCount = records.count
    try unsafe bytes.withBytes(in: heads) { (bytes) throws(ArchiveError) in
      var reader = unsafe IntegerReader(bytes)
      var version = PackedVersion()
      var count = 0
      while !reader.isAtEnd {
        let step = reader.next()
        let created = reader.next()
        let age = reader.next()
        let size = reader.next()
        let byteCount = size < 0 ? -1 - size : size
        let end = version.record.upperBound
        guard !reader.hasFailed, step >= 0, step <= highest - version.number, step > 0 || count > 0,
          size < 0 || count > 0, created > -version.created, created <= newest - version.created, age >= 0,
          age <= newest - version.created - created, byteCount <= recordsCount - end,
          step > 0 || version.created + created + age > version.revision,
          count < EntityBlockWriter.versionLimit
        else { throw foreign }
        version.created += created
        version.number += step
        version.revision = version.created + age
        version.record = end..<end + byteCount
        version.startsOver = size < 0
        count += 1
        if !body(version) { return }
      }
      guard version.record.upperBound == recordsCount else { throw foreign }
    }
  }

  func withRecords<Result>(
    _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws(CBORError) -> Result
  ) throws(ArchiveError) -> Result {
    let start = records.lowerBound
    return try unsafe bytes.withBytes(in: start + range.lowerBound..<start + range.upperBound) {
      (bytes) throws(ArchiveError) in
      do throws(CBORError) { return try unsafe body(bytes) } catch { throw foreign }
    }
  }

  var foreign: ArchiveError { LayerReader.foreign(at: heads.lowerBound) }
}

/// Reads the integers of heads without throwing: a search reads hundreds of them, and a throwing call for
/// each would take most of its time.
///
/// Marked safe although it has a pointer: it is used only while the bytes are borrowed, and each read is checked against
/// their end.
@safe private struct IntegerReader {
  private let bytes: UnsafeRawBufferPointer
  private var offset = 0
  private(set) var hasFailed = false

  init(_ bytes: UnsafeRawBufferPointer) { unsafe self.bytes = unsafe bytes }

  var isAtEnd: Bool { unsafe offset >= bytes.count }

  /// The next integer; if there is none, 0, and `hasFailed` becomes true.
  @inline(__always)
  mutating func next() -> Int {
    guard unsafe offset < bytes.count else { return fail() }
    let first = unsafe bytes[offset]
    offset += 1
    let low = Int(first & 0x1F)
    if low < 24, first < 0x40 { return first < 0x20 ? low : -1 - low }
    return long(first)
  }

  private mutating func long(_ first: UInt8) -> Int {
    let width = 1 << (Int(first & 0x1F) &- 24)
    guard first < 0x40, (24...27).contains(first & 0x1F), unsafe width <= bytes.count - offset else {
      return fail()
    }
    var number: UInt64 = 0
    if unsafe bytes.count - offset >= 8 {
      let next = unsafe UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      number = next >> UInt64(64 - 8 * width)
    } else {
      for index in offset..<offset + width { number = unsafe number << 8 | UInt64(bytes[index]) }
    }
    offset += width
    guard number <= UInt64(Int.max) else { return fail() }
    return first < 0x20 ? Int(number) : -1 - Int(number)
  }

  private mutating func fail() -> Int {
    hasFailed = true
    unsafe offset = bytes.count
    return 0
  }
}
