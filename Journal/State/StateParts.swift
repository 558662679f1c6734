/// What a state is made of, as a snapshot keeps it.
///
/// A model gives its parts with ``EventSourced/parts`` and is made of them again by ``EventSourced/init(parts:)``.
/// Tables and indexes that a snapshot gives back are backed by its files and read when they are asked for; lists are
/// read at once, so they should be small.
public struct StateParts: Sendable {
  /// The entities, a table for each kind, in the order of ``EventSourced/kindNames``.
  public var tables: [EntityTable]
  /// The indexes, each under a name of its own that stays the same.
  public var indexes: [(name: String, index: EntityIndex)]
  /// The numbers of texts, each list under a name of its own that stays the same.
  public var lists: [(name: String, texts: TextInterner)]

  /// The parts of a state.
  public init(
    tables: [EntityTable], indexes: [(name: String, index: EntityIndex)] = [],
    lists: [(name: String, texts: TextInterner)] = []
  ) {
    self.tables = tables
    self.indexes = indexes
    self.lists = lists
  }

  /// The index of that name, nil when there is none.
  public func index(_ name: String) -> EntityIndex? { indexes.first { $0.name == name }?.index }

  /// The list of that name, nil when there is none.
  public func list(_ name: String) -> TextInterner? { lists.first { $0.name == name }?.texts }

  var entityCount: Int { tables.reduce(0) { $0 + $1.count } }
}

extension EventSourced {
  /// Why some answer of this state may be missing: something of it could be read neither from a snapshot nor, in its
  /// place, from the log. Nil when all that was asked was read.
  ///
  /// A state has no way to throw from each of its answers. So what can't be read is missing from them, and this says
  /// so, in every state of the same journal, until it is opened again. Meanwhile commits, states of the past and
  /// snapshots throw, and a verification is not sound. An app that acts on what it reads in another way asks this
  /// afterwards.
  public var failure: JournalError? {
    guard let tables = parts?.tables else { return nil }
    for table in tables {
      if let failure = table.base?.failure { return failure }
    }
    return nil
  }
}
