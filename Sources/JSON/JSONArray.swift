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
  /// - Parameter isLenient: whether elements may have what JSON allows but a value can't have: numbers beyond `Double`,
  ///   more than 512 nested containers, and two equivalent keys.
  /// - Throws: ``JSONError``; `notAnArray` if the text is valid but has another value.
  /// - Complexity: O(*n*) time in the number of bytes, and 16 bytes of memory for each element.
  package init(_ text: [UInt8], isLenient: Bool = false) throws(JSONError) {
    let result = unsafe text.withUnsafeBytes { buffer in
      unsafe Self.split(JSONCursor(buffer), isLenient)
    }
    ranges = try result.get()
    self.text = text
  }

  private static func split(_ cursor: JSONCursor, _ isLenient: Bool) -> Result<[Range<Int>], JSONError> {
    var parser = JSONParser(cursor, handler: ElementFinder(isLenient: isLenient))
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

  /// Reads one element, and notes what of it can't be kept: with `inexactValue` if something is lost, and with another
  /// code if the element has what a value can't have.
  package func value(at index: Int, noting loss: inout JSONError?) -> FieldValue {
    FieldValue.read(checked: self[index], noting: &loss)
  }

  /// Reads one element.
  package func value(at index: Int) -> FieldValue {
    var loss: JSONError?
    return value(at: index, noting: &loss)
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

  let isLenient: Bool
  /// Where the outermost value begins.
  private(set) var start = 0
  private(set) var ranges: [Range<Int>] = []
  private var elementStart = 0
  private var openings: [Opening] = []
  private var keys: [StringToken] = []

  init(isLenient: Bool) { self.isLenient = isLenient }

  mutating func exceedsLimit(
    _ code: JSONError.Code, at offset: Int, in cursor: JSONCursor
  ) throws(JSONError) {
    if !isLenient { throw cursor.error(code, at: offset, JSONLimits.explanation(of: code)) }
  }

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
    if opening.isChecked, !isLenient {
      try cursor.checkKeys(keys[opening.keyCount...].map { cursor.text(of: $0) }, at: opening.offset)
    }
    keys.removeLast(keys.count - opening.keyCount)
  }
}
