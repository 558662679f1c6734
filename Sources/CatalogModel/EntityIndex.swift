import CBOR
import Tables

/// One line of an index: what is looked for, and the number of an entity found there.
struct IndexKey: Comparable, Hashable, Sendable {
  let group: Int
  let member: Int

  // Both are never negative, so the two words compare as one number, without a branch: a third of the time
  // of an event goes into these comparisons.
  @inline(__always)
  private var number: UInt128 {
    UInt128(UInt64(truncatingIfNeeded: group)) << 64 | UInt128(UInt64(truncatingIfNeeded: member))
  }

  @inline(__always)
  static func < (left: IndexKey, right: IndexKey) -> Bool { left.number < right.number }
}

/// Finds the members of a group, in the order of their numbers: the items of a category, say.
///
/// All groups stand in one table, side by side, so a group of one costs no more than a line.
struct EntityIndex: Sendable {
  private var keys = Table<IndexKey, Void>()

  var count: Int { keys.count }

  func contains(_ member: Int, in group: Int) -> Bool {
    keys.contains(IndexKey(group: group, member: member))
  }

  mutating func insert(_ member: Int, in group: Int) {
    keys.updateValue((), forKey: IndexKey(group: group, member: member))
  }

  mutating func remove(_ member: Int, from group: Int) {
    keys.removeValue(forKey: IndexKey(group: group, member: member))
  }

  /// The members of a group, found as they are asked for. O(log n) and the answer.
  func members(of group: Int) -> Members {
    Members(
      keys: keys.elements(in: IndexKey(group: group, member: 0)...IndexKey(group: group, member: .max)))
  }

  /// The members of one group, in order.
  struct Members: Sequence, Sendable {
    fileprivate let keys: Table<IndexKey, Void>.Elements

    func makeIterator() -> Iterator { Iterator(keys: keys.makeIterator()) }

    struct Iterator: IteratorProtocol {
      fileprivate var keys: Table<IndexKey, Void>.Iterator
      mutating func next() -> Int? { keys.next()?.key.member }
    }
  }
}

/// Gives each kind of items a number, in the order in which they are first met, for an index to use.
///
/// Kinds are told apart by their bytes, and not, as Swift does with strings, by what Unicode deems equal: the
/// index may not depend on a version of Unicode. The numbers are never written anywhere.
struct KindNumbers: Sendable {
  /// An encoded text.
  private struct Key: Comparable, Sendable {
    let bytes: [UInt8]
    static func < (left: Key, right: Key) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
  }

  private var numbers = Table<Key, Int>()
  /// The kind that was asked for last, which is nearly always the one that is asked for next.
  private var newest: (bytes: [UInt8], number: Int) = ([], 0)

  /// The number of the kind that stands at `range` in a record; a new kind gets the next number.
  mutating func number(ofKindAt range: Range<Int>, in record: Record) -> Int {
    if newest.bytes.count == range.count, record.bytes.hasBytes(newest.bytes, at: range.lowerBound) {
      return newest.number
    }
    let bytes = Array(record.bytes[range])
    let number = numbers[Key(bytes: bytes)] ?? numbers.count
    if number == numbers.count { numbers.updateValue(number, forKey: Key(bytes: bytes)) }
    newest = (bytes, number)
    return number
  }

  /// The number of the kind that stands at `range` in a record, nil when it was never met.
  func number(ofKnownKindAt range: Range<Int>, in record: Record) -> Int? {
    numbers[Key(bytes: Array(record.bytes[range]))]
  }

  /// The number of a kind, nil when it was never met.
  func number(of kind: String) -> Int? {
    var writer = CBORWriter()
    writer.append(text: kind)
    return numbers[Key(bytes: writer.finish())]
  }

  /// All kinds that were ever met, with their numbers.
  var all: some Sequence<(kind: String, number: Int)> {
    numbers.lazy.map { (kind: Self.text($0.key.bytes), number: $0.value) }
  }

  private static func text(_ encoded: [UInt8]) -> String {
    unsafe encoded.withUnsafeBytes { buffer in
      var reader = unsafe CBORReader(buffer)
      return (try? reader.readText()) ?? ""
    }
  }
}

extension [UInt8] {
  /// Whether these bytes hold the others from `start` on; there must be that many.
  @inline(__always)
  fileprivate func hasBytes(_ others: [UInt8], at start: Int) -> Bool {
    for index in others.indices where self[start + index] != others[index] { return false }
    return true
  }
}
