internal import CLevelDB
package import Files

/// The readable contents of the files of a damaged database, file by file and without the manifest.
///
/// Contents with a correct checksum are returned as they are; the caller must find out whether they are right. Nothing
/// is changed. Safe to use from any thread.
@safe
package final class SalvagedFiles: Sendable {
  private let path: String
  // Guarded by a lock on the C++ side; valid until `deinit`.
  private nonisolated(unsafe) let handle: OpaquePointer

  /// The problems of files, each a sentence that begins with the file's name.
  package let problems: [String]

  /// Reads all tables and logs in the folder of a database.
  /// - Throws: ``DatabaseError`` if the folder can't be listed.
  /// - Complexity: O(*n*) in the number of tables, and in the bytes of logs, which are held in memory.
  package init<Failure>(in folder: Folder<Failure>) throws(DatabaseError) {
    defer { withExtendedLifetime(folder) {} }
    var status = cldb_status()
    guard let handle = unsafe cldb_salvage_open(folder.path, folder.descriptor, &status) else {
      throw DatabaseError(status, path: folder.path)
    }
    path = folder.path
    unsafe self.handle = unsafe handle
    var text = ""
    unsafe Self.lend { receive, context in
      unsafe cldb_salvage_problems(handle, receive, context)
    } to: {
      text = unsafe String(decoding: $0, as: UTF8.self)
    }
    problems = text.split(separator: "\n").map(String.init)
  }

  deinit { unsafe cldb_salvage_free(handle) }

  /// All values of a key in the files: more than one if a crash has left two copies.
  package func values(for key: [UInt8]) throws(DatabaseError) -> [[UInt8]] {
    var values: [[UInt8]] = []
    var status = cldb_status()
    var isDone = false
    unsafe Self.lend { receive, context in
      isDone = unsafe withKey(key) { bytes, count in
        unsafe cldb_salvage_get(handle, bytes, count, receive, context, &status)
      }
    } to: {
      values.append(unsafe Array($0))
    }
    guard isDone else { throw DatabaseError(status, path: path) }
    return values
  }

  /// The last key before a limit.
  package func lastKey(before limit: [UInt8]) throws(DatabaseError) -> [UInt8]? {
    var found: [UInt8]?
    var status = cldb_status()
    var isDone = false
    unsafe Self.lend { receive, context in
      isDone = unsafe withKey(limit) { bytes, count in
        unsafe cldb_salvage_last(handle, bytes, count, receive, context, &status)
      }
    } to: {
      found = unsafe Array($0)
    }
    guard isDone else { throw DatabaseError(status, path: path) }
    return found
  }

  /// Keys are never empty.
  private func withKey(_ key: [UInt8], _ body: (UnsafeRawPointer, Int) -> Bool) -> Bool {
    unsafe key.withUnsafeBytes { key in unsafe key.baseAddress.map { unsafe body($0, key.count) } ?? false }
  }

  private static func lend(
    _ call: (cldb_receiver, UnsafeMutableRawPointer) -> Void, to receiver: (UnsafeRawBufferPointer) -> Void
  ) {
    typealias Receiver = (UnsafeRawBufferPointer) -> Void
    unsafe withoutActuallyEscaping(receiver) { receiver in
      var receiver = unsafe receiver
      unsafe withUnsafeMutablePointer(to: &receiver) { context in
        unsafe call(
          { context, bytes, count in
            let receiver = unsafe context.assumingMemoryBound(to: Receiver.self).pointee
            unsafe receiver(UnsafeRawBufferPointer(start: bytes, count: count))
          }, context)
      }
    }
  }
}
