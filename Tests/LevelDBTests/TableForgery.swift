/// What is wrong with the blocks of a table whose checksums are right.
enum Forgery: Sendable {
  case swappedKeys, swappedBlocks, compressedBlock, unknownKind, keysOfAnotherTable
}

/// Enough of LevelDB's format of records to write a manifest that lies.
extension [UInt8] {
  /// The part of a manifest's record that names a table.
  static func newTable(_ number: UInt64, at level: UInt64, _ byteCount: Int, keys: ClosedRange<Int>)
    -> [UInt8]
  {
    var part: [UInt8] = []
    for number in [7, level, number, UInt64(byteCount)] { part.appendVarint(number) }
    for end in [keys.lowerBound, keys.upperBound] {
      let key = key(end) + [1, 1, 0, 0, 0, 0, 0, 0]
      part.appendVarint(UInt64(key.count))
      part += key
    }
    return part
  }

  /// Appends a record, with a correct checksum, to a file of less than a block.
  mutating func appendRecord(_ bytes: [UInt8]) {
    let type: UInt8 = 1
    precondition(count + 7 + bytes.count < 32 << 10)
    self += maskedChecksum([type] + bytes)
    self += [UInt8(bytes.count & 0xff), UInt8(bytes.count >> 8), type] + bytes
  }
}

/// Enough of LevelDB's table format to write a table that lies.
extension [UInt8] {
  /// Turns the second block, or the last, into one that LevelDB never writes, with a correct checksum.
  mutating func forgeBlocks(_ forgery: Forgery) {
    let blocks = dataBlocks()
    let block = blocks[1]
    // The first entry of a block has its key in full: shared, unshared and value lengths, a tag, eight bytes of a
    // number, and eight of LevelDB's own, the first of which is the kind.
    let key = block.lowerBound + 3
    switch forgery {
    case .swappedKeys:
      self[key + 8] = 0xff
    case .swappedBlocks:
      let other = blocks.last { $0.count == block.count }!
      precondition(other != block)
      replaceSubrange(block, with: self[other])
    case .compressedBlock:
      self[block.upperBound] = 1
    case .unknownKind:
      self[key + 9] = 7
    case .keysOfAnotherTable:
      let last = blocks.last!
      var position = last.lowerBound
      let entriesEnd = last.upperBound - 4 * (Int(self[last.upperBound - 4]) + 1)
      while true {
        let shared = readVarint(&position)
        let unshared = readVarint(&position)
        let valueSize = readVarint(&position)
        let end = position + Int(unshared + valueSize)
        if end == entriesEnd { self[position + 8 - Int(shared)] = 0xff }
        if end >= entriesEnd { break }
        position = end
      }
      return seal(last)
    }
    seal(block)
  }

  /// Changes the bytes of the second block, and corrects its checksum.
  mutating func forgeBytes(_ change: (inout ArraySlice<UInt8>) -> Void) {
    let block = block(at: block(at: 0).upperBound + 5)
    change(&self[block])
    seal(block)
  }

  /// The block that begins at an offset. Its checksum tells its end, because the index may be compressed.
  private func block(at start: Int) -> Range<Int> {
    var crc: UInt32 = ~0
    for end in start..<count - 5 {
      // The checksum includes the type.
      crc = updated(crc, with: self[end])
      if masked(~crc).elementsEqual(self[end + 1..<end + 5]) { return start..<end }
    }
    preconditionFailure("no block begins at \(start)")
  }

  /// The ranges of the data blocks, as the index gives them, without the type and the checksum behind each.
  private func dataBlocks() -> [Range<Int>] {
    var position = count - 48
    _ = (readVarint(&position), readVarint(&position))
    let index = (offset: Int(readVarint(&position)), size: Int(readVarint(&position)))
    let end = index.offset + index.size
    let restarts = (0..<4).reduce(0) { $0 | Int(self[end - 4 + $1]) << (8 * $1) }
    var blocks: [Range<Int>] = []
    position = index.offset
    while position < end - 4 * (restarts + 1) {
      let sizes = (readVarint(&position), readVarint(&position), readVarint(&position))
      position += Int(sizes.1)
      let (offset, size) = (Int(readVarint(&position)), Int(readVarint(&position)))
      blocks.append(offset..<offset + size)
    }
    return blocks
  }

  /// Writes the correct checksum behind a block and its type.
  private mutating func seal(_ block: Range<Int>) {
    let checksum = maskedChecksum(self[block.lowerBound...block.upperBound])
    replaceSubrange(block.upperBound + 1..<block.upperBound + 5, with: checksum)
  }

  /// Replaces the last 48 bytes: two block handles (offset, size), padding, a magic number.
  mutating func replaceFooter(metaindex: (UInt64, UInt64), index: (UInt64, UInt64)) {
    let magic = Array(suffix(8))
    var footer: [UInt8] = []
    for number in [metaindex.0, metaindex.1, index.0, index.1] { footer.appendVarint(number) }
    footer += [UInt8](repeating: 0, count: 40 - footer.count) + magic
    replaceSubrange(count - 48..<count, with: footer)
  }

  /// Replaces the index with one that names a block of this size, with a correct checksum.
  /// - Parameter isHidden: whether that is in a second entry, to which no restart point leads.
  mutating func forgeIndex(blockByteCount: UInt64, isHidden: Bool = false) {
    var position = count - 48
    let metaindex = (readVarint(&position), readVarint(&position))
    let index = (readVarint(&position), readVarint(&position))
    // An entry: shared, unshared and value lengths; an internal key after all others; the handle.
    func entry(_ last: UInt8, _ byteCount: UInt64) -> [UInt8] {
      var handle: [UInt8] = []
      handle.appendVarint(0)
      handle.appendVarint(byteCount)
      let key = [UInt8](repeating: 0xff, count: 11) + [last, 1] + [UInt8](repeating: 0xff, count: 7)
      return [0, UInt8(key.count), UInt8(handle.count)] + key + handle
    }
    var block = (isHidden ? entry(0, 100) : []) + entry(0xff, blockByteCount)
    // The restart points: one, at 0.
    block += [0, 0, 0, 0, 1, 0, 0, 0]
    precondition(block.count <= index.1, "the forged index must fit over the old one")
    let type: UInt8 = 0
    let trailer = [type] + maskedChecksum(block + [type])
    replaceSubrange(Int(index.0)..<Int(index.0) + block.count + 5, with: block + trailer)
    replaceFooter(metaindex: metaindex, index: (index.0, UInt64(block.count)))
  }

  private func maskedChecksum(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    masked(crc32c(bytes))
  }

  private func masked(_ crc: UInt32) -> [UInt8] {
    let masked = ((crc >> 15) | (crc << 17)) &+ 0xa282_ead8
    return (0..<4).map { UInt8(truncatingIfNeeded: masked >> ($0 * 8)) }
  }

  private mutating func appendVarint(_ number: UInt64) {
    var rest = number
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(rest))
  }

  private func readVarint(_ position: inout Int) -> UInt64 {
    var number: UInt64 = 0
    var shift: UInt64 = 0
    while true {
      let byte = self[position]
      position += 1
      number |= UInt64(byte & 0x7f) << shift
      if byte < 0x80 { return number }
      shift += 7
    }
  }
}

private func crc32c(_ bytes: some Sequence<UInt8>) -> UInt32 {
  ~bytes.reduce(~0, updated)
}

private func updated(_ crc: UInt32, with byte: UInt8) -> UInt32 {
  var crc = crc ^ UInt32(byte)
  for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0x82f6_3b78 : crc >> 1 }
  return crc
}
