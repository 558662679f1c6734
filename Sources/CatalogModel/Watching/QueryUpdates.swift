extension Journal where State == Catalog {
  /// The answer to a query, and then each change of that answer.
  ///
  /// A commit that does not change the answer produces no element. A reader that is slower than the commits skips
  /// answers. The differences, applied in order to the first answer, always lead to the last. The sequence ends when
  /// the journal is closed or the task is cancelled. It does not keep the journal open.
  public func updates<Model: CatalogItem, Failure: Error>(
    of query: @escaping @Sendable (Catalog) throws(Failure) -> ItemQuery<Model>
  ) -> QueryUpdates<Model, Failure> {
    QueryUpdates(versions: versions, query: query)
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
  let query: QueryRun<Model>.Query<Failure>

  /// Starts with the answer as of the current state.
  public func makeAsyncIterator() -> Iterator {
    Iterator(versions: versions.makeAsyncIterator(), query: query)
  }

  /// Updates the answer for each newer state, until it differs.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var versions: Versions<Catalog>.Iterator
    fileprivate let query: QueryRun<Model>.Query<Failure>
    /// The last answer, if any.
    var last: QueryRun<Model>?

    /// The next answer that differs, or nil if the journal was closed or the task was cancelled.
    /// - Complexity: for each newer state, O(d log n) for d items that have changed, of which a query without a limit
    ///   finds the places in its answer of n items. A query with a limit runs again if one of these items changes its
    ///   answer. All queries run again if very many items have changed, and after an erasure or a pruning.
    public mutating func next() async throws(Failure) -> QueryUpdate<Model>? {
      while let version = await versions.next() {
        if let (run, update) = last?.following(version) {
          last = run
          if let update { return update }
        } else {
          let run = try QueryRun(version, query)
          let update = run.update(since: last)
          last = run
          if let update { return update }
        }
      }
      return nil
    }
  }
}
