package import CBOR
import Tables

extension EntityTable: Sequence {
  /// Iterates over the existing entities in the order of their numbers, lazily. A later change of the table does not
  /// affect the iterator. O(log n) to begin, O(1) for each entity.
  public func makeIterator() -> Iterator {
    Iterator(
      entities: LayeredIterator(
        rowsOfBase(from: 0), above: rows.makeIterator(), hidden: deletions.makeIterator()))
  }

  /// The existing entities from a number on, in the order of numbers.
  package func entities(from number: Int) -> Iterator {
    Iterator(
      entities: LayeredIterator(
        rowsOfBase(from: number), above: rows.elements(from: number),
        hidden: deletions.elements(from: number)))
  }

  private func rowsOfBase(from number: Int) -> BaseIterator<Int, EntityRow>? {
    guard var below = base?.rows(from: number) else { return nil }
    guard let deferred, !deferred.isEmpty else { return below }
    return BaseIterator { below.next().map { ($0.key, updated($0.key, $0.value)) } }
  }

  /// Calls `body` with the records of the existing entities from a number on, in order, until `body` returns false.
  /// Records in memory are not copied, so this takes less time than ``entities(from:)``.
  package func forEachRecord(from number: Int, _ body: (_ number: Int, _ record: EntityRecord) -> Bool) {
    guard base != nil else { return rows.forEach(from: number) { body($0, $1.record) } }
    for (number, row) in entities(from: number) where !body(number, row.record) { return }
  }

  /// The entities of some numbers, in the order of these. Many numbers that are close to each other and in ascending
  /// order are read in one pass, and not looked up one by one.
  package func entities(_ numbers: [Int]) -> Selected {
    Selected(
      table: self, numbers: numbers,
      entities: Self.areDense(numbers) ? entities(from: numbers[0]) : nil)
  }

  private static func areDense(_ numbers: [Int]) -> Bool {
    guard numbers.count >= 32, let first = numbers.first, let last = numbers.last else { return false }
    // A forged index may have any numbers, so their difference may overflow.
    return UInt(bitPattern: last &- first) < numbers.count * manyShare
      && zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }
  }

  /// Calls `body` with each of some numbers, in their order. `body` looks the entity of that number up in less time if
  /// ``entities(_:)`` reads the entities in one pass.
  package func forEach<Failure: Error>(
    _ numbers: [Int], _ body: (_ number: Int) throws(Failure) -> Void
  ) throws(Failure) {
    guard let base, Self.areDense(numbers) else {
      for number in numbers { try body(number) }
      return
    }
    var entities = entities(numbers)
    while let (number, row) = entities.next() {
      // An entity above the base is not that of the base.
      if let row, !rows.contains(number), deferred?[number] == nil { base.keep(row, of: number) }
      try body(number)
    }
  }

  /// If at least one entity in this many is wanted, reading all of them is faster.
  package static var manyShare: Int { 8 }

  /// Iterates over the entities of some numbers.
  package struct Selected: Sequence, IteratorProtocol {
    fileprivate let table: EntityTable
    fileprivate let numbers: [Int]
    /// All entities from the first number on; nil if each is looked up.
    fileprivate var entities: Iterator?
    private var position = 0
    private var found: (number: Int, row: EntityRow)?

    fileprivate init(table: EntityTable, numbers: [Int], entities: Iterator?) {
      self.table = table
      self.numbers = numbers
      self.entities = entities
      found = self.entities?.next()
    }

    package var underestimatedCount: Int { numbers.count - position }

    /// The next number, and its entity if that exists; nil at the end.
    package mutating func next() -> (number: Int, row: EntityRow?)? {
      guard position < numbers.count else { return nil }
      let number = numbers[position]
      position += 1
      while let known = found, known.number < number { found = entities?.next() }
      if let found, found.number == number { return (number, found.row) }
      return (number, table[number])
    }
  }

  /// Iterates over entities.
  public struct Iterator: Sequence, IteratorProtocol {
    var entities: LayeredIterator<BaseIterator<Int, EntityRow>, Int, EntityRow, Deletion>

    /// The next entity, nil at the end.
    public mutating func next() -> (number: Int, row: EntityRow)? {
      guard let (number, row) = entities.next() else { return nil }
      return (number, row)
    }
  }

  /// The deleted and erased entities in the order of numbers, each with the revision of its newest event.
  package var goneEntities: GoneEntities {
    GoneEntities(
      deletions: LayeredIterator(
        base.map { $0.deletions() }, above: deletions.makeIterator(), hidden: rows.makeIterator()))
  }

  /// Iterates over deleted and erased entities. Later changes of the table do not affect the iterator.
  package struct GoneEntities: Sequence, IteratorProtocol {
    var deletions: LayeredIterator<BaseIterator<Int, Deletion>, Int, Deletion, EntityRow>

    package mutating func next() -> (number: Int, revision: Revision, isErased: Bool)? {
      guard let (number, deletion) = deletions.next() else { return nil }
      return (number, deletion.revision, deletion.isErased)
    }
  }
}
