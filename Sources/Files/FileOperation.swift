/// A change to the disk that is about to be made, for tests.
///
/// All writes report to the same hook, including those of LevelDB, so that a test sees all changes in order.
package struct FileOperation: Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    /// A file is created, or an existing one gets a second name.
    case create
    /// One system call that writes `bytes` at `offset`.
    case write
    /// The bytes of a file are flushed to the drive.
    case sync
    /// A file is renamed from `path` to `newPath`.
    case rename
    /// A file is unlinked.
    case remove
    /// A folder's names are flushed to the drive.
    case syncFolder
    /// A folder is created.
    case makeFolder
  }

  package var kind: Kind
  package var path: String
  /// For a rename: the new path.
  package var newPath: String?
  /// For a write: the offset in the file, in bytes.
  package var offset: UInt64
  /// For a write: a copy of the bytes to write.
  package var bytes: [UInt8]

  package init(
    _ kind: Kind, path: String, newPath: String? = nil, offset: UInt64 = 0, bytes: [UInt8] = []
  ) {
    self.kind = kind
    self.path = path
    self.newPath = newPath
    self.offset = offset
    self.bytes = bytes
  }
}

/// The decision of a hook about an operation.
package enum FileVerdict: Sendable, Equatable {
  /// Run the operation.
  case proceed
  /// Report this `errno` without running the operation.
  case fail(Int32)
  /// For a write: write only this many bytes. As after any short write, the rest is then a separate operation, which
  /// the hook can fail.
  case short(Int)
}

/// A closure that decides about each operation. It is called before the operation, on the same thread. For tests only.
package typealias FileHook = @Sendable (FileOperation) -> FileVerdict
