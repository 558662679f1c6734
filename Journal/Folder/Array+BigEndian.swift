extension [UInt8] {
  /// Appends a number of a fixed width, most significant byte first: the form of such numbers on disk, and in messages
  /// to PostgreSQL.
  @inlinable package mutating func append<Number: FixedWidthInteger>(bigEndian number: Number) {
    for shift in stride(from: Number.bitWidth - 8, through: 0, by: -8) {
      append(UInt8(truncatingIfNeeded: number >> shift))
    }
  }
}
