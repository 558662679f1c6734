/// Proves that two states are equal: a SHA-256 over all entities, including deleted ones.
///
/// `Documentation/Format.md`, "State digest", specifies the bytes. Indexes and lists, which follow from the entities,
/// are excluded.
package enum StateDigest {
  /// The digest of a state; nil for a model without parts.
  /// - Complexity: O(n) in the bytes of all records; it holds only some of them in memory.
  package static func digest<State: EventSourced>(of state: State) -> ContentDigest? {
    state.parts.map { digest(schema: State.schema, tables: $0.tables) }
  }

  /// - Parameter sink: receives the hashed bytes, in pieces.
  package static func digest(
    schema: String, tables: [EntityTable], sink: (([UInt8]) -> Void)? = nil
  ) -> ContentDigest {
    var builder = Builder(schema: schema, sink: sink)
    for table in tables {
      builder.begin(highest: table.highest, count: table.count)
      for (number, row) in table { builder.append(number, row) }
      builder.end(table)
    }
    return builder.finish()
  }

  /// Computes the digest of a state while a snapshot's writer iterates over it.
  struct Builder: ~Copyable {
    private var hash: BufferedHash

    init(schema: String, sink: (([UInt8]) -> Void)? = nil) {
      hash = BufferedHash(sink: sink)
      hash.append(schema.utf8.count)
      hash.append(Array(schema.utf8))
    }

    /// Begins a table, whose entities are then all appended in order.
    mutating func begin(highest: Int, count: Int) {
      hash.append(highest)
      hash.append(count)
    }

    mutating func append(_ number: Int, _ row: EntityRow) {
      hash.append(number, row.created, row.modified, row.record.bytes.count)
      hash.append(row.record.bytes)
    }

    /// Ends a table: adds the deleted entities, and which of them were erased.
    mutating func end(_ table: EntityTable) {
      hash.append(table.totals.deletionCount)
      for (number, revision, _) in table.goneEntities {
        hash.append(number)
        hash.append(revision)
      }
      hash.append(table.totals.erasedCount)
      for number in table.erasedNumbers { hash.append(number) }
    }

    /// Ends a table whose deleted and erased entities are given as rows of numbers and revisions.
    mutating func end(deletions: PackedNumbersBuilder, erased: PackedNumbersBuilder) {
      hash.append(deletions.count)
      for position in 0..<deletions.count {
        let row = deletions.row(at: position)
        hash.append(Int(row.0))
        hash.append(Int(row.1))
      }
      hash.append(erased.count)
      for position in 0..<erased.count { hash.append(Int(erased.row(at: position).0)) }
    }

    consuming func finish() -> ContentDigest { hash.finish() }
  }
}

/// Collects small pieces before hashing, because a call of the hash function takes longer than hashing such a piece.
private struct BufferedHash: ~Copyable {
  private static let limit = 64 << 10

  private var hash = SHA256Hash()
  private var buffer: [UInt8] = []
  /// Receives all hashed bytes.
  private let sink: (([UInt8]) -> Void)?

  init(sink: (([UInt8]) -> Void)?) {
    self.sink = sink
    buffer.reserveCapacity(Self.limit)
  }

  /// Appends a number as eight bytes, the most significant first.
  mutating func append(_ number: Int) {
    if buffer.count >= Self.limit { flush() }
    unsafe withUnsafeBytes(of: number.bigEndian) { unsafe buffer.append(contentsOf: $0) }
  }

  /// Appends the four numbers of an entity.
  mutating func append(_ first: Int, _ second: Int, _ third: Int, _ fourth: Int) {
    let numbers = (first.bigEndian, second.bigEndian, third.bigEndian, fourth.bigEndian)
    unsafe withUnsafeBytes(of: numbers) { unsafe buffer.append(contentsOf: $0) }
  }

  mutating func append(_ bytes: [UInt8]) {
    if buffer.count + bytes.count > Self.limit { flush() }
    if bytes.count > Self.limit { take(bytes) } else { buffer.append(contentsOf: bytes) }
  }

  private mutating func flush() {
    take(buffer)
    buffer.removeAll(keepingCapacity: true)
  }

  private mutating func take(_ bytes: [UInt8]) {
    hash.update(bytes)
    sink?(bytes)
  }

  consuming func finish() -> ContentDigest {
    flush()
    return hash.finish()
  }
}
