import CBOR
import KeyedArchiving

/// Packs the versions of the entities of one kind into blocks of some kilobytes.
///
/// Documentation/Format.md, "Blocks", describes the bytes.
struct EntityBlockWriter: ~Copyable {
  private var packer = RecordPacker()
  /// The block in progress.
  private var block = CBORWriter(reserving: 2 * byteCount)
  private var content = CBORWriter(reserving: 1024)
  private var versionCount = 0
  private var first = (number: 0, revision: 0)
  private var last = (number: 0, created: 0)
  /// Where the first version of the newest entity ends in the block.
  private var entityEnd = 0

  /// A block ends after this many bytes: looking an entity up reads half of one.
  private static let byteCount = 4096
  /// No block has more versions.
  static let versionLimit = 1024

  init() {}

  /// The lists of keys that the blocks refer to.
  var keyLists: [RecordKeys] { packer.lists }

  /// The number and the revision of the first version in the block; nil if the block is empty.
  var start: (number: Int, revision: Revision)? { versionCount > 0 ? first : nil }

  /// Calls `body` with the block.
  func withBlock<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe block.withBytes(body)
  }

  /// Whether a version of an entity begins a new block.
  ///
  /// The versions of a large entity share what did not change only within a block. So a block also ends when these
  /// take much more than the first of them.
  func isComplete(before number: Int, _ record: EntityRecord) -> Bool {
    if versionCount == Self.versionLimit { return true }
    if versionCount == 0 || block.count < Self.byteCount { return false }
    let shareable = min(8 * record.bytes.count, Self.sharedByteLimit)
    return number != last.number || block.count - entityEnd >= max(Self.byteCount, shareable)
  }

  /// Bounds the memory of a block.
  private static let sharedByteLimit = 4 << 20

  /// Begins a new block.
  mutating func startOver() {
    block.removeAll()
    packer.startOver()
    versionCount = 0
    last = (0, 0)
  }

  /// Appends the next version of an entity, or the first version of the next entity.
  mutating func append(_ number: Int, _ row: EntityRow) {
    let isFirst = number != last.number
    if versionCount == 0 { first = (number, row.modified) }
    block.append(unsigned: UInt64(number - last.number))
    block.append(integer: Int64(row.created - last.created))
    block.append(unsigned: UInt64(row.modified - row.created))
    content.removeAll()
    packer.append(row.record, to: &content)
    unsafe content.withBytes { unsafe block.append(bytes: $0) }
    versionCount += 1
    last = (number, row.created)
    if isFirst { entityEnd = block.count }
  }
}
