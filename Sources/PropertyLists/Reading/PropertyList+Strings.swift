import Foundation

extension PropertyList {
  /// Reads a string of either encoding.
  ///
  /// Old writers put UTF-8 into strings marked as ASCII. If such a string has bytes above 127, it is read as UTF-8 or,
  /// if that is invalid, as Latin-1. Half of a surrogate pair becomes U+FFFD, because a Swift string can't contain it.
  package func string(_ header: ObjectHeader) throws(ArchiveError) -> String {
    guard header.kind == .asciiString else {
      return try unsafe withContent(of: header) { (content) throws(ArchiveError) in
        unsafe String(decoding: UTF16Units(content), as: UTF16.self)
      }
    }
    return try unsafe withContent(of: header) { (content) throws(ArchiveError) in
      // Nearly all strings are ASCII, and this check is faster than the standard library's validation.
      if unsafe isASCII(content) { return unsafe String(decoding: content, as: UTF8.self) }
      if let string = unsafe String(validating: content, as: UTF8.self) { return string }
      let scalars = unsafe content.lazy.map { Unicode.Scalar($0) }
      return unsafe String(String.UnicodeScalarView(scalars))
    }
  }

  /// Whether an object is a string with the given UTF-8. Allocates nothing.
  package func isString(_ header: ObjectHeader, _ utf8: UnsafeRawBufferPointer) throws(ArchiveError) -> Bool {
    switch header.kind {
    case .asciiString:
      guard header.count == utf8.count else { return false }
      guard let expected = utf8.baseAddress else { return true }
      return try unsafe withContent(of: header) { (content) throws(ArchiveError) in
        unsafe content.baseAddress.map { unsafe memcmp($0, expected, content.count) == 0 } ?? true
      }
    case .utf16String:
      // Each UTF-16 unit becomes one to three bytes of UTF-8.
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

  /// The object number of the value for a key in a dictionary; nil if the dictionary lacks the key, or the object is
  /// not a dictionary. If a key occurs more than once, its first occurrence counts, as in Apple's reader.
  ///
  /// - Complexity: O(the dictionary's count). Allocates nothing.
  package func member(_ key: String, of header: ObjectHeader) throws(ArchiveError) -> Int? {
    guard header.kind == .dictionary else { return nil }
    var key = key
    // A `Result`, because `withUTF8` rethrows only untyped errors.
    let found: Result<Int?, ArchiveError> = key.withUTF8 { utf8 in
      Result { () throws(ArchiveError) in
        let utf8 = UnsafeRawBufferPointer(utf8)
        for index in 0..<header.count {
          if try unsafe isString(self.header(reference(header, index)), utf8) {
            return try reference(header, header.count + index)
          }
        }
        return nil
      }
    }
    return try found.get()
  }
}

/// UTF-16 code units, each stored with the high byte first.
@safe private struct UTF16Units: RandomAccessCollection {
  private let bytes: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) { unsafe self.bytes = unsafe bytes }

  var startIndex: Int { 0 }
  var endIndex: Int { unsafe bytes.count / 2 }

  subscript(index: Int) -> UInt16 {
    unsafe UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2 * index, as: UInt16.self))
  }
}
