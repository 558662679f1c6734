import CBOR

/// Iterates over the numbered fields at the start of a record. Each field is read or skipped once.
///
/// This type is marked safe although it has a pointer: a cursor is made only inside a closure that borrows the bytes,
/// and every read is checked against their end.
@safe struct FieldCursor {
  private let bytes: UnsafeRawBufferPointer
  private var reader: CBORReader
  /// How many pairs of a key and a value are left.
  private var left: Int

  init(_ bytes: UnsafeRawBufferPointer) throws(CBORError) {
    unsafe self.bytes = bytes
    reader = unsafe CBORReader(bytes)
    left = try reader.readMapHead()
  }

  /// Whether the next bytes are those of an encoded item.
  @inline(__always)
  func isAt(_ encoded: [UInt8]) -> Bool {
    guard unsafe encoded.count <= bytes.count - reader.offset else { return false }
    for index in encoded.indices where unsafe bytes[reader.offset + index] != encoded[index] { return false }
    return true
  }

  /// Skips the key of the next field if it is a given number, and returns whether it was.
  @inline(__always)
  mutating func find(_ number: UInt8) -> Bool {
    let offset = reader.offset
    // A field's number is below 24, so it takes one byte.
    guard left > 0, unsafe offset < bytes.count && bytes[offset] == number else { return false }
    reader = unsafe CBORReader(bytes, from: offset + 1)
    left -= 1
    return true
  }

  /// Skips the key of the next field. Fails unless it is a given number.
  mutating func require(_ number: UInt8) throws(CBORError) {
    if !find(number) { throw CBORError(.unexpectedItem, at: reader.offset) }
  }

  /// Skips the key of the next field and returns it, or nil if no field is left.
  mutating func nextField() throws(CBORError) -> UInt8? {
    let offset = reader.offset
    guard left > 0, unsafe offset < bytes.count && bytes[offset] < 24 else { return nil }
    left -= 1
    return UInt8(try reader.readUnsigned())
  }

  /// Skips a text and returns its range, including its head.
  mutating func skipText() throws(CBORError) -> Range<Int> {
    let start = reader.offset
    try reader.skipText()
    return start..<reader.offset
  }

  mutating func readCount() throws(CBORError) -> Int { try reader.readCount() }

  mutating func readNumber() throws(CBORError) -> Int {
    let start = reader.offset
    let number = try reader.readCount()
    if number == 0 { throw CBORError(.unexpectedItem, at: start) }
    return number
  }

  mutating func readColor() throws(CBORError) -> Catalog.Color {
    try reader.expectArray(count: 4)
    let red = try reader.readDouble()
    let green = try reader.readDouble()
    let blue = try reader.readDouble()
    return Catalog.Color(red: red, green: green, blue: blue, alpha: try reader.readDouble())
  }

  mutating func readDigest() throws(CBORError) -> ContentDigest {
    let start = reader.offset
    guard let digest = unsafe ContentDigest(bytes: try reader.readBytes()) else {
      throw CBORError(.unexpectedItem, at: start)
    }
    return digest
  }

  mutating func readValue() throws(CBORError) -> FieldValue { try reader.readValue() }
}
