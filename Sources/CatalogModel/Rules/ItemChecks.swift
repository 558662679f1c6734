import Locks

/// The checks that a program has added to a journal. All states that follow from each other by changes share them.
final class ItemChecks: Sendable {
  /// Throws if the change of an item is not allowed. Nil stands for an item that does not exist.
  typealias Check =
    @Sendable (_ before: Catalog.Item?, _ after: Catalog.Item?, _ catalog: Catalog) throws -> Void

  private let checks = Lock<[Check]>([])

  func add(_ check: @escaping Check) { checks.withLock { $0.append(check) } }

  func problems(after events: [JournalEvent], of before: Catalog, in after: Catalog) -> [String] {
    let checks = checks.withLock { $0 }
    if checks.isEmpty { return [] }
    for event in events where event.entity.kind == .item {
      let id = Catalog.Item.ID(event.entity.number)
      for check in checks {
        do {
          try check(before.item(id), after.item(id), after)
        } catch {
          let reason = (error as? JournalError)?.message ?? "\(error)"
          return ["\(Catalog.name(of: event.entity)): \(reason)"]
        }
      }
    }
    return []
  }
}

extension Journal where State == Catalog {
  /// Adds a check of the items of a type, for what a rule can't say. It runs for whatever this program changes: in commits,
  /// undo, redo, reverts, restores, imports and over HTTP. Other programs do not have it.
  ///
  /// ```swift
  /// journal.addCheck(of: Order.self) { before, after, catalog in
  ///   if before?.isPaid == true, after?.total != before?.total { throw OrderError.isPaid }
  /// }
  /// ```
  /// - Parameter check: throws if the change is not allowed; the commit is `rejected` with the error's description. It
  ///   gets the value before and after the entry, nil where the item does not exist, is of another kind or can't be
  ///   decoded, and the catalog after the entry. It runs in commits, while no other can, and also when a plan is made, on any
  ///   thread. So it must be quick and have no effects.
  public func addCheck<Model: CatalogItem>(
    of type: Model.Type,
    _ check: @escaping @Sendable (_ before: Model?, _ after: Model?, _ catalog: Catalog) throws -> Void
  ) {
    state.itemChecks.add { before, after, catalog in
      func value(_ item: Catalog.Item?) -> Model? {
        guard let item, item.kind.utf8.elementsEqual(Model.kind.utf8) else { return nil }
        return try? item.decode(Model.self)
      }
      let (old, new) = (value(before), value(after))
      if old != nil || new != nil { try check(old, new, catalog) }
    }
  }
}
