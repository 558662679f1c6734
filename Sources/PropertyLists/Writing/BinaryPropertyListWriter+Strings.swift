extension BinaryPropertyListWriter {
  /// Writes a string: with one byte for each character if it is ASCII, otherwise in UTF-16.
  ///
  /// Writing takes memory of up to three times the size of the string.
  package mutating func string(_ text: String) throws(ArchiveError) -> Int {
    var text = text
    text.makeContiguousUTF8()
    // A byte of UTF-8 becomes at most two bytes of UTF-16.
    let start = try begin(10 + 2 * text.utf8.count)
    let isWritten = unsafe text.utf8.withContiguousStorageIfAvailable { utf8 in
      guard unsafe isASCII(UnsafeRawBufferPointer(utf8)) else { return false }
      output.putMarker(0x50, count: utf8.count)
      unsafe output.put(UnsafeRawBufferPointer(utf8))
      return true
    }
    if isWritten != true {
      output.putMarker(0x60, count: text.utf16.count)
      for unit in text.utf16 { output.put(bigEndian: unit) }
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
}

/// Whether all bytes are ASCII. Checks eight bytes at a time, because nearly all strings are entirely ASCII.
@inline(__always)
func isASCII(_ raw: UnsafeRawBufferPointer) -> Bool {
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
