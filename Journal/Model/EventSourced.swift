/// A state that is made by applying events: the model of a journal.
///
/// A model is a value type with structural sharing: the journal gives copies to readers, and changes only its own copy.
/// The model represents each entity as an `EntityRecord`, which is enough for history, time travel and proof. A model
/// that keeps its entities in ``EntityTable`` and exposes its ``parts`` also has layers and snapshots.
public protocol EventSourced: Sendable {
  /// The name of the model and the version of its records, such as `"catalog/1"`. Each entry records the version.
  /// Another model, or an older version of this one, can't open the journal. Raise the version when a field changes its
  /// meaning, and when the ``kindNames`` or the names of ``parts`` change.
  static var schema: String { get }
  /// The names of the kinds of entities, at most 256. ``EntityKind/rawValue`` is an index into this array.
  static var kindNames: [String] { get }

  /// The state at revision 0.
  init()

  /// The record of an entity, nil if it does not exist.
  func record(of entity: EntityKey) -> EntityRecord?
  /// The revision of the entity's newest event, even if it was deleted; 0 if it never existed.
  func revision(of entity: EntityKey) -> Revision

  /// Applies an event. The result must depend only on this state and the event.
  ///
  /// Drafts and replays both call this method, so their results can't differ. It must change only the entity that the
  /// event names, and its ``revision(of:)``.
  /// - Throws: ``JournalError`` with code `damaged` if the event is impossible in this state, for example if it adds an
  ///   existing entity or updates a missing one.
  mutating func apply(_ event: JournalEvent, at revision: Revision) throws(JournalError)

  /// Converts an event of an older version of this model.
  ///
  /// Called when a replay or a history reads an event of an older version, before the event is applied. The log does
  /// not change. Only the record of an add, or the changes of an update, may differ in the result. An update has only
  /// the parts that changed. A replay may call this method on two threads at once.
  /// - Parameters:
  ///   - event: the event as it was written.
  ///   - version: the version in the ``schema`` that wrote the event, lower than the current one.
  /// - Throws: ``JournalError`` for an event that can't be converted. The reading replay or history then fails with it.
  static func upcast(_ event: JournalEvent, from version: Int) throws(JournalError) -> JournalEvent

  /// Whether an entity does not exist because its content was erased.
  func isErased(_ entity: EntityKey) -> Bool

  /// The blobs that a record names. Each must be in the blob store before an entry names it.
  static func blobs(in record: EntityRecord, of kind: EntityKind) -> [Blob]
  /// The rules of the model that this state breaks, in words; empty if it is valid. Called by `verify`.
  func problems() -> [String]
  /// The rules that the newest entry breaks, in words. This state is the one after the entry's events, and the state
  /// before was valid. Called once for each commit, which fails with `rejected` and the first problem.
  ///
  /// The rules apply however a change is made: by the model's methods, by the draft's own methods, or by a restore.
  /// - Parameter events: the events of the entry, each entity at most once.
  /// - Complexity: should grow with the events, not with the state.
  func problems(after events: [JournalEvent]) -> [String]
  /// The rules that the newest entry breaks, including rules that compare the states before and after the events. By
  /// default, the result of `problems(after:)`. Not called again for a commit of a plan that was checked on this state.
  func problems(after events: [JournalEvent], since before: Self) -> [String]
  /// What an app's additions to the state (``adoptAdditions(of:)``), such as checks, find wrong with the newest entry,
  /// in words. Called for each commit that breaks no rule of the model.
  func problemsByAdditions(after events: [JournalEvent], since before: Self) -> [String]
  /// The indexes that disagree with the entities, in words; empty if all agree. Called by `verify` with the newest state.
  func indexProblems() -> [String]

  /// The entities that a record refers to, whatever the state. They must exist as long as the record's entity.
  static func references(in record: EntityRecord, of kind: EntityKind) -> [EntityKey]
  /// The entities that a record refers to in this state: those of the static method, and those by the state's rules.
  func references(in record: EntityRecord, of kind: EntityKind) -> [EntityKey]
  /// The existing entities that refer to an entity.
  func referrers(to entity: EntityKey) -> [EntityKey]
  /// A record without its references to a deleted entity; nil if the record's own entity must be deleted too.
  static func record(_ record: EntityRecord, of kind: EntityKind, without entity: EntityKey) -> EntityRecord?
  /// A record without its references to a deleted entity, by the rules of this state; nil if the record's own entity
  /// must be deleted too. If the rules forbid the deletion, the record is returned with the reference.
  func record(_ record: EntityRecord, of kind: EntityKind, without entity: EntityKey) -> EntityRecord?
  /// Whether restores, reverts and undo change entities of a kind.
  static func isRestored(_ kind: EntityKind) -> Bool
  /// Whether a copy of a state without its history includes the entities of a kind.
  static func isCopied(_ kind: EntityKind) -> Bool
  /// The revision that a tag stands for; nil if no tag has that name.
  func revision(tagged name: String) -> Revision?

