package import Foundation

/// Each function writes one object and returns its number, in time proportional to the bytes written.
extension BinaryPropertyListWriter {
  package mutating func bool(_ value: Bool) throws(ArchiveError) -> Int {
    let start = try begin(1)
    output.put(value ? 0x09 : 0x08)
    return try end(start)
  }

  package mutating func integer(_ value: Int64) throws(ArchiveError) -> Int {
    let start = try begin(9)
    output.putInteger(UInt64(bitPattern: value))
    return try end(start)
  }

  package mutating func unsigned(_ value: UInt64) throws(ArchiveError) -> Int {
    let start = try begin(17)
    if value > UInt64(Int64.max) {
      // Eight bytes would be read as a negative number.
      output.put(0x14)
      output.put(bigEndian: UInt64(0))
      output.put(bigEndian: value)
    } else {
      output.putInteger(value)
    }
    return try end(start)
  }

  package mutating func real(_ value: Double) throws(ArchiveError) -> Int {
    try number(0x23, value.bitPattern)
  }

  /// Writes a real number of 4 bytes, as `encodeFloat` does.
  package mutating func float(_ value: Float) throws(ArchiveError) -> Int {
    try number(0x22, value.bitPattern)
  }

  /// - Parameter seconds: the date as seconds since the start of 2001 in UTC.
  package mutating func date(_ seconds: Double) throws(ArchiveError) -> Int {
    try number(0x33, seconds.bitPattern)
  }

  package mutating func data(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) -> Int {
    let start = try begin(10)
    output.putMarker(0x40, count: bytes.count)
    unsafe try output.write(bytes)
    return try end(start)
  }

  package mutating func data(_ bytes: some ContiguousBytes) throws(ArchiveError) -> Int {
    // A `Result`, because `withUnsafeBytes` loses the type of a thrown error.
    var result: Result<Int, ArchiveError> = .success(0)
    unsafe bytes.withUnsafeBytes { pointer in
      result = Result { () throws(ArchiveError) in unsafe try data(pointer) }
    }
    return try result.get()
  }

  /// Writes a UID, by which a keyed archive refers to an object, in 1, 2 or 4 bytes.
  package mutating func uid(_ value: UInt32) throws(ArchiveError) -> Int {
    if let byte = UInt8(exactly: value) { return try number(0x80, byte) }
    if let short = UInt16(exactly: value) { return try number(0x81, short) }
    return try number(0x83, value)
  }

  @inline(__always)
  private mutating func number(
    _ marker: UInt8, _ value: some FixedWidthInteger & BitwiseCopyable
  ) throws(ArchiveError) -> Int {
    let start = try begin(9)
    output.put(marker)
    output.put(bigEndian: value)
    return try end(start)
  }

  /// - Parameter references: numbers of objects that were written before.
  package mutating func array(_ references: [Int]) throws(ArchiveError) -> Int {
    let start = try begin(10)
    output.putMarker(0xA0, count: references.count)
    try write(references)
    return try end(start)
  }

  /// - Parameters:
  ///   - keys: numbers of objects that were written before, in most cases strings.
  ///   - values: the numbers of the values' objects, one for each key, in the order of the keys.
  package mutating func dictionary(keys: [Int], values: [Int]) throws(ArchiveError) -> Int {
    guard keys.count == values.count else {
      throw ArchiveError(
        .unencodable, "a dictionary needs as many values as keys: it has \(keys.count) and \(values.count)")
    }
    let start = try begin(10)
    output.putMarker(0xD0, count: keys.count)
    try write(keys)
    try write(values)
    return try end(start)
  }

  private mutating func write(_ references: [Int]) throws(ArchiveError) {
    for number in references {
      guard 0..<objectCount ~= number else { throw danglingReference(number) }
      try output.makeRoom(4)
      putReference(number)
    }
  }
}
