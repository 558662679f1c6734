extension BinaryPropertyListWriter {
  /// Writes a string: with one byte for each character if it is ASCII, otherwise in UTF-16.
  ///
  /// While the string is written, it takes three times its size in memory.
  package mutating func string(_ text: String) throws(ArchiveError) -> Int {
    var text = text
    text.makeContiguousUTF8()
    // A byte of UTF-8 becomes at most two bytes of UTF-16.
    let start = try begin(10 + 2 * text.utf8.count)
    unsafe text.utf8.withContiguousStorageIfAvailable { utf8 in
      if unsafe isASCII(UnsafeRawBufferPointer(utf8)) {
        output.putMarker(0x50, count: utf8.count)
        unsafe output.put(UnsafeRawBufferPointer(utf8))
      } else {
        unsafe putUTF16(utf8)
      }
    }
    return try end(start)
  }

  /// Writes a string from UTF-8 bytes. ASCII, which nearly all strings are, is written unchanged.
  ///
  /// - Throws: ``ArchiveError/Code/unencodable`` if the bytes are not UTF-8; what the sink throws.
  package mutating func string(utf8: UnsafeRawBufferPointer) throws(ArchiveError) -> Int {
    guard unsafe isASCII(utf8) else {
      guard let text = unsafe String(validating: utf8, as: UTF8.self) else {
        throw ArchiveError(.unencodable, "the bytes of a text are not UTF-8")
      }
      return try string(text)
    }
    let start = try begin(10)
    output.putMarker(0x50, count: utf8.count)
    unsafe try output.write(utf8)
    return try end(start)
  }

  private mutating func putUTF16(_ utf8: UnsafeBufferPointer<UInt8>) {
    var unitCount = 0
    for index in 0..<utf8.count {
      let byte = unsafe utf8[index]
      // Each scalar has one byte that is not a continuation byte. A scalar of four bytes becomes a surrogate pair.
      unitCount += (byte & 0xC0 != 0x80 ? 1 : 0) + (byte >= 0xF0 ? 1 : 0)
    }
    output.putMarker(0x60, count: unitCount)
    var index = 0
    // A `String` contains only whole, valid scalars, so the continuation bytes that a first byte announces exist.
    while index < utf8.count {
      let first = unsafe UInt32(utf8[index])
      if first < 0x80 {
        output.put(bigEndian: UInt16(first))
        index += 1
      } else if first < 0xE0 {
        unsafe output.put(bigEndian: UInt16((first & 0x1F) << 6 | tail(utf8, index + 1)))
        index += 2
      } else if first < 0xF0 {
        let high = unsafe (first & 0x0F) << 12 | tail(utf8, index + 1) << 6
        unsafe output.put(bigEndian: UInt16(high | tail(utf8, index + 2)))
        index += 3
      } else {
        let high = unsafe (first & 0x07) << 18 | tail(utf8, index + 1) << 12
        let scalar = unsafe high | tail(utf8, index + 2) << 6 | tail(utf8, index + 3)
        output.put(bigEndian: UInt16(0xD7C0 + scalar >> 10))
        output.put(bigEndian: UInt16(0xDC00 | scalar & 0x3FF))
        index += 4
      }
    }
  }
}

/// The six bits of a continuation byte.
@inline(__always)
private func tail(_ utf8: UnsafeBufferPointer<UInt8>, _ index: Int) -> UInt32 {
  unsafe UInt32(utf8[index] & 0x3F)
}

/// Checks eight bytes at a time, because nearly all strings are entirely ASCII.
@inline(__always)
private func isASCII(_ raw: UnsafeRawBufferPointer) -> Bool {
  var seen: UInt64 = 0
  var index = 0
  while index &+ 8 <= raw.count {
    seen |= unsafe raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
    index &+= 8
  }
  while index < raw.count {
    seen |= unsafe UInt64(raw[index])
    index &+= 1
  }
  return seen & 0x8080_8080_8080_8080 == 0
}
