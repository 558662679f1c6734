public import CatalogModel
public import Journaling

extension Journal where State == Catalog {
  /// The periods in which an item matched a filter, the oldest first: `journal.periods(of: deal, where: \.stage == .lead)`.
  ///
  /// `first` and `last` are the first and the last period, and `count` is how often the item came to match.
  /// `totalTime(from:until:)` is how long it matched in all. An item does not match while it is
  /// deleted or of another kind. What was erased matches nothing, and a pruned history begins with the state at the
  /// point of pruning.
  ///
  /// The call reads the log, as `history(of:asOf:limit:)` does. In an app, make it in `read`.
  /// - Parameters:
  ///   - item: the item, which may be deleted.
  ///   - filter: the condition.
  ///   - selector: the point in time up to which the history is read.
  /// - Throws: `JournalError`: `wrongUse` if a key path of the filter leads to no attribute, otherwise as
  ///   `history(of:asOf:limit:)`.
  /// - Complexity: O(h) reads of the log for the h events of the item, whatever the size of the journal.
  public func periods<Model>(
    of item: ItemID<Model>, where filter: ItemFilter<Model>, asOf selector: RevisionSelector = .head()
  ) throws -> [MatchPeriod] { try matchPeriods(of: item.entity, filter.test(), asOf: selector).periods }

  /// The periods in which an entity of any kind matched a query, the oldest first, as ``periods(of:where:asOf:)`` for
  /// items of a type.
  public func periods(
    of entity: EntityKey, where query: EntityQuery, asOf selector: RevisionSelector = .head()
  ) throws -> [MatchPeriod] {
    try matchPeriods(of: entity, { query.matches(entity, $0) }, asOf: selector).periods
  }

  /// All items that ever matched a filter, with their periods, in the order of their numbers.
  ///
  /// Items that were deleted since are among them.
  /// - Parameters:
  ///   - filter: the condition: `\Deal.stage == .lead`.
  ///   - selector: the point in time up to which the histories are read.
  /// - Throws: `JournalError`, as ``periods(of:where:asOf:)`` does.
  /// - Complexity: that of ``findEver(_:asOf:_:)``.
  public func periods<Model>(
    where filter: ItemFilter<Model>, asOf selector: RevisionSelector = .head()
  ) throws -> [(item: ItemID<Model>, periods: [MatchPeriod])] {
    var found: [(item: ItemID<Model>, periods: [MatchPeriod])] = []
    let test = try filter.test()
    func matches(_ entity: EntityKey, _ record: EntityRecord) -> Bool { test(record) }
    let point = try revision(at: selector)
    let items = try pastCandidates(filter)
    try forEachMatch(of: [.item], upTo: point, candidates: items?.entities, where: matches) {
      found.append((ItemID($0.entity.number), $0.periods))
      return true
    }
    return found
  }

  /// Calls `body` with each entity that ever matched a query, in the order of kinds and numbers, until `body` returns
  /// false. Entities that were deleted since are among them, with their last records.
  /// - Parameters:
  ///   - selector: the point in time up to which the histories are read.
  /// - Throws: `JournalError` with code `notFound` if the selector names no point in time, and the errors of `body`.
  /// - Complexity: O(h) reads of the log if the query names an entity with h events; otherwise one pass over the n
  ///   entries of the log for about each 64 MiB of records and periods. Histories are read first, up to n / 8 events, if
  ///   fewer than n / 64 entities of the kind were ever added, or if an index on an attribute of items finds those that can
  ///   match. Layers have that index if they were written after the first search that could use it.
  public func findEver(
    _ query: EntityQuery, asOf selector: RevisionSelector = .head(), _ body: (FoundEntity) throws -> Bool
  ) throws {
    let point = try revision(at: selector)
    if let named = query.namedEntity {
      var readCount = Int.max
      let found = try everFound(named, upTo: point, where: query.matches, readCount: &readCount)
      if let found { _ = try body(found) }
    } else {
      let items = try query.itemKind.flatMap {
        try pastCandidates(ofKind: $0, query.conditions.compactMap(\.lookup))
      }
      try forEachMatch(
        of: query.entityKinds, upTo: point, candidates: items?.entities, where: query.matches, body)
    }
  }

