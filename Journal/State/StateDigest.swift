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
    var builder = Builder(schema: schema)
    for table in tables {
      builder.begin(highest: table.highest, count: table.count)
      for (number, row) in table { builder.append(number, row) }
      builder.end(count: table.deletionCount)
      for (number, revision) in table.goneEntities { builder.append(deletion: number, revision) }
    }
    return builder.finish()
  }

  /// Makes the digest of a state that somebody goes through anyway: a snapshot's writer.
  struct Builder: ~Copyable {
    private var hash = BufferedHash()

    init(schema: String) {
      hash.append(schema.utf8.count)
      hash.append(Array(schema.utf8))
    }

    /// Before the entities of a table, all of which are then appended in order.
    mutating func begin(highest: Int, count: Int) {
      hash.append(highest)
      hash.append(count)
    }

    mutating func append(_ number: Int, _ row: Row) {
      hash.append(number, row.created, row.modified, row.record.bytes.count)
      hash.append(row.record.bytes)
    }

    /// Behind the entities of a table; those that are gone are then appended.
    mutating func end(count: Int) { hash.append(count) }

    mutating func append(deletion number: Int, _ revision: Revision) {
      hash.append(number)
      hash.append(revision)
    }

    /// The same for all of them at once.
    mutating func end(_ deletions: PackedNumbersBuilder, count: Int) {
      end(count: count)
      deletions.forEach { append(deletion: Int($0.0), Int($0.1)) }
    }

    consuming func finish() -> Digest { hash.finish() }
  }
}

/// Hashes small pieces together: handing each over by itself takes longer than hashing it.
private struct BufferedHash: ~Copyable {
  private static let limit = 64 << 10

  private var hash = SHA256Hash()
  private var buffer: [UInt8] = []

  init() { buffer.reserveCapacity(Self.limit) }

  /// A number of eight bytes, the most significant first.
  mutating func append(_ number: Int) {
    if buffer.count >= Self.limit { flush() }
    unsafe withUnsafeBytes(of: number.bigEndian) { unsafe buffer.append(contentsOf: $0) }
  }

  /// Four of them at once, as every entity has.
  mutating func append(_ first: Int, _ second: Int, _ third: Int, _ fourth: Int) {
    let numbers = (first.bigEndian, second.bigEndian, third.bigEndian, fourth.bigEndian)
    unsafe withUnsafeBytes(of: numbers) { unsafe buffer.append(contentsOf: $0) }
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
