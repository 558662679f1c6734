import Foundation

/// Writes deterministic CBOR (RFC 8949 §4.2) into a growing buffer.
///
/// Marked safe although it has a pointer: only the writer uses the pointer, and each write first makes room.
@safe package struct CBORWriter: ~Copyable {
  private var start: UnsafeMutableRawPointer
  private var capacity: Int
  package private(set) var count = 0
  /// The deepest nesting of arrays and dictionaries so far.
  private(set) var depth = 0
  private var ownsMemory: Bool

  package init(reserving capacity: Int = 0) {
    self.capacity = max(capacity, 32)
    unsafe start = .allocate(byteCount: self.capacity, alignment: 8)
    ownsMemory = true
  }

  /// Makes a writer that writes into borrowed memory and, when that is full, moves to memory of its own.
  private init(in memory: UnsafeMutableRawBufferPointer) {
    capacity = memory.count
    unsafe start = memory.baseAddress!
    ownsMemory = false
  }

  deinit {
    if ownsMemory { unsafe start.deallocate() }
  }

  /// Returns the bytes that `write` appends. They are copied only if there are more than `capacity`.
  package static func bytes(reserving capacity: Int, _ write: (inout CBORWriter) -> Void) -> [UInt8] {
    var copied: [UInt8]?
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: max(capacity, 1)) { memory, count in
      var writer = unsafe CBORWriter(in: UnsafeMutableRawBufferPointer(memory))
      write(&writer)
      if writer.ownsMemory { copied = writer.finish() } else { count = writer.count }
    }
    return copied ?? bytes
  }

  package consuming func finish() -> [UInt8] {
    unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count))
  }

  /// Returns the bytes of `head` and then of each part, in the order of `parts` and not in that of writing.
  consuming func finish(with head: Range<Int>, then parts: some Sequence<Range<Int>>) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: count) { memory, end in
      func copy(_ range: Range<Int>) {
        precondition(range.upperBound <= count && range.count <= count - end)
        unsafe (UnsafeMutableRawPointer(memory.baseAddress!) + end)
          .copyMemory(from: start + range.lowerBound, byteCount: range.count)
        end += range.count
      }
      copy(head)
      for part in parts { copy(part) }
    }
  }

  @inline(__always)
  package borrowing func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe body(UnsafeRawBufferPointer(start: start, count: count))
  }

  /// Removes all bytes but keeps the memory for reuse.
  package mutating func removeAll() { count = 0 }

  static func mapHead(count: Int) -> [UInt8] {
    if count < 24 { return [CBORMajor.map.rawValue << 5 | UInt8(count)] }
    var writer = CBORWriter()
    writer.appendMapHead(count: count)
    return writer.finish()
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
    // Nearly all strings can be read in place. `withUTF8` needs a mutable copy, which would have to be retained.
    let isAppended: Void? = unsafe text.utf8.withContiguousStorageIfAvailable {
      unsafe append(.text, UnsafeRawBufferPointer($0))
    }
    if isAppended != nil { return }
    var text = text
    text.withUTF8 { unsafe append(.text, UnsafeRawBufferPointer($0)) }
  }

  package mutating func append(bytes content: UnsafeRawBufferPointer) { unsafe append(.bytes, content) }

  /// Appends the head of a byte string. The caller then appends the content with `append(encoded:)`.
  package mutating func appendBytesHead(count: Int) { head(.bytes, UInt64(count)) }
  package mutating func appendArrayHead(count: Int) { head(.array, UInt64(count)) }
  package mutating func appendMapHead(count: Int) { head(.map, UInt64(count)) }
  package mutating func append(tag: UInt64) { head(.tag, tag) }
  package mutating func appendNull() { append(CBORByte.null) }
  /// Appends `undefined`, which marks a removed field in changes and is never a value.
  package mutating func appendUndefined() { append(CBORByte.undefined) }
  /// Appends a simple value to which the standard assigns no meaning.
  mutating func append(simple: UInt8) { append(CBORMajor.simple.rawValue << 5 | simple) }
  package mutating func append(bool: Bool) { append(bool ? CBORByte.true : CBORByte.false) }

  package mutating func append(double: Double) {
    switch CBORFloat(double) {
    case .half(let bits): append(CBORByte.half, bits)
    case .single(let bits): append(CBORByte.single, bits)
    case .double(let bits): append(CBORByte.double, bits)
    }
  }

  /// Appends a date, given as seconds since 2001-01-01T00:00:00Z.
  package mutating func append(foundationDate seconds: Double) {
    head(.tag, CBORTag.foundationDate)
    append(double: seconds)
  }

  package mutating func append(encoded: UnsafeRawBufferPointer) {
    reserve(encoded.count)
    unsafe copy(encoded)
  }
  package mutating func append(encoded: [UInt8]) {
    unsafe encoded.withUnsafeBytes { unsafe append(encoded: $0) }
  }

  /// Returns the first eight bytes of a range as a big-endian number. Bytes beyond the range count as 0.
  mutating func prefix(_ range: Range<Int>) -> UInt64 {
    precondition(!range.isEmpty && range.upperBound <= count)
    reserve(MemoryLayout<UInt64>.size)
    let bytes = unsafe UInt64(
      bigEndian: start.loadUnaligned(fromByteOffset: range.lowerBound, as: UInt64.self))
    let missing = max(MemoryLayout<UInt64>.size - range.count, 0)
    return (bytes >> (8 * missing)) << (8 * missing)
  }

  /// Appends a value. If it is nested deeper than ``CBORLimits/depth``, the deepest levels are left out, so that the
  /// recursion is bounded. Readers reject the result as too deep.
  package mutating func append(_ value: FieldValue) { append(value, depth: 0) }

  private mutating func append(_ value: FieldValue, depth: Int) {
    switch value {
    case .null: appendNull()
    case .bool(let bool): append(bool: bool)
    case .integer(let integer): append(integer: integer)
    case .unsigned(let unsigned): append(unsigned: unsigned)
    case .double(let double): append(double: double)
    case .string(let string): append(text: string)
    case .data(let data): unsafe data.withUnsafeBytes { unsafe append(.bytes, $0) }
    case .date(let date):
      append(foundationDate: date.timeIntervalSinceReferenceDate)
    case .array where depth > CBORLimits.depth: appendArrayHead(count: 0)
    case .dictionary where depth > CBORLimits.depth: appendArrayHead(count: 0)
    case .array(let elements):
      self.depth = max(self.depth, depth + 1)
      appendArrayHead(count: elements.count)
      for element in elements { append(element, depth: depth + 1) }
    case .dictionary(let dictionary):
      self.depth = max(self.depth, depth + 1)
      appendMapHead(count: dictionary.count)
      for (key, value) in dictionary.sorted(by: { CBORKeyOrder.precedes($0.key, $1.key) }) {
        append(text: key)
        append(value, depth: depth + 1)
      }
    }
  }

  private mutating func append(_ major: CBORMajor, _ content: UnsafeRawBufferPointer) {
    reserve(Self.headByteLimit + content.count)
    putHead(major, UInt64(content.count))
    unsafe copy(content)
  }

  @inline(__always)
  private mutating func head(_ major: CBORMajor, _ argument: UInt64) {
    reserve(Self.headByteLimit)
    putHead(major, argument)
  }

  @inline(__always)
  private mutating func append(_ byte: UInt8) {
    reserve(1)
    put(byte)
  }

  @inline(__always)
  private mutating func append(_ byte: UInt8, _ number: some FixedWidthInteger & BitwiseCopyable) {
    reserve(Self.headByteLimit)
    put(byte)
    put(number.bigEndian)
  }

  // MARK: Memory

  private static var headByteLimit: Int { 9 }

  /// Makes room for bytes. Must be called before `put`, `putHead` and `copy`.
  @inline(__always)
  private mutating func reserve(_ byteCount: Int) {
    if byteCount > capacity - count { grow(byteCount) }
  }

  @inline(never)
  private mutating func grow(_ byteCount: Int) {
    capacity = max(2 * capacity, count + byteCount)
    let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 8)
    unsafe larger.copyMemory(from: start, byteCount: count)
    if ownsMemory { unsafe start.deallocate() }
    unsafe start = unsafe larger
    ownsMemory = true
  }

  @inline(__always)
  private mutating func putHead(_ major: CBORMajor, _ argument: UInt64) {
    let high = major.rawValue << 5
    switch argument {
    case 0..<24: put(high | UInt8(truncatingIfNeeded: argument))
    case 24...0xFF:
      put(high | 24)
      put(UInt8(truncatingIfNeeded: argument))
    case 0x100...0xFFFF:
      put(high | 25)
      put(UInt16(truncatingIfNeeded: argument).bigEndian)
    case 0x1_0000...0xFFFF_FFFF:
      put(high | 26)
      put(UInt32(truncatingIfNeeded: argument).bigEndian)
    default:
      put(high | 27)
      put(argument.bigEndian)
    }
  }

  @inline(__always)
  private mutating func put<T: FixedWidthInteger & BitwiseCopyable>(_ value: T) {
    unsafe start.storeBytes(of: value, toByteOffset: count, as: T.self)
    count += MemoryLayout<T>.size
  }

  @inline(__always)
  private mutating func copy(_ content: UnsafeRawBufferPointer) {
    guard let source = content.baseAddress else { return }
    unsafe (start + count).copyMemory(from: source, byteCount: content.count)
    count += content.count
  }
}

/// The order of a map's text keys: by their encoded bytes, so a shorter key comes first.
enum CBORKeyOrder {
  static func precedes(_ left: String, _ right: String) -> Bool {
    let (leftCount, rightCount) = (left.utf8.count, right.utf8.count)
    if leftCount != rightCount { return leftCount < rightCount }
    return left.utf8.lexicographicallyPrecedes(right.utf8)
  }
}
