extension Journal where State == Catalog {
  /// The answer of a query, and then how it changes, each time that it does.
  ///
  /// ```swift
  /// let updates = journal.updates { $0.items(Recipe.self).filter(\.stars >= 4).sorted(by: \.title) }
  /// for await update in updates {
  ///   for change in update.difference { … }              // rows to insert, remove and move
  ///   for id in update.changed { … }                     // rows to draw again where they are
  /// }
  /// ```
  /// A commit that does not change the answer gives nothing. A reader that is slower than the commits is given the
  /// newest answer next; its differences, applied in order to the first answer, always lead to the last. It ends when
  /// the journal is closed or the task is cancelled, and does not keep the journal open.
  public func updates<Model: CatalogItem>(
    of query: @escaping @Sendable (Catalog) -> ItemQuery<Model>
  ) -> QueryUpdates<Model> {
    QueryUpdates(versions: versions, query: query, shown: nil)
  }
}

/// An answer of a watched query, and how it differs from the one before.
public struct QueryUpdate<Model: CatalogItem>: Sendable {
  /// The items, as of ``revision``.
  public let items: ItemQuery<Model>
  /// The entry that the answer is as of.
  public let revision: Revision
  /// How the numbers of the items differ from those of the answer before: what was inserted, removed and, where both
  /// belong to one item, moved. For the first answer everything is inserted.
  public let difference: CollectionDifference<ItemID<Model>>
  /// Those that were there before and are another value now, in order, wherever they stand.
  public let changed: [ItemID<Model>]
}

/// The answers of a watched query.
public struct QueryUpdates<Model: CatalogItem>: AsyncSequence, Sendable {
  /// An answer that differs from the one before.
  public typealias Element = QueryUpdate<Model>
  /// It does not fail.
  public typealias Failure = Never

  let versions: Versions<Catalog>
  let query: @Sendable (Catalog) -> ItemQuery<Model>
  /// The answer that is known already; nil when none is.
  var shown: ItemQuery<Model>?

  /// Starts with the answer of the state that is there.
  public func makeAsyncIterator() -> Iterator {
    Iterator(versions: versions.makeAsyncIterator(), query: query, shown: shown)
  }

  /// Asks the query of each newer state, until its answer is another.
  public struct Iterator: AsyncIteratorProtocol {
    private var versions: Versions<Catalog>.Iterator
    private let query: @Sendable (Catalog) -> ItemQuery<Model>
    /// The numbers of the last answer, and the revision that each item was changed by.
    private var answer: [(id: ItemID<Model>, modified: Revision)]?

    fileprivate init(
      versions: Versions<Catalog>.Iterator, query: @escaping @Sendable (Catalog) -> ItemQuery<Model>,
      shown: ItemQuery<Model>?
    ) {
      self.versions = versions
      self.query = query
      answer = shown?.idsAndRevisions
    }

    /// The next answer that is another; nil when the journal was closed or the task was cancelled.
    /// - Complexity: that of the query for each newer state, and O(n log n) for an answer of n items that is another.
    public mutating func next() async -> QueryUpdate<Model>? {
      while let version = await versions.next() {
        let items = query(version.state)
        let new = items.idsAndRevisions
        let old = answer
        if let old, old.elementsEqual(new, by: ==) { continue }
        answer = new
        let revisions = Dictionary(uniqueKeysWithValues: (old ?? []).map { ($0.id, $0.modified) })
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
  /// The numbers of the items, and the revision that each was changed by.
  fileprivate var idsAndRevisions: [(id: ItemID<Model>, modified: Revision)] {
    ids.map { ($0, catalog.itemTable.revision(of: $0.number)) }
  }
}
