extension Journal where State == Catalog {
  /// The answer to a query, and then each change of that answer.
  ///
  /// A commit that does not change the answer produces no element. A reader that is slower than the commits skips
  /// answers. The differences, applied in order to the first answer, always lead to the last. The sequence ends when
  /// the journal is closed or the task is cancelled. It does not keep the journal open.
  public func updates<Model: CatalogItem, Failure: Error>(
    of query: @escaping @Sendable (Catalog) throws(Failure) -> ItemQuery<Model>
  ) -> QueryUpdates<Model, Failure> {
    QueryUpdates(versions: versions, query: query, shown: nil)
  }
}

/// An answer to a watched query, and its difference from the previous answer.
public struct QueryUpdate<Model: CatalogItem>: Sendable {
  /// The items, as of ``revision``.
  public let items: ItemQuery<Model>
  /// The revision of the state that the query was run on.
  public let revision: Revision
  /// The difference of the items' numbers from the previous answer: which items were inserted or removed. An item that
  /// was both has moved. In the first answer, every item is inserted.
  public let difference: CollectionDifference<ItemID<Model>>
  /// The items that were in the previous answer and now have another value, in order.
  public let changed: [ItemID<Model>]
}

/// The answers to a watched query. The sequence throws what the query throws.
public struct QueryUpdates<Model: CatalogItem, Failure: Error>: AsyncSequence, Sendable {
  /// An answer that differs from the previous one.
  public typealias Element = QueryUpdate<Model>

  let versions: Versions<Catalog>
  let query: @Sendable (Catalog) throws(Failure) -> ItemQuery<Model>
  /// The numbers of the answer that is already known, if any, and the revision that last changed each item.
  var shown: [(id: ItemID<Model>, modified: Revision)]?

  /// Starts with the answer as of the current state.
  public func makeAsyncIterator() -> Iterator {
    Iterator(versions: versions.makeAsyncIterator(), query: query, answer: shown)
  }

  /// Runs the query on each newer state until its answer differs.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var versions: Versions<Catalog>.Iterator
    fileprivate let query: @Sendable (Catalog) throws(Failure) -> ItemQuery<Model>
    /// The numbers of the last answer, and the revision that last changed each item.
    fileprivate var answer: [(id: ItemID<Model>, modified: Revision)]?

    /// The next answer that differs, or nil if the journal was closed or the task was cancelled.
    /// - Complexity: for each newer state, that of the query and O(log n) for each of its results, whose revisions are
    ///   looked up; and O(k log k) for a different answer of k items.
    public mutating func next() async throws(Failure) -> QueryUpdate<Model>? {
      while let version = await versions.next() {
        let items = try query(version.state)
        let new = items.idsAndRevisions
        let old = answer
        if let old, old.elementsEqual(new, by: ==) { continue }
        answer = new
        let revisions = Dictionary((old ?? []).map { ($0.id, $0.modified) }) { first, _ in first }
        return QueryUpdate(
          items: items, revision: version.revision,
          difference: .between((old ?? []).map(\.id), and: new.map(\.id)),
          changed: new.filter { revisions[$0.id] ?? $0.modified != $0.modified }.map(\.id))
      }
      return nil
    }
  }
}

extension ItemQuery {
  /// The numbers of the items, and the revision that last changed each.
  var idsAndRevisions: [(id: ItemID<Model>, modified: Revision)] {
    ids.map { ($0, catalog.itemTable.revision(of: $0.number)) }
  }
}
