import Locks

/// The checks that a program has added to a journal. States that follow from each other by changes share them.
final class ItemChecks: Sendable {
  /// Throws if the change of an item is not allowed. `before` or `after` is nil if the item does not exist then.
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
  /// Adds a check of the items of a type, for conditions that a ``Catalog/Rule`` can't express. The check runs for all
  /// changes of this program: commits, undo, redo, reverts, restores, imports, HTTP. It does not run in other programs.
  ///
  /// ```swift
  /// journal.addCheck(of: Order.self) { before, after, catalog in
  ///   if before?.isPaid == true, after?.total != before?.total { throw OrderError.isPaid }
  /// }
  /// ```
  /// - Parameter check: throws if the change is not allowed; the commit is then `rejected` with the error's
  ///   description. `before` and `after` are the values before and after the entry; nil if the item does not exist, is
  ///   of another kind, or can't be decoded. `catalog` is the state after the entry. The check runs on any thread,
  ///   while other commits wait, and also when a plan is made. So it must be quick and have no side effects.
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
