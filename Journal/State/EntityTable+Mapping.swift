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

  /// Transforms the entities of some numbers, in the order of these; on two threads if there are many, because reading
  /// a record and making a value of it take longer than joining the results.
  /// - Parameter transform: gets some numbers, each with its entity if that exists. Its results are joined.
  /// - Throws: the error for the first part whose transformation fails.
  package func map<Output: Sendable>(
    _ numbers: [Int], _ transform: @escaping @Sendable (_ part: Selected) throws -> [Output]
  ) throws -> [Output] {
    if numbers.count >= Self.longCount, let ahead = ahead(numbers, transform) {
      var outputs: [Output] = []
      outputs.reserveCapacity(numbers.count)
      while let part = ahead.next() { outputs += try part.get() }
      return outputs
    }
    return try transform(entities(numbers))
  }

  /// Below this many entities, a second thread does not pay off.
  private static var longCount: Int { 1024 }
  /// How many entities a thread reads and transforms at a time.
  private static var partCount: Int { 512 }

  /// Nil if no second thread is free. Each thread reads the entities that it transforms: if one read them for both, the
  /// other would wait while the reader is not running.
  private func ahead<Output: Sendable>(
    _ numbers: [Int], _ transform: @escaping @Sendable (_ part: Selected) throws -> [Output]
  ) -> ReadAhead<ArraySlice<Int>, Result<[Output], any Error>>? {
    var rest = numbers[...]
    return ReadAhead {
      defer { rest = rest.dropFirst(Self.partCount) }
      return rest.isEmpty ? nil : rest.prefix(Self.partCount)
    } _: { part in
      Result { try transform(entities(Array(part))) }
    }
  }
}