  /// The parts of the state that layers store. If nil, the model has no layers, and its journal always opens by
  /// a replay.
  var parts: StateParts? { get }
  /// Makes the state from the parts that layers have; nil if the parts are not valid. A replay then makes the state.
  init?(parts: StateParts)
  /// This state, with equal parts that are backed by one more layer. The result keeps what the state has besides its
  /// parts, such as indexes in memory. Nil if the parts are not valid.
  ///
  /// Called during a commit, once for some hundred events. By default, ``init(parts:)`` makes the result. A model whose
  /// initializer reads all entities, for example to build a ``ValueIndex``, should implement this method. Otherwise
  /// these commits wait until the index is built again.
  func replacing(parts: StateParts) -> Self?
  /// Takes over what an app has added to another state of the same journal, and no entry records, such as checks. Called
  /// when an erasure or a pruning of the open journal has replayed its state.
  mutating func adoptAdditions(of other: Self)
  /// Gives the state the options of its journal, so that it can report what takes long to ``JournalOptions/log``. Called
  /// for the state at the opening, from which later ones follow by events, and for past states.
  func adopt(_ options: JournalOptions)
  /// The names of the numbered fields 0, 1, … of a kind's records, which describe them in layers and snapshots.
  static func fieldNames(of kind: EntityKind) -> [String]
}

extension EventSourced {
  /// The record that one of the newest entry's events has made; nil if the entity was deleted or erased.
  package func record(after event: JournalEvent) -> EntityRecord? {
    switch event.change {
    case .add(let record): record
    case .update: record(of: event.entity)
    case .delete, .erased: nil
    }
  }
}

extension EventSourced {
  /// By default, the event unchanged: newer versions can read the records of older ones.
  public static func upcast(_ event: JournalEvent, from version: Int) throws(JournalError) -> JournalEvent {
    event
  }
  /// By default, what the kind's table in ``parts`` says; false without parts.
  public func isErased(_ entity: EntityKey) -> Bool {
    guard let tables = parts?.tables, Int(entity.kind.rawValue) < tables.count else { return false }
    return tables[Int(entity.kind.rawValue)].isErased(entity.number)
  }
  /// By default, records name no blobs.
  public static func blobs(in record: EntityRecord, of kind: EntityKind) -> [Blob] { [] }
  /// By default, there are no rules.
  public func problems() -> [String] { [] }
  /// By default, there are no indexes.
  public func indexProblems() -> [String] { [] }
  /// By default, there are no rules.
  public func problems(after events: [JournalEvent]) -> [String] { [] }
  /// By default, the result of `problems(after:)`.
  public func problems(after events: [JournalEvent], since before: Self) -> [String] {
    problems(after: events)
  }
  /// By default, there are no additions.
  public func problemsByAdditions(after events: [JournalEvent], since before: Self) -> [String] { [] }
  /// By default, there are no references.
  public static func references(in record: EntityRecord, of kind: EntityKind) -> [EntityKey] { [] }
  /// By default, there are no references.
  public func referrers(to entity: EntityKey) -> [EntityKey] { [] }
  /// By default, the record unchanged, because there are no references.
  public static func record(_ record: EntityRecord, of kind: EntityKind, without entity: EntityKey)
    -> EntityRecord?
  {
    record
  }
  /// By default, the references that the static method returns.
  public func references(in record: EntityRecord, of kind: EntityKind) -> [EntityKey] {
    Self.references(in: record, of: kind)
  }
  /// By default, the record that the static method returns; nil if that record keeps the reference.
  public func record(_ record: EntityRecord, of kind: EntityKind, without entity: EntityKey) -> EntityRecord?
  {
    Self.record(record, of: kind, without: entity).flatMap { changed in
      Self.references(in: changed, of: kind).contains(entity) ? nil : changed
    }
  }
  /// By default, true for all kinds.
  public static func isRestored(_ kind: EntityKind) -> Bool { true }
  /// By default, true for the kinds that restores change.
  public static func isCopied(_ kind: EntityKind) -> Bool { isRestored(kind) }
  /// By default, there are no tags.
  public func revision(tagged name: String) -> Revision? { nil }
  /// By default, there are no layers and no snapshots.
  public var parts: StateParts? { nil }
  /// By default, nil, because there are no layers.
  public init?(parts: StateParts) { return nil }
  /// By default, the state that ``init(parts:)`` makes.
  public func replacing(parts: StateParts) -> Self? { Self(parts: parts) }
  /// By default, there is nothing to take over.
  public mutating func adoptAdditions(of other: Self) {}
  /// By default, nothing is reported.
  public func adopt(_ options: JournalOptions) {}
  /// By default, there are no names.
  public static func fieldNames(of kind: EntityKind) -> [String] { [] }

  /// The entity's name, such as `item:42`.
  public static func name(of entity: EntityKey) -> String {
    let kind = Int(entity.kind.rawValue)
    return "\(kind < kindNames.count ? kindNames[kind] : "kind\(kind)"):\(entity.number)"
  }

  /// The entity that a name such as `item:42` means.
  /// - Throws: ``JournalError`` with code `notFound` if the text is not such a name.
  public static func entity(named name: String) throws(JournalError) -> EntityKey {
    let parts = name.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, let kind = kindNames.firstIndex(of: String(parts[0])),
      let number = Int(parts[1]), number > 0, parts[1].allSatisfy(\.isNumber)
    else {
      let example = kindNames.map { "\($0):42" }.joined(separator: ", ")
      throw JournalError(.notFound, "\"\(name)\" names no entity; names look like \(example)")
    }
    return EntityKey(kind: EntityKind(rawValue: UInt8(kind)), number: number)
  }
}
