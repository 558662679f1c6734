import Dispatch

/// A SHA-256 that is computed on another thread while its bytes are being written.
///
/// `@unchecked Sendable`: `hash` is touched by one thread at a time, as ``start(_:beside:)`` is followed by
/// ``wait()`` before anything else.
final class BlobHash: @unchecked Sendable {
  private var hash = SHA256Hash()
  private let queue = DispatchQueue(label: "journal.hash", qos: .userInitiated)
  private let pending = DispatchGroup()

  /// Hashes bytes that stay valid until ``wait()`` returns.
  func start(_ bytes: UnsafeRawBufferPointer, beside: Bool) {
    guard beside else {
      unsafe hash.update(bytes)
      return
    }
    // A pointer can't be sent to another thread as it is; what makes it safe is the wait.
    let address = UInt(bitPattern: bytes.baseAddress)
    let count = bytes.count
    queue.async(group: pending) { [self] in
      unsafe hash.update(UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: address), count: count))
    }
  }

  func wait() { pending.wait() }

  /// The digest of all bytes so far; the hash starts anew.
  func finish() -> Digest {
    var finished = SHA256Hash()
    swap(&hash, &finished)
    return finished.finish()
  }
}
