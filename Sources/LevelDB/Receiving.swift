package import CLevelDB
import Files

/// Holds the hooks of a test at an address that C can pass on. Must outlive the database that calls the hooks.
final class HookBox: Sendable {
  private let hook: FileHook?
  private let readHook: ReadHook?

  init(_ hook: FileHook?, _ readHook: ReadHook?) {
    self.hook = hook
    self.readHook = readHook
  }

  var context: UnsafeMutableRawPointer { unsafe Unmanaged.passUnretained(self).toOpaque() }

  static let call: cldb_hook = { context, operation, byteCount in
    guard let context = unsafe context else { return 0 }
    let box = unsafe Unmanaged<HookBox>.fromOpaque(context).takeUnretainedValue()
    let operation = unsafe operation.pointee
    let verdict =
      if unsafe operation.kind == CLDB_READ {
        unsafe box.readHook?(String(cString: operation.path), operation.byte_count)
      } else {
        unsafe box.hook?(FileOperation(operation))
      }
    switch verdict {
    case .proceed, nil: return 0
    case .fail(let error): return error
    case .short(let count):
      unsafe byteCount.pointee = max(operation.kind == CLDB_READ ? 1 : 0, count)
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
    default: preconditionFailure("an operation that this module doesn't know")
    }
  }
}

package typealias EntryReceiver =
  (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> cldb_answer

/// Calls a C function. If it returns false, throws the error in its status.
package func call(
  path: String, _ body: (_ status: UnsafeMutablePointer<cldb_status>) -> Bool
) throws(DatabaseError) {
  var status = cldb_status()
  guard unsafe body(&status) else { throw DatabaseError(status, path: path) }
}

/// Calls a C function that passes entries to a receiver. If it returns false, throws the error in its status.
package func call(
  path: String,
  _ body: (cldb_receiver, UnsafeMutableRawPointer, UnsafeMutablePointer<cldb_status>) -> Bool,
  receiver: EntryReceiver
) throws(DatabaseError) {
  var status = cldb_status()
  let isDone = unsafe withoutActuallyEscaping(receiver) { receiver in
    var receiver = unsafe receiver
    return unsafe withUnsafeMutablePointer(to: &receiver) { context in
      unsafe body(
        { context, entry in
          let receiver = unsafe context.assumingMemoryBound(to: EntryReceiver.self).pointee
          let entry = unsafe entry.pointee
          return unsafe receiver(
            UnsafeRawBufferPointer(start: entry.key, count: entry.key_size),
            UnsafeRawBufferPointer(start: entry.value, count: entry.value_size))
        }, context, &status)
    }
  }
  guard isDone else { throw DatabaseError(status, path: path) }
}
