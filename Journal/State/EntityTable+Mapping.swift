extension EntityTable {
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
