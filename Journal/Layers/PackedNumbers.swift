import PropertyLists

/// Rows of two or three numbers in ascending order, in data of a layer: a byte with the width of a number,
/// and the numbers, most significant byte first.
///
/// Numbers are compared as unsigned; a negative number counts as the unsigned one with the same bits.
struct PackedNumbers: Sendable {
  typealias Row = (UInt64, UInt64, UInt64)

  private let data: ArchiveSlice
  private let width: Int
  private let columns: Int
  let count: Int

  init(_ reader: LayerReader, _ header: ObjectHeader, columns: Int) throws(ArchiveError) {
    try self.init(ArchiveSlice(reader, header), columns: columns)
  }

  init(_ data: ArchiveSlice, columns: Int) throws(ArchiveError) {
    self.data = data
    width = try data.width()
    guard (data.count - 1) % (columns * width) == 0 else { throw data.foreign }
    self.columns = columns
    count = (data.count - 1) / (columns * width)
  }

  var foreign: ArchiveError { data.foreign }

  /// The row at a position; the third number is 0 if rows have two.
  func row(at position: Int) throws(ArchiveError) -> Row {
    guard position >= 0, position < count else { throw foreign }
    let size = columns * width
    return try unsafe data.withBytes(at: 1 + position * size, count: size) {
      (bytes) throws(ArchiveError) -> Row in unsafe Self.row(bytes, width, columns)
    }
  }

  @inline(__always)
  fileprivate static func row(_ bytes: UnsafeRawBufferPointer, _ width: Int, _ columns: Int) -> Row {
    (
      unsafe bytes.bigEndian(at: 0, width: width), unsafe bytes.bigEndian(at: width, width: width),
      columns == 3 ? unsafe bytes.bigEndian(at: 2 * width, width: width) : 0
    )
  }

  /// How many rows come before a row, which need not exist.
  func position(of row: Row) throws(ArchiveError) -> Int {
    try unsafe data.firstRow(of: count, at: 1, byteCount: columns * width) { bytes in
      unsafe Self.distance(of: Self.row(bytes, width, columns), from: row)
    }
  }

  /// By how much a row is behind another in its first two numbers; negative if it is before the other.
  @inline(__always)
  private static func distance(of row: Row, from other: Row) -> Double {
    func difference(_ left: UInt64, _ right: UInt64) -> Double {
      left < right ? -Double(right - left) : Double(left - right)
    }
    if row.0 != other.0 { return difference(row.0, other.0) * 0x1p64 }
    if row.1 != other.1 { return difference(row.1, other.1) }
    return row.2 < other.2 ? -0.5 : 0
  }

  /// The range of the entities' numbers, with which rows begin; nil if there are no rows.
  func bounds(highest: Int) throws(ArchiveError) -> ClosedRange<Int>? {
    guard count > 0 else { return nil }
    let (lowest, last) = (try row(at: 0).0, try row(at: count - 1).0)
    guard lowest > 0, lowest <= last, last <= UInt64(highest) else { throw foreign }
    return Int(lowest)...Int(last)
  }
}

/// Makes the bytes of packed numbers, or of rows that have other bytes before their numbers. All numbers take 4 bytes
/// or, if the largest needs them, 8.
struct PackedNumbersBuilder {
  private let columns: Int
  private let headByteCount: Int
  private let narrowLimit: UInt64
  private(set) var bytes: [UInt8] = [4]
  private(set) var count = 0

  /// - Parameter narrowLimit: the highest number that takes 4 bytes; lower in a test, which can't have data of 4 GiB.
  init(columns: Int, headByteCount: Int = 0, narrowLimit: UInt64 = UInt64(UInt32.max)) {
    self.columns = columns
    self.headByteCount = headByteCount
    self.narrowLimit = narrowLimit
  }

  private var width: Int { Int(bytes[0]) }
  private var rowByteCount: Int { headByteCount + columns * width }

  mutating func append(_ row: PackedNumbers.Row, head: UInt128? = nil) {
    count += 1
    if width == 4, max(row.0, row.1, row.2) > narrowLimit { widen() }
    if let head {
      bytes.append(bigEndian: UInt64(truncatingIfNeeded: head >> 64))
      bytes.append(bigEndian: UInt64(truncatingIfNeeded: head))
    }
    append(row.0)
    append(row.1)
    if columns == 3 { append(row.2) }
  }

  /// Whether a row was appended. All rows must have been appended in order. O(log n).
  func contains(_ row: PackedNumbers.Row) -> Bool {
    let position = (0..<count).partitionPoint { self.row(at: $0) >= row }
    return position < count && self.row(at: position) == row
  }

  func row(at position: Int) -> PackedNumbers.Row {
    let start = 1 + position * rowByteCount + headByteCount
    return unsafe bytes.withUnsafeBytes { bytes in
      unsafe PackedNumbers.row(
        UnsafeRawBufferPointer(rebasing: bytes[start..<start + columns * width]), width, columns)
    }
  }

  private mutating func append(_ number: UInt64) {
    if width == 4 { bytes.append(bigEndian: UInt32(number)) } else { bytes.append(bigEndian: number) }
  }

  private mutating func widen() {
    let (narrow, size) = (bytes, rowByteCount)
    bytes = [8]
    for start in stride(from: 1, to: narrow.count, by: size) {
      bytes += narrow[start..<start + headByteCount]
      for number in stride(from: start + headByteCount, to: start + size, by: 4) {
        bytes += [0, 0, 0, 0]
        bytes += narrow[number..<number + 4]
      }
    }
  }
}
