/// What stands below the changes of an ``EntityTable``: the entities of one kind as the layers of a snapshot have them.
///
/// It never changes: two calls give the same answer, on any thread. What can't be read is not passed on as an error,
/// for a reader of a state has nowhere to put one; the base says so in ``failure``.
package protocol EntityBase: AnyObject, Sendable {
  /// How many entities are there.
  var count: Int { get }
  /// How many entities are gone.
  var deletionCount: Int { get }
  /// How many of these are gone because they were erased.
  var erasedCount: Int { get }
  /// The entity of that number, nil when it is not there.
  func row(_ number: Int) -> EntityRow?
  /// The revision of an entity's newest event, its deletion included; 0: it never was. Decodes nothing else.
  func revision(of number: Int) -> Revision
  /// Whether an entity is gone because it was erased.
  func isErased(_ number: Int) -> Bool
  /// Gives the entities that are there one after the other, in the order of their numbers, from one on.
  func rows(from number: Int) -> BaseIterator<Int, EntityRow>
  /// The same for those that are gone.
  func deletions() -> BaseIterator<Int, Deletion>
  /// Whether one of the two was made from the other by what is in the layers between them.
  func isRelated(to other: any EntityBase) -> Bool
  /// The numbers of all entities that may be different in another base to which this one is related.
  func numbers(changedSince other: any EntityBase) -> Set<Int>
  /// Why some answer may be missing, nil when none is.
  var failure: JournalError? { get }
}

/// What stands below the changes of an ``EntityIndex``: its lines as the layers of a snapshot have them. It never
/// changes.
package protocol IndexBase: AnyObject, Sendable {
  func contains(_ key: IndexKey) -> Bool
  /// Gives the lines one after the other, in order, from one on.
  func lines(from key: IndexKey) -> BaseIterator<IndexKey, Void>
}

/// Goes through a base. Used by one thread.
package struct BaseIterator<Key, Value>: IteratorProtocol {
  private let step: () -> (key: Key, value: Value)?

  package init(_ step: @escaping () -> (key: Key, value: Value)?) { self.step = step }

  package mutating func next() -> (key: Key, value: Value)? { step() }
}
