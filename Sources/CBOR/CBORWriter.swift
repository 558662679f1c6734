import Foundation

/// Writes deterministic CBOR (RFC 8949 §4.2) into memory of its own, which grows.
///
/// Marked safe although it holds a pointer:
/// 1. `count <= capacity`, the bytes before `count` are written, and `reserve` comes before each write.
/// 2. The memory is lent to closures only, and freed with the writer, which can't be copied.
@safe package struct CBORWriter: ~Copyable {
  private var base: UnsafeMutableRawPointer
  private var capacity: Int
  /// How many bytes have been written.
  package private(set) var count = 0

  package init(reserving capacity: Int = 0) {
    self.capacity = max(capacity, 32)
    unsafe base = .allocate(byteCount: self.capacity, alignment: 8)
  }

  deinit { unsafe base.deallocate() }

  /// What has been written.
  package consuming func finish() -> [UInt8] {
    unsafe Array(UnsafeRawBufferPointer(start: base, count: count))
  }

  /// Lends what was written from an offset on.
  @inline(__always)
  package borrowing func withBytes<Result>(
    from start: Int = 0, _ body: (UnsafeRawBufferPointer) -> Result
  ) -> Result {
    precondition(start >= 0 && start <= count)
    return unsafe body(UnsafeRawBufferPointer(start: base + start, count: count - start))
  }

  @inline(__always)
  private mutating func reserve(_ byteCount: Int) {
    if capacity - count < byteCount { grow(byteCount) }
  }

  @inline(never)
  private mutating func grow(_ byteCount: Int) {
    capacity = max(2 * capacity, count + byteCount)
    let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 8)
    unsafe larger.copyMemory(from: base, byteCount: count)
    unsafe base.deallocate()
    unsafe base = larger
  }

  @inline(__always)
  private mutating func put(_ byte: UInt8) {
    reserve(1)
    unsafe base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
    count += 1
  }

  @inline(__always)
  private mutating func put<Integer: FixedWidthInteger & BitwiseCopyable>(
    _ first: UInt8, bigEndian value: Integer
  ) {
    reserve(1 + MemoryLayout<Integer>.size)
    unsafe base.storeBytes(of: first, toByteOffset: count, as: UInt8.self)
    unsafe base.storeBytes(of: value.bigEndian, toByteOffset: count + 1, as: Integer.self)
    count += 1 + MemoryLayout<Integer>.size
  }

  /// Items that are encoded already.
  @inline(__always)
  package mutating func append(encoded content: UnsafeRawBufferPointer) {
    guard let start = content.baseAddress else { return }
    reserve(content.count)
    unsafe (base + count).copyMemory(from: start, byteCount: content.count)
    count += content.count
  }

  /// Items that are encoded already.
  package mutating func append(encoded content: [UInt8]) {
    unsafe content.withUnsafeBytes { unsafe append(encoded: $0) }
  }

  package mutating func append(integer: Int64) {
    if integer >= 0 {
      head(.unsigned, UInt64(integer))
    } else {
      head(.negative, ~UInt64(bitPattern: integer))
    }
  }

  package mutating func append(unsigned: UInt64) { head(.unsigned, unsigned) }

  package mutating func append(text: String) {
    var text = text
    text.withUTF8 { utf8 in
      head(.text, UInt64(utf8.count))
      unsafe append(encoded: UnsafeRawBufferPointer(utf8))
    }
  }

  /// A text that is there as UTF-8.
  package mutating func append(utf8 content: UnsafeRawBufferPointer) {
    head(.text, UInt64(content.count))
    unsafe append(encoded: content)
  }

  package mutating func append(bytes content: UnsafeRawBufferPointer) {
    head(.bytes, UInt64(content.count))
    unsafe append(encoded: content)
  }

  /// The head of a byte string whose content is appended next, as encoded bytes.
  package mutating func appendBytesHead(count: Int) { head(.bytes, UInt64(count)) }
  package mutating func appendArrayHead(count: Int) { head(.array, UInt64(count)) }
  package mutating func appendMapHead(count: Int) { head(.map, UInt64(count)) }
  /// The tag of the item that is appended next.
  package mutating func append(tag: UInt64) { head(.tag, tag) }
  package mutating func appendNull() { put(CBORByte.null) }
  /// Stands for "this field goes away" in the changes of an update; never a value.
  package mutating func appendUndefined() { put(CBORByte.undefined) }
  package mutating func append(bool: Bool) { put(bool ? CBORByte.true : CBORByte.false) }

  package mutating func append(double: Double) {
    switch CBORFloat(double) {
    case .half(let bits): put(CBORByte.half, bigEndian: bits)
    case .single(let bits): put(CBORByte.single, bigEndian: bits)
    case .double(let bits): put(CBORByte.double, bigEndian: bits)
    }
  }

  /// A date, in seconds since 2001 began.
  package mutating func append(foundationDate seconds: Double) {
    head(.tag, CBORTag.foundationDate)
    append(double: seconds)
  }

  /// A value of any kind. One that is nested deeper than any reader goes is cut off below, so that this takes a
  /// bounded stack; what is written is too deep all the same.
  package mutating func append(_ value: Value) { append(value, depth: 0) }

  private mutating func append(_ value: Value, depth: Int) {
    switch value {
    case .null: appendNull()
    case .bool(let bool): append(bool: bool)
    case .integer(let integer): append(integer: integer)
    case .unsigned(let unsigned): append(unsigned: unsigned)
    case .double(let double): append(double: double)
    case .string(let string): append(text: string)
    case .data(let data):
      head(.bytes, UInt64(data.count))
      unsafe data.withUnsafeBytes { unsafe append(encoded: $0) }
    case .date(let date):
      append(foundationDate: date.timeIntervalSinceReferenceDate)
    case .array where depth > CBORLimits.depth: appendArrayHead(count: 0)
    case .dictionary where depth > CBORLimits.depth: appendArrayHead(count: 0)
    case .array(let elements):
      appendArrayHead(count: elements.count)
      for element in elements { append(element, depth: depth + 1) }
    case .dictionary(let dictionary):
      appendMapHead(count: dictionary.count)
      for (key, value) in dictionary.sorted(by: { CBORKeyOrder.precedes($0.key, $1.key) }) {
        append(text: key)
        append(value, depth: depth + 1)
      }
    }
  }

  private mutating func head(_ major: CBORMajor, _ argument: UInt64) {
    let high = major.rawValue << 5
    switch argument {
    case 0..<24: put(high | UInt8(truncatingIfNeeded: argument))
    case 24...0xFF: put(high | 24, bigEndian: UInt8(truncatingIfNeeded: argument))
    case 0x100...0xFFFF: put(high | 25, bigEndian: UInt16(truncatingIfNeeded: argument))
    case 0x1_0000...0xFFFF_FFFF: put(high | 26, bigEndian: UInt32(truncatingIfNeeded: argument))
    default: put(high | 27, bigEndian: argument)
    }
  }
}

/// The order of the texts that are keys of a map: by their encoded bytes, so shorter ones first.
enum CBORKeyOrder {
  static func precedes(_ left: String, _ right: String) -> Bool {
    let (leftCount, rightCount) = (left.utf8.count, right.utf8.count)
    if leftCount != rightCount { return leftCount < rightCount }
    return left.utf8.lexicographicallyPrecedes(right.utf8)
  }
}
