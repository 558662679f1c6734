import Files

/// Random bytes from the operating system, fetched in large pieces: fetching one salt costs as much as hashing it.
///
/// Each byte is used once and then overwritten, so that memory does not retain the salt of an erased part.
struct RandomBytes: Sendable {
  private static let fetchedByteCount = 4096

  private var bytes = [UInt8](repeating: 0, count: RandomBytes.fetchedByteCount)
  private var taken = RandomBytes.fetchedByteCount

  /// Lends up to 4,096 fresh bytes to `body`.
  mutating func take(_ count: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
    precondition(count <= Self.fetchedByteCount)
    if taken + count > Self.fetchedByteCount {
      unsafe bytes.withUnsafeMutableBytes { unsafe System.fillWithRandomBytes($0) }
      taken = 0
    }
    let start = taken
    taken += count
    unsafe bytes.withUnsafeMutableBytes { bytes in
      let lent = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[start..<start + count])
      unsafe body(UnsafeRawBufferPointer(lent))
      unsafe lent.initializeMemory(as: UInt8.self, repeating: 0)
    }
  }
}
