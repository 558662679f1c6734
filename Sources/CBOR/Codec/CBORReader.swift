import Foundation

/// The kind of an item, in the three high bits of its first byte.
@usableFromInline enum CBORMajor: UInt8 {
  case unsigned = 0
  case negative = 1
  case bytes = 2
  case text = 3
  case array = 4
  case map = 5
  case tag = 6
  case simple = 7
}

/// First bytes of simple values, each a whole item, and of floating-point numbers, whose bits follow.
enum CBORByte {
  static let `false`: UInt8 = 0xF4
  static let `true`: UInt8 = 0xF5
  static let null: UInt8 = 0xF6
  static let undefined: UInt8 = 0xF7
  static let half: UInt8 = 0xF9
  static let single: UInt8 = 0xFA
  static let double: UInt8 = 0xFB
}

enum CBORTag {
  /// The tag of a date, which is stored as Foundation represents it: as seconds since 2001-01-01T00:00:00Z. The
  /// standard tag 1 counts from 1970, and converting a date would lose bits of its fraction.
  static let foundationDate: UInt64 = 2001
}

extension CBORReader {
  @inlinable @inline(__always)
  package func isTagged() throws(CBORError) -> Bool { try peek() >> 5 == CBORMajor.tag.rawValue }

  package mutating func expectTag(_ tag: UInt64) throws(CBORError) {
    let start = offset
    guard try argument(.tag) == tag else { throw CBORError(.unsupported, at: start) }
  }
}

