package import CBOR
import Tables

extension EntityTable {
  /// Entities whose numbers are in a range.
  package struct Part: Sendable {
    fileprivate let rows: SortedTable<Int, EntityRow>
    fileprivate let numbers: Range<Int>

    /// Calls `body` with the records in the order of the numbers, until it returns false.
    package func forEachRecord(_ body: (_ number: Int, _ record: EntityRecord) -> Bool) {
      rows.forEach(from: numbers.lowerBound) { $0 < numbers.upperBound && body($0, $1.record) }
    }
  }

  /// Whether two threads read the records in less time than one. Those in layers are decoded by two threads anyway.
  package var isLongInMemory: Bool {
    // A forged event may have any number, and then most parts would be empty.
    base == nil && count >= 1 << 14 && highest / count < Self.manyShare
  }

  /// Transforms the entities from a number on in parts, on two threads. Only for a table that ``isLongInMemory``.
  /// - Parameters:
  ///   - transform: called by both threads.
  ///   - body: gets the result for each part, in the order of the numbers.
  /// - Returns: false, without any call, if no second thread is free.
  package func forEachPart<Output: Sendable>(
    from number: Int, _ transform: @escaping @Sendable (Part) -> Output, _ body: (Output) -> Void
  ) -> Bool {
    let (rows, highest, length) = (rows, highest, 1 << 12)
    var start = number
    let ahead = ReadAhead { () -> Part? in
      defer { start += length }
      return start <= highest ? Part(rows: rows, numbers: start..<start + length) : nil
    } _: {
      transform($0)
    }
    guard let ahead else { return false }
    while let output = ahead.next() { body(output) }
    return true
  }

  /// Transforms the entities of some numbers, in the order of these; on two threads if there are many, because making a
  /// value of a record takes longer than reading the record.
  /// - Parameter transform: gets some numbers, each with its entity if that exists. Its results are joined.
  /// - Throws: the error for the first part whose transformation fails.
  package func map<Output: Sendable>(
    _ numbers: [Int], _ transform: @escaping @Sendable (_ part: [Selected.Element]) throws -> [Output]
  ) throws -> [Output] {
    var outputs: [Output] = []
    outputs.reserveCapacity(numbers.count)
    if numbers.count >= Self.longCount, let ahead = ahead(numbers, transform) {
      while let part = ahead.next() { outputs += try part.get() }
    } else {
      var entities = entities(numbers)
      while let part = Self.nextPart(of: &entities) { outputs += try transform(part) }
    }
    return outputs
  }

  /// Below this many entities, a second thread does not pay off.
  private static var longCount: Int { 1024 }

  /// Nil if no second thread is free.
  private func ahead<Output: Sendable>(
    _ numbers: [Int], _ transform: @escaping @Sendable (_ part: [Selected.Element]) throws -> [Output]
  ) -> ReadAhead<[Selected.Element], Result<[Output], any Error>>? {
    var entities = entities(numbers)
    return ReadAhead {
      Self.nextPart(of: &entities)
    } _: { part in
      Result { try transform(part) }
    }
  }

  /// The next entities, fewer if their records are large; nil at the end.
  private static func nextPart(of entities: inout Selected) -> [Selected.Element]? {
    var part: [Selected.Element] = []
    var byteCount = 0
    while part.count < 256, byteCount < 1 << 20, let next = entities.next() {
      part.append(next)
      byteCount += next.row?.record.bytes.count ?? 0
    }
    return part.isEmpty ? nil : part
  }
}
