/// A position in a text. Only this type accesses the text's memory, and it checks the bounds of every access. An
/// access outside of the bounds returns zero, a byte that JSON allows nowhere.
///
/// The memory must outlive the cursor, so create one only inside a `withUnsafeBytes`.
@safe struct JSONCursor {
  private let bytes: UnsafeRawBufferPointer
  var position = 0

  init(_ bytes: UnsafeRawBufferPointer) {
    unsafe self.bytes = bytes
  }

  var count: Int { unsafe bytes.count }

  var isAtEnd: Bool { position >= count }

  @inline(__always) var byte: UInt8 { self[position] }

  @inline(__always) subscript(offset: Int) -> UInt8 {
    // As an unsigned number, a negative offset is out of bounds too.
    UInt(bitPattern: offset) < UInt(bitPattern: count) ? unsafe bytes[offset] : 0
  }

  func text(in range: Range<Int>) -> String {
    unsafe String(decoding: slice(range), as: UTF8.self)
  }

  func append(_ range: Range<Int>, to buffer: inout [UInt8]) {
    unsafe buffer.append(contentsOf: slice(range))
  }

  private func slice(_ range: Range<Int>) -> UnsafeRawBufferPointer {
    precondition(range.lowerBound >= 0 && range.upperBound <= count, "range outside of the text")
    return unsafe UnsafeRawBufferPointer(rebasing: bytes[range])
  }

  /// An error at `offset`, with its line and column.
  ///
  /// - Complexity: O(`offset`).
  func error(_ code: JSONError.Code, at offset: Int, _ message: String) -> JSONError {
    var line = 1
    var column = 1
    for index in 0..<min(offset, count) {
      if self[index] == UInt8(ascii: "\n") {
        line += 1
        column = 1
      } else if self[index] & 0xC0 != 0x80 {
        column += 1
      }
    }
    return JSONError(code: code, offset: offset, line: line, column: column, message: message)
  }

  /// The error for an unexpected byte at the position, or for the end of the text there.
  func unexpected(expecting expected: String) -> JSONError {
    guard !isAtEnd else {
      return error(.unexpectedEnd, at: position, "the text ends where \(expected) should be")
    }
    return error(.unexpectedCharacter, at: position, "\(name(of: byte)) where \(expected) should be")
  }

  func name(of byte: UInt8) -> String {
    switch byte {
    case 0x21...0x7E: "'\(Character(Unicode.Scalar(byte)))'"
    case 0x20: "a space"
    case 0x80...: "a character outside of ASCII"
    default: "the control character \(byte)"
    }
  }
}
