/// Enough of LevelDB's table format to write a table that lies.
extension [UInt8] {
  /// Replaces the last 48 bytes: two block handles (offset, size), padding, a magic number.
  mutating func replaceFooter(metaindex: (UInt64, UInt64), index: (UInt64, UInt64)) {
    let magic = Array(suffix(8))
    var footer: [UInt8] = []
    for number in [metaindex.0, metaindex.1, index.0, index.1] { footer.appendVarint(number) }
    footer += [UInt8](repeating: 0, count: 40 - footer.count) + magic
    replaceSubrange(count - 48..<count, with: footer)
  }

  /// Puts an index of one block of this size over the one that is there, with a right checksum.
  mutating func forgeIndex(blockByteCount: UInt64) {
    var position = count - 48
    let metaindex = (readVarint(&position), readVarint(&position))
    let index = (readVarint(&position), readVarint(&position))
    var handle: [UInt8] = []
    handle.appendVarint(0)
    handle.appendVarint(blockByteCount)
    // One entry: shared, unshared and value lengths; an internal key after all others; the handle.
    let key = [UInt8](repeating: 0xff, count: 20)
    var block: [UInt8] = [0, UInt8(key.count), UInt8(handle.count)] + key + handle
    // The restart points: one, at 0.
    block += [0, 0, 0, 0, 1, 0, 0, 0]
    precondition(block.count <= index.1, "the forged index must fit over the old one")
    let type: UInt8 = 0
    let crc = crc32c(block + [type])
    let masked = ((crc >> 15) | (crc << 17)) &+ 0xa282_ead8
    let trailer = [type] + (0..<4).map { UInt8(truncatingIfNeeded: masked >> ($0 * 8)) }
    replaceSubrange(Int(index.0)..<Int(index.0) + block.count + 5, with: block + trailer)
    replaceFooter(metaindex: metaindex, index: (index.0, UInt64(block.count)))
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

private func crc32c(_ bytes: [UInt8]) -> UInt32 {
  var crc: UInt32 = ~0
  for byte in bytes {
    crc ^= UInt32(byte)
    for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0x82f6_3b78 : crc >> 1 }
  }
  return ~crc
}
