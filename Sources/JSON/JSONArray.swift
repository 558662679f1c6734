package import CBOR

/// The elements of a JSON array, as ranges of its bytes.
///
/// The initializer checks the grammar of the whole text, but makes no values, so a program that compares two
/// versions of a file reads only the elements that differ. Elements may have what JSON allows but a value
/// can't have: numbers beyond `Double`, more than 512 nested containers, and two equivalent keys.
package struct JSONArray: Sendable {
  private let text: [UInt8]
  private let ranges: [Range<Int>]

  /// Checks a whole text and finds its elements.
  ///
  /// - Throws: ``JSONError``; `notAnArray` if the text is valid but has another value.
  /// - Complexity: O(*n*) time in the number of bytes, and 16 bytes of memory for each element.
  package init(_ text: [UInt8]) throws(JSONError) {
    ranges = try unsafe text.withUnsafeBytes { bytes in
      var cursor = unsafe JSONCursor(bytes)
      return Result { () throws(JSONError) in
        let (start, elements) = try cursor.check()
        guard cursor[start] == UInt8(ascii: "[") else {
          throw cursor.error(.notAnArray, at: start, "a value that is not an array where '[' should be")
        }
        return elements
      }
    }.get()
    self.text = text
  }

  /// Reads one element. Sets `loss` to nil if the value is exact, to an error with code `inexactValue` if it is not, or
  /// to an error with another code if a part of the element can't be in a value.
  package func value(at index: Int, noting loss: inout JSONError?) -> FieldValue {
    unsafe self[index].withUnsafeBytes { bytes in
      var reader = unsafe ValueReader(JSONCursor(bytes), isExact: true)
      do throws(JSONError) {
        let value = try reader.value()
        loss = reader.loss
        return value
      } catch {
        loss = error
        return .null
      }
    }
  }

  package func value(at index: Int) -> FieldValue {
    var loss: JSONError?
    return value(at: index, noting: &loss)
  }
}

extension JSONArray: RandomAccessCollection {
  package var startIndex: Int { 0 }
  package var endIndex: Int { ranges.count }

  /// The bytes of an element, without white space around it. Their indices are offsets in the text.
  package subscript(index: Int) -> ArraySlice<UInt8> { text[ranges[index]] }
}
