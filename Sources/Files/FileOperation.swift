/// One change to the disk that is about to be made, as a test sees it.
///
/// All that is written reports to the same hook, LevelDB's files too, so that a test sees all changes in their order.
package struct FileOperation: Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    /// A file is made, or emptied if it is there.
    case create
    /// One system call that writes `bytes` at `offset`.
    case write
    /// The bytes of a file are flushed to the drive.
    case sync
    /// `path` becomes `newPath`.
    case rename
    /// A file is unlinked.
    case remove
    /// A file is cut to `offset` bytes.
    case truncate
    /// A folder's names are flushed to the drive.
    case syncFolder
    /// A folder is made.
    case makeFolder
  }

  package var kind: Kind
  package var path: String
  /// For a rename: the name afterwards.
  package var newPath: String?
  /// For a write: where in the file, in bytes. For a truncation: the length that stays.
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
  /// For a write: put only so many bytes into the file, fewer than asked for. As after any short write, the
  /// rest is then tried as an operation of its own, which the hook can fail.
  case short(Int)
}

/// Sees each operation before it is made, on whichever thread makes it, and decides. For tests only.
package typealias FileHook = @Sendable (FileOperation) -> FileVerdict
