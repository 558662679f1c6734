package import Files
import Foundation
package import LevelDB

extension Database {
  /// Opens the database in the folder at a path, which is made for a new database.
  package convenience init(
    path: String, access: Access, options: Options = Options(), hook: FileHook? = nil,
    readHook: ReadHook? = nil
  ) throws {
    if access == .existingOrNew, !FileManager.default.fileExists(atPath: path) {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }
    let folder: Folder<PathFailure>
    do {
      folder = try Folder(path, followsLinks: false, hook: hook, readHook: readHook)
    } catch {
      throw DatabaseError(.notFound, error.error.message, path: path)
    }
    try self.init(in: folder, access: access, options: options)
  }
}

private struct PathFailure: FileFailure {
  let error: FileError
  init(_ error: FileError) { self.error = error }
}
