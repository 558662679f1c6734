/// A state that is made by applying events: the model of a journal.
///
/// A model is a value type with structural sharing: the journal gives copies to readers and changes its own. It
/// represents each entity as an `EntityRecord`, which is enough for history, time travel and proof. A model that keeps
/// its entities in ``EntityTable`` and exposes its ``parts`` also has layers and snapshots.
public protocol EventSourced: Sendable {
  /// The name of the model and the version of its records, such as `"catalog/1"`. Each entry records it. Another model,
  /// or an older version of this one, can't open the journal. Raise the version when a field changes its meaning, and
  /// when the ``kindNames`` or the names of ``parts`` change.
  static var schema: String { get }
  /// The names of the kinds of entities, at most 256; ``EntityKind/rawValue`` is an index into it.
  static var kindNames: [String] { get }

  /// The state at revision 0.
  init()

  /// The record of an entity, nil if it does not exist.
  func record(of entity: EntityKey) -> EntityRecord?
  /// The revision of the entity's newest event, even if it was deleted; 0 if it never existed.
  func revision(of entity: EntityKey) -> Revision

  /// Applies an event. The result may depend only on this state and the event.
  ///
  /// Both drafts and replays call it, so they can't differ. It changes only the entity that the event names, and its
  /// ``revision(of:)``.
  /// - Throws: ``JournalError`` with code `damaged` if the event is impossible in this state, for example if it adds an
  ///   existing entity or updates a missing one.
  mutating func apply(_ event: JournalEvent, at revision: Revision) throws(JournalError)

  /// Converts an event of an older version of this model.
  ///
  /// Called for each such event as it is read, by a replay or a history, before it is applied; the log does not change.
  /// Only the record or the changes of the event may differ in the result. An update has only what changed. A replay may
  /// call it on two threads at once.
  /// - Parameters:
  ///   - event: the event as it was written.
  ///   - version: the version in the ``schema`` that wrote it, lower than the current one.
  /// - Throws: ``JournalError`` for an event that can't be converted. What reads the event then fails with this error.
  static func upcast(_ event: JournalEvent, from version: Int) throws(JournalError) -> JournalEvent

  /// Whether an entity does not exist because its content was erased.
  func isErased(_ entity: EntityKey) -> Bool

  /// The blobs that a record names. They must be in the blob store before an entry can name them.
  static func blobs(in record: EntityRecord, of kind: EntityKind) -> [Blob]
  /// The rules of the model that this state breaks, in words; empty if it is valid. Called by `verify`.
  func problems() -> [String]
  /// The rules that the newest entry may have broken: this is the state after its events, and the state before them was
  /// valid. Called once for each commit, which is `rejected` with the first problem.
  ///
  /// The rules apply however a change is made: by the model's methods, by the draft's own, or by a restore.
  /// - Parameter events: the events of the entry, each entity at most once.
  /// - Complexity: should grow with the events, not with the state.
  func problems(after events: [JournalEvent]) -> [String]
  /// The same, for rules that compare the state after the events with the one before. By default those of
  /// `problems(after:)`.
  func problems(after events: [JournalEvent], since before: Self) -> [String]
  /// The indexes that disagree with the entities, in words; empty if all agree. Called by `verify` with the newest state.
  func indexProblems() -> [String]

  /// The entities that a record refers to in every state. They must exist as long as it does.
  static func references(in record: EntityRecord, of kind: EntityKind) -> [EntityKey]
  /// The entities that a record refers to in this state: those of the static method, and any that the state's own rules
  /// add.
  func references(in record: EntityRecord, of kind: EntityKind) -> [EntityKey]
  /// The existing entities that refer to an entity.
  func referrers(to entity: EntityKey) -> [EntityKey]
  /// The record after an entity that it refers to is deleted; nil if its own entity is deleted too.
  static func record(_ record: EntityRecord, of kind: EntityKind, without entity: EntityKey) -> EntityRecord?
  /// The same by the rules of this state. If these forbid the deletion, the record keeps the reference.
  func record(_ record: EntityRecord, of kind: EntityKind, without entity: EntityKey) -> EntityRecord?
  /// Whether restores, reverts and undo touch entities of that kind.
  static func isRestored(_ kind: EntityKind) -> Bool
  /// Whether a copy of a state without its history has the entities of that kind.
  static func isCopied(_ kind: EntityKind) -> Bool
  /// The revision that a tag of that name stands for; nil if there is none.
  func revision(tagged name: String) -> Revision?

  /// The parts of the state that layers store. If nil, the model has no layers, and its journal always opens by
  /// a replay.
  var parts: StateParts? { get }
  /// The state made of the parts that layers have; nil if the parts are not valid, and then a replay makes the state.
  init?(parts: StateParts)
  /// The same state with the same parts, which are now backed by one more layer. The result keeps what the state
  /// has besides its parts, such as indexes in memory.
  ///
  /// Called during a commit, after some hundred events each time. By default, ``init(parts:)`` makes the result. A model
  /// that reads its entities there, for example to build a ``ValueIndex``, should implement this method: otherwise these
  /// commits build the index again, and wait for it.
  func replacing(parts: StateParts) -> Self?
  /// The names of the numbered fields 0, 1, … of a kind's records, which describe them in layers and snapshots.
  static func fieldNames(of kind: EntityKind) -> [String]
}

extension EventSourced {
  /// The record that one of the newest events has made; nil if its entity was deleted or erased.
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
  /// By default, as the tables among the ``parts`` say.
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
  /// By default, those that need no comparison.
  public func problems(after events: [JournalEvent], since before: Self) -> [String] {
    problems(after: events)
  }
  /// By default, there are no references.
  public static func references(in record: EntityRecord, of kind: EntityKind) -> [EntityKey] { [] }
  /// By default, there are no references.
  public func referrers(to entity: EntityKey) -> [EntityKey] { [] }
  /// By default, there are no references.
  public static func record(_ record: EntityRecord, of kind: EntityKind, without entity: EntityKey)
    -> EntityRecord?
  {
    record
  }
  /// By default, those of every state.
  public func references(in record: EntityRecord, of kind: EntityKind) -> [EntityKey] {
    Self.references(in: record, of: kind)
  }
  /// By default, the record of the static method; nil if that keeps the reference.
  public func record(_ record: EntityRecord, of kind: EntityKind, without entity: EntityKey) -> EntityRecord?
  {
    Self.record(record, of: kind, without: entity).flatMap { changed in
      Self.references(in: changed, of: kind).contains(entity) ? nil : changed
    }
  }
  /// By default, all kinds.
  public static func isRestored(_ kind: EntityKind) -> Bool { true }
  /// By default, all kinds that restores touch.
  public static func isCopied(_ kind: EntityKind) -> Bool { isRestored(kind) }
  /// By default, there are no tags.
  public func revision(tagged name: String) -> Revision? { nil }
  /// By default, there are no layers and no snapshots.
  public var parts: StateParts? { nil }
  /// By default, nil.
  public init?(parts: StateParts) { return nil }
  /// By default, the state that these parts make.
  public func replacing(parts: StateParts) -> Self? { Self(parts: parts) }
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
