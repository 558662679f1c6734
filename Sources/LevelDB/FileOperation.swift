internal import CLevelDB

/// One change to the disk that is about to be made, as a test sees it.
///
/// LevelDB's files report themselves through `Database`; what the journal writes on its own (its marker,
/// snapshots, blobs) reports to the same hook, so that a test sees all changes in their order.
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

/// Gives a hook an address that C can hold. It must live as long as the database that calls it.
final class FileHookBox: Sendable {
  private let hook: FileHook

  init(_ hook: @escaping FileHook) { self.hook = hook }

  /// The address to be given to C, together with `call`.
  var context: UnsafeMutableRawPointer { unsafe Unmanaged.passUnretained(self).toOpaque() }

  /// What C calls: turns the operation into Swift's, and the verdict back.
  static let call: cldb_hook = { context, operation, byteCount in
    guard let context = unsafe context else { return 0 }
    let box = unsafe Unmanaged<FileHookBox>.fromOpaque(context).takeUnretainedValue()
    switch unsafe box.hook(FileOperation(operation.pointee)) {
    case .proceed: return 0
    case .fail(let error): return error
    case .short(let count):
      unsafe byteCount.pointee = max(0, count)
      return 0
    }
  }
}

extension FileOperation {
  fileprivate init(_ operation: cldb_operation) {
    let bytes = unsafe UnsafeRawBufferPointer(start: operation.bytes, count: operation.byte_count)
    unsafe self.init(
      Kind(operation.kind), path: String(cString: operation.path),
      newPath: operation.new_path.map { unsafe String(cString: $0) },
      offset: operation.offset, bytes: Array(bytes))
  }
}

extension FileOperation.Kind {
  fileprivate init(_ kind: cldb_operation_kind) {
    switch kind {
    case CLDB_CREATE: self = .create
    case CLDB_WRITE: self = .write
    case CLDB_SYNC: self = .sync
    case CLDB_RENAME: self = .rename
    case CLDB_REMOVE: self = .remove
    case CLDB_SYNC_FOLDER: self = .syncFolder
    case CLDB_MAKE_FOLDER: self = .makeFolder
    default: preconditionFailure("an operation that this module doesn't know")
    }
  }
}
