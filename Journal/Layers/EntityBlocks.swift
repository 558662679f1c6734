import CBOR
import PropertyLists

/// The versions of the entities of one kind in the blocks of a layer's file.
///
/// A list of the blocks has the first number and revision of each, so looking an entity up reads one block. Deletions are
/// elsewhere (``LayerEntities``).
final class EntityBlocks: Sendable {
  private let list: PropertyList
  /// For each block: the number and the revision of its first version, and the offset of its data in the file. A further
  /// row is for the last version.
  private let directory: PackedNumbers
  private let count: Int
  private let keyLists: [RecordKeys]
  private let highest: Int
  /// The newest revision of the layer.
  private let revision: Revision

  /// Blocks with more bytes are not copied. Three pages, so that a copy reads four at most.
  private static let copiedByteCount = 3 * LayerFooter.pageByteCount

  /// - Parameters:
  ///   - highest: no entity has a higher number.
  ///   - revision: no version is newer.
  init(
    _ reader: LayerReader, directory: ObjectHeader, keyLists: [RecordKeys], highest: Int,
    revision: Revision
  ) throws(ArchiveError) {
    list = reader.list
    self.directory = try PackedNumbers(reader, directory, columns: 3)
    count = max(self.directory.count - 1, 0)
    self.keyLists = keyLists
    self.highest = highest
    self.revision = revision
  }

  /// A range that includes the numbers of all entities; nil if there are no versions.
  func bounds() throws(ArchiveError) -> ClosedRange<Int>? { try directory.bounds(highest: highest) }

  func newest(_ number: Int, asOf revision: Revision) throws(ArchiveError) -> EntityVersion? {
    guard let index = try lastBlock(startingBefore: number, revision + 1) else { return nil }
    return try block(index).newest(number, asOf: revision)
  }

  /// The entity in its newest version as of a revision, nil if there is no such version.
  func newestRow(_ number: Int, asOf revision: Revision) throws(ArchiveError) -> EntityRow? {
    guard let index = try lastBlock(startingBefore: number, revision + 1) else { return nil }
    let block = try block(index, isCopied: true)
    let chain = try block.chain(toNewest: number, asOf: revision)
    guard let found = chain.last else { return nil }
    var rows = BlockRows(self, keyLists)
    return try rows.row(found, chain[...], in: block)
  }

  private func lastBlock(startingBefore number: Int, _ revision: Revision) throws(ArchiveError) -> Int? {
    let position = try directory.position(of: (UInt64(number), UInt64(revision), 0))
    return position > 0 ? min(position, count) - 1 : nil
  }

  /// Iterates over all versions from an entity on. A struct and not a closure, because each use of a variable that a
  /// closure captures is checked for exclusive access.
  struct Versions {
    private let blocks: EntityBlocks
    private var index: Int
    private var block: EntityBlock?
    private var versions: [PackedVersion] = []
    private var place = 0

    init(_ blocks: EntityBlocks, from number: Int) throws(ArchiveError) {
      self.blocks = blocks
      index = try blocks.lastBlock(startingBefore: max(number, 0), 0) ?? 0
      try read()
      place = versions.partitioningIndex { $0.number >= number }
    }

    /// Reads a block, which must continue where the block before it ends: readers rely on the order of numbers.
    private mutating func read() throws(ArchiveError) {
      let last = versions.last
      block = index < blocks.count ? try blocks.block(index) : nil
      versions = try block?.versions() ?? []
      place = 0
      if let block, let last, let first = versions.first,
        (first.number, first.revision) <= (last.number, last.revision)
      {
        throw block.foreign
      }
    }

    mutating func next() throws(ArchiveError) -> EntityVersion? {
      while let block {
        if place < versions.count {
          place += 1
          return block.archived(versions[place - 1], at: place - 1)
        }
        index += 1
        try read()
      }
      return nil
    }
  }

