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

/// A block of versions in a file, or in a copy of a part of the file.
///
/// Documentation/Format.md, "Blocks", describes the bytes.
struct EntityBlock {
  private let index: Int
  private let bytes: ArchiveBytes
  /// Where the block is in the file, for errors.
  private let offset: Int
  /// Where the numbers of the versions are in the bytes, and where their records are.
  private let heads: Range<Int>
  private let records: Range<Int>
  /// No entity has a number above `highest`, and no version is newer than `revision`.
  private let highest: Int
  private let revision: Revision

  /// The low bits of a version's position are its place in the block. The others are the block's number.
  private static let placeBits = 12

  init(
    _ index: Int, _ bytes: ArchiveBytes, _ range: Range<Int>, offset: Int, highest: Int, revision: Revision
  ) throws(ArchiveError) {
    self.index = index
    self.bytes = bytes
    self.offset = offset
    self.highest = highest
    self.revision = revision
    heads = try Self.string(at: range.lowerBound, before: range.upperBound, in: bytes, offset)
    records = try Self.string(at: heads.upperBound, before: range.upperBound, in: bytes, offset)
    guard records.upperBound == range.upperBound else { throw foreign }
  }

  /// Where the content of a byte string of a block is.
  private static func string(
    at place: Int, before end: Int, in bytes: ArchiveBytes, _ offset: Int
  ) throws(ArchiveError) -> Range<Int> {
    let (start, count) = try unsafe bytes.withBytes(in: place..<min(place + 9, end)) {
      (bytes) throws(ArchiveError) in
      var reader = unsafe CBORReader(bytes)
      do throws(CBORError) {
        let count = try reader.readBytesHead()
        return (place + reader.offset, count)
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
    var rest = place
    let chain = try chain { _ in
      rest -= 1
      return rest >= -1
    }
    guard rest < 0 else { throw foreign }
    return chain
  }

  /// The newest version of an entity as of a revision, after all versions that its record may refer to; empty if there
  /// is none.
  func chain(toNewest number: Int, asOf revision: Revision) throws(ArchiveError) -> [PackedVersion] {
    let chain = try chain { version in
      version.number < number || version.number == number && version.revision <= revision
    }
    return chain.last?.number == number ? chain : []
  }

  /// The last version before the first one for which `isWanted` is false, after all versions that its record may refer
  /// to.
  @inline(__always)
  private func chain(while isWanted: (PackedVersion) -> Bool) throws(ArchiveError) -> [PackedVersion] {
    try unsafe bytes.withBytes(in: heads) { (bytes) throws(ArchiveError) in
      var heads = unsafe HeadReader(self, bytes)
      // A search passes about half of a block, and most of these versions are not in the chain.
      var start = heads
      var count = 0
      while try heads.next(), isWanted(heads.version) {
        if heads.version.startsOver {
          start = heads
          count = 0
        }
        count += 1
      }
      guard count > 0 else { return [] }
      var chain = [start.version]
      chain.reserveCapacity(count)
      while chain.count < count, try start.next() { chain.append(start.version) }
      return chain
    }
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
    try unsafe bytes.withBytes(in: heads) { (bytes) throws(ArchiveError) in
      var heads = unsafe HeadReader(self, bytes)
      while try heads.next(), body(heads.version) {}
    }
  }

  /// Reads the heads of a block, one after the other.
  private struct HeadReader {
    private(set) var version = PackedVersion()
    private var count = 0
    private var reader: IntegerReader
    private let block: EntityBlock

    init(_ block: EntityBlock, _ bytes: UnsafeRawBufferPointer) {
      self.block = block
      reader = unsafe IntegerReader(bytes)
    }

    /// Reads the next version; returns false after the last one.
    @inline(__always)
    mutating func next() throws(ArchiveError) -> Bool {
      let recordsCount = block.records.count
      let end = version.record.upperBound
      if reader.isAtEnd {
        guard end == recordsCount else { throw block.foreign }
        return false
      }
      let step = reader.next()
      let created = reader.next()
      let age = reader.next()
      let size = reader.next()
      let byteCount = size < 0 ? -1 - size : size
      guard !reader.hasFailed, step >= 0, step <= block.highest - version.number, step > 0 || count > 0,
        size < 0 || count > 0, created > -version.created, created <= block.revision - version.created,
        age >= 0, age <= block.revision - version.created - created, byteCount <= recordsCount - end,
        step > 0 || version.created + created + age > version.revision,
        count < EntityBlockWriter.versionLimit
      else { throw block.foreign }
      version.created += created
      version.number += step
      version.revision = version.created + age
      version.record = end..<end + byteCount
      version.startsOver = size < 0
      count += 1
      return true
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

  var foreign: ArchiveError { LayerReader.foreign(at: offset) }
}

/// Reads the integers of heads without throwing: a search reads hundreds of them, and a throwing call for
/// each would take most of its time.
///
/// Marked safe although it has a pointer: it is used only while the bytes are borrowed, and each read is checked against
/// their end.
@safe private struct IntegerReader {
  private let base: UnsafeRawPointer
  private let end: Int
  private var offset = 0
  private(set) var hasFailed = false

  init(_ bytes: UnsafeRawBufferPointer) {
    unsafe base = unsafe bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1)!
    end = bytes.count
  }

  var isAtEnd: Bool { offset >= end }

  /// The next integer; if there is none, 0, and `hasFailed` becomes true.
  @inline(__always)
  mutating func next() -> Int {
    guard offset < end else { return fail() }
    let first = unsafe base.load(fromByteOffset: offset, as: UInt8.self)
    offset &+= 1
    let low = Int(first & 0x1F)
    if first >= 0x40 { return fail() }
    if low < 24 { return first < 0x20 ? low : -1 - low }
    guard low < 28, end &- offset >= 8 else { return last(first) }
    let width = 1 &<< (low &- 24)
    let next = unsafe UInt64(bigEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    let number = Int(bitPattern: UInt(next &>> UInt64(64 &- 8 &* width)))
    offset &+= width
    if number < 0 { return fail() }
    return first < 0x20 ? number : -1 - number
  }

  /// The rest of an integer that has fewer than eight bytes behind it.
  @inline(never)
  private mutating func last(_ first: UInt8) -> Int {
    let low = Int(first & 0x1F)
    guard low < 28, 1 << (low - 24) <= end - offset else { return fail() }
    var number: UInt64 = 0
    for index in offset..<offset + 1 << (low - 24) {
      number = unsafe number << 8 | UInt64(base.load(fromByteOffset: index, as: UInt8.self))
    }
    offset += 1 << (low - 24)
    guard number <= UInt64(Int.max) else { return fail() }
    return first < 0x20 ? Int(number) : -1 - Int(number)
  }

  private mutating func fail() -> Int {
    hasFailed = true
    offset = end
    return 0
  }
}
