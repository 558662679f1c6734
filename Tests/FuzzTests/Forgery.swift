import TestSupport

/// Enough of LevelDB's table format (doc/table_format.md in its repository) to alter the contents of a table and
/// correct the checksums.
struct Forgery {
  /// Bytes with one checksum, and the offset of that.
  private struct Part {
    var content: Range<Int>
    /// The content and its type, which follows it.
    var summed: Range<Int>
    var checksum: Int
  }

  private let bytes: [UInt8]
  private let parts: [Part]

  /// Finds the blocks of a table through its index, which is the last part.
  init(table bytes: [UInt8]) {
    self.bytes = bytes
    var position = bytes.count - 48
    for _ in 0..<2 { _ = bytes.varint(&position) }
    let index = bytes.block(&position)
    var blocks: [Range<Int>] = []
    let restarts = bytes.fixed(index.upperBound - 4)
    position = index.lowerBound
    while position < index.upperBound - 4 * (restarts + 1) {
      let (_, unshared, _) = (bytes.varint(&position), bytes.varint(&position), bytes.varint(&position))
      position += unshared
      blocks.append(bytes.block(&position))
    }
    parts = (blocks + [index]).map { block in
      Part(content: block, summed: block.lowerBound..<block.upperBound + 1, checksum: block.upperBound + 1)
    }
  }

  /// The bytes with one part altered and its checksum corrected.
  func altered(by mutator: inout Mutator) -> [UInt8] {
    var bytes = bytes
    guard let part = parts.randomElement(using: &mutator.random), !part.content.isEmpty else { return bytes }
    // The lengths stay the same, so that everything else can still be found.
    let content = mutator.mutate(Array(bytes[part.content])) + mutator.random.bytes(part.content.count)
    bytes.replaceSubrange(part.content, with: content.prefix(part.content.count))
    let sum = crc32c(bytes[part.summed])
    let masked = ((sum >> 15) | (sum << 17)) &+ 0xA282_EAD8
    for index in 0..<4 {
      bytes[part.checksum + index] = UInt8(truncatingIfNeeded: masked >> UInt32(8 * index))
    }
    return bytes
  }
}

extension [UInt8] {
  fileprivate func varint(_ position: inout Int) -> Int {
    var (number, shift) = (0, 0)
    while self[position] >= 0x80 {
      number |= Int(self[position] & 0x7F) << shift
      shift += 7
      position += 1
    }
    defer { position += 1 }
    return number | Int(self[position]) << shift
  }

  /// The range of the block that a handle refers to.
  fileprivate func block(_ position: inout Int) -> Range<Int> {
    let offset = varint(&position)
    return offset..<offset + varint(&position)
  }

  fileprivate func fixed(_ position: Int) -> Int {
    (0..<4).reduce(0) { $0 | Int(self[position + $1]) << (8 * $1) }
  }
}

private func crc32c(_ bytes: ArraySlice<UInt8>) -> UInt32 {
  var remainder: UInt32 = ~0
  for byte in bytes {
    remainder ^= UInt32(byte)
    for _ in 0..<8 {
      remainder = remainder & 1 == 1 ? (remainder >> 1) ^ 0x82F6_3B78 : remainder >> 1
    }
  }
  return ~remainder
}
