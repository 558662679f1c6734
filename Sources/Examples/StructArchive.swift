import Foundation
import KeyedArchiving

/// A struct that can be stored as the archive of an object. A class with `NSCoding` can read and write the same
/// archive.
///
/// The conformance provides `archive(to:)` and `unarchive(from:)`, so no class needs to be written:
///
/// ```swift
/// extension Contact: ArchivedAsObject {}
/// try Contact(firstName: "Ana", lastName: "Lima").archive(to: url)
/// let ana = try Contact.unarchive(from: url)
/// ```
///
/// By default, the class has the name of the struct, and its keys are the names of the properties.
protocol ArchivedAsObject: Codable {
  /// The name of the class in the archive.
  static var className: String { get }
  /// The archive keys of the properties whose keys differ from their names.
  static var archiveKeys: [String: String] { get }
}

extension ArchivedAsObject {
  static var className: String { String(describing: Self.self) }
  static var archiveKeys: [String: String] { [:] }

  /// Writes the archive to a file atomically, replacing the previous contents.
  func archive(to url: URL) throws {
    var encoder = KeyedArchiveEncoder()
    encoder.name(Self.self, ArchivedClass(Self.className), keys: Self.archiveKeys)
    try encoder.encode(self).write(to: url, options: .atomic)
  }

  /// Reads the archive in a file; nil if there is no file.
  static func unarchive(from url: URL) throws -> Self? {
    let bytes: Data
    // Checking for the file beforehand would report a file without read permission as missing.
    do { bytes = try Data(contentsOf: url) } catch CocoaError.fileReadNoSuchFile { return nil }
    var decoder = KeyedArchiveDecoder()
    decoder.name(Self.self, keys: Self.archiveKeys)
    return try decoder.decode(Self.self, from: KeyedArchive(ArchiveBytes(bytes)))
  }
}

/// A contact, as a struct.
struct Contact: Equatable, ArchivedAsObject {
  let firstName: String
  let lastName: String
}