  /// Calls `body` with each entity that ever matched, in the order of kinds and numbers, until `body` returns false.
  /// - Parameters:
  ///   - candidates: all entities that can match, in order; nil if they are not known.
  ///   - readLimit: how many events of histories are read before a pass over the log; by default, as many as take less
  ///     time than the pass.
  ///   - byteLimit: about how many bytes of records a pass over the log holds.
  func forEachMatch(
    of kinds: [EntityKind], upTo point: Revision, candidates known: [EntityKey]? = nil,
    readLimit: Int? = nil, byteLimit: Int = 64 << 20,
    where matches: @escaping (EntityKey, EntityRecord) -> Bool, _ body: (FoundEntity) throws -> Bool
  ) throws {
    let entryCount = point - (base?.revision ?? 0)
    let tables = state.tables
    let entityCount = kinds.reduce(0) { $0 + tables[Int($1.rawValue)].highest }
    // Following a history back takes much longer for each event than reading the log in order does.
    var readCount = readLimit ?? (known != nil || entityCount < entryCount / 64 ? entryCount / 8 : 0)
    let all = kinds.lazy.flatMap { kind in
      stride(from: 1, through: tables[Int(kind.rawValue)].highest, by: 1).lazy
        .map { EntityKey(kind: kind, number: $0) }
    }
    let candidates = known.map(AnySequence.init) ?? AnySequence(all)
    var start: EntityKey?
    for entity in candidates {
      start = entity
      if readCount <= 0 { break }
      readCount -= 1
      let found = try everFound(entity, upTo: point, where: matches, readCount: &readCount)
      if let found, try !body(found) { return }
      start = nil
    }
    guard start != nil else { return }
    repeat {
      let pass = try settled {
        // A later base would be a state after the point.
        _ = try revision(at: .revision(point))
        var pass = EverPass(of: kinds, from: start, byteLimit: byteLimit, where: matches)
        try pass.run(over: self, upTo: point)
        return pass
      }
      for found in pass.found where try !body(found) { return }
      start = pass.end
    } while start != nil
  }

  /// - Parameter readCount: the number of events that were read is subtracted.
  private func everFound(
    _ entity: EntityKey, upTo point: Revision, where matches: (EntityKey, EntityRecord) -> Bool,
    readCount: inout Int
  ) throws -> FoundEntity? {
    let (periods, count) = try matchPeriods(of: entity, { matches(entity, $0) }, asOf: .revision(point))
    readCount -= count
    guard !periods.isEmpty else { return nil }
    let row = try self.entity(entity, asOf: .revision(point))
    var found =
      try row.map { FoundEntity(entity: entity, record: $0.record, deleted: nil) }
      ?? deletedEntity(entity, upTo: point)
    found?.periods = periods
    return found
  }

  private func matchPeriods(
    of entity: EntityKey, _ test: (EntityRecord) -> Bool, asOf selector: RevisionSelector
  ) throws -> (periods: [MatchPeriod], eventCount: Int) {
    try settled {
      var eventCount = 0
      // The entries since which the entity matches or does not match, newest first.
      var turns: [(matches: Bool, border: MatchPeriod.Border)] = []
      var next = try revision(at: selector)
      while next > 0 {
        // In parts, so that memory holds only some of the versions.
        let part = try history(of: entity, asOf: .revision(next), limit: .max, byteLimit: 16 << 20)
        eventCount += part.count
        for change in part {
          let isMatch = change.after.map(test) ?? false
          if turns.last?.matches == isMatch { turns.removeLast() }
          turns.append((isMatch, MatchPeriod.Border(change)))
        }
        next = part.last?.previous ?? 0
      }
      var periods: [MatchPeriod] = []
      for turn in turns.reversed() { periods.add(turn.matches, since: turn.border) }
      return (periods, eventCount)
    }
  }
}

extension Set<Int> {
  /// The items with these numbers, in order.
  fileprivate var entities: [EntityKey] { sorted().map { .item($0) } }
}

extension EntityQuery {
  /// The kind of the items that can match; nil if other entities can match too.
  fileprivate var itemKind: String? { kind.flatMap { Catalog.kindNames.contains($0) ? nil : $0 } }

  /// The kinds of the entities that can match. An item may have the name of another kind as its own kind.
  fileprivate var entityKinds: [EntityKind] {
    if categories != nil { return [.item] }
    guard let kind else { return Catalog.entityKinds }
    return Catalog.entityKinds.filter { $0 == .item || Catalog.kindName(of: $0) == kind }
  }
}
