/// The reason why a text is not the expected JSON, and the place.
package struct JSONError: Error, Hashable, CustomStringConvertible {
  package enum Code: Sendable {
    /// The text ends inside a value.
    case unexpectedEnd
    /// JSON's grammar does not allow the byte at this position.
    case unexpectedCharacter
    /// A string has bytes that are not UTF-8.
    case invalidUTF8
    /// A string has an unescaped control character or an unknown escape.
    case invalidString
    /// A number has a form that JSON does not allow, such as `01` or `1.`.
    case invalidNumber
    /// A number is larger than any `Double`.
    case numberOutOfRange
    /// Arrays and objects are nested too deeply.
    case tooDeep
    /// Two keys of an object differ only in how Unicode encodes their characters. A dictionary can't have both.
    case equivalentKeys
    /// The text was to be read exactly, but the value would lose a part of it.
    case inexactValue
    /// Something follows the value.
    case trailingText
    /// The text is valid, but its value is not an array.
    case notAnArray
    /// The content of a `$date`, `$data` or `$double` object is invalid.
    case invalidWrapper
  }

  package let code: Code
  /// The position of the error, in bytes from the start of the text (a byte order mark counts).
  package let offset: Int
  /// The line of the error, from 1.
  package let line: Int
  /// The column of the error, from 1, in Unicode scalars.
  package let column: Int
  /// What is wrong and what was expected, as a sentence without a full stop.
  package let message: String

  package var description: String { "line \(line), column \(column) (byte \(offset)): \(message)" }
}
