import CatalogModel
package import Files
import Foundation
import SHA256

/// An open folder that throws ``LegacyError``. It gives no access to anything outside: names are single names, and
/// links are refused.
typealias Folder = Files.Folder<LegacyError>
/// An open file that throws ``LegacyError``.
typealias File = Files.File<LegacyError>

extension LegacyError: FileFailure {
  /// The error for a failed call of the operating system.
  package init(_ error: FileError) {
    let code: Code =
      switch error.reason {
      case .notFound, .isNoFolder: .notFound
      case .alreadyExists: .alreadyExists
      case .notPermitted, .isLink, .isNoFile, .isTooLarge: .unreadable
      case .outOfResources, .noSpace, .io: .io
      }
    if error.reason == .isLink {
      self = .link(error.path)
    } else {
      self.init(code, error.message, path: error.path)
    }
  }

  static func link(_ path: String) -> LegacyError {
    LegacyError(
      .unreadable, "it is a symbolic link, which could point anywhere; put the file itself there", path: path)
  }
}

extension Files.Folder where Failure == LegacyError {
  /// Opens the folder that a user named, which may be behind a link.
  convenience init(_ url: URL) throws(LegacyError) {
    try self.init(url.physicalPath, followsLinks: true, hook: nil)
  }

  /// Opens the folder that a user named, or creates it. Its parent must exist.
  /// - Throws: ``LegacyError`` with code `wrongUse` if the folder is in a journal.
  convenience init(making url: URL) throws(LegacyError) {
    let url = URL(fileURLWithPath: url.physicalPath)
    if try Folder.status(ofPath: url.path) == nil {
      let parent = try Folder(url.deletingLastPathComponent())
      try parent.checkIsOutsideJournals(url.path)
      try parent.makeFolder(url.lastPathComponent, isPrivate: false)
    }
    try self.init(url)
    try checkIsOutsideJournals(url.path)
  }

  /// - Parameter path: the path that the user named.
  private func checkIsOutsideJournals(_ path: String) throws(LegacyError) {
    guard let journal = JournalFolder.enclosingJournal(ofPath: currentPath() ?? self.path) else { return }
    throw LegacyError(
      .wrongUse, "its files would be inside the journal \(journal); choose another folder", path: path)
  }

  /// The names in it, with numeric ones in the order of the numbers. Names that differ only in their normalization have
  /// an order too.
  func numberedNames() throws(LegacyError) -> [String] {
    try names().sorted {
      let (one, other) = (($0.leadingNumber ?? .max, $0), ($1.leadingNumber ?? .max, $1))
      return one == other ? $0.utf8.lexicographicallyPrecedes($1.utf8) : one < other
    }
  }

  /// The kind of the file with a name, or nil if there is none.
  func kind(of name: String) throws(LegacyError) -> FileStatus.Kind? { try status(of: name)?.kind }
}

extension Files.File where Failure == LegacyError {
  /// Opens the file that a user named, which may be behind a link.
  init(_ url: URL) throws(LegacyError) { try self.init(readingFrom: url.physicalPath) }

  borrowing func forEachPiece(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    var offset = 0
    while case let piece = try piece(at: offset, byteCount: 64 << 10), !piece.isEmpty {
      try unsafe piece.withUnsafeBytes(body)
      offset += piece.count
    }
  }

  borrowing func digest() throws -> (digest: ContentDigest, byteCount: Int) {
    var hash = SHA256Hash()
    var byteCount = 0
    try unsafe forEachPiece {
      unsafe hash.update($0)
      byteCount += $0.count
    }
    return (hash.finish(), byteCount)
  }
}

extension String {
  /// Whether it is a single name and not a path.
  var isSingleName: Bool {
    !isEmpty && self != "." && self != ".." && !utf8.contains(UInt8(ascii: "/")) && !utf8.contains(0)
      && utf8.count <= 255
  }

  /// The number that it begins with.
  var leadingNumber: Int? {
    let digits = utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    return Int(String(decoding: digits, as: UTF8.self))
  }
}
