/// A buffer for output that passes bytes to a sink in pieces or, without a sink, grows in memory.
///
/// 1. `used <= capacity`, and the bytes before `used` are initialized.
/// 2. Without a sink, `flushed` is 0: the buffer has everything.
/// 3. Before a call of `put`, the caller has called `makeRoom` for at least as many bytes.
@safe
struct OutputBuffer: ~Copyable {
  /// Takes the next bytes, which are valid only during the call.
  typealias Sink = (UnsafeRawBufferPointer) throws(ArchiveError) -> Void

  static let pieceByteCount = 65_536

  private var base: UnsafeMutableRawPointer
  private var capacity: Int
  private var used = 0
  private var flushed = 0
  private let sink: Sink?

  init(capacity: Int) {
    unsafe base = .allocate(byteCount: capacity, alignment: 16)
    self.capacity = capacity
    unsafe sink = nil
  }

  init(sink: @escaping Sink) {
    capacity = OutputBuffer.pieceByteCount
    unsafe base = .allocate(byteCount: capacity, alignment: 16)
    unsafe self.sink = sink
  }

  deinit {
    unsafe base.deallocate()
  }

  /// How many bytes were put so far.
  var position: Int {
    @inline(__always) get { flushed &+ used }
  }

  /// Ensures that `byteCount` bytes can be put.
  @inline(__always)
  mutating func makeRoom(_ byteCount: Int) throws(ArchiveError) {
    if capacity &- used < byteCount { try flushOrGrow(byteCount) }
  }

  @inline(never)
  private mutating func flushOrGrow(_ byteCount: Int) throws(ArchiveError) {
    try flush()
    guard capacity - used < byteCount else { return }
    let grown = max(capacity * 2, used + byteCount)
    let bytes = UnsafeMutableRawPointer.allocate(byteCount: grown, alignment: 16)
    unsafe bytes.copyMemory(from: base, byteCount: used)
    unsafe base.deallocate()
    unsafe base = bytes
    capacity = grown
  }

  /// Passes the buffered bytes to the sink, if there is one.
  mutating func flush() throws(ArchiveError) {
    guard let sink = unsafe sink, used > 0 else { return }
    unsafe try sink(UnsafeRawBufferPointer(start: base, count: used))
    flushed += used
    used = 0
  }

  @inline(__always)
  mutating func put(_ byte: UInt8) {
    assert(used < capacity)
    unsafe base.storeBytes(of: byte, toByteOffset: used, as: UInt8.self)
    used &+= 1
  }

  @inline(__always)
  mutating func put<Number: FixedWidthInteger & BitwiseCopyable>(bigEndian value: Number) {
    assert(used + MemoryLayout<Number>.size <= capacity)
    unsafe base.storeBytes(of: value.bigEndian, toByteOffset: used, as: Number.self)
    used &+= MemoryLayout<Number>.size
  }

  /// Puts the low `width` bytes of `value`. `width` is 1, 2, 4 or 8.
  @inline(__always)
  mutating func put(_ value: Int, width: Int) {
    switch width {
    case 4: put(bigEndian: UInt32(truncatingIfNeeded: value))
    case 2: put(bigEndian: UInt16(truncatingIfNeeded: value))
    case 1: put(UInt8(truncatingIfNeeded: value))
    default: put(bigEndian: UInt64(bitPattern: Int64(value)))
    }
  }

  /// Puts the base-128 form of a count, low bits first: at most 10 bytes.
  @inline(__always)
  mutating func put(variable value: Int) {
    Varints.write(UInt64(bitPattern: Int64(value))) { put($0) }
  }

  @inline(__always)
  mutating func put(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress else { return }
    assert(used + bytes.count <= capacity)
    unsafe base.advanced(by: used).copyMemory(from: start, byteCount: bytes.count)
    used &+= bytes.count
  }

  /// Puts any number of bytes. If there is a sink, 64 KiB or more go to the sink without being copied.
  mutating func write(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) {
    guard let sink = unsafe sink, bytes.count >= OutputBuffer.pieceByteCount else {
      try makeRoom(bytes.count)
      unsafe put(bytes)
      return
    }
    try flush()
    unsafe try sink(bytes)
    flushed += bytes.count
  }

  /// Calls `body` with the bytes in memory: all of them if there is no sink.
  @inline(__always)
  borrowing func withBytes<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    unsafe try body(UnsafeRawBufferPointer(start: base, count: used))
  }
}
