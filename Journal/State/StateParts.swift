/// The parts of a state that layers and snapshots store.
///
/// ``EventSourced/parts`` gives them, and ``EventSourced/init(parts:)`` makes a state of them. The tables and indexes
/// are backed by the files of layers and read on demand; lists are read at once, so they should be small.
public struct StateParts: Sendable {
  /// The entities, a table for each kind, in the order of ``EventSourced/kindNames``.
  public var tables: [EntityTable]
  /// The indexes, each with a unique name that never changes.
  public var indexes: [(name: String, index: EntityIndex)]
  /// The texts that have numbers, in lists, each with a unique name that never changes.
  public var lists: [(name: String, texts: TextInterner)]
  /// The indexes that the app has declared, by the entities that they list. For a scope in the dictionary, new layers
  /// have exactly these indexes, even if there are none. For others, they keep the indexes of earlier layers.
  package var declaredIndexes: [IndexScope: [IndexDefinition]] = [:]

  /// The parts of a state.
  public init(
    tables: [EntityTable], indexes: [(name: String, index: EntityIndex)] = [],
    lists: [(name: String, texts: TextInterner)] = []
  ) {
    self.tables = tables
    self.indexes = indexes
    self.lists = lists
  }

  /// The number of bytes of changed records that are in memory, because no layer has them.
  var changedByteCount: Int { tables.reduce(0) { $0 + $1.rowByteCount } }

  /// The number of bytes of earlier records in memory that were replaced. Copies of the state may hold them.
  var replacedByteCount: Int { tables.reduce(0) { $0 + $1.replacedByteCount } }

  /// The index of that name, nil if there is none.
  public func index(_ name: String) -> EntityIndex? { indexes.first { $0.name == name }?.index }

  /// The list of that name, nil if there is none.
  public func list(_ name: String) -> TextInterner? { lists.first { $0.name == name }?.texts }
}

extension EventSourced {
  /// The number of bytes of changed records that are in memory, because no layer has them; 0 for a model without parts.
  var changedByteCount: Int { parts?.changedByteCount ?? 0 }

  /// Why some answer of this state may be incomplete: a part of it could be read neither from a layer nor from the
  /// log. Nil if every read succeeded.
  ///
  /// Reading a state does not throw. So answers lack what can't be read, and this property reports it in every state of
  /// the same journal, until the journal is opened again. Until then commits, past states and snapshots throw, and a
  /// verification is not sound. If an entry that a past state reads late is damaged, only that state reports it. An app
  /// that acts on answers in other ways should check this property afterwards.
  public var failure: JournalError? {
    guard let tables = parts?.tables else { return nil }
    for table in tables {
      if let failure = table.base?.failure { return failure }
    }
    return nil
  }
}
