import CBOR

extension Draft where State == Catalog {
  /// Moves an item right after another one of its kind, in a user-defined order. If `other` is nil, moves it to the
  /// start.
  ///
  /// Items of several lists can share one order: an item that comes right after another in the whole order also comes
  /// right after it in its list.
  ///
  /// Only the positions of items are read and written, so items that a newer version of the app has written can be
  /// moved even if they can't be decoded, and so can others next to them.
  /// - Throws: ``JournalError`` with code `rejected` if one of the two does not exist or is of another kind,
  ///   with `wrongUse` if the property is no attribute, and `DecodingError` if the attribute of an item is no position.
  /// - Complexity: O(log n) with an index on the property, otherwise O(n). One item is written. If items were often
  ///   inserted in the same place, some 30 neighbors are sometimes written too. Items that share the position of
  ///   `other`, for example because all began with ``ListOrder/start``, are also written.
  public mutating func move<Model: CatalogItem>(
    _ id: ItemID<Model>, by order: any WritableKeyPath<Model, ListOrder> & Sendable,
    after other: ItemID<Model>?
  ) throws {
    try move(id, by: order, to: other, isBefore: false)
  }

  /// Moves an item right before another one of its kind. If `other` is nil, moves it to the end.
  /// - Throws: as ``move(_:by:after:)``.
  /// - Complexity: as ``move(_:by:after:)``.
  public mutating func move<Model: CatalogItem>(
    _ id: ItemID<Model>, by order: any WritableKeyPath<Model, ListOrder> & Sendable,
    before other: ItemID<Model>?
  ) throws {
    try move(id, by: order, to: other, isBefore: true)
  }

  private mutating func move<Model: CatalogItem>(
    _ id: ItemID<Model>, by order: any WritableKeyPath<Model, ListOrder> & Sendable,
    to other: ItemID<Model>?, isBefore: Bool
  ) throws {
    try checkKind(of: id)
    if let other { _ = try existing(other) }
    if other == id { return }
    let place = try position(of: other, by: order, whileMoving: id)
    let all = state.items(Model.self)
    let beyond = try place.map { try all.filter(isBefore ? order < $0 : order > $0) } ?? all
    let nearest = try beyond.sorted(by: isBefore ? .descending(order) : .ascending(order)).prefix(2)
    // The item itself is not a neighbor of its new position.
    let neighbor = try nearest.first { $0.id != id }?.place(by: order)
    let new =
      isBefore
      ? ListOrder(after: neighbor, before: place) : ListOrder(after: place, before: neighbor)
    try put(id, by: order, at: new)
    if new.isLong { try spread(around: new, by: order) }
  }

  /// The position of `other`; nil if `other` is nil. First gives items that share this position distinct ones in the
  /// same place, so that there is a position between any two. Items without a position, which come first, also get one.
  private mutating func position<Model: CatalogItem>(
    of other: ItemID<Model>?, by order: any WritableKeyPath<Model, ListOrder> & Sendable,
    whileMoving moved: ItemID<Model>
  ) throws -> ListOrder? {
    let unplaced = try state.items(Model.self).filter(.isMissing(order)).ids.filter { $0 != moved }
    if !unplaced.isEmpty {
      let first = try state.items(Model.self).filter(!.isMissing(order)).sorted(by: order).first
      try place(unplaced, by: order, after: nil, before: first?.place(by: order))
    }
    guard let other else { return nil }
    let position = try existing(other).place(by: order)
    let all = state.items(Model.self)
    let sharing = try all.filter(order == position).ids.filter { $0 != moved }
    if sharing.count < 2 { return position }
    let low = try all.filter(order < position).sorted(by: .descending(order)).first?.place(by: order)
    let high = try all.filter(order > position).sorted(by: order).first?.place(by: order)
    try place(sharing, by: order, after: low, before: high)
    return try existing(other).place(by: order)
  }

  private func existing<Model: CatalogItem>(_ id: ItemID<Model>) throws -> StoredItem<Model> {
    guard let item = state.item(id) else {
      throw Rules.rejected("\(Catalog.name(of: id.entity)) is not an existing \(Model.kind)")
    }
    return item
  }

  /// Gives items positions between two others, in order.
  private mutating func place<Model: CatalogItem>(
    _ ids: [ItemID<Model>], by order: any WritableKeyPath<Model, ListOrder> & Sendable,
    after low: ListOrder?, before high: ListOrder?
  ) throws {
    let places = ListOrder.places(ids.count, after: low, before: high)
    for (id, place) in zip(ids, places) { try put(id, by: order, at: place) }
  }

  private mutating func put<Model: CatalogItem>(
    _ id: ItemID<Model>, by order: any WritableKeyPath<Model, ListOrder> & Sendable, at place: ListOrder
  ) throws {
    let names = try Model.attribute(of: order).get().names
    let old = state.itemTable[id.number]?.record[names[0]] ?? .null
    if let new = old.setting(.string(place.text), at: names.dropFirst()) {
      try updateItem(id.item, set: [names[0]: new])
      return
    }
    // A dictionary on the path is missing, and the type may read the position as if it were this one. Because an update
    // that changes nothing writes nothing, another position comes first.
    try update(id) { $0[keyPath: order] = ListOrder(after: place, before: nil) }
    try update(id) { $0[keyPath: order] = place }
  }

  /// Gives the items around a position new, evenly spread positions, so that their texts are short again.
  private mutating func spread<Model: CatalogItem>(
    around place: ListOrder, by order: any WritableKeyPath<Model, ListOrder> & Sendable
  ) throws {
    let all = state.items(Model.self)
    var count = 16
    while true {
      let before = try all.filter(order < place).sorted(by: .descending(order)).prefix(count)
      let behind = try all.filter(order >= place).sorted(by: order).prefix(count)
      // The outermost two keep their positions, unless they are the ends of the list.
      let low = before.count == count ? try before[count - 1].place(by: order) : nil
      let high = behind.count == count ? try behind[count - 1].place(by: order) : nil
      let moved =
        before.ids.prefix(low == nil ? before.count : count - 1).reversed()
        + behind.ids.prefix(high == nil ? behind.count : count - 1)
      let places = ListOrder.places(moved.count, after: low, before: high)
      guard places.contains(where: { $0.text.utf8.count > ListOrder.longByteCount / 2 }),
        low != nil || high != nil
      else {
        for (id, place) in zip(moved, places) { try put(id, by: order, at: place) }
        return
      }
      count *= 2
    }
  }
}

extension StoredItem {
  /// The position of the item. Nothing else is decoded.
  fileprivate func place(by order: any KeyPath<Model, ListOrder> & Sendable) throws -> ListOrder {
    let value = item.record.value(at: try Model.attribute(of: order).get())
    return try ValueDecoder().decode(ListOrder.self, from: value ?? .null)
  }
}

extension FieldValue {
  /// This value with another member at the end of a path; nil if a dictionary on the path is missing.
  fileprivate func setting(_ new: FieldValue, at names: ArraySlice<String>) -> FieldValue? {
    guard let name = names.first else { return new }
    guard case .dictionary(var members) = self,
      let member = (members[name] ?? .null).setting(new, at: names.dropFirst())
    else { return nil }
    members[name] = member
    return .dictionary(members)
  }
}
