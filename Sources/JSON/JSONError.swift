public import Foundation

/// The reason why a text is not the expected JSON, and the place.
public struct JSONError: Error, Hashable, Sendable {
  /// The kind of an error. Later versions may add kinds, so a `switch` needs a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the code, such as `unexpectedEnd`.
    public let description: String

    /// The text ends inside a value.
    public static let unexpectedEnd = Code(description: "unexpectedEnd")
    /// JSON's grammar does not allow the byte at this position.
    public static let unexpectedCharacter = Code(description: "unexpectedCharacter")
    /// A string has bytes that are not UTF-8.
    public static let invalidUTF8 = Code(description: "invalidUTF8")
    /// A string has an unescaped control character or an unknown escape.
    public static let invalidString = Code(description: "invalidString")
    /// A number has a form that JSON does not allow, such as `01` or `1.`.
    public static let invalidNumber = Code(description: "invalidNumber")
    /// A number is larger than any `Double`.
    public static let numberOutOfRange = Code(description: "numberOutOfRange")
    /// Arrays and objects are nested too deeply.
    public static let tooDeep = Code(description: "tooDeep")
    /// Two keys of an object differ only in how Unicode encodes their characters. A dictionary can't have both.
    public static let equivalentKeys = Code(description: "equivalentKeys")
    /// The value would lose something of the text, although it was to be read exactly.
    public static let inexactValue = Code(description: "inexactValue")
    /// Something follows the value.
    public static let trailingText = Code(description: "trailingText")
    /// The text is valid, but its value is not an array.
    public static let notAnArray = Code(description: "notAnArray")
    /// The content of a `$date`, `$data` or `$double` object is invalid.
    public static let invalidWrapper = Code(description: "invalidWrapper")
  }

  /// The kind of error.
  public let code: Code
  /// The position of the error, in bytes from the start of the text (a byte order mark counts).
  public let offset: Int
  /// The line of the error, from 1.
  public let line: Int
  /// The column of the error, from 1, in Unicode scalars.
  public let column: Int
  /// What is wrong and what was expected, as a sentence without a full stop.
  public let message: String
}

extension JSONError: CustomStringConvertible {
  /// The position, and what is wrong there.
  public var description: String {
    "line \(line), column \(column) (byte \(offset)): \(message)"
  }
}

extension JSONError: LocalizedError {
  /// The ``description``, for an alert.
  public var errorDescription: String? { description }
}
