public import Foundation

/// Why an archive or a property list can't be read or written, and where.
public struct ArchiveError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong. New codes may come; switch with a `default`.
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
    /// What was asked for is not there.
    public static let missing = Code(rawValue: "missing")
    /// What is there is of another kind than what was asked for.
    public static let wrongType = Code(rawValue: "wrongType")
    /// A reference to an object that the file doesn't have.
    public static let danglingReference = Code(rawValue: "danglingReference")
    /// A collection holds itself, where a tree is asked for.
    public static let cyclic = Code(rawValue: "cyclic")
    /// The operating system failed to read or write.
    public static let io = Code(rawValue: "io")
    /// The bytes are not those that their checksum was made of, or the file was cut while it was open.
    public static let damaged = Code(rawValue: "damaged")
    /// The format can't express the value.
    public static let unencodable = Code(rawValue: "unencodable")
  }

  /// What is wrong.
  public let code: Code
  /// What happened, in words that a person can act on.
  public let message: String
  /// Where, in bytes from the start of the input, where that is known.
  public let offset: Int?
  /// The UID of the archived object that was being read or written, where there is one.
  public let object: Int?
  /// The path of the file, where there is one.
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
  /// What ``description`` says: for an alert.
  public var errorDescription: String? { description }
}
