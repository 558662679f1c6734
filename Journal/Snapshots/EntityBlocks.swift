import CBOR
import KeyedArchiving

/// The versions of the entities of one kind in the blocks of a layer's file.
///
/// Documentation/Format.md, "Blocks", describes the bytes. A list of the blocks has the first number and revision of each,
/// so looking an entity up reads one block.
final class EntityBlocks: LayerVersions {
  private let list: PropertyList
  /// For each block: the number and the revision of its first version, and the offset of its data in the file.
  private let directory: PackedNumbers
  private let keyLists: [RecordKeys]
  private let highest: Int
  /// The newest revision of the layer.
  private let revision: Revision

  /// - Parameters:
  ///   - highest: no entity has a higher number.
  ///   - revision: no version is newer.
  init(
    _ reader: SnapshotReader, directory: ObjectHeader, keyLists: [RecordKeys], highest: Int,
    revision: Revision
  ) throws(ArchiveError) {
    list = reader.list
    self.directory = try PackedNumbers(reader, directory, columns: 3, isByEntity: true)
    self.keyLists = keyLists
    self.highest = highest
    self.revision = revision
  }

  func bounds() throws(ArchiveError) -> ClosedRange<Int>? {
    guard directory.count > 0 else { return nil }
    let lowest = try directory.row(at: 0).0
    let last = try block(directory.count - 1).versions.last?.number ?? 0
    guard lowest > 0, lowest <= UInt64(last) else { throw directory.foreign }
    return Int(lowest)...last
  }

  func newest(_ number: Int, asOf revision: Revision) throws(ArchiveError) -> Found? {
    guard let index = try lastBlock(startingBefore: number, revision + 1) else { return nil }
    return try block(index).newest(number, asOf: revision)
  }

  /// The last block whose first version comes before one that need not exist.
  private func lastBlock(startingBefore number: Int, _ revision: Revision) throws(ArchiveError) -> Int? {
    let position = try directory.position(of: (UInt64(number), UInt64(revision), 0))
    return position > 0 ? position - 1 : nil
  }

  func cursor(
    from number: Int, asOf revision: Revision?
  ) throws(ArchiveError) -> () throws(ArchiveError) -> Found? {
    let number = max(number, 0)
    var index = try lastBlock(startingBefore: number, 0) ?? 0
    var block: EntityBlock? = index < directory.count ? try self.block(index) : nil
    var position = block?.versions.partitioningIndex { $0.number >= number } ?? 0
    func next() throws(ArchiveError) -> Found? {
      while let current = block {
        if position < current.versions.count {
          position += 1
          return current.found(position - 1)
        }
        index += 1
        position = 0
        block = index < directory.count ? try self.block(index) : nil
      }
      return nil
    }
    guard let revision else { return next }
    var ahead = try next()
    return { () throws(ArchiveError) in
      while let first = ahead {
        var newest = first.revision <= revision ? first : nil
        ahead = try next()
        while let further = ahead, further.number == first.number {
          // At the start of another block: the versions of one entity can fill many.
          if position == 1, try self.isFollowed(index, by: first.number) {
            newest = try self.newest(first.number, asOf: revision)
            index = try self.lastBlock(startingBefore: first.number + 1, 0) ?? index
            let last = try self.block(index)
            position = last.versions.partitioningIndex { $0.number > first.number }
            block = last
            ahead = try next()
            break
          }
          if further.revision <= revision { newest = further }
          ahead = try next()
        }
        if let newest { return newest }
      }
      return nil
    }
  }

  /// Whether the block after one begins with a version of that entity.
  private func isFollowed(_ index: Int, by number: Int) throws(ArchiveError) -> Bool {
    guard index + 1 < directory.count else { return false }
    return try directory.row(at: index + 1).0 == UInt64(number)
  }

  func rows() -> RowReader {
    var rows = BlockRows(self, keyLists)
    return { (version) throws(ArchiveError) in
      guard case .archived(let position) = version.content else { return nil }
      return try rows.row(version, at: position)
    }
  }

  /// Reads the list of versions in a block. Their records are not read.
  func block(_ index: Int) throws(ArchiveError) -> EntityBlock {
    let row = try directory.row(at: index)
    guard row.2 <= UInt64(Int32.max) << 24 else { throw directory.foreign }
    let header = try list.header(at: Int(row.2))
    guard header.kind == .data else { throw SnapshotReader.foreign(at: header.offset) }
    let range = header.start..<header.start + header.count
    let (highest, revision) = (highest, revision)
    return try unsafe list.bytes.withBytes(in: range) { (bytes) throws(ArchiveError) in
      do throws(CBORError) {
        let block = try unsafe EntityBlock(index, range, bytes, highest: highest, revision: revision)
        guard let first = block.versions.first, (UInt64(first.number), UInt64(first.revision)) == (row.0, row.1)
        else { throw CBORError(.unexpectedItem, at: 0) }
        return block
      } catch {
        throw SnapshotReader.foreign(at: range.lowerBound + error.offset)
      }
    }
  }

