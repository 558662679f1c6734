/// The common format of records and changes: maps whose keys are small numbers, then texts.
///
/// All functions except ``check`` expect bytes that passed ``check``, or that this module encoded. In the latter, field
/// numbers may be too high, and values nested too deep. With other bytes, results are incomplete, but nothing outside
/// of the bytes is read.
enum FieldMap {
  static func check(_ bytes: [UInt8], allowingUndefined: Bool) throws(CBORError) {
    try unsafe bytes.withUnsafeBufferPointer { buffer throws(CBORError) in
      try unsafe check(UnsafeRawBufferPointer(buffer), allowingUndefined: allowingUndefined)
    }
  }

  private static func check(_ bytes: UnsafeRawBufferPointer, allowingUndefined: Bool) throws(CBORError) {
    var reader = unsafe CBORReader(bytes)
    let count = try reader.readMapHead()
    var previous = 0..<0
    var previousFirst = 0
    for index in 0..<count {
      let start = reader.offset
      // The first byte has the kind and the length of a key, so it usually decides the order.
      let first = Int(try reader.peek())
      // A key is a one-byte number or a text.
      if (24..<0x60).contains(first) { throw CBORError(.unexpectedItem, at: start) }
      try skipKey(&reader)
      if index > 0 {
        guard
          first > previousFirst
            || first == previousFirst && reader.isBefore(previous, start..<reader.offset)
        else { throw CBORError(.notDeterministic, at: start) }
      }
      previous = start..<reader.offset
      previousFirst = first
      try reader.skip(depth: 1, allowingUndefined: allowingUndefined)
    }
    try reader.expectEnd()
  }

  @inline(__always)
  static func skipKey(_ reader: inout CBORReader) throws(CBORError) {
    let first = try reader.peek()
    if first >> 5 == CBORMajor.unsigned.rawValue {
      _ = try reader.head()
    } else if !(0x60...0x77).contains(first) || !reader.skipShort() {
      try reader.skipValidText()
    }
  }

  static func value(forKey key: UnsafeRawBufferPointer, in bytes: UnsafeRawBufferPointer) -> FieldValue? {
    var reader = unsafe CBORReader(bytes)
    guard unsafe find(key, &reader) else { return nil }
    return try? reader.readValue()
  }

  /// Moves a reader from the start of a map to the value of an encoded key; false if the map lacks the key.
  @inline(__always)
  static func find(_ key: UnsafeRawBufferPointer, _ reader: inout CBORReader) -> Bool {
    do throws(CBORError) {
      for _ in 0..<(try reader.readMapHead()) {
        let start = reader.offset
        try reader.pass()
        let order = unsafe order(of: reader.passed(start..<reader.offset), to: key)
        if order >= 0 { return order == 0 }
        try reader.pass()
      }
    } catch {
      return false
    }
    return false
  }

  /// Compares two encoded keys. The first byte has the kind and the length of a key, so it usually decides.
  @inline(__always)
  private static func order(of left: UnsafeRawBufferPointer, to right: UnsafeRawBufferPointer) -> Int {
    for index in 0..<min(left.count, right.count) {
      let order = unsafe Int(left[index]) - Int(right[index])
      if order != 0 { return order }
    }
    return left.count - right.count
  }

  /// Calls `body` with each key and a reader at its value. `body` must read the value completely or not at all.
  @inline(__always)
  static func forEach(in bytes: UnsafeRawBufferPointer, _ body: (FieldKey, inout CBORReader) -> Void) {
    var reader = unsafe CBORReader(bytes)
    do throws(CBORError) {
      for _ in 0..<(try reader.readMapHead()) {
        let key: FieldKey
        if try reader.peek() >> 5 == CBORMajor.unsigned.rawValue {
          key = .field(UInt8(truncatingIfNeeded: try reader.readUnsigned()))
        } else {
          key = .attribute(try reader.readText())
        }
        let start = reader.offset
        body(key, &reader)
        if reader.offset == start { try reader.pass() }
      }
    } catch {
      return
    }
  }

  static func attributes(in bytes: UnsafeRawBufferPointer) -> [String: FieldValue] {
    var attributes: [String: FieldValue] = [:]
    unsafe attributes.reserveCapacity(FieldMapCursor(bytes).remaining)
    unsafe forEach(in: bytes) { key, reader in
      if case .attribute(let name) = key { attributes[name] = try? reader.readValue() }
    }
    return attributes
  }

  struct Field {
    var key: Range<Int>
    var value: Range<Int>
  }
}

/// Iterates over the fields of a map. Marked safe although it has a pointer: the bytes are borrowed while it is used.
@safe struct FieldMapCursor {
  private var reader: CBORReader
  private(set) var remaining: Int

  init(_ bytes: UnsafeRawBufferPointer) {
    reader = unsafe CBORReader(bytes)
    remaining = (try? reader.readMapHead()) ?? 0
  }

  @inline(__always)
  mutating func next() -> FieldMap.Field? {
    guard remaining > 0 else { return nil }
    remaining -= 1
    let start = reader.offset
    do throws(CBORError) {
      try reader.pass()
      let middle = reader.offset
      try reader.pass()
      return FieldMap.Field(key: start..<middle, value: middle..<reader.offset)
    } catch {
      remaining = 0
      return nil
    }
  }
}
