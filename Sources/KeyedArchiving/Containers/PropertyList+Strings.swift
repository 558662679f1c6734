extension PropertyList {
  /// A string.
  ///
  /// Old writers put UTF-8 into strings marked as ASCII: bytes above 127 are read as that, else as Latin-1. Half of
  /// a surrogate pair becomes U+FFFD, as a Swift string has no place for it.
  package func string(_ header: ObjectHeader) throws(ArchiveError) -> String {
    guard header.kind == .asciiString else {
      return try unsafe withContent(of: header) { (content) throws(ArchiveError) in
        unsafe String(decoding: UTF16Units(content), as: UTF16.self)
      }
    }
    return try unsafe withContent(of: header) { (content) throws(ArchiveError) in
      if let string = unsafe String(validating: content, as: UTF8.self) { return string }
      let scalars = unsafe content.lazy.map { Unicode.Scalar($0) }
      return unsafe String(String.UnicodeScalarView(scalars))
    }
  }

  /// Whether an object is a string of the given UTF-8. Allocates nothing.
  package func isString(_ header: ObjectHeader, _ utf8: UnsafeRawBufferPointer) throws(ArchiveError) -> Bool {
    switch header.kind {
    case .asciiString:
      guard header.count == utf8.count else { return false }
      return try unsafe withContent(of: header) { (content) throws(ArchiveError) in
        unsafe content.elementsEqual(utf8)
      }
    case .utf16String:
      // Each unit becomes one to three bytes.
      guard utf8.count >= header.count, utf8.count <= 3 * header.count else { return false }
      return try unsafe withContent(of: header) { (content) throws(ArchiveError) in
        var position = 0
        var equal = true
        _ = unsafe transcode(
          UTF16Units(content).makeIterator(), from: UTF16.self, to: UTF8.self, stoppingOnError: false
        ) { byte in
          equal = unsafe equal && position < utf8.count && utf8[position] == byte
          position += 1
        }
        return equal && position == utf8.count
      }
    default: return false
    }
  }

  /// Whether an object is this string.
  package func isString(_ header: ObjectHeader, _ text: StaticString) throws(ArchiveError) -> Bool {
    try unsafe isString(header, UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// The number of the value under a key of a dictionary: the first, if the key is there more than once.
  ///
  /// - Complexity: O(the dictionary's count).
  package func member(
    _ key: UnsafeRawBufferPointer, of header: ObjectHeader
  ) throws(ArchiveError) -> Int? {
    guard header.kind == .dictionary else { return nil }
    for index in 0..<header.count {
      if try unsafe isString(self.header(reference(header, index)), key) {
        return try reference(header, header.count + index)
      }
    }
    return nil
  }

  /// The number of the value under a key of a dictionary.
  package func member(_ key: StaticString, of header: ObjectHeader) throws(ArchiveError) -> Int? {
    try unsafe member(UnsafeRawBufferPointer(start: key.utf8Start, count: key.utf8CodeUnitCount), of: header)
  }
}

/// UTF-16 code units, the higher byte first.
@safe private struct UTF16Units: RandomAccessCollection {
  private let bytes: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) { unsafe self.bytes = unsafe bytes }

  var startIndex: Int { 0 }
  var endIndex: Int { unsafe bytes.count / 2 }

  subscript(index: Int) -> UInt16 {
    unsafe UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2 * index, as: UInt16.self))
  }
}
