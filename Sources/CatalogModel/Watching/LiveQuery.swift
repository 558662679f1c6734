public import Observation

/// The answer of a query on the main actor, kept up to date: what a screen shows.
///
/// ```swift
/// @State private var recipes = LiveQuery(journal) { $0.items(Recipe.self).sorted(by: \.title) }
/// var body: some View { List(recipes.items) { RecipeRow($0) } }
/// ```
/// It is observed as any `@Observable` class is, so a view is drawn again when the answer has changed, and when not,
/// not. It does not keep the journal open; once that is closed, the last answer stays.
@MainActor @Observable public final class LiveQuery<Model: CatalogItem> {
  /// The newest answer.
  public private(set) var items: ItemQuery<Model>
  /// What was different when ``items`` changed last; nil before it did.
  public private(set) var newest: QueryUpdate<Model>?

  @ObservationIgnored private var watching: Task<Void, Never>?

  /// Asks a query of a journal's newest state, now and whenever there is a newer one.
  public init(_ journal: CatalogJournal, _ query: @escaping @Sendable (Catalog) -> ItemQuery<Model>) {
    items = query(journal.state)
    follow(journal.updates(of: query))
  }

  /// Asks another query from now on: another search, another order.
  public func show(
    _ journal: CatalogJournal, _ query: @escaping @Sendable (Catalog) -> ItemQuery<Model>
  ) {
    items = query(journal.state)
    newest = nil
    follow(journal.updates(of: query))
  }

  private func follow(_ updates: QueryUpdates<Model>) {
    watching?.cancel()
    var updates = updates
    updates.shown = items
    // The task holds neither the journal nor this object while it waits.
    watching = Task { [weak self, updates] in
      for await update in updates {
        guard let self, !Task.isCancelled else { return }
        items = update.items
        newest = update
      }
    }
  }

  deinit { watching?.cancel() }
}
