extension FileOperation {
  static func create(_ path: String) -> FileOperation { FileOperation(.create, path: path) }
  static func sync(_ path: String) -> FileOperation { FileOperation(.sync, path: path) }
  static func remove(_ path: String) -> FileOperation { FileOperation(.remove, path: path) }
  static func makeFolder(_ path: String) -> FileOperation { FileOperation(.makeFolder, path: path) }
  static func syncFolder(_ path: String) -> FileOperation { FileOperation(.syncFolder, path: path) }
  static func rename(_ path: String, to newPath: String) -> FileOperation {
    FileOperation(.rename, path: path, newPath: newPath)
  }
}

extension Optional where Wrapped == FileHook {
  /// Fails if the hook makes the operation fail.
  func check<Failure: FileFailure>(
    _ operation: @autoclosure () -> FileOperation, _: Failure.Type
  ) throws(Failure) {
    guard let self else { return }
    let operation = operation()
    if case .fail(let number) = self(operation) {
      throw Failure(FileError(number, "can't \(operation.kind)", path: operation.path))
    }
  }

  /// The same for a write; returns how many of its bytes may be written at once.
  func checkWrite<Failure: FileFailure>(
    _ path: String, _ bytes: UnsafeRawBufferPointer, at offset: Int, _: Failure.Type
  ) throws(Failure) -> Int {
    guard let self else { return bytes.count }
    let operation = unsafe FileOperation(.write, path: path, offset: UInt64(offset), bytes: Array(bytes))
    switch self(operation) {
    case .proceed: return bytes.count
    case .short(let count): return min(max(count, 1), bytes.count)
    case .fail(let number): throw Failure(FileError(number, "can't write the file", path: path))
    }
  }
}

/// Called before each read of a file, with its path and the number of requested bytes. `short` makes one read of
/// LevelDB's files return fewer bytes, as the system may, and the rest is read next; a ``File`` ignores it. For tests
/// only.
package typealias ReadHook = @Sendable (_ path: String, _ byteCount: Int) -> FileVerdict