  /// Calls `body` with the bytes of a block.
  func withBytes<Result>(
    of block: EntityBlock, _ body: (UnsafeRawBufferPointer) throws(CBORError) -> Result
  ) throws(ArchiveError) -> Result {
    try unsafe list.bytes.withBytes(in: block.range) { (bytes) throws(ArchiveError) in
      do throws(CBORError) { return try unsafe body(bytes) } catch {
        throw SnapshotReader.foreign(at: block.range.lowerBound + error.offset)
      }
    }
  }
}

/// The versions in a block, without their records.
struct EntityBlock {
  struct Version {
    var number: Int
    var created: Revision
    var revision: Revision
    /// Where its record is in the block.
    var record: Range<Int>
  }

  private let index: Int
  /// Where the block is in the file.
  let range: Range<Int>
  private(set) var versions: [Version] = []

  /// A position of a version has the number of its block, and in the lowest bits its place there.
  private static let placeBits = 12

  init(
    _ index: Int, _ range: Range<Int>, _ bytes: UnsafeRawBufferPointer, highest: Int, revision: Revision
  ) throws(CBORError) {
    self.index = index
    self.range = range
    versions.reserveCapacity(32)
    var reader = unsafe CBORReader(bytes)
    var last = Version(number: 0, created: 0, revision: 0, record: 0..<0)
    while reader.offset < bytes.count {
      let start = reader.offset
      let step = try reader.readCount()
      let created = try reader.readInteger()
      let age = try reader.readCount()
      let byteCount = try unsafe reader.readBytes().count
      guard step <= highest - last.number, step > 0 || !versions.isEmpty,
        created > -Int64(last.created), created <= Int64(revision - last.created)
      else { throw CBORError(.unexpectedItem, at: start) }
      var next = last
      next.number += step
      next.created += Int(created)
      guard age <= revision - next.created, step > 0 || next.created + age > last.revision,
        versions.count < EntityBlockWriter.versionLimit
      else { throw CBORError(.unexpectedItem, at: start) }
      next.revision = next.created + age
      next.record = reader.offset - byteCount..<reader.offset
      versions.append(next)
      last = next
    }
  }

  func found(_ place: Int) -> LayerVersions.Found {
    (versions[place].number, versions[place].revision, index << Self.placeBits | place)
  }

  /// The newest version of an entity as of a revision.
  func newest(_ number: Int, asOf revision: Revision) -> LayerVersions.Found? {
    let end = versions.partitioningIndex { ($0.number, $0.revision) > (number, revision) }
    return end > 0 && versions[end - 1].number == number ? found(end - 1) : nil
  }

  /// The number of the block that a position is in, and the place there.
  static func place(of position: Int) -> (block: Int, place: Int) {
    (position >> placeBits, position & ((1 << placeBits) - 1))
  }
}

/// Reads entities from blocks, one after the other. Used by one thread.
private struct BlockRows {
  private let blocks: EntityBlocks
  private var block: (index: Int, contents: EntityBlock)?
  private var unpacker: RecordUnpacker
  /// How many versions of the block were unpacked.
  private var unpackedCount = 0

  init(_ blocks: EntityBlocks, _ keyLists: [RecordKeys]) {
    self.blocks = blocks
    unpacker = RecordUnpacker(keyLists)
  }

  /// The row of a version, which is at that position.
  mutating func row(_ version: EntityVersion, at position: Int) throws(ArchiveError) -> EntityRow {
    let (index, place) = EntityBlock.place(of: position)
    if block?.index != index {
      block = nil
      block = (index, try blocks.block(index))
      startOver()
    } else if place < unpackedCount - 1 {
      startOver()
    }
    guard let block = block?.contents, place < block.versions.count else {
      throw SnapshotReader.foreign(at: 0)
    }
    let found = block.versions[place]
    guard found.number == version.number, found.revision == version.revision else {
      throw SnapshotReader.foreign(at: block.range.lowerBound)
    }
    do throws(ArchiveError) {
      let record = try unsafe blocks.withBytes(of: block) { (bytes) throws(CBORError) in
        while unpackedCount <= place {
          try unsafe unpacker.advance(in: bytes, block.versions[unpackedCount].record)
          unpackedCount += 1
        }
        return try unsafe unpacker.record(in: bytes, byteLimit: EntityRecord.byteLimit)
      }
      return EntityRow(record: record, created: found.created, modified: found.revision)
    } catch {
      startOver()
      throw error
    }
  }

  private mutating func startOver() {
    unpacker.startOver()
    unpackedCount = 0
  }
}
