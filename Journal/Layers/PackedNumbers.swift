import PropertyLists

/// Rows of two or three numbers in ascending order, in data of a layer or snapshot: a byte with the width of a number,
/// and the numbers, most significant byte first.
///
/// Numbers are compared as unsigned; a negative one counts as the unsigned one with the same bits.
struct PackedNumbers: Sendable {
  typealias Row = (UInt64, UInt64, UInt64)

  private let data: ArchiveSlice
  private let width: Int
  private let columns: Int
  /// Whether the first number is that of an entity.
  private let isByEntity: Bool
  let count: Int

  init(
    _ reader: LayerReader, _ header: ObjectHeader, columns: Int, isByEntity: Bool
  ) throws(ArchiveError) {
    data = try ArchiveSlice(reader, header)
    width = try data.width()
    guard (data.count - 1) % (columns * width) == 0 else { throw data.foreign }
    self.columns = columns
    self.isByEntity = isByEntity
    count = (data.count - 1) / (columns * width)
  }

  /// The error for numbers that no layer or snapshot has.
  var foreign: ArchiveError { data.foreign }

  /// The row at a position; its third number is 0 where there are two.
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
  /// - Parameter first: where to begin; earlier rows are known to come before it.
  func position(of row: Row, from first: Int = 0) throws(ArchiveError) -> Int {
    var range = first..<max(first, count)
    if isByEntity, range.count > Self.nearCount { range = try neighborhood(of: row, in: range) }
    var (low, high) = (range.lowerBound, range.upperBound)
    while low < high {
      let middle = low + (high - low) / 2
      if try self.row(at: middle) < row { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// A part of a range that has the position of a row in it or at its end.
  ///
  /// The numbers of entities are spread about evenly, so a row is near the place that its number suggests. Then a search
  /// reads a page or two; halving the whole range reads one at nearly each step. At worst it takes twice as many steps.
  private func neighborhood(of row: Row, in range: Range<Int>) throws(ArchiveError) -> Range<Int> {
    let (start, end) = (range.lowerBound, range.upperBound)
    let (lowest, highest) = (try self.row(at: start), try self.row(at: end - 1))
    if row <= lowest { return start..<start }
    if highest < row { return end..<end }
    let part = Double(row.0 - lowest.0) / Double(max(highest.0 - lowest.0, 1))
    let guess = min(start + Int(part * Double(range.count)), end - 1)
    var distance = Self.nearCount
    if try self.row(at: guess) < row {
      var low = guess + 1
      while end - low > distance {
        let next = low + distance
        if try row <= self.row(at: next) { return low..<next }
        low = next + 1
        distance *= 2
      }
      return low..<end
    } else {
      var high = guess
      while high - start > distance {
        let next = high - distance
        if try self.row(at: next) < row { return next + 1..<high }
        high = next
        distance *= 2
      }
      return start..<high
    }
  }

  /// So many rows are within a page or two.
  private static let nearCount = 64
}

/// Makes the bytes of packed numbers. They are as narrow as the largest number allows.
struct PackedNumbersBuilder {
  private let columns: Int
  private(set) var bytes: [UInt8] = [4]
  private(set) var count = 0

  init(columns: Int) { self.columns = columns }

  mutating func append(_ row: PackedNumbers.Row) {
    count += 1
    if bytes[0] == 4, max(row.0, row.1, row.2) > UInt64(UInt32.max) { widen() }
    append(row.0)
    append(row.1)
    if columns == 3 { append(row.2) }
  }

  /// Whether a row was appended; all were appended in order. O(log n).
  func contains(_ row: PackedNumbers.Row) -> Bool {
    var (low, high) = (0, count)
    while low < high {
      let middle = low + (high - low) / 2
      let found = self.row(at: middle)
      if found == row { return true }
      if found < row { low = middle + 1 } else { high = middle }
    }
    return false
  }

  private func row(at position: Int) -> PackedNumbers.Row {
    let width = Int(bytes[0])
    let start = 1 + position * columns * width
    return unsafe bytes.withUnsafeBytes { bytes in
      unsafe PackedNumbers.row(
        UnsafeRawBufferPointer(rebasing: bytes[start..<start + columns * width]), width, columns)
    }
  }

  /// Calls `body` with each row.
  func visit(_ body: (PackedNumbers.Row) -> Void) {
    let width = Int(bytes[0])
    var numbers: [UInt64] = []
    for start in stride(from: 1, to: bytes.count, by: width) {
      numbers.append(bytes[start..<start + width].reduce(0) { $0 << 8 | UInt64($1) })
      if numbers.count < columns { continue }
      body((numbers[0], numbers[1], columns == 3 ? numbers[2] : 0))
      numbers.removeAll(keepingCapacity: true)
    }
  }

  private mutating func append(_ number: UInt64) {
    if bytes[0] == 4 { bytes.append(bigEndian: UInt32(number)) } else { bytes.append(bigEndian: number) }
  }

  private mutating func widen() {
    let narrow = bytes
    bytes = [8]
    for start in stride(from: 1, to: narrow.count, by: 4) {
      bytes.append(contentsOf: [0, 0, 0, 0])
      bytes.append(contentsOf: narrow[start..<start + 4])
    }
  }
}
