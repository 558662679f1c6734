public import Observation

/// The results of a query on the main actor, kept up to date for a user interface.
///
/// A live query is `@Observable`, so a view is redrawn only if the answer has changed. When a commit returns,
/// `journal.state` includes it, but the answer may not yet. A live query does not keep the journal open. After the
/// journal is closed, the last answer stays.
@MainActor @Observable public final class LiveQuery<Model: CatalogItem> {
  /// The newest answer.
  public private(set) var items: ItemQuery<Model>
  /// The last change of ``items``, or nil before the first one.
  public private(set) var newest: QueryUpdate<Model>?

  @ObservationIgnored private var watching: Task<Void, any Error>?

  /// Runs a query on a journal's newest state, now and each time that there is a newer one.
  /// - Throws: what the query throws now. If it throws later, the last answer stays.
  public init<Failure: Error>(
    _ journal: CatalogJournal, _ query: @escaping @Sendable (Catalog) throws(Failure) -> ItemQuery<Model>
  ) throws(Failure) {
    items = try query(journal.state)
    follow(journal.updates(of: query))
  }

  /// Switches to another query, such as another search or order.
  /// - Throws: as the initializer does. If it throws, the previous query stays.
  public func show<Failure: Error>(
    _ journal: CatalogJournal, _ query: @escaping @Sendable (Catalog) throws(Failure) -> ItemQuery<Model>
  ) throws(Failure) {
    items = try query(journal.state)
    newest = nil
    follow(journal.updates(of: query))
  }

  private func follow(_ updates: QueryUpdates<Model, some Error>) {
    watching?.cancel()
    // The task holds neither the journal nor this object nor an old state while it waits.
    watching = Task { [weak self] in
      var updates = updates
      updates.shown = self?.items.idsAndRevisions
      for try await update in updates {
        guard let self, !Task.isCancelled else { return }
        items = update.items
        newest = update
      }
    }
  }

  deinit { watching?.cancel() }
}
