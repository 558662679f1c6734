public import Foundation

/// Why bytes are not the deterministic CBOR (RFC 8949 §4.2) that this module writes, and the offset of the error.
public struct CBORError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of an error. Later versions may add kinds: switch with a `default`.
  public struct Code: RawRepresentable, Hashable, Sendable {
    /// The name of the code, such as `truncated`.
    public let rawValue: String
    /// Makes the code with a name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The bytes end inside an item.
    public static let truncated = Code(rawValue: "truncated")
    /// The item is not of the required kind.
    public static let unexpectedItem = Code(rawValue: "unexpectedItem")
    /// The item is not in its shortest form, or keys are not sorted.
    public static let notDeterministic = Code(rawValue: "notDeterministic")
    /// A text is not UTF-8.
    public static let invalidText = Code(rawValue: "invalidText")
    /// An item that this format never uses: an indefinite length, an unknown tag or simple value.
    public static let unsupported = Code(rawValue: "unsupported")
    /// Items are nested more than ``CBORLimits/depth`` deep.
    public static let tooDeep = Code(rawValue: "tooDeep")
    /// Bytes follow the last item.
    public static let trailingBytes = Code(rawValue: "trailingBytes")
  }

  /// The kind of error.
  public let code: Code
  /// The position of the error, in bytes from the start of the input.
  public let offset: Int

  package init(_ code: Code, at offset: Int) {
    self.code = code
    self.offset = offset
  }

  /// The code and the position of the error.
  public var description: String { "\(code.rawValue) CBOR at byte \(offset)" }
}

/// Limits of the format, which bound the cost of reading hostile bytes.
public enum CBORLimits {
  /// The maximum nesting depth of arrays and dictionaries.
  public static let depth = 128
}

extension CBORError: LocalizedError {
  /// The ``description``, for an alert.
  public var errorDescription: String? { description }
}
