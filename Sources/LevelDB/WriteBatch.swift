internal import CLevelDB

/// Keys and values that are stored atomically.
///
/// A batch is meant to be reused: `clear()` keeps its memory.
@safe
package struct WriteBatch: ~Copyable {
  let handle: OpaquePointer

  /// An empty batch.
  package init() {
    guard let handle = unsafe cldb_batch_new() else { fatalError("no memory is left for a batch") }
    unsafe self.handle = unsafe handle
  }

  deinit { unsafe cldb_batch_free(handle) }

  /// The size of the write, in bytes.
  package var byteCount: Int { unsafe cldb_batch_size(handle) }

  /// Adds an entry, copying both into the batch.
  ///
  /// - Complexity: O(*n*) in the bytes of key and value.
  package mutating func put(_ key: RawSpan, _ value: RawSpan) {
    let stored = unsafe key.withUnsafeBytes { key in
      unsafe value.withUnsafeBytes { value in
        unsafe cldb_batch_put(handle, key.baseAddress, key.count, value.baseAddress, value.count)
      }
    }
    guard stored else { fatalError("no memory is left for a batch of \(byteCount) bytes") }
  }

  /// Adds an entry, copying both into the batch.
  ///
  /// - Complexity: O(*n*) in the bytes of key and value.
  package mutating func put(_ key: [UInt8], _ value: [UInt8]) {
    unsafe put(key.span.bytes, value.span.bytes)
  }

  /// Removes all entries and keeps the memory for the next ones.
  package mutating func clear() { unsafe cldb_batch_clear(handle) }
}

// The batch has one owner at a time, because it can't be copied, and everything that changes its memory, including
// writing it, requires exclusive access.
extension WriteBatch: @unchecked Sendable {}
