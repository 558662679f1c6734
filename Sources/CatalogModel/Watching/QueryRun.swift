/// A watched query, run on one version of a journal.
struct QueryRun<Model: CatalogItem>: Sendable {
  typealias Query<Failure: Error> = @Sendable (Catalog) throws(Failure) -> ItemQuery<Model>

  private(set) var version: Version<Catalog>
  /// The answer, as of ``version`` or of an earlier version with the same answer.
  private(set) var items: ItemQuery<Model>
  /// What the answer depends on. If the answer follows changes of items, only what making the query has read.
  private let reads: CatalogReads
  /// Whether the answer can be updated item by item, because all items that fulfil the conditions are in it.
  private let followsItems: Bool
  /// Whether the query is of the journal's state. A closure can return that of another one.
  private let isOfJournal: Bool

  init<Failure: Error>(_ version: Version<Catalog>, _ query: Query<Failure>) throws(Failure) {
    let reads = CatalogReads()
    let found = try query(version.state.tracked(by: reads))
    self.version = version
    self.reads = reads
    isOfJournal = found.catalog.reads === reads
    if isOfJournal {
      items = ItemQuery(version.state, found.plan, found.answer)
      let plan = found.plan
      followsItems =
        plan.source == nil && !plan.isRanked && plan.limit == nil && plan.offset == 0
        && !plan.conditions.contains(where: \.hasClosure)
      let numbers = items.numbers
      if !followsItems { reads.note(found.plan, numbers, in: version.state, readsValues: true) }
    } else {
      // The query is of another state, about which nothing is known.
      items = found
      followsItems = false
      for kind in EntityKind.all { reads.note(all: kind) }
    }
  }

  /// The answer as of a newer version, and how it differs. Nil if the query has to run again.
  func following(_ version: Version<Catalog>) -> (run: QueryRun, update: QueryUpdate<Model>?)? {
    let step = CatalogStep(from: self.version, to: version)
    if reads.differ(in: step) { return nil }
    var run = self
    run.version = version
    if !followsItems {
      // The answer is the same in the newer state, and the older one need not stay in memory.
      if isOfJournal {
        run.items = ItemQuery(version.state, items.plan, QueryAnswer(items.plan, items.numbers))
      }
      return (run, nil)
    }
    guard let changed = step.numbers(of: .item), changed.count <= max(16, items.count / 64),
      let change = AnswerChange(of: items, by: changed.map { step.change(of: $0) }, in: version.state)
    else { return nil }
    run.items = ItemQuery(version.state, items.plan, QueryAnswer(items.plan, change.numbers))
    return (run, change.isEmpty ? nil : change.update(run.items, version.revision))
  }

  /// The difference of the whole answer from an earlier one; nil if there is none.
  func update(since old: QueryRun?) -> QueryUpdate<Model>? {
    let (known, new) = (old?.items.idsAndRevisions ?? [], items.idsAndRevisions)
    if old != nil, known.elementsEqual(new, by: ==) { return nil }
    let revisions = Dictionary(known.map { ($0.id, $0.modified) }) { first, _ in first }
    return QueryUpdate(
      items: items, revision: version.revision, difference: .between(known.map(\.id), and: new.map(\.id)),
      changed: new.filter { revisions[$0.id] ?? $0.modified != $0.modified }.map(\.id))
  }
}

extension ItemQuery {
  /// The numbers of the items, and the revision that last changed each.
  fileprivate var idsAndRevisions: [(id: ItemID<Model>, modified: Revision)] {
    ids.map { ($0, catalog.itemTable.revision(of: $0.number)) }
  }
}
