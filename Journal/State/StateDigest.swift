/// Proves that two states are equal: a SHA-256 over all entities, those that are gone included.
///
/// `Documentation/Format.md`, "State digest", says over which bytes. Indexes and lists are not among them, for
/// they follow from the entities.
package enum StateDigest {
  /// The digest of a state; nil for a model that does not say what its states are made of.
  /// - Complexity: O(n) in the bytes of all records; it takes the memory of some of them.
  package static func digest<State: EventSourced>(of state: State) -> Digest? {
    state.parts.map { digest(schema: State.schema, tables: $0.tables) }
  }

  /// The digest of a state of these tables.
  package static func digest(schema: String, tables: [EntityTable]) -> Digest {
    var hash = BufferedHash()
    hash.append(schema.utf8.count)
    hash.append(Array(schema.utf8))
    for table in tables {
      hash.append(table.highest, table.count)
      for (number, row) in table {
        hash.append(number, row.created, row.modified, row.record.bytes.count)
        hash.append(row.record.bytes)
      }
      hash.append(table.deletionCount)
      for (number, revision) in table.goneEntities { hash.append(number, revision) }
    }
    return hash.finish()
  }
}

/// Hashes small pieces together: handing each over by itself takes longer than hashing it.
private struct BufferedHash: ~Copyable {
  private static let limit = 64 << 10

  private var hash = SHA256Hash()
  private var buffer: [UInt8] = []

  init() { buffer.reserveCapacity(Self.limit) }

  /// Numbers of eight bytes, the most significant first.
  mutating func append(_ numbers: Int...) {
    if buffer.count + 8 * numbers.count > Self.limit { flush() }
    for number in numbers {
      unsafe withUnsafeBytes(of: UInt64(truncatingIfNeeded: number).bigEndian) {
        unsafe buffer.append(contentsOf: $0)
      }
    }
  }

  mutating func append(_ bytes: [UInt8]) {
    if buffer.count + bytes.count > Self.limit { flush() }
    if bytes.count > Self.limit { hash.update(bytes) } else { buffer.append(contentsOf: bytes) }
  }

  private mutating func flush() {
    hash.update(buffer)
    buffer.removeAll(keepingCapacity: true)
  }

  consuming func finish() -> Digest {
    flush()
    return hash.finish()
  }
}
