/// Writes a binary property list (`bplist00`) from front to back, to a sink.
///
/// Objects are numbered from 0 in the order in which they are written, and a collection refers only to objects that
/// were written before it. The writer keeps only the length of each object, in one or two bytes, and makes the table of
/// offsets from the lengths at the end.
///
/// The result satisfies the rules of Core Foundation's reader. The same calls give the same bytes.
///
/// If the sink throws, the call in progress throws the same error, and the bytes written so far are useless.
package struct BinaryPropertyListWriter: ~Copyable {
  /// Takes the next bytes of the list, about 64 KiB at a time. The bytes are valid only during the call.
  package typealias Sink = (UnsafeRawBufferPointer) throws(ArchiveError) -> Void

  /// How many objects were written. This is also the number of the next object.
  package private(set) var objectCount = 0

  let referenceWidth: Int
  private let maximumObjectCount: Int
  private var highestReference = -1
  var output: OutputBuffer
  private var lengths = OutputBuffer(capacity: 1_024)

  /// - Parameter maximumObjectCount: the limit on objects; one more is an error. A lower limit makes the list shorter:
  ///   a reference takes 1 byte for up to 255 objects, 2 bytes for up to 65,535, and 4 bytes for more.
  package init(maximumObjectCount: Int = Int(UInt32.max), to sink: @escaping Sink) {
    // Core Foundation requires 2^(8 × width) to be more than the number of objects.
    referenceWidth = maximumObjectCount <= 0xFF ? 1 : maximumObjectCount <= 0xFFFF ? 2 : 4
    self.maximumObjectCount = min(maximumObjectCount, Int(UInt32.max))
    unsafe output = OutputBuffer(sink: sink)
    for byte in "bplist00".utf8 { self.output.put(byte) }
  }

  // MARK: - Objects

  /// Begins an object. Makes room for `byteCount` bytes: the header and, if the body is short, the body.
  ///
  /// - Returns: the offset of the object, to be passed to `end`.
  @inline(__always)
  mutating func begin(_ byteCount: Int) throws(ArchiveError) -> Int {
    try output.makeRoom(byteCount)
    return output.position
  }

  /// Ends the object that started at `start`, and returns its number.
  @inline(__always)
  mutating func end(_ start: Int) throws(ArchiveError) -> Int {
    guard objectCount < maximumObjectCount else { throw tooManyObjects() }
    try lengths.makeRoom(10)
    lengths.put(variable: output.position &- start)
    objectCount &+= 1
    return objectCount &- 1
  }

  private func tooManyObjects() -> ArchiveError {
    ArchiveError(
      .limitExceeded,
      "a property list that was begun for \(maximumObjectCount) objects was given more; begin it for as many"
        + " as it may hold, \(UInt32.max) at most")
  }

  func danglingReference(_ number: Int) -> ArchiveError {
    ArchiveError(
      .danglingReference,
      "a property list of \(objectCount) objects names object \(number); write an object before the collections"
        + " that hold it")
  }

  /// Puts one reference into the body of a collection.
  @inline(__always)
  mutating func putReference(_ number: Int) {
    output.put(number, width: referenceWidth)
    if number > highestReference { highestReference = number }
  }

  /// The bytes of a dictionary up to and including its first value, which all objects of a shape share.
  func dictionaryHead(keys: [Int], firstValue: Int) -> [UInt8] {
    var head = OutputBuffer(capacity: 10 + (keys.count + 1) * referenceWidth)
    head.putMarker(0xD0, count: keys.count)
    for number in keys { head.put(number, width: referenceWidth) }
    head.put(firstValue, width: referenceWidth)
    return unsafe head.withBytes { bytes in unsafe [UInt8](bytes) }
  }

  // MARK: - The end

  /// Writes the table of offsets and the trailer, and flushes everything to the sink.
  package consuming func finish(top: Int) throws(ArchiveError) {
    guard highestReference < objectCount else { throw danglingReference(highestReference) }
    guard 0..<objectCount ~= top else { throw danglingReference(top) }
    let tableOffset = output.position
    let offsetWidth = tableOffset <= 0xFF ? 1 : tableOffset <= 0xFFFF ? 2 : tableOffset <= 0xFFFF_FFFF ? 4 : 8
    try writeOffsets(width: offsetWidth)
    try output.makeRoom(32)
    for _ in 0..<6 { output.put(0) }
    output.put(UInt8(offsetWidth))
    output.put(UInt8(referenceWidth))
    output.put(bigEndian: UInt64(objectCount))
    output.put(bigEndian: UInt64(top))
    output.put(bigEndian: UInt64(tableOffset))
    try output.flush()
  }

  private mutating func writeOffsets(width: Int) throws(ArchiveError) {
    // The lengths are moved out of `self`, because writing changes `self` while the lengths are read.
    var taken = OutputBuffer(capacity: 1)
    swap(&taken, &lengths)
    unsafe try taken.withBytes { (bytes) throws(ArchiveError) in
      var offset = 8
      _ = unsafe try Varints.read(bytes) { (length) throws(ArchiveError) in
        try output.makeRoom(8)
        output.put(offset, width: width)
        offset += Int(length)
      }
    }
  }
}

extension OutputBuffer {
  /// Puts a marker and its count: at most 10 bytes.
  @inline(__always)
  mutating func putMarker(_ marker: UInt8, count: Int) {
    if count < 15 {
      put(marker | UInt8(truncatingIfNeeded: count))
    } else {
      put(marker | 0x0F)
      putInteger(UInt64(bitPattern: Int64(count)))
    }
  }

  /// Puts the shortest form of an integer: at most 9 bytes. `bits` above `Int64.max` are a negative integer.
  @inline(__always)
  mutating func putInteger(_ bits: UInt64) {
    if bits <= 0xFF {
      put(0x10)
      put(UInt8(truncatingIfNeeded: bits))
    } else if bits <= 0xFFFF {
      put(0x11)
      put(bigEndian: UInt16(truncatingIfNeeded: bits))
    } else if bits <= 0xFFFF_FFFF {
      put(0x12)
      put(bigEndian: UInt32(truncatingIfNeeded: bits))
    } else {
      put(0x13)
      put(bigEndian: bits)
    }
  }
}
