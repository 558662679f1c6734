public import Foundation

/// The reason why an archive or a property list can't be read or written, and the place.
public struct ArchiveError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of an error. Later versions may add kinds, so a `switch` needs a `default`.
  public struct Code: RawRepresentable, Hashable, Sendable {
    /// The name of the code, such as `malformed`.
    public let rawValue: String
    /// Makes the code with the given name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The bytes break the rules of their format.
    public static let malformed = Code(rawValue: "malformed")
    /// The format of the bytes, or its version, is not supported. The message names the format.
    public static let unsupportedFormat = Code(rawValue: "unsupportedFormat")
    /// Reading would exceed ``ArchiveLimits``, or writing would exceed a limit of the format or of the writer.
    public static let limitExceeded = Code(rawValue: "limitExceeded")
    /// The property list is sound, but it is not a keyed archive.
    public static let notAnArchive = Code(rawValue: "notAnArchive")
    /// The requested element does not exist.
    public static let missing = Code(rawValue: "missing")
    /// The value does not have the requested type.
    public static let wrongType = Code(rawValue: "wrongType")
    /// A reference names an object that does not exist.
    public static let danglingReference = Code(rawValue: "danglingReference")
    /// A collection contains itself, so it can't be read as a tree of values.
    public static let cyclic = Code(rawValue: "cyclic")
    /// The operating system failed to read or write.
    public static let io = Code(rawValue: "io")
    /// The bytes don't match their checksum, or the file was truncated while it was open.
    public static let damaged = Code(rawValue: "damaged")
    /// The format can't express the value.
    public static let unencodable = Code(rawValue: "unencodable")
  }

  /// The kind of error.
  public let code: Code
  /// What failed and, where possible, what to do about it.
  public let message: String
  /// The byte offset of the error in the input; nil if it is unknown.
  public let offset: Int?
  /// The UID of the archived object that was being read or written; nil if there is none.
  public let object: Int?
  /// The path of the file; nil if the bytes are not from a file.
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

  /// The path, the message, the UID of the object and the byte offset.
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
