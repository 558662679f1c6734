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
/// The class is called as the struct is, and its keys as the properties are, if the struct doesn't say otherwise.
protocol ArchivedAsObject: Codable {
  /// What the class is called in the archive.
  static var className: String { get }
  /// The keys of those properties that are called otherwise in the archive.
  static var archiveKeys: [String: String] { get }
}

extension ArchivedAsObject {
  static var className: String { String(describing: Self.self) }
  static var archiveKeys: [String: String] { [:] }

  /// Writes the archive to a file, in place of what it held: all of it, or nothing.
  func archive(to url: URL) throws {
    var encoder = KeyedArchiveEncoder()
    encoder.name(Self.self, ArchivedClass(Self.className), keys: Self.archiveKeys)
    try encoder.encode(self).write(to: url, options: .atomic)
  }

  /// Reads the archive in a file; nil if there is no file.
  static func unarchive(from url: URL) throws -> Self? {
    let bytes: Data
    // Asking first whether there is a file would take one that may not be looked at for none.
    do { bytes = try Data(contentsOf: url) } catch CocoaError.fileReadNoSuchFile { return nil }
    var decoder = KeyedArchiveDecoder()
    decoder.name(Self.self, keys: Self.archiveKeys)
    return try decoder.decode(Self.self, from: KeyedArchive(ArchiveBytes(bytes)))
  }
}

/// Somebody, as a struct.
struct Contact: Equatable, ArchivedAsObject {
  let firstName: String
  let lastName: String
}