  func rows() -> RowReader {
    var rows = BlockRows(self, keyLists)
    return { (version) throws(ArchiveError) in
      guard case .archived(let position) = version.content else { return nil }
      return try rows.row(version, at: position)
    }
  }

  /// - Parameter isCopied: whether a small block is copied, because its records are read too. A block is read in several
  ///   places, and each page that is not in memory would be read for each of them.
  fileprivate func block(_ index: Int, isCopied: Bool = false) throws(ArchiveError) -> EntityBlock {
    let (start, end) = (try directory.row(at: index).2, try directory.row(at: index + 1).2)
    guard start < end, end <= UInt64(list.bytes.count) else { throw directory.foreign }
    let isCopied = isCopied && end - start <= UInt64(Self.copiedByteCount)
    let list = isCopied ? try list.copy(of: Int(start)..<Int(end)) : list
    let header: ObjectHeader
    do throws(ArchiveError) {
      header = try list.header(at: isCopied ? 0 : Int(start))
    } catch let error where error.code == .malformed {
      throw LayerReader.foreign(at: Int(start))
    }
    guard header.kind == .data else { throw LayerReader.foreign(at: Int(start)) }
    return try EntityBlock(
      index, list.bytes, header.start..<header.start + header.count, offset: Int(start), highest: highest,
      revision: revision)
  }
}

/// Reads entities from blocks, one after the other. Used by one thread.
private struct BlockRows {
  private let blocks: EntityBlocks
  private var index = -1
  private var block: EntityBlock?
  /// All versions of the block; empty until a second version of the block is read.
  private var versions: [PackedVersion] = []
  private var unpacker: RecordUnpacker
  /// Where the first unpacked record begins, and the place of the next version to unpack.
  private var origin = 0
  private var nextPlace = -1

  init(_ blocks: EntityBlocks, _ keyLists: [RecordKeys]) {
    self.blocks = blocks
    unpacker = RecordUnpacker(keyLists)
  }

  mutating func row(_ version: EntityVersion, at position: Int) throws(ArchiveError) -> EntityRow {
    let (index, place) = EntityBlock.place(of: position)
    if let block, index == self.index {
      if versions.isEmpty { versions = try block.versions() }
      guard place < versions.count else { throw block.foreign }
      // Unpacking begins at the nearest record that refers to no record before it, or at the next one to unpack.
      var start = place
      while start > 0, start != nextPlace, !versions[start].startsOver { start -= 1 }
      return try row(version, versions[start...place], in: block, at: place)
    }
    let block = try blocks.block(index, isCopied: true)
    self.block = block
    self.index = index
    versions = []
    nextPlace = -1
    return try row(version, try block.chain(to: place)[...], in: block, at: place)
  }

  private mutating func row(
    _ version: EntityVersion, _ chain: ArraySlice<PackedVersion>, in block: EntityBlock, at place: Int
  ) throws(ArchiveError) -> EntityRow {
    guard let found = chain.last, found.number == version.number, found.revision == version.revision else {
      throw block.foreign
    }
    let row = try row(found, chain, in: block)
    nextPlace = place + 1
    return row
  }

  /// - Parameter chain: the versions that were not unpacked yet, of which `found` is the last.
  fileprivate mutating func row(
    _ found: PackedVersion, _ chain: ArraySlice<PackedVersion>, in block: EntityBlock
  ) throws(ArchiveError) -> EntityRow {
    // If this call fails, the next one does not continue here.
    nextPlace = -1
    if let first = chain.first, first.startsOver { origin = first.record.lowerBound }
    let record = try unsafe block.withRecords(origin..<found.record.upperBound) {
      (bytes) throws(CBORError) in
      for version in chain {
        if version.startsOver { unpacker.startOver() }
        let part = version.record.lowerBound - origin..<version.record.upperBound - origin
        try unsafe unpacker.advance(in: bytes, part)
      }
      return try unsafe unpacker.record(in: bytes, byteLimit: EntityRecord.byteLimit)
    }
    return EntityRow(record: record, created: found.created, modified: found.revision)
  }
}
