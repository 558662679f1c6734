import Foundation
import KeyedArchiving

/// A struct that can be kept as the archive of an object, which a class with `NSCoding` reads and writes too.
///
/// The two methods come with the conformance; there is no class to write:
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
  /// The keys of properties that have another name in the archive.
  static var archiveKeys: [String: String] { get }
}

extension ArchivedAsObject {
  static var className: String { String(describing: Self.self) }
  static var archiveKeys: [String: String] { [:] }

  /// Writes the archive to a file atomically, replacing its contents.
  func archive(to url: URL) throws {
    var encoder = KeyedArchiveEncoder()
    encoder.name(Self.self, ArchivedClass(Self.className), keys: Self.archiveKeys)
    try encoder.encode(self).write(to: url, options: .atomic)
  }

  /// Reads the archive in a file; nil if there is no file.
  static func unarchive(from url: URL) throws -> Self? {
    let bytes: Data
    // A check for the file beforehand would report a file without read permission as missing.
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
