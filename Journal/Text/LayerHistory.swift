import CBOR
import PropertyLists

/// What the entries of a layer made, for the indexes of words that the sources of the layer lack: those have only the
/// versions that checkpoints show.
struct LayerHistory: Sendable {
  typealias Body = (
    _ kind: Int, _ number: Int, _ revision: Revision, _ record: EntityRecord
  ) throws(JournalError) -> Void

  /// Calls a closure with all versions of the entities of some kinds, in the order of entries.
  let forEachVersion: @Sendable (_ kinds: Set<Int>, Body) throws(JournalError) -> Void
  /// Called often while indexes are made; throws if the layer is not wanted any more.
  let checkIsWanted: @Sendable () throws(JournalError) -> Void
}

extension LayerChain {
  /// Calls `body` with the versions that a range of entries made of the entities of some kinds, in the order of entries.
  /// Of pruned entries, those versions are left that the base has.
  ///
  /// Only what has changed between two checkpoints is in memory.
  func forEachVersion<State: EventSourced>(
    _: State.Type, of kinds: Set<Int>, after first: Revision, through last: Revision,
    _ body: LayerHistory.Body
  ) throws(JournalError) {
    let pruned = base?.revision ?? 0
    var reached = max(first, pruned)
    if first < pruned {
      let tables = try tables(of: State.self, at: pruned)
      for kind in kinds.sorted() where kind < tables.count {
        for (number, row) in tables[kind] { try body(kind, number, row.modified, row.record) }
      }
    }
    while reached < last {
      let end = min(checkpoint(atOrAfter: reached + 1) ?? last, last)
      try forEachVersion(
        of: kinds, over: try tables(of: State.self, at: reached), reached, end, State.self, body)
      reached = end
    }
  }

  private func tables<State: EventSourced>(
    of _: State.Type, at revision: Revision
  ) throws(JournalError) -> [EntityTable] {
    let start: ReplayStart<State> = start(atOrBefore: revision)
    var state = start.state
    try replay(start.revision + 1, through: revision, to: &state)
    return state.parts?.tables ?? []
  }

  /// - Parameter tables: the entities as of `first`.
  private func forEachVersion<State: EventSourced>(
    of kinds: Set<Int>, over tables: [EntityTable], _ first: Revision, _ last: Revision, _: State.Type,
    _ body: LayerHistory.Body
  ) throws(JournalError) {
    var records: [EntityKey: EntityRecord?] = [:]
    let upcast = try EventUpcast(State.self)
    try readLog(after: first, through: last) { entry throws(JournalError) in
      var events = try entry.events()
      var changed: [EntityKey] = []
      while let event = try events.next(upcast) {
        let (entity, kind) = (event.entity, Int(event.entity.kind.rawValue))
        guard kinds.contains(kind), kind < tables.count else { continue }
        records[entity] = .some(
          event.change.applied(to: records[entity] ?? tables[kind][entity.number]?.record))
        if changed.last != entity { changed.append(entity) }
      }
      for entity in Set(changed) {
        guard let record = records[entity] ?? nil else { continue }
        try body(Int(entity.kind.rawValue), entity.number, entry.revision, record)
      }
    }
  }
}
