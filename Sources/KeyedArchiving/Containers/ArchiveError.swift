public import Foundation

/// Why an archive or a property list can't be read or written, and where.
public struct ArchiveError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of an error. Later versions may add kinds: switch with a `default`.
  public struct Code: RawRepresentable, Hashable, Sendable {
    /// The name of the code, such as `malformed`.
    public let rawValue: String
    /// The code of that name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The bytes break the rules of their format.
    public static let malformed = Code(rawValue: "malformed")
    /// The bytes are of another format, or of a version of it that is not read here. The message names it.
    public static let unsupportedFormat = Code(rawValue: "unsupportedFormat")
    /// Reading on would cost more than ``ArchiveLimits`` allow.
    public static let limitExceeded = Code(rawValue: "limitExceeded")
    /// A sound property list that holds no keyed archive.
    public static let notAnArchive = Code(rawValue: "notAnArchive")
    /// The requested object does not exist.
    public static let missing = Code(rawValue: "missing")
    /// The value has another kind than the requested one.
    public static let wrongType = Code(rawValue: "wrongType")
    /// A reference to an object that the file doesn't have.
    public static let danglingReference = Code(rawValue: "danglingReference")
    /// A collection holds itself, where a tree is asked for.
    public static let cyclic = Code(rawValue: "cyclic")
    /// The operating system failed to read or write.
    public static let io = Code(rawValue: "io")
    /// The bytes do not have their checksum, or the file was truncated while it was open.
    public static let damaged = Code(rawValue: "damaged")
    /// The format can't express the value.
    public static let unencodable = Code(rawValue: "unencodable")
  }

  /// The kind of error.
  public let code: Code
  /// The failure, in words that a person can act on.
  public let message: String
  /// The byte offset in the input, if it is known.
  public let offset: Int?
  /// The UID of the archived object that was being read or written, if there is one.
  public let object: Int?
  /// The path of the file, if there is one.
  public let path: String?

  package init(
    _ code: Code, _ message: String, offset: Int? = nil, object: Int? = nil, path: String? = nil
  ) {
    self.code = code
    self.message = message
    self.offset = offset
    self.object = object
    self.path = path
  }

  /// The path, the message and the place.
  public var description: String {
    let places = [object.map { "object \($0)" }, offset.map { "byte \($0)" }].compactMap { $0 }
    let place = places.isEmpty ? "" : " (\(places.joined(separator: ", ")))"
    return (path.map { "\($0): " } ?? "") + message + place
  }
}

extension ArchiveError: LocalizedError {
  /// The ``description``, for an alert.
  public var errorDescription: String? { description }
}
