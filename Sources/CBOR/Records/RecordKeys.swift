/// The list of the keys of a record. Many records have the same list.
package struct RecordKeys: Hashable, Sendable {
  /// The encoded keys, in order, one after the other.
  package let bytes: [UInt8]
  let ends: [Int]

  package var count: Int { ends.count }

  /// - Throws: ``CBORError`` unless the bytes are the keys of a record, in ascending order.
  package init(_ bytes: [UInt8]) throws(CBORError) {
    ends = try unsafe bytes.withUnsafeBufferPointer { buffer throws(CBORError) in
      var ends: [Int] = []
      var reader = unsafe CBORReader(UnsafeRawBufferPointer(buffer))
      while reader.offset < buffer.count {
        let start = reader.offset
        if (24..<0x60).contains(try reader.peek()) { throw CBORError(.unexpectedItem, at: start) }
        try FieldMap.skipKey(&reader)
        let previous = (ends.dropLast().last ?? 0)..<(ends.last ?? 0)
        guard ends.isEmpty || reader.isBefore(previous, start..<reader.offset) else {
          throw CBORError(.notDeterministic, at: start)
        }
        ends.append(reader.offset)
      }
      return ends
    }
    self.bytes = bytes
  }

  init(trusted bytes: [UInt8], ends: [Int]) {
    self.bytes = bytes
    self.ends = ends
  }

  /// For each key, its position in `other`; nil if `other` lacks the key.
  /// - Complexity: O(n + m) in the numbers of keys.
  func positions(in other: RecordKeys) -> [Int?] {
    var positions: [Int?] = []
    positions.reserveCapacity(count)
    var index = 0
    for place in ends.indices {
      var order = 1
      while index < other.count {
        order = compare(place, other, index)
        if order <= 0 { break }
        index += 1
      }
      positions.append(index < other.count && order == 0 ? index : nil)
    }
    return positions
  }

  private func compare(_ place: Int, _ other: RecordKeys, _ index: Int) -> Int {
    unsafe bytes.withUnsafeBytes { left in
      unsafe other.bytes.withUnsafeBytes { right in
        let (key, otherKey) = (range(place), other.range(index))
        return unsafe compareBytes(
          left.baseAddress! + key.lowerBound, key.count, right.baseAddress! + otherKey.lowerBound,
          otherKey.count)
      }
    }
  }

  func range(_ place: Int) -> Range<Int> { (place == 0 ? 0 : ends[place - 1])..<ends[place] }

  package var keys: [FieldKey] {
    var keys: [FieldKey] = []
    unsafe bytes.withUnsafeBytes { buffer in
      var reader = unsafe CBORReader(buffer)
      while let first = try? reader.peek() {
        if first < 24, let number = try? reader.readUnsigned() {
          keys.append(.field(UInt8(number)))
        } else if let name = try? reader.readText() {
          keys.append(.attribute(name))
        } else {
          return
        }
      }
    }
    return keys
  }

  package static func == (left: RecordKeys, right: RecordKeys) -> Bool { left.bytes == right.bytes }
  package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}
