extension Draft where State == Catalog {
  /// Moves an item right after another one of its kind, in a user-defined order. If `other` is nil, moves it to the
  /// start.
  ///
  /// Items of several lists can share one order: an item that comes right after another in the whole order also comes
  /// right after it in its list.
  /// - Throws: ``JournalError`` with code `rejected` if one of the two does not exist or is of another kind, and
  ///   `DecodingError` if the item's attributes don't make such a value.
  /// - Complexity: O(log n) with an index on the property, otherwise O(n). One item is written. If items were often
  ///   inserted in the same place, some 30 neighbors are sometimes written too.
  public mutating func move<Model: CatalogItem>(
    _ id: ItemID<Model>, by order: any WritableKeyPath<Model, ListOrder> & Sendable,
    after other: ItemID<Model>?
  ) throws {
    let all = state.items(Model.self)
    // The item itself is not a neighbor of its new position.
    let place: ListOrder? = try other.map { other in
      guard let item = state.item(other) else {
        throw Rules.rejected("\(Catalog.name(of: other.entity)) is not an existing \(Model.kind)")
      }
      return try item.value[keyPath: order]
    }
    if other == id { return }
    let behind = place.map { all.filter(order > $0) } ?? all
    let next = try behind.sorted(by: order).prefix(2).first { $0.id != id }?.value[keyPath: order]
    let new = ListOrder(after: place, before: next)
    try update(id) { $0[keyPath: order] = new }
    if new.isLong { try spread(around: new, by: order) }
  }

  /// Moves an item right before another one of its kind. If `other` is nil, moves it to the end.
  /// - Throws: as ``move(_:by:after:)``.
  /// - Complexity: as ``move(_:by:after:)``.
  public mutating func move<Model: CatalogItem>(
    _ id: ItemID<Model>, by order: any WritableKeyPath<Model, ListOrder> & Sendable,
    before other: ItemID<Model>?
  ) throws {
    if other == id { return }
    let all = state.items(Model.self)
    let place: ListOrder? = try other.map { other in
      guard let item = state.item(other) else {
        throw Rules.rejected("\(Catalog.name(of: other.entity)) is not an existing \(Model.kind)")
      }
      return try item.value[keyPath: order]
    }
    let ahead = place.map { all.filter(order < $0) } ?? all
    let previous = ahead.sorted(by: .descending(order)).prefix(2).first { $0.id != id }
    try move(id, by: order, after: previous?.id)
  }

  /// Gives the items around a position new, evenly spread positions, so that their texts are short again.
  private mutating func spread<Model: CatalogItem>(
    around place: ListOrder, by order: any WritableKeyPath<Model, ListOrder> & Sendable
  ) throws {
    let all = state.items(Model.self)
    var count = 16
    while true {
      let before = all.filter(order < place).sorted(by: .descending(order)).prefix(count)
      let behind = all.filter(order >= place).sorted(by: order).prefix(count)
      // The outermost two keep their positions, unless they are the ends of the list.
      let low = before.count == count ? try before[count - 1].value[keyPath: order] : nil
      let high = behind.count == count ? try behind[count - 1].value[keyPath: order] : nil
      let moved =
        before.ids.prefix(low == nil ? before.count : count - 1).reversed()
        + behind.ids.prefix(high == nil ? behind.count : count - 1)
      let places = ListOrder.places(moved.count, after: low, before: high)
      guard places.contains(where: { $0.text.utf8.count > ListOrder.longByteCount / 2 }),
        low != nil || high != nil
      else {
        for (id, place) in zip(moved, places) { try update(id) { $0[keyPath: order] = place } }
        return
      }
      count *= 2
    }
  }
}
