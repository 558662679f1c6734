/// Packs records one after the other. Each is stored as the number of its list of keys, which many records share, and
/// then its values. A value that equals the one under the same key in the previous record takes at most one byte.
///
/// Documentation/Format.md, "Blocks", describes the bytes.
package struct RecordPacker: ~Copyable {
  /// The lists of keys, numbered from 1.
  package private(set) var lists: [RecordKeys] = []
  private var numbers: [RecordKeys: Int] = [:]
  private var keyByteCount = 0

  /// The previous record, the number of its list of keys (0 if values can't refer to it), and the ranges of its values.
  private var previous = EntityRecord(trusted: [])
  private var previousNumber = 0
  private var previousValues: [Range<Int>] = []
  /// The current record's values and keys.
  private var values: [Range<Int>] = []
  private var keyEnds: [Int] = []
  private var keys: [UInt8] = []

  /// The limits of the shared lists, so that memory is bounded. Beyond them, a record is stored with its keys.
  package static let listLimit = 4096
  package static let keyByteLimit = 1 << 20

  package init() {}

  /// Makes the next record independent of the previous one.
  package mutating func startOver() { previousNumber = 0 }

  package mutating func append(_ record: EntityRecord, to output: inout CBORWriter) {
    let isSplit = unsafe record.bytes.withUnsafeBytes { bytes in
      let number = unsafe split(bytes)
      output.append(unsigned: UInt64(number))
      guard number > 0 else {
        unsafe output.append(encoded: bytes)
        return false
      }
      unsafe appendValues(bytes, keys: number, to: &output)
      previousNumber = number
      return true
    }
    guard isSplit else { return startOver() }
    previous = record
    swap(&previousValues, &values)
  }

  private func appendValues(_ bytes: UnsafeRawBufferPointer, keys number: Int, to output: inout CBORWriter) {
    let positions =
      number == previousNumber || previousNumber == 0
      ? nil : lists[number - 1].positions(in: lists[previousNumber - 1])
    unsafe previous.bytes.withUnsafeBytes { before in
      var sameCount = 0
      for (index, value) in values.enumerated() {
        let position = previousNumber == 0 ? nil : positions.map { $0[index] } ?? index
        let other = position.map { previousValues[$0] } ?? 0..<0
        let isSame =
          unsafe value.count == other.count
          && compareBytes(
            bytes.baseAddress! + value.lowerBound, value.count, before.baseAddress! + other.lowerBound,
            other.count) == 0
        if isSame {
          sameCount += 1
          if sameCount == Repetition.longest { Repetition.append(&sameCount, to: &output) }
        } else {
          Repetition.append(&sameCount, to: &output)
          unsafe output.append(encoded: UnsafeRawBufferPointer(rebasing: bytes[value]))
        }
      }
      Repetition.append(&sameCount, to: &output)
    }
  }

  /// Finds the values of a record. Returns the number of its list of keys, or 0 if the record needs its own keys.
  private mutating func split(_ bytes: UnsafeRawBufferPointer) -> Int {
    var cursor = unsafe FieldMapCursor(bytes)
    let count = cursor.remaining
    values.removeAll(keepingCapacity: true)
    // Most records have the same keys as the previous record.
    if previousNumber > 0, lists[previousNumber - 1].count == count,
      unsafe split(bytes, cursor, like: lists[previousNumber - 1])
    {
      return previousNumber
    }
    values.removeAll(keepingCapacity: true)
    keys.removeAll(keepingCapacity: true)
    keyEnds.removeAll(keepingCapacity: true)
    while let field = cursor.next() {
      unsafe keys.append(contentsOf: bytes[field.key])
      keyEnds.append(keys.count)
      values.append(field.value)
    }
    // If the bytes end too early, the record is stored as it is.
    guard values.count == count else { return 0 }
    let list = RecordKeys(trusted: keys, ends: keyEnds)
    if let known = numbers[list] { return known }
    guard lists.count < Self.listLimit, keyByteCount + keys.count <= Self.keyByteLimit else { return 0 }
    keyByteCount += keys.count
    lists.append(list)
    numbers[list] = lists.count
    return lists.count
  }

  private mutating func split(
    _ bytes: UnsafeRawBufferPointer, _ cursor: FieldMapCursor, like list: RecordKeys
  ) -> Bool {
    var cursor = cursor
    return unsafe list.bytes.withUnsafeBytes { expected in
      for index in 0..<list.count {
        let key = list.range(index)
        guard let field = cursor.next(), field.key.count == key.count,
          unsafe compareBytes(
            bytes.baseAddress! + field.key.lowerBound, field.key.count,
            expected.baseAddress! + key.lowerBound, key.count) == 0
        else { return false }
        values.append(field.value)
      }
      return true
    }
  }
}

