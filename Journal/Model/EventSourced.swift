/// A state that events make: what a journal is a journal of.
///
/// A model is a value type with structural sharing: the journal hands copies out to readers and goes on
/// changing its own. It writes each entity as an `EntityRecord` and needs nothing else to have history, time travel
/// and proof. One that keeps its entities in ``EntityTable`` and gives its ``parts`` has snapshots too.
public protocol EventSourced: Sendable {
  /// Names the model and the version of its records, such as `"catalog/1"`. A journal keeps it with each entry,
  /// and is not opened as another model, nor as an older version of this one.
  static var schema: String { get }
  /// The names of the kinds of entities; ``EntityKind/rawValue`` is an index into it.
  static var kindNames: [String] { get }

  /// The state at revision 0.
  init()

  /// What is known of an entity, nil when it is not there.
  func record(of entity: EntityKey) -> EntityRecord?
  /// The revision of the entity's newest event, of a deleted entity too; 0 when it never was.
  func revision(of entity: EntityKey) -> Revision

  /// Runs an event. The result may depend on nothing but this state and the event.
  ///
  /// A draft calls it for what is new, a replay for what the log holds: they can't differ. It changes the entity
  /// that the event names and no other, and ``revision(of:)`` says so.
  /// - Throws: ``JournalError`` with code `damaged` when the event can't follow from this state, as when it
  ///   adds what is there or updates what is not.
  mutating func apply(_ event: JournalEvent, at revision: Revision) throws(JournalError)

  /// Brings an event that an older version of this model has written up to date.
  ///
  /// Called for each such event as it is read, by a replay as by a history, before it is applied; the log stays
  /// as it is. Only the record or the changes may become others. An update has what changed and no more.
  /// - Parameter version: the number in the ``schema`` of who wrote it, lower than today's.
  static func upcast(_ event: JournalEvent, from version: Int) throws(JournalError) -> JournalEvent

  /// Whether an entity is not there because what it was has been erased.
  func isErased(_ entity: EntityKey) -> Bool

  /// The blobs that a record names; they must be in the blob store before an entry may name them.
  static func blobs(in record: EntityRecord, of kind: EntityKind) -> [Blob]
  /// Rules of the model that this state breaks, in words; empty when all is well. Asked by `verify`.
  func problems() -> [String]
  /// Those of ``problems()`` that the newest entry can have caused: this is the state after its events, and the
  /// state before them had none. Asked once for each commit, which is `rejected` with the first.
  ///
  /// It holds whichever way a change is made: by the model's verbs, by a draft's own, or by restoring what was.
  /// - Parameter events: each entity at most once.
  /// - Complexity: should grow with the events, and not with the state.
  func problems(after events: [JournalEvent]) -> [String]

  /// A few words by which a person knows an entity with that record; nil when it has none.
  static func label(of record: EntityRecord, of kind: EntityKind) -> String?

  /// The entities that a record refers to, each of which must be there for as long as it does.
  static func references(in record: EntityRecord, of kind: EntityKind) -> [EntityKey]
  /// The entities that are there and refer to an entity.
  func referrers(to entity: EntityKey) -> [EntityKey]
  /// What becomes of a record when an entity goes that it refers to; nil when its own entity goes with it.
  static func record(_ record: EntityRecord, of kind: EntityKind, without entity: EntityKey) -> EntityRecord?
  /// Whether restores, reverts and undo touch entities of that kind.
  static func isRestored(_ kind: EntityKind) -> Bool
  /// The revision that a tag of that name stands for; nil when there is none.
  func revision(tagged name: String) -> Revision?

  /// What the state is made of, as a snapshot keeps it. With nil the model has no snapshots, and a journal
  /// always opens by a replay.
  var parts: StateParts? { get }
  /// The state that a snapshot has; nil when these are not the parts of one, and then a replay makes it.
  init?(parts: StateParts)
  /// The same state, made of the same parts, which are backed by a snapshot's layers now. What a state has besides its
  /// parts, such as indexes that are kept in memory, goes with it.
  func replacing(parts: StateParts) -> Self?
  /// The names of the numbered fields 0, 1, … of a kind's records, for a snapshot's own description.
  static func fieldNames(of kind: EntityKind) -> [String]
}

extension EventSourced {
  /// The same event: what a model has whose newer versions read the records of the older ones as they are.
  public static func upcast(_ event: JournalEvent, from version: Int) throws(JournalError) -> JournalEvent {
    event
  }
  /// What the tables among the ``parts`` know of it: what a model has that does not say otherwise.
  public func isErased(_ entity: EntityKey) -> Bool {
    guard let tables = parts?.tables, Int(entity.kind.rawValue) < tables.count else { return false }
    return tables[Int(entity.kind.rawValue)].isErased(entity.number)
  }
  /// Records that name no blobs: what a model has that does not say otherwise.
  public static func blobs(in record: EntityRecord, of kind: EntityKind) -> [Blob] { [] }
  /// No rules: what a model has that does not say otherwise.
  public func problems() -> [String] { [] }
  /// No indexes: what a model has that does not say otherwise.
  public func indexProblems() -> [String] { [] }
  /// No rules: what a model has that does not say otherwise.
  public func problems(after events: [JournalEvent]) -> [String] { [] }
  /// The value of `title`, `name` or `path`, or the first short text: what a model has that does not say otherwise.
  public static func label(of record: EntityRecord, of kind: EntityKind) -> String? { record.label }
  /// No references: what a model has that does not say otherwise.
  public static func references(in record: EntityRecord, of kind: EntityKind) -> [EntityKey] { [] }
  /// No references: what a model has that does not say otherwise.
  public func referrers(to entity: EntityKey) -> [EntityKey] { [] }
  /// No references: what a model has that does not say otherwise.
  public static func record(_ record: EntityRecord, of kind: EntityKind, without entity: EntityKey)
    -> EntityRecord?
  {
    record
  }
  /// All kinds: what a model has that does not say otherwise.
  public static func isRestored(_ kind: EntityKind) -> Bool { true }
  /// No tags: what a model has that does not say otherwise.
  public func revision(tagged name: String) -> Revision? { nil }
  /// No snapshots: what a model has that does not say otherwise.
  public var parts: StateParts? { nil }
  /// No state: what a model makes of parts that does not say otherwise.
  public init?(parts: StateParts) { return nil }
  /// The state that these parts make: what a model has whose states have nothing besides their parts.
  public func replacing(parts: StateParts) -> Self? { Self(parts: parts) }
  /// No names: what a model has that does not say otherwise.
  public static func fieldNames(of kind: EntityKind) -> [String] { [] }

  /// The entity's name, such as `item:42`.
  public static func name(of entity: EntityKey) -> String {
    let kind = Int(entity.kind.rawValue)
    return "\(kind < kindNames.count ? kindNames[kind] : "kind\(kind)"):\(entity.number)"
  }

  /// The entity that a name such as `item:42` means.
  /// - Throws: ``JournalError`` with code `notFound` for a text that names none.
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
