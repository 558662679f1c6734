public import Foundation

/// Why a text is not the JSON that was asked for, and where.
public struct JSONError: Error, Hashable, Sendable {
  /// What kind of mistake it is. More kinds may come, so a `switch` over it needs a default.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the code, such as `unexpectedEnd`.
    public let description: String

    /// The text ends inside a value.
    public static let unexpectedEnd = Code(description: "unexpectedEnd")
    /// A byte that JSON's grammar does not allow in this place.
    public static let unexpectedCharacter = Code(description: "unexpectedCharacter")
    /// A string holds bytes that are not UTF-8.
    public static let invalidUTF8 = Code(description: "invalidUTF8")
    /// A string holds a bare control character or an unknown escape.
    public static let invalidString = Code(description: "invalidString")
    /// A number is written in a way that JSON does not know, such as `01` or `1.`.
    public static let invalidNumber = Code(description: "invalidNumber")
    /// A number is larger than any `Double`.
    public static let numberOutOfRange = Code(description: "numberOutOfRange")
    /// Arrays and objects are nested too deeply.
    public static let tooDeep = Code(description: "tooDeep")
    /// Something follows the value.
    public static let trailingText = Code(description: "trailingText")
    /// The text is valid, but its value is not an array.
    public static let notAnArray = Code(description: "notAnArray")
    /// A `$date`, `$data` or `$double` object holds something else than it says.
    public static let invalidWrapper = Code(description: "invalidWrapper")
  }

  /// What kind of mistake it is.
  public let code: Code
  /// The place of the mistake, in bytes from the start of the text (a byte order mark counts).
  public let offset: Int
  /// The line of that place, from 1.
  public let line: Int
  /// The place within its line, from 1, in Unicode scalars.
  public let column: Int
  /// What is wrong there and what would be right, as a sentence without a full stop.
  public let message: String
}

extension JSONError: CustomStringConvertible {
  /// The place and what is wrong there.
  public var description: String {
    "line \(line), column \(column) (byte \(offset)): \(message)"
  }
}

extension JSONError: LocalizedError {
  /// What ``description`` says: for an alert.
  public var errorDescription: String? { description }
}
