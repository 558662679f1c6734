internal import CLevelDB
import Files

/// Gives a hook an address for C. It must live as long as the database that calls it.
final class FileHookBox: Sendable {
  private let hook: FileHook

  init(_ hook: @escaping FileHook) { self.hook = hook }

  /// The address for C, together with `call`.
  var context: UnsafeMutableRawPointer { unsafe Unmanaged.passUnretained(self).toOpaque() }

  /// Called by C: converts the operation to Swift, and the verdict back.
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

/// The same for reads.
final class ReadHookBox: Sendable {
  private let hook: ReadHook

  init(_ hook: @escaping ReadHook) { self.hook = hook }

  var context: UnsafeMutableRawPointer { unsafe Unmanaged.passUnretained(self).toOpaque() }

  static let call: cldb_read_hook = { context, path, byteCount in
    guard let context = unsafe context else { return 0 }
    let box = unsafe Unmanaged<ReadHookBox>.fromOpaque(context).takeUnretainedValue()
    switch unsafe box.hook(String(cString: path), byteCount.pointee) {
    case .proceed: return 0
    case .fail(let error): return error
    case .short(let count):
      unsafe byteCount.pointee = max(1, count)
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
