package import CBOR

/// The elements of a JSON array, as ranges of its bytes.
///
/// The initializer checks the whole text as strictly as ``CBOR/Value/init(json:decodingWrappers:)``, but makes no
/// values. So a program that compares two versions of a file reads only the elements that differ.
package struct JSONArray: Sendable {
  private let text: [UInt8]
  private let ranges: [Range<Int>]

  /// Checks a whole text and finds its elements.
  ///
  /// - Throws: ``JSONError``; `notAnArray` if the text is valid but has another value.
  /// - Complexity: O(*n*) time in the number of bytes, and 16 bytes of memory for each element.
  package init(_ text: [UInt8]) throws(JSONError) {
    let result = unsafe text.withUnsafeBytes { buffer in
      unsafe Self.split(JSONCursor(buffer))
    }
    ranges = try result.get()
    self.text = text
  }

  private static func split(_ cursor: JSONCursor) -> Result<[Range<Int>], JSONError> {
    var parser = JSONParser(cursor, handler: ElementFinder())
    do throws(JSONError) {
      try parser.parse()
      let start = parser.handler.start
      guard cursor[start] == UInt8(ascii: "[") else {
        throw cursor.error(.notAnArray, at: start, "a value that is not an array where '[' should be")
      }
      return .success(parser.handler.ranges)
    } catch {
      return .failure(error)
    }
  }

  /// Reads one element, and notes if it can't be kept exactly.
  package func value(at index: Int, noting loss: inout JSONError?) -> FieldValue {
    do {
      return try FieldValue(json: self[index], exactly: true)
    } catch {
      loss = error
      return value(at: index)
    }
  }

  /// Reads one element.
  package func value(at index: Int) -> FieldValue {
    do {
      return try FieldValue(json: self[index])
    } catch {
      // Every element was checked by the same parser.
      preconditionFailure("element \(index) was valid before: \(error)")
    }
  }
}

extension JSONArray: RandomAccessCollection {
  package var startIndex: Int { 0 }
  package var endIndex: Int { ranges.count }

  /// The bytes of an element, without surrounding white space. Their indices are offsets in the text.
  package subscript(index: Int) -> ArraySlice<UInt8> { text[ranges[index]] }
}

/// Records where the elements of the outermost array begin and end.
private struct ElementFinder: JSONHandler {
  /// An array or object that has not ended.
  private struct Opening {
    let offset: Int
    /// The number of keys when it began; all later ones belong to it.
    let keyCount: Int
    /// Whether one of its keys may equal another one with other bytes.
    var isChecked = false
  }

  /// Where the outermost value begins.
  private(set) var start = 0
  private(set) var ranges: [Range<Int>] = []
  private var elementStart = 0
  private var openings: [Opening] = []
  private var keys: [StringToken] = []

  mutating func willRead(at offset: Int, depth: Int) {
    switch depth {
    case 0: start = offset
    case 1: elementStart = offset
    default: break
    }
  }

  mutating func didRead(upTo offset: Int, depth: Int) {
    if depth == 1 { ranges.append(elementStart..<offset) }
  }

  mutating func beginContainer(at offset: Int) {
    openings.append(Opening(offset: offset, keyCount: keys.count))
  }

  mutating func key(_ token: StringToken, in cursor: JSONCursor) {
    keys.append(token)
    if token.hasEscapes || !token.isASCII { openings[openings.count - 1].isChecked = true }
  }

  mutating func endArray(in cursor: JSONCursor) { openings.removeLast() }

  mutating func endObject(in cursor: JSONCursor) throws(JSONError) {
    let opening = openings.removeLast()
    if opening.isChecked {
      try cursor.checkKeys(keys[opening.keyCount...].map { cursor.text(of: $0) }, at: opening.offset)
    }
    keys.removeLast(keys.count - opening.keyCount)
  }
}
