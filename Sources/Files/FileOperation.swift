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
    /// `path` becomes `newPath`.
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
  /// For a rename: the name afterwards.
  package var newPath: String?
  /// For a write: where in the file, in bytes.
  package var offset: UInt64
  /// For a write: a copy of what is written.
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

/// What a hook wants to happen with an operation.
package enum FileVerdict: Sendable, Equatable {
  /// Do it.
  case proceed
  /// Don't do it, and report this `errno`.
  case fail(Int32)
  /// For a write: write only this many bytes. As after any short write, the rest is then a separate operation, which
  /// the hook can fail.
  case short(Int)
}

/// Called before each operation, on the thread that makes it, and decides about it. For tests only.
package typealias FileHook = @Sendable (FileOperation) -> FileVerdict
