internal import CLevelDB
internal import CLevelDBSalvage
package import Files
package import LevelDB

/// The readable contents of the files of a damaged database, file by file and without the manifest.
///
/// Contents with a correct checksum are returned as they are; the caller must verify them. Nothing is
/// changed. Safe to use from any thread.
@safe
package final class SalvagedFiles: Sendable {
  private let path: String
  // Guarded by a lock in the C++ code; valid until `deinit`.
  private nonisolated(unsafe) let handle: OpaquePointer

  /// The problems of files, each a sentence that begins with the file's name.
  package let problems: [String]

  /// Reads all tables and logs in the folder of a database.
  /// - Throws: ``DatabaseError`` if the folder can't be listed.
  /// - Complexity: O(*n*) in the number of tables, and in the bytes of logs, which are held in memory.
  package init<Failure>(in folder: Folder<Failure>) throws(DatabaseError) {
    defer { withExtendedLifetime(folder) {} }
    var opened: OpaquePointer?
    var problems: [String] = []
    try unsafe call(path: folder.path) { receiver, context, status in
      unsafe opened = cldb_salvage_open(folder.path, folder.descriptor, receiver, context, status)
      return unsafe opened != nil
    } receiver: { name, words in
      unsafe problems.append(
        "\(String(decoding: name, as: UTF8.self)): \(String(decoding: words, as: UTF8.self))")
      return CLDB_NEXT
    }
    path = folder.path
    unsafe handle = unsafe opened!
    self.problems = problems
  }

  deinit { unsafe cldb_salvage_free(handle) }

  /// All values of a key in the files. A key has several values if a crash has left two copies.
  package func values(for key: [UInt8]) throws(DatabaseError) -> [[UInt8]] {
    var values: [[UInt8]] = []
    try unsafe call(path: path) { receiver, context, status in
      unsafe key.withUnsafeBytes {
        unsafe cldb_salvage_get(handle, $0.baseAddress, $0.count, receiver, context, status)
      }
    } receiver: { _, value in
      values.append(unsafe Array(value))
      return CLDB_NEXT
    }
    return values
  }

  /// The last key in the files that is before a limit; nil if there is none.
  package func lastKey(before limit: [UInt8]) throws(DatabaseError) -> [UInt8]? {
    var found: [UInt8]?
    try unsafe call(path: path) { receiver, context, status in
      unsafe limit.withUnsafeBytes {
        unsafe cldb_salvage_last(handle, $0.baseAddress, $0.count, receiver, context, status)
      }
    } receiver: { key, _ in
      found = unsafe Array(key)
      return CLDB_NEXT
    }
    return found
  }
}
