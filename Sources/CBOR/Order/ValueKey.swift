import Foundation

/// The sort key of a value in the order of indexes and queries.
///
/// The order, from first to last:
///
/// 1. missing and null, which are equal;
/// 2. false, then true;
/// 3. numbers by value, whatever their type: `.integer(1)` and `.double(1)` are equal; NaN is last;
/// 4. dates, the earliest first;
/// 5. texts by their UTF-8 bytes, which is the order of their Unicode scalars, independent of languages;
/// 6. data by their bytes;
/// 7. arrays and dictionaries, all of which are equal.
///
/// The order is independent of locales and versions of Unicode. Two keys are compared by their heads, as 128-bit
/// numbers, and then by their tails.
package struct ValueKey: Comparable, Hashable, Sendable {
  enum Class: UInt8 {
    case missing, bool, number, date, text, data, composite
  }

  /// The class in the first byte, 14 bytes of content, and the length of the content (15 for more than 14).
  private let head: UInt128
  /// The content beyond 14 bytes, or the digits of a number that is neither a double nor a 64-bit integer.
  private let tail: [UInt8]?

  private static let headByteCount = 14

  private init(unchecked head: UInt128, tail: [UInt8]? = nil) {
    self.head = head
    self.tail = tail
  }

  private init(_ class: Class, _ content: UInt128 = 0) {
    self.init(unchecked: UInt128(`class`.rawValue) << 120 | content)
  }

  @inline(__always)
  package static func < (left: ValueKey, right: ValueKey) -> Bool {
    if left.head != right.head { return left.head < right.head }
    guard let rightTail = right.tail else { return false }
    return left.tail?.lexicographicallyPrecedes(rightTail) ?? true
  }

  /// Makes a key from its ``parts``; nil if no key has such parts.
  package init?(head: UInt128, tail: [UInt8]?) {
    let isLong = UInt8(truncatingIfNeeded: head) > Self.headByteCount
    self.init(unchecked: head, tail: tail)
    guard let known = Class(rawValue: rank) else { return nil }
    let hasBytes = known == .text || known == .data
    guard known == .number || (tail != nil) == (hasBytes && isLong), tail?.isEmpty != true else { return nil }
  }

  /// The head, by which keys are compared first, and the tail, which only long texts, data and numbers have.
  package var parts: (head: UInt128, tail: [UInt8]?) { (head, tail) }

  package static let missing = ValueKey(.missing)
  package var isMissing: Bool { head == 0 }
  /// A sentinel: no value or element has this key.
  package static let greatest = ValueKey(unchecked: .max, tail: nil)
  package static let composite = ValueKey(.composite)

  /// Makes the key of a value; nil stands for a missing value.
  package init(_ value: FieldValue?) {
    switch value {
    case nil, .null: self = .missing
    case .bool(let bool): self.init(.bool, bool ? 1 : 0)
    case .integer(let number): self.init(number)
    case .unsigned(let number): self.init(number)
    case .double(let number): self.init(.number, Self.content(number))
    case .date(let date): self.init(.date, Self.content(date.timeIntervalSinceReferenceDate))
    case .string(var text):
      self = text.withUTF8 { unsafe ValueKey(.text, UnsafeRawBufferPointer($0)) }
    case .data(let data):
      self = unsafe Array(data).withUnsafeBytes { unsafe ValueKey(.data, $0) }
    case .dictionary(let members):
      self = ExactNumber(.dictionary(members)).map { ValueKey($0) } ?? .composite
    case .array: self = .composite
    }
  }

  /// Makes the key of a decimal number. The head is that of the largest double or 64-bit integer that is not above the
  /// number. The tail has the number's digits, unless the head is exact.
  private init(_ number: ExactNumber) {
    let floor = number.floor
    if (0x1p53..<0x1p64).contains(floor.magnitude), let whole = number.wholeFloor {
      self.init(unchecked: ValueKey(whole.value).head, tail: whole.isExact ? nil : number.orderedBytes)
    } else {
      let head = ValueKey(.number, Self.content(floor)).head
      self.init(unchecked: head, tail: ExactNumber(floor) == number ? nil : number.orderedBytes)
    }
  }

  /// Makes the key of an integer: the largest double that is not above it, and the difference from it, 0 up to 2⁵³.
  private init(_ number: some FixedWidthInteger) {
    if number.magnitude < 1 << 53 {
      self.init(.number, Self.content(Double(number)))
      return
    }
    var floor = Double(number)
    let exact = Int128(number)
    if Int128(floor) > exact { floor = floor.nextDown }
    self.init(.number, Self.content(floor) | UInt128(exact - Int128(floor)) << 40)
  }

  /// The bits of a double, transformed so that they sort as the doubles do.
  private static func content(_ number: Double) -> UInt128 {
    let bits = (number.isNaN ? Double.nan : number == 0 ? 0 : number).bitPattern
    let ordered = bits >> 63 == 1 ? ~bits : bits | 1 << 63
    return UInt128(ordered) << 56
  }

  private init(_ class: Class, _ bytes: UnsafeRawBufferPointer) {
    head = unsafe Self.head(`class`, bytes)
    tail = bytes.count > Self.headByteCount ? unsafe Array(bytes[Self.headByteCount...]) : nil
  }

  private static func head(_ class: Class, _ bytes: UnsafeRawBufferPointer) -> UInt128 {
    let count = min(bytes.count, headByteCount)
    var content: UInt128 = 0
    if count == headByteCount {
      // Two words that overlap by two bytes.
      let first = unsafe UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
      let last = unsafe UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 6, as: UInt64.self))
      content = UInt128(first) << 48 | UInt128(last & 0xFFFF_FFFF_FFFF)
    } else {
      for index in 0..<count { content = content << 8 | UInt128(unsafe bytes[index]) }
      content <<= UInt128(8 * (headByteCount - count))
    }
    return UInt128(`class`.rawValue) << 120 | content << 8
      | UInt128(min(bytes.count, headByteCount + 1))
  }
}

