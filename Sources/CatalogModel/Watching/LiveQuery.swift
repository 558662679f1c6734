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
  /// The first answer, until the task takes it.
  @ObservationIgnored private var first: QueryRun<Model>?

  /// Runs a query on a journal's newest state, and updates its answer each time that there is a newer state. The closure
  /// runs again only if something has changed that it has read itself; it must read nothing else that can change.
  /// - Throws: what the query throws now. If it throws later, the last answer stays.
  public init<Failure: Error>(
    _ journal: CatalogJournal, _ query: @escaping @Sendable (Catalog) throws(Failure) -> ItemQuery<Model>
  ) throws(Failure) {
    let run = try QueryRun(journal.version, query)
    items = run.items
    follow(journal.updates(of: query), after: run)
  }

  /// Switches to another query, such as another search or order.
  /// - Throws: as the initializer does. If it throws, the previous query stays.
  public func show<Failure: Error>(
    _ journal: CatalogJournal, _ query: @escaping @Sendable (Catalog) throws(Failure) -> ItemQuery<Model>
  ) throws(Failure) {
    let run = try QueryRun(journal.version, query)
    items = run.items
    newest = nil
    follow(journal.updates(of: query), after: run)
  }

  private func follow(_ updates: QueryUpdates<Model, some Error>, after run: QueryRun<Model>) {
    watching?.cancel()
    first = run
    // The task holds neither the journal nor this object nor an old state while it waits.
    watching = Task { [weak self] in
      if Task.isCancelled { return }
      var answers = updates.makeAsyncIterator()
      answers.last = self?.first
      self?.first = nil
      while let update = try await answers.next() {
        guard let self, !Task.isCancelled else { return }
        items = update.items
        newest = update
      }
    }
  }

  deinit { watching?.cancel() }
}
