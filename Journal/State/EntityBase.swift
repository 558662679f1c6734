/// What stands below the changes of an ``EntityTable``: the entities of one kind as a snapshot has them.
///
/// It never changes: whoever asks twice gets the same answer twice, on any thread. What can't be read is not
/// passed on as an error, for a reader of a state has nowhere to put one: the base finds the answer elsewhere, or says in
/// ``failure`` that some are missing.
package protocol EntityBase: AnyObject, Sendable {
  /// How many entities are there.
  var count: Int { get }
  /// The entity of that number, nil when it is not there.
  func row(_ number: Int) -> Row?
  /// The revision of an entity's newest event, its deletion included; 0: it never was. Decodes as little as
  /// possible.
  func revision(of number: Int) -> Revision
  /// How many of the entities that are there have a lower number.
  func position(of number: Int) -> Int
  /// The entity at a position from 0 up to ``count``, in the order of numbers.
  func row(at position: Int) -> (number: Int, row: Row)?
  /// How many entities are gone.
  var deletionCount: Int { get }
  /// One that is gone, at a position from 0 up to ``deletionCount``, in the order of numbers.
  func deletion(at position: Int) -> (number: Int, revision: Revision)?
  /// Why some answer may be missing, nil when none is.
  var failure: JournalError? { get }
}

/// What stands below the changes of an ``EntityIndex``: its lines as a snapshot has them. It never changes.
package protocol IndexBase: AnyObject, Sendable {
  /// How many lines there are.
  var count: Int { get }
  func contains(_ key: IndexKey) -> Bool
  /// How many lines come before that one, which need not be there.
  func position(of key: IndexKey) -> Int
  /// The line at a position from 0 up to ``count``, in order.
  func key(at position: Int) -> IndexKey?
}