/// Reads deterministic CBOR from borrowed bytes.
///
/// Marked safe although it has a pointer: a reader is only made inside a closure that borrows the bytes, and
/// each read first checks that the bytes exist. A read that fails throws ``CBORError``, which has the offset
/// of the error; the reader's own offset is then unspecified.
@safe package struct CBORReader {
  @usableFromInline let base: UnsafeRawPointer
  @usableFromInline let end: Int
  /// The position of the next item, in bytes from the start of the input.
  @usableFromInline package internal(set) var offset: Int

  /// - Parameter bytes: must stay valid and unchanged for as long as the reader is used.
  package init(_ bytes: UnsafeRawBufferPointer) {
    unsafe base = unsafe bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1)!
    end = bytes.count
    offset = 0
  }

  package init(_ bytes: UnsafeRawBufferPointer, from start: Int) {
    unsafe self.init(bytes)
    offset = min(max(start, 0), bytes.count)
  }

  /// Returns the bytes of a range that this reader has already passed.
  package func passed(_ range: Range<Int>) -> UnsafeRawBufferPointer {
    precondition(range.lowerBound >= 0 && range.upperBound <= offset)
    return unsafe UnsafeRawBufferPointer(start: base + range.lowerBound, count: range.count)
  }

  package func expectEnd() throws(CBORError) {
    if offset != end { throw CBORError(.trailingBytes, at: offset) }
  }

  /// Returns the first byte of the next item, without skipping it.
  @inlinable @inline(__always)
  func peek() throws(CBORError) -> UInt8 {
    guard offset < end else { throw CBORError(.truncated, at: offset) }
    return unsafe base.load(fromByteOffset: offset, as: UInt8.self)
  }

  /// Reads the head of the next item, which must be in its shortest form: the major type and the argument.
  @inlinable @inline(__always)
  mutating func head() throws(CBORError) -> (major: UInt8, argument: UInt64) {
    let first = try peek()
    let low = first & 0x1F
    if low < 24 {
      offset += 1
      return (first >> 5, UInt64(low))
    }
    return (first >> 5, try longArgument(low))
  }

  @usableFromInline
  mutating func longArgument(_ low: UInt8) throws(CBORError) -> UInt64 {
    guard low < 28 else { throw CBORError(.unsupported, at: offset) }
    let width = 1 << Int(low - 24)
    guard end - offset > width else { throw CBORError(.truncated, at: offset) }
    let argument = bigEndian(at: offset + 1, width: width)
    let least: UInt64 = low == 24 ? 24 : 1 << (UInt64(width) * 4)
    guard argument >= least else { throw CBORError(.notDeterministic, at: offset) }
    offset += 1 + width
    return argument
  }

  /// Reads a big-endian number. The caller must have checked that the bytes exist.
  @inline(__always)
  private func bigEndian(at offset: Int, width: Int) -> UInt64 {
    switch width {
    case 1: UInt64(unsafe base.load(fromByteOffset: offset, as: UInt8.self))
    case 2: UInt64(unsafe UInt16(bigEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt16.self)))
    case 4: UInt64(unsafe UInt32(bigEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
    default: unsafe UInt64(bigEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
  }

  @inlinable @inline(__always)
  mutating func argument(_ major: CBORMajor) throws(CBORError) -> UInt64 {
    let start = offset
    let head = try head()
    guard head.major == major.rawValue else {
      offset = start
      throw CBORError(.unexpectedItem, at: start)
    }
    return head.argument
  }

  /// Reads the number of bytes or elements of an item. Fails if the input is too short for `width` bytes for each.
  @inlinable @inline(__always)
  mutating func count(_ major: CBORMajor, width: UInt64) throws(CBORError) -> Int {
    let start = offset
    let count = try argument(major)
    guard count <= UInt64(end - offset) / width else { throw CBORError(.truncated, at: start) }
    return Int(count)
  }

  @inlinable @inline(__always)
  package mutating func readUnsigned() throws(CBORError) -> UInt64 { try argument(.unsigned) }

  /// Reads an unsigned integer, which must fit `Int`.
  @inlinable @inline(__always)
  package mutating func readCount() throws(CBORError) -> Int {
    let start = offset
    guard let count = Int(exactly: try argument(.unsigned)) else { throw CBORError(.unsupported, at: start) }
    return count
  }

  package mutating func readInteger() throws(CBORError) -> Int64 {
    let start = offset
    let head = try head()
    guard head.argument <= UInt64(Int64.max) else { throw CBORError(.unsupported, at: start) }
    switch head.major {
    case CBORMajor.unsigned.rawValue: return Int64(head.argument)
    case CBORMajor.negative.rawValue: return ~Int64(head.argument)
    default: throw CBORError(.unexpectedItem, at: start)
    }
  }

  @inlinable @inline(__always)
  package mutating func readArrayHead() throws(CBORError) -> Int { try count(.array, width: 1) }
  @inlinable @inline(__always)
  package mutating func readMapHead() throws(CBORError) -> Int { try count(.map, width: 2) }

  @inlinable @inline(__always)
  package mutating func expectArray(count: Int) throws(CBORError) {
    let start = offset
    guard try readArrayHead() == count else { throw CBORError(.unexpectedItem, at: start) }
  }

  /// Reads the head of a byte string and returns the length. The input may end before the content does.
  package mutating func readBytesHead() throws(CBORError) -> Int {
    let start = offset
    guard let count = Int(exactly: try argument(.bytes)) else { throw CBORError(.unsupported, at: start) }
    return count
  }

  /// Reads a byte string. The result is valid as long as the bytes of this reader.
  @inlinable
  package mutating func readBytes() throws(CBORError) -> UnsafeRawBufferPointer {
    let count = try count(.bytes, width: 1)
    defer { offset += count }
    return unsafe UnsafeRawBufferPointer(start: base + offset, count: count)
  }

  package mutating func readText() throws(CBORError) -> String {
    let start = offset
    let count = try count(.text, width: 1)
    let utf8 = unsafe UnsafeBufferPointer(
      start: (base + offset).assumingMemoryBound(to: UInt8.self), count: count)
    guard isASCII(at: offset, count: count) else {
      guard let text = unsafe String(validating: utf8, as: UTF8.self) else {
        throw CBORError(.invalidText, at: start)
      }
      offset += count
      return text
    }
    // ASCII needs no validation. The validating initializer is generic and takes several times as long.
    offset += count
    return unsafe String(decoding: utf8, as: UTF8.self)
  }

  /// Reads a text as UTF-8, which is not checked. The result is valid as long as the bytes of this reader.
  @inlinable
  package mutating func readTextBytes() throws(CBORError) -> UnsafeRawBufferPointer {
    let count = try count(.text, width: 1)
    defer { offset += count }
    return unsafe UnsafeRawBufferPointer(start: base + offset, count: count)
  }

  /// Skips a text without making a string, and without checking its bytes.
  @inlinable
  package mutating func skipText() throws(CBORError) { offset += try count(.text, width: 1) }

  /// Skips one item of any kind. Fails unless it is deterministic CBOR that `FieldValue` can represent.
  package mutating func skip() throws(CBORError) { try skip(depth: 0, allowingUndefined: false) }

  mutating func skip(depth: Int, allowingUndefined: Bool) throws(CBORError) {
    if skipShort() { return }
    let start = offset
    let first = try peek()
    switch first >> 5 {
    case CBORMajor.unsigned.rawValue, CBORMajor.negative.rawValue:
      let head = try head()
      guard head.major == 0 || head.argument <= UInt64(Int64.max) else {
        throw CBORError(.unsupported, at: start)
      }
    case CBORMajor.bytes.rawValue: offset += try count(.bytes, width: 1)
    case CBORMajor.text.rawValue: try skipValidText()
    case CBORMajor.array.rawValue:
      guard depth < CBORLimits.depth else { throw CBORError(.tooDeep, at: start) }
      for _ in 0..<(try readArrayHead()) { try skip(depth: depth + 1, allowingUndefined: false) }
    case CBORMajor.map.rawValue:
      guard depth < CBORLimits.depth else { throw CBORError(.tooDeep, at: start) }
      try skipTextMap(depth: depth + 1)
    case CBORMajor.tag.rawValue:
      guard try head().argument == CBORTag.foundationDate else { throw CBORError(.unsupported, at: start) }
      _ = try readDouble()
    default:
      switch first {
      case CBORByte.false, CBORByte.true, CBORByte.null: offset += 1
      case CBORByte.undefined where allowingUndefined: offset += 1
      case CBORByte.half, CBORByte.single, CBORByte.double: _ = try readDouble()
      default: throw CBORError(.unsupported, at: start)
      }
    }
  }

  /// Skips one item whose bytes were checked before. Only the end of the input is checked again.
  @inline(__always)
  mutating func pass() throws(CBORError) {
    if offset < end {
      let first = unsafe base.load(fromByteOffset: offset, as: UInt8.self)
      // Most items of a record are small integers, short texts and constants.
      switch first {
      case 0x00...0x17, 0x20...0x37, CBORByte.false...CBORByte.undefined:
        offset += 1
        return
      case 0x60...0x77 where end - offset > Int(first & 0x1F):
        offset += 1 + Int(first & 0x1F)
        return
      default: break
      }
    }
    try passLong()
  }

  private mutating func passLong() throws(CBORError) {
    var remaining = 1
    while remaining > 0 {
      remaining -= 1
      let start = offset
      let first = try peek()
      switch first >> 5 {
      case CBORMajor.bytes.rawValue: offset += try count(.bytes, width: 1)
      case CBORMajor.text.rawValue: offset += try count(.text, width: 1)
      case CBORMajor.array.rawValue: remaining += try readArrayHead()
      case CBORMajor.map.rawValue: remaining += 2 * (try readMapHead())
      default:
        // A number, or a tag, which is followed by an item. From 24 on, the low bits say how many bytes follow.
        let low = first & 0x1F
        let width = (24...27).contains(low) ? 1 << Int(low - 24) : 0
        guard end - start > width else { throw CBORError(.truncated, at: start) }
        offset += 1 + width
        if first >> 5 == CBORMajor.tag.rawValue { remaining += 1 }
      }
    }
  }

  /// Skips a small integer, a short ASCII text or a constant, which are the most common items. If the next item is of
  /// another kind, returns false and skips nothing.
  @inline(__always)
  mutating func skipShort() -> Bool {
    guard offset < end else { return false }
    let first = unsafe base.load(fromByteOffset: offset, as: UInt8.self)
    switch first {
    case 0x00...0x17, 0x20...0x37, CBORByte.false, CBORByte.true, CBORByte.null:
      offset += 1
      return true
    case 0x60...0x77:
      let count = Int(first & 0x1F)
      guard isShortASCII(at: offset + 1, count: count) else { return false }
      offset += 1 + count
      return true
    default: return false
    }
  }

  /// Whether `count` bytes, at most 23, are all ASCII. Also false if fewer than 24 bytes remain, because whole words
  /// are loaded.
  @inline(__always)
  private func isShortASCII(at start: Int, count: Int) -> Bool {
    guard end - start >= 24 else { return false }
    let high: UInt64 = 0x8080_8080_8080_8080
    var rest = count
    var place = start
    while rest >= 8 {
      if unsafe base.loadUnaligned(fromByteOffset: place, as: UInt64.self) & high != 0 { return false }
      place += 8
      rest -= 8
    }
    let word = unsafe UInt64(littleEndian: base.loadUnaligned(fromByteOffset: place, as: UInt64.self))
    return word & high & ((1 << UInt64(rest * 8)) - 1) == 0
  }

  private mutating func skipTextMap(depth: Int) throws(CBORError) {
    let count = try readMapHead()
    var previous = 0..<0
    for index in 0..<count {
      let start = offset
      try skipValidText()
      if index > 0, !isBefore(previous, start..<offset) { throw CBORError(.notDeterministic, at: start) }
      previous = start..<offset
      try skip(depth: depth, allowingUndefined: false)
    }
  }

  mutating func skipValidText() throws(CBORError) {
    let start = offset
    let count = try count(.text, width: 1)
    if !isASCII(at: offset, count: count) {
      let utf8 = unsafe UnsafeBufferPointer(
        start: (base + offset).assumingMemoryBound(to: UInt8.self), count: count)
      guard unsafe String(validating: utf8, as: UTF8.self) != nil else {
        throw CBORError(.invalidText, at: start)
      }
    }
    offset += count
  }

  @inline(__always)
  private func isASCII(at start: Int, count: Int) -> Bool {
    unsafe CBOR.isASCII(UnsafeRawBufferPointer(start: base + start, count: count))
  }

  /// Whether one encoded key comes before another.
  @inline(__always)
  func isBefore(_ left: Range<Int>, _ right: Range<Int>) -> Bool {
    unsafe CBOR.isBefore(
      UnsafeRawBufferPointer(start: base + left.lowerBound, count: left.count),
      UnsafeRawBufferPointer(start: base + right.lowerBound, count: right.count))
  }

  package mutating func readDouble() throws(CBORError) -> Double {
    let start = offset
    let first = try peek()
    let width: Int
    switch first {
    case CBORByte.half: width = 2
    case CBORByte.single: width = 4
    case CBORByte.double: width = 8
    default: throw CBORError(.unexpectedItem, at: start)
    }
    guard end - offset > width else { throw CBORError(.truncated, at: start) }
    let bits = bigEndian(at: offset + 1, width: width)
    let double: Double
    let shortest: Bool
    switch width {
    case 2:
      double = CBORFloat.double(half: UInt16(bits))
      shortest = !double.isNaN || bits == 0x7E00
    case 4:
      double = Double(Float(bitPattern: UInt32(bits)))
      if case .single = CBORFloat(double) { shortest = true } else { shortest = false }
    default:
      double = Double(bitPattern: bits)
      if case .double = CBORFloat(double) { shortest = true } else { shortest = false }
    }
    guard shortest else { throw CBORError(.notDeterministic, at: start) }
    offset += 1 + width
    return double
  }

  package mutating func readValue() throws(CBORError) -> FieldValue { try readValue(depth: 0) }

  func isUndefined() throws(CBORError) -> Bool { try peek() == CBORByte.undefined }

  private mutating func readValue(depth: Int) throws(CBORError) -> FieldValue {
    let start = offset
    switch try kind() {
    case .unsigned:
      let unsigned = try readUnsigned()
      return Int64(exactly: unsigned).map { .integer($0) } ?? .unsigned(unsigned)
    case .negative: return .integer(try readInteger())
    case .bytes: return .data(unsafe Data(try readBytes()))
    case .text: return .string(try readText())
    case .array:
      guard depth < CBORLimits.depth else { throw CBORError(.tooDeep, at: start) }
      var elements: [FieldValue] = []
      for _ in 0..<(try readArrayHead()) { elements.append(try readValue(depth: depth + 1)) }
      return .array(elements)
    case .map:
      guard depth < CBORLimits.depth else { throw CBORError(.tooDeep, at: start) }
      var dictionary: [String: FieldValue] = [:]
      for _ in 0..<(try readMapHead()) {
        let key = try readText()
        dictionary[key] = try readValue(depth: depth + 1)
      }
      return .dictionary(dictionary)
    case .date: return .date(Date(timeIntervalSinceReferenceDate: try readDate()))
    case .bool: return .bool(try readBool())
    case .null:
      try readNull()
      return .null
    case .double: return .double(try readDouble())
    }
  }
}

/// Compares bytes lexicographically. The result is negative, zero or positive, as with `memcmp`.
@inline(__always)
func compareBytes(_ left: UnsafeRawPointer, _ leftCount: Int, _ right: UnsafeRawPointer, _ rightCount: Int)
  -> Int
{
  let order = unsafe memcmp(left, right, min(leftCount, rightCount))
  return order != 0 ? Int(order) : leftCount - rightCount
}

/// Whether one encoded key comes before another. Most keys differ in their first bytes, and comparing these in a loop
/// is faster than a call of `memcmp`.
@inline(__always)
func isBefore(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
  for index in 0..<min(left.count, right.count) {
    let (first, second) = unsafe (left[index], right[index])
    if first != second { return first < second }
  }
  return left.count < right.count
}

/// Whether all bytes are ASCII. Reads eight bytes at a time.
func isASCII(_ bytes: UnsafeRawBufferPointer) -> Bool {
  var seen: UInt64 = 0
  var index = 0
  while bytes.count - index >= 8 {
    seen |= unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
    index += 8
  }
  if bytes.count >= 8 {
    // The last eight bytes may overlap the words that were read before.
    seen |= unsafe bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self)
  } else {
    while index < bytes.count {
      seen |= unsafe UInt64(bytes[index])
      index += 1
    }
  }
  return seen & 0x8080_8080_8080_8080 == 0
}
