import CBOR
import PropertyLists

/// What the entries of a layer made, for the indexes of words that the sources of the layer lack: those have only the
/// versions that checkpoints show.
struct LayerHistory: Sendable {
  typealias Body = (
    _ kind: Int, _ number: Int, _ revision: Revision, _ record: EntityRecord
  ) throws(JournalError) -> Void
  /// The entries after a revision, through another one.
  typealias Entries = (after: Revision, through: Revision)

  /// The entries whose changes each source of the layer has.
  let entries: [Entries]
  /// Calls a closure with the versions that entries made of the entities of some kinds, in the order of entries.
  let forEachVersion: @Sendable (_ kinds: Set<Int>, Entries, Body) throws(JournalError) -> Void
  /// Called often while indexes are made; throws if the layer is not wanted any more.
  let checkIsWanted: @Sendable () throws(JournalError) -> Void
}

extension LayerChain {
  /// Calls `body` with the versions that a range of entries made of the entities of some kinds, in the order of entries.
  /// Of pruned history, `body` gets the versions in the base.
  ///
  /// Only what has changed since the newest state in layers is in memory, up to a limit.
  /// - Parameter checkIsWanted: called for every 64 entries; throws to end the call.
  func forEachVersion<State: EventSourced>(
    _: State.Type, of kinds: Set<Int>, after first: Revision, through last: Revision,
    checkIsWanted: () throws(JournalError) -> Void, _ body: LayerHistory.Body
  ) throws(JournalError) {
    let pruned = base?.revision ?? 0
    var walk = try VersionWalk<State>(self, kinds, from: max(first, pruned))
    try walk.advance(checkIsWanted)
    if first < pruned { try walk.forEachRow(checkIsWanted, body) }
    while walk.reached < last { try walk.readEntries(through: last, checkIsWanted, body) }
  }
}

/// Reads the versions that entries make.
private struct VersionWalk<State: EventSourced> {
  private let chain: LayerChain
  private let kinds: Set<Int>
  private let upcast: EventUpcast
  /// The newest entry that was read.
  private(set) var reached: Revision
  private var state = State()
  /// The revision of `state`.
  private var revision = 0
  /// What the entries after `state` have made of entities; nil if an entity was deleted.
  private var records: [EntityKey: EntityRecord?] = [:]
  private var byteCount = 0

  /// The most bytes of `records`. Beyond it, the state is replayed, which reads entries twice.
  private static var byteLimit: Int { 16 << 20 }
  /// No call of the log reads more entries, so that closing the log waits for no more.
  private static var pieceCount: Int { 1024 }

  init(_ chain: LayerChain, _ kinds: Set<Int>, from revision: Revision) throws(JournalError) {
    self.chain = chain
    self.kinds = kinds
    reached = revision
    upcast = try EventUpcast(State.self)
  }

  private var tables: [EntityTable] { state.parts?.tables ?? [] }

  func forEachRow(
    _ checkIsWanted: () throws(JournalError) -> Void, _ body: LayerHistory.Body
  ) throws(JournalError) {
    for kind in kinds.sorted() where kind < tables.count {
      for (count, (number, row)) in tables[kind].enumerated() {
        if count % 64 == 0 { try checkIsWanted() }
        try body(kind, number, row.modified, row.record)
      }
    }
  }

  /// Makes the state of the newest entry that was read, so that no records need be in memory.
  mutating func advance(_ checkIsWanted: () throws(JournalError) -> Void) throws(JournalError) {
    let start: ReplayStart<State> = chain.start(atOrBefore: reached)
    if start.revision > revision { (state, revision) = (start.state, start.revision) }
    while revision < reached {
      try checkIsWanted()
      // The base stands for all pruned entries.
      let end = max(min(revision + Self.pieceCount, reached), chain.base?.revision ?? 0)
      try chain.replay(revision + 1, through: end, to: &state)
      revision = end
    }
    (records, byteCount) = ([:], 0)
  }

  /// About how many bytes an element of `records` takes.
  private static func byteCount(_ record: EntityRecord?) -> Int { 64 + (record?.bytes.count ?? 0) }

  /// Reads entries up to the next checkpoint or `last`, but at most a piece.
  mutating func readEntries(
    through last: Revision, _ checkIsWanted: () throws(JournalError) -> Void, _ body: LayerHistory.Body
  ) throws(JournalError) {
    // If a lower layer is missing, no layers have the state of a checkpoint, and a replay would be long.
    if reached > revision, chain.stack(atOrBefore: reached)?.checkpoint.revision == reached {
      try advance(checkIsWanted)
    }
    let end = min(chain.checkpoint(atOrAfter: reached + 1) ?? last, reached + Self.pieceCount, last)
    var tables = tables
    var count = 0
    try chain.readLog(after: reached, through: end) { entry throws(JournalError) in
      if count % 64 == 0 { try checkIsWanted() }
      count += 1
      var events = try entry.events()
      var changed: Set<EntityKey> = []
      while let event = try events.next(upcast) {
        let (entity, kind) = (event.entity, Int(event.entity.kind.rawValue))
        guard kinds.contains(kind), kind < tables.count else { continue }
        let record = event.change.applied(to: records[entity] ?? tables[kind][entity.number]?.record)
        byteCount -= records[entity].map(Self.byteCount) ?? 0
        byteCount += Self.byteCount(record)
        records[entity] = .some(record)
        changed.insert(entity)
      }
      for entity in changed {
        guard let record = records[entity] ?? nil else { continue }
        try body(Int(entity.kind.rawValue), entity.number, entry.revision, record)
      }
      if byteCount > Self.byteLimit {
        reached = entry.revision
        try advance(checkIsWanted)
        tables = self.tables
      }
    }
    reached = end
  }
}