/// Unpacks the records that a ``RecordPacker`` has packed.
package struct RecordUnpacker {
  private let lists: [RecordKeys]
  /// The number of the current record's list of keys; 0 if the keys are stored with the record, -1 if there is none.
  private var number = -1
  /// The ranges of the current record's values, or of the whole record if it is stored with its keys. An empty range
  /// means that the value is unknown.
  private var values: [Range<Int>] = []
  /// The values of the record before the current one. Kept for its memory.
  private var previous: [Range<Int>] = []
  /// For pairs of lists that came one after the other, the positions of the second list's keys in the first one.
  private var positions: [Int: [Int?]] = [:]

  /// The most pairs whose positions are kept.
  private static let pairLimit = 64

  package init(_ lists: [RecordKeys]) { self.lists = lists }

  /// Makes the next record independent of the previous one. Must be called wherever ``RecordPacker/startOver()`` was.
  package mutating func startOver() { number = -1 }

  /// Makes the record in `part` of the bytes the current record. All calls must pass the same bytes.
  package mutating func advance(
    in bytes: UnsafeRawBufferPointer, _ part: Range<Int>
  ) throws(CBORError) {
    var reader = unsafe CBORReader(
      UnsafeRawBufferPointer(rebasing: bytes[..<part.upperBound]), from: part.lowerBound)
    let start = reader.offset
    let number = try reader.readCount()
    guard number > 0 else {
      let content = reader.offset..<part.upperBound
      self.number = 0
      values.removeAll(keepingCapacity: true)
      values.append(content)
      return
    }
    guard number <= lists.count else { throw CBORError(.unexpectedItem, at: start) }
    if number != self.number { takeValues(to: number) }
    // There is no current record until this one was read completely.
    self.number = -1
    var index = 0
    while index < values.count {
      let start = reader.offset
      if let sameCount = try reader.readRepetition() {
        guard sameCount <= values.count - index else { throw CBORError(.unexpectedItem, at: start) }
        for _ in 0..<sameCount {
          guard !values[index].isEmpty else { throw CBORError(.unexpectedItem, at: start) }
          index += 1
        }
      } else {
        try reader.pass()
        values[index] = start..<reader.offset
        index += 1
      }
    }
    try reader.expectEnd()
    self.number = number
  }

  /// Keeps the values of keys that the new list has too. The values of all other keys of the new list become unknown.
  private mutating func takeValues(to other: Int) {
    let list = lists[other - 1]
    swap(&values, &previous)
    values.removeAll(keepingCapacity: true)
    guard number > 0 else {
      values.append(contentsOf: repeatElement(0..<0, count: list.count))
      return
    }
    for position in positions(of: list, other) {
      values.append(position.map { previous[$0] } ?? 0..<0)
    }
  }

  /// The positions of a list's keys in the current list.
  private mutating func positions(of list: RecordKeys, _ other: Int) -> [Int?] {
    let pair = number << 32 | other
    if let known = positions[pair] { return known }
    if positions.count == Self.pairLimit { positions.removeAll() }
    let new = list.positions(in: lists[number - 1])
    positions[pair] = new
    return new
  }

  /// Returns the current record, after a check of its values.
  /// - Throws: ``CBORError`` if a value is invalid, or if repeated values make the record exceed `byteLimit`.
  package func record(
    in bytes: UnsafeRawBufferPointer, byteLimit: Int
  ) throws(CBORError) -> EntityRecord {
    guard number > 0 else {
      return try EntityRecord(checking: unsafe Array(bytes[values.first ?? 0..<0]))
    }
    let list = lists[number - 1]
    // This count lacks the head of the map.
    let byteCount = values.reduce(list.bytes.count) { $0 + $1.count }
    guard byteCount < byteLimit else { throw CBORError(.unsupported, at: 0) }
    for value in values {
      var reader = unsafe CBORReader(
        UnsafeRawBufferPointer(rebasing: bytes[..<value.upperBound]), from: value.lowerBound)
      try reader.skip(depth: 1, allowingUndefined: false)
      try reader.expectEnd()
    }
    let record = CBORWriter.bytes(reserving: byteCount + 9) { writer in
      writer.appendMapHead(count: list.count)
      unsafe list.bytes.withUnsafeBytes { keys in
        for (index, value) in values.enumerated() {
          unsafe writer.append(encoded: UnsafeRawBufferPointer(rebasing: keys[list.range(index)]))
          unsafe writer.append(encoded: UnsafeRawBufferPointer(rebasing: bytes[value]))
        }
      }
    }
    guard record.count <= byteLimit else { throw CBORError(.unsupported, at: 0) }
    return EntityRecord(trusted: record)
  }
}

/// A run of 1 to 20 values that equal those of the previous record. A run of `n` values is encoded as CBOR's simple value
/// `n - 1`; the standard leaves 0 to 19 unassigned.
private enum Repetition {
  static let longest = 20
  static let first: UInt8 = 0xE0

  static func append(_ count: inout Int, to output: inout CBORWriter) {
    if count > 0 { output.append(simple: UInt8(count - 1)) }
    count = 0
  }
}

extension CBORReader {
  /// Reads the length of a run; nil, without reading anything, if a value comes next.
  @inline(__always)
  fileprivate mutating func readRepetition() throws(CBORError) -> Int? {
    let first = try peek()
    guard first >= Repetition.first, first < Repetition.first + UInt8(Repetition.longest) else { return nil }
    offset += 1
    return Int(first - Repetition.first) + 1
  }
}
