/// The base of an ``EntityTable``: the entities of one kind as layers have them.
///
/// A base never changes: equal calls give equal answers, on any thread. A read failure is not thrown, because reading a
/// state does not throw; ``failure`` reports it.
package protocol EntityBase: AnyObject, Sendable {
  var totals: EntityTotals { get }
  /// The entity of that number, nil if it does not exist.
  func row(_ number: Int) -> EntityRow?
  /// Keeps an entity of the base that an iteration has read, for the next lookup of its number.
  func keep(_ row: EntityRow, of number: Int)
  /// The revision of an entity's newest event, including its deletion; 0 if it never existed. Decodes no record.
  func revision(of number: Int) -> Revision
  func isErased(_ number: Int) -> Bool
  /// The existing entities from a number on, in the order of numbers.
  func rows(from number: Int) -> BaseIterator<Int, EntityRow>
  /// The deleted and erased entities, in the order of numbers.
  func deletions() -> BaseIterator<Int, Deletion>
  /// The revision of each entity's newest event, in the order of numbers. Includes deleted entities.
  func revisions() -> BaseIterator<Int, Revision>
  /// The lines of a declared index; nil if some layer lacks them.
  func valueLines(_ definition: IndexDefinition) -> (any ValueLinesBase)?
  /// The words of a declared index; nil if some layer lacks them.
  func words(_ definition: IndexDefinition) -> (any WordsBase)?
  /// The number of events between this base and another of the same history, if the layers of the newer base list what
  /// changed since the older one; otherwise nil.
  func distance(to other: any EntityBase) -> Int?
  /// The numbers of all entities that may differ between this base and another, whose distance must not be nil.
  func numbers(changedSince other: any EntityBase) -> Set<Int>
  /// Why an answer may be incomplete; nil if no read has failed.
  var failure: JournalError? { get }
  /// Records that an answer was incomplete.
  func fail(_ error: JournalError)
}

/// The counts of the entities of one kind.
package struct EntityTotals: Equatable, Sendable {
  /// The highest number that was ever assigned; 0 if no entity was ever added.
  var highest = 0
  var count = 0
  /// How many entities are deleted or erased.
  var deletionCount = 0
  /// How many of the entities in `deletionCount` are erased.
  var erasedCount = 0
}

/// The base of an ``EntityIndex``: its lines as layers have them. It never changes.
package protocol IndexBase: AnyObject, Sendable {
  func contains(_ key: IndexKey) -> Bool
  /// The existing lines from one key through another, in order. Nil only if there are none, which takes less time to
  /// find out than to iterate.
  func lines(from first: IndexKey, through last: IndexKey) -> BaseIterator<IndexKey, Bool>?
}

/// The base of a ``LayeredIndex``: the lines of a declared index as layers have them. It never changes.
package protocol ValueLinesBase: AnyObject, Sendable {
  /// The lines from one through another, in order or in reverse. Each comes with the revision of the entity's version
  /// that it belongs to, which need not be the newest one.
  func lines(
    from first: ValueLine, through last: ValueLine, reversed: Bool
  ) -> BaseIterator<ValueLine, Revision>
}

/// Iterates over a base. Used by one thread.
package struct BaseIterator<Key, Value>: IteratorProtocol {
  private let step: () -> (key: Key, value: Value)?

  package init(_ step: @escaping () -> (key: Key, value: Value)?) { self.step = step }

  package mutating func next() -> (key: Key, value: Value)? { step() }
}
