import CBOR
import PropertyLists

/// Packs the versions of the entities of one kind into blocks of some kilobytes.
///
/// Documentation/Format.md, "Blocks", describes the bytes.
struct EntityBlockWriter: ~Copyable {
  private var packer = RecordPacker()
  /// The numbers of the versions in the block, and their records.
  private var heads = CBORWriter(reserving: 1 << 12)
  private var records = CBORWriter(reserving: 1 << 15)
  /// The heads, and then the records.
  private var block = CBORWriter(reserving: 1 << 15)
  private var versionCount = 0
  private var first = (number: 0, revision: 0)
  private var last = (number: 0, created: 0)
  /// Where the newest record begins that refers to no record before it.
  private var startByteCount = 0
  /// Where the first version of the newest entity ends, and how many further versions of it follow.
  private var entityEnd = 0
  private var furtherCount = 0

  /// A block ends after this many bytes of records. Iterating over versions without records reads a page of each block.
  private static let byteCount = 8 << 10
  /// After this many bytes, a record refers to no record before it. Reading a record reads half as many on average.
  private static let dependentByteCount = 1 << 10
  /// The most bytes for the versions of one large entity, which may refer further back.
  private static let longestDependentByteCount = 4 << 20
  /// A block also ends after this many versions, because a search reads half of their heads.
  private static let usualVersionLimit = 64
  /// The most versions of a block, even if the next record could refer to the last one.
  static let versionLimit = 128

  init() {}

  var keyLists: [RecordKeys] { packer.lists }

  /// The number and the revision of the first version in the block; nil if the block is empty.
  var start: (number: Int, revision: Revision)? { versionCount > 0 ? first : nil }
  /// The number and revision of the last version.
  private(set) var end = (number: 0, revision: 0)

  /// Whether the block must be finished before this version is appended.
  func isComplete(before number: Int, _ record: EntityRecord) -> Bool {
    versionCount == Self.versionLimit
      || (records.count >= Self.byteCount || versionCount >= Self.usualVersionLimit)
        && startsOver(before: number, record)
  }

  private func startsOver(before number: Int, _ record: EntityRecord) -> Bool {
    guard records.count - startByteCount >= Self.dependentByteCount, number == last.number else {
      return records.count - startByteCount >= Self.dependentByteCount
    }
    // The further versions of a large entity take little space only if they refer to the first. If they take much
    // anyway, referring would only make reading the last one slow.
    let furtherByteCount = records.count - entityEnd
    let longest = min(8 * record.bytes.count, Self.longestDependentByteCount)
    return furtherByteCount >= max(Self.dependentByteCount, longest)
      || furtherByteCount > furtherCount * record.bytes.count / 4
  }

  /// Calls `body` with the block, and begins a new one.
  mutating func finishBlock(_ body: (UnsafeRawBufferPointer) throws(ArchiveError) -> Void)
    throws(ArchiveError)
  {
    block.removeAll()
    unsafe heads.withBytes { unsafe block.append(bytes: $0) }
    unsafe records.withBytes { unsafe block.append(bytes: $0) }
    try unsafe block.withBytes(body)
    heads.removeAll()
    records.removeAll()
    startByteCount = 0
    entityEnd = 0
    furtherCount = 0
    versionCount = 0
    last = (0, 0)
  }

  /// Appends the next version of an entity, or the first version of the next entity.
  mutating func append(_ number: Int, _ row: EntityRow) {
    if versionCount == 0 { first = (number, row.modified) }
    let start = records.count
    let startsOver = versionCount == 0 || startsOver(before: number, row.record)
    if startsOver {
      packer.startOver()
      startByteCount = start
    }
    packer.append(row.record, to: &records)
    let byteCount = Int64(records.count - start)
    heads.append(unsigned: UInt64(number - last.number))
    heads.append(integer: Int64(row.created - last.created))
    heads.append(unsigned: UInt64(row.modified - row.created))
    heads.append(integer: startsOver ? -1 - byteCount : byteCount)
    versionCount += 1
    if number == last.number {
      furtherCount += 1
    } else {
      (entityEnd, furtherCount) = (records.count, 0)
    }
    last = (number, row.created)
    end = (number, row.modified)
  }
}
