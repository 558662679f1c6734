/// The base-128 form of numbers. Each byte has seven bits of a number, the lowest bits first. Its high bit is set unless
/// it is the last byte of the number.
package enum Varints {
  /// Calls `put` with each byte of a number: at most 10.
  @inline(__always)
  package static func write(_ number: UInt64, _ put: (UInt8) -> Void) {
    var rest = number
    while rest >= 0x80 {
      put(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    put(UInt8(truncatingIfNeeded: rest))
  }

  /// Calls `body` with each number.
  /// - Returns: false if the bytes end within a number, or a number needs more than 64 bits.
  /// - Complexity: O(n) in the byte count.
  package static func read<Failure: Error>(
    _ bytes: UnsafeRawBufferPointer, _ body: (UInt64) throws(Failure) -> Void
  ) throws(Failure) -> Bool {
    var place = 0
    while place < bytes.count {
      guard let number = unsafe next(in: bytes, at: &place) else { return false }
      try body(number)
    }
    return true
  }

  /// The number at a place, which becomes the place after the number; nil if the bytes end within the number, or it
  /// needs more than 64 bits.
  @inline(__always)
  package static func next(in bytes: UnsafeRawBufferPointer, at place: inout Int) -> UInt64? {
    var number: UInt64 = 0
    var shift: UInt64 = 0
    while place < bytes.count {
      let byte = unsafe bytes[place]
      let bits = UInt64(byte & 0x7F)
      guard shift < 64, (bits << shift) >> shift == bits else { return nil }
      place += 1
      number |= bits << shift
      if byte & 0x80 == 0 { return number }
      shift += 7
    }
    return nil
  }
}
