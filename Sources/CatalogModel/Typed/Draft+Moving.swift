extension Draft where State == Catalog {
  /// Puts an item right behind another one of its kind, in an order that people make; nil: before all of them.
  ///
  /// Items of several lists can share the order: an item that is right behind another in all of them is so in its
  /// list too.
  /// - Throws: ``JournalError`` with code `rejected` when one of the two is not there or of another kind, and
  ///   `DecodingError` when the item's attributes don't make such a value.
  /// - Complexity: O(log n) with an index on the property, otherwise O(n). One item is written; every now and then,
  ///   when an item was put between the same two often, some 30 around it too.
  public mutating func move<Model: CatalogItem>(
    _ id: ItemID<Model>, by order: any WritableKeyPath<Model, ListOrder> & Sendable,
    after other: ItemID<Model>?
  ) throws {
    let all = state.items(Model.self)
    // The item itself is no neighbor of its new place.
    let place: ListOrder? = try other.map { other in
      guard let item = state.item(other) else {
        throw Rules.rejected("\(Catalog.name(of: other.entity)) is no \(Model.kind) that is there")
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

  /// Puts an item right before another one of its kind; nil: behind all of them.
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
        throw Rules.rejected("\(Catalog.name(of: other.entity)) is no \(Model.kind) that is there")
      }
      return try item.value[keyPath: order]
    }
    let ahead = place.map { all.filter(order < $0) } ?? all
    let previous = ahead.sorted(by: .descending(order)).prefix(2).first { $0.id != id }
    try move(id, by: order, after: previous?.id)
  }

  /// Gives the items around a place new places, evenly spread, so that they are short again.
  private mutating func spread<Model: CatalogItem>(
    around place: ListOrder, by order: any WritableKeyPath<Model, ListOrder> & Sendable
  ) throws {
    let all = state.items(Model.self)
    var count = 16
    while true {
      let before = all.filter(order < place).sorted(by: .descending(order)).prefix(count)
      let behind = all.filter(order >= place).sorted(by: order).prefix(count)
      // The outermost two stay where they are, unless they are the ends of the list.
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
