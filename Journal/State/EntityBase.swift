/// The base of an ``EntityTable``: the entities of one kind as layers have them.
///
/// A base never changes: equal calls give equal answers, on any thread. A read failure is not thrown, because reading a
/// state does not throw; ``failure`` reports it.
package protocol EntityBase: AnyObject, Sendable {
  var totals: EntityTotals { get }
  /// The entity of that number, nil if it does not exist.
  func row(_ number: Int) -> EntityRow?
  /// The revision of an entity's newest event, including its deletion; 0 if it never existed. Decodes nothing else.
  func revision(of number: Int) -> Revision
  func isErased(_ number: Int) -> Bool
  /// The existing entities from a number on, in the order of numbers.
  func rows(from number: Int) -> BaseIterator<Int, EntityRow>
  /// The deleted and erased entities, in the order of numbers.
  func deletions() -> BaseIterator<Int, Deletion>
  /// All entities, deleted ones too, in the order of numbers, and the revision of each one's newest event.
  func revisions() -> BaseIterator<Int, Revision>
  /// The lines of a declared index; nil if some layer lacks them.
  func valueLines(_ definition: IndexDefinition) -> (any ValueLinesBase)?
  /// How many events lead from one to the other, if the two have one history, so that the layers of the newer one list
  /// what changed since the older one; otherwise nil.
  func distance(to other: any EntityBase) -> Int?
  /// The numbers of all entities that may differ in a related base.
  func numbers(changedSince other: any EntityBase) -> Set<Int>
  /// Why some answer may be missing, nil if none is.
  var failure: JournalError? { get }
}

/// The counts of the entities of one kind.
package struct EntityTotals: Equatable, Sendable {
  /// The highest number that was ever assigned; 0 if none was.
  var highest = 0
  var count = 0
  /// How many entities are deleted or erased.
  var deletionCount = 0
  /// How many of these were erased.
  var erasedCount = 0
}

/// The base of an ``EntityIndex``: its lines as layers have them. It never changes.
package protocol IndexBase: AnyObject, Sendable {
  func contains(_ key: IndexKey) -> Bool
  /// The lines from one key through another, in order. All of them exist.
  func lines(from first: IndexKey, through last: IndexKey) -> BaseIterator<IndexKey, Bool>
}

/// The base of a ``LayeredIndex``: the lines of a declared index as layers have them. It never
/// changes.
package protocol ValueLinesBase: AnyObject, Sendable {
  /// The lines from one through another, in order or in reverse, with the revision of the version that each is of. That
  /// need not be an entity's newest version.
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