extension ValueKey {
  /// Whether both are keys of numbers, of texts, of dates and so on.
  package func hasType(of other: ValueKey) -> Bool { head >> 120 == other.head >> 120 }

  /// Reads one item of any kind and makes its key, without making a value.
  package init(reading reader: inout CBORReader) throws(CBORError) {
    switch try reader.kind() {
    case .unsigned: self.init(try reader.readUnsigned())
    case .negative: self.init(try reader.readInteger())
    case .text: self = unsafe ValueKey(.text, try reader.readTextBytes())
    case .bytes: self = unsafe ValueKey(.data, try reader.readBytes())
    case .map:
      let start = reader.offset
      try reader.skip()
      self =
        unsafe ExactNumber(encoded: reader.passed(start..<reader.offset)).map { ValueKey($0) } ?? .composite
    case .array:
      try reader.skip()
      self = .composite
    case .date: self.init(.date, Self.content(try reader.readDate()))
    case .bool: self.init(.bool, try reader.readBool() ? 1 : 0)
    case .null:
      try reader.readNull()
      self = .missing
    case .double: self.init(.number, Self.content(try reader.readDouble()))
    }
  }
}

extension ValueKey {
  /// Whether the item that `reader` is at is between two keys, if that can be told without making the item's key: if it
  /// is a text whose first bytes differ from those of both. Otherwise nil.
  @inline(__always)
  static func isText(
    at reader: CBORReader, between lower: ValueKey, and upper: ValueKey
  ) -> Bool? {
    var reader = reader
    guard let text = unsafe try? reader.readTextBytes() else { return nil }
    let head = unsafe head(.text, text)
    return head == lower.head || head == upper.head ? nil : lower.head < head && head < upper.head
  }
}

extension ValueKey {
  private var rank: UInt8 { UInt8(truncatingIfNeeded: head >> 120) & 0x7F }

  /// A key at or before the keys of all values of this key's class.
  package var leastOfClass: ValueKey {
    switch Class(rawValue: rank) {
    case .number: ValueKey(.number, Self.content(-.infinity))
    case .date: ValueKey(.date, Self.content(-.infinity))
    default: ValueKey(unchecked: UInt128(rank) << 120)
    }
  }

  /// A key at or after the keys of all values of this key's class except NaN, and before those of the next class.
  package var greatestOfClass: ValueKey {
    switch Class(rawValue: rank) {
    case .number: ValueKey(.number, Self.content(.infinity))
    case .date: ValueKey(.date, Self.content(.infinity))
    default: ValueKey(unchecked: UInt128(rank) << 120 | (UInt128(1) << 120 - 1), tail: nil)
    }
  }

  /// Whether this is the key of NaN or of a date that is NaN, which come after all other values of their class.
  var isNaN: Bool { greatestOfClass < self }

  /// The key right after all texts that begin with `text`; nil for the empty text, with which every text begins.
  package static func end(ofPrefix text: String) -> ValueKey? {
    var bytes = Array(text.utf8)
    while bytes.last == 0xFF { bytes.removeLast() }
    guard let last = bytes.popLast() else { return nil }
    bytes.append(last + 1)
    return unsafe bytes.withUnsafeBytes { unsafe ValueKey(.text, $0) }
  }

  /// The key of this value as an element of an array. The keys of elements come after those of all values.
  package var asElement: ValueKey { ValueKey(unchecked: head | 1 << 127, tail: tail) }

  package var isElement: Bool { head >> 127 == 1 }
}
