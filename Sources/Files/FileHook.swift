extension Optional where Wrapped == FileHook {
  func check<Failure: FileFailure>(
    _ kind: FileOperation.Kind, _ path: String, to newPath: String? = nil, _: Failure.Type
  ) throws(Failure) {
    if case .fail(let number)? = self?(FileOperation(kind, path: path, newPath: newPath)) {
      throw Failure(FileError(number, "can't \(kind)", path: path))
    }
  }

  /// Calls the hook, and returns the number of bytes to write at once.
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

/// A closure that is called before each read of a file, with its path and the number of requested bytes. The verdict
/// `short` makes one read of LevelDB's files return fewer bytes; a ``File`` ignores that verdict. For tests only.
package typealias ReadHook = @Sendable (_ path: String, _ byteCount: Int) -> FileVerdict
