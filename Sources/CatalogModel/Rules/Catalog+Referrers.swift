import CBOR

extension Catalog {
  /// The items of a type that refer to an item by a property, in the order of their numbers. The property must have a
  /// reference rule (``ItemRule``).
  ///
  /// ```swift
  /// let staff = try catalog.items(Person.self, referringTo: acme, by: \.company)
  /// ```
  /// - Throws: `JournalError` with code `wrongUse` if the journal has no such rule.
  /// - Complexity: O(log n + r) for r items that refer to the item by any property.
  public func items<Model: CatalogItem, Target: CatalogItem>(
    _ type: Model.Type = Model.self, referringTo id: ItemID<Target>,
    by property: any PartialKeyPath<Model> & Sendable
  ) throws(JournalError) -> [StoredItem<Model>] {
    let path = try Model.attribute(of: property).get()
    let found = rules(ofKind: Model.kind).first { rule in
      if case .reference = rule.form { rule.paths == [path] } else { false }
    }
    guard let rule = found else { throw Self.noRule("reference", Model.self, [path]) }
    return itemsByReference.members(of: id.number).compactMap { number in
      item(ItemID<Model>(number)).flatMap { rule.targets(in: $0.item.record).contains(id.number) ? $0 : nil }
    }
  }

  fileprivate static func noRule<Model: CatalogItem>(
    _ form: String, _ type: Model.Type, _ paths: [AttributePath]
  ) -> JournalError {
    let names = paths.map { $0.names.joined(separator: ".") }.joined(separator: " and ")
    return JournalError(
      .wrongUse,
      "the journal has no \(form) rule for \(names) of \(Model.kind); declare it in \(Model.self).rules, and call "
        + "journal.declare(\(Model.self).self)")
  }
}

extension Draft where State == Catalog {
  /// Replaces the value of the item that has equal values of unique properties; if there is none, inserts a new item.
  ///
  /// ```swift
  /// try draft.upsert(Book(isbn: "0-441-17271-7", title: "Dune"), by: \.isbn)
  /// ```
  /// - Parameter properties: all properties of a ``ItemRule/unique(_:ignoringCase:)`` rule. If one of the properties is
  ///   nil, a new item is inserted.
  /// - Throws: ``JournalError`` with code `wrongUse` if the journal has no such rule; other errors as
  ///   ``replace(_:with:)`` and ``insert(_:category:)``.
  /// - Complexity: O(log n).
  @discardableResult
  public mutating func upsert<Model: CatalogItem>(
    _ value: Model, by properties: (any PartialKeyPath<Model> & Sendable)...
  ) throws -> ItemID<Model> {
    let paths = try properties.map { property throws(JournalError) in
      try Model.attribute(of: property).get()
    }
    let found = state.rules(ofKind: Model.kind).first { rule in
      if case .unique = rule.form { Set(rule.paths) == Set(paths) } else { false }
    }
    guard let rule = found else { throw Catalog.noRule("unique", Model.self, paths) }
    let record = EntityRecord(
      try Self.attributes(encoding: value, for: .item(state.itemTable.highest + 1)),
      fields: [ItemField.kind: .string(Model.kind)])
    guard let key = rule.key(of: record), let number = state.item(with: key, by: rule) else {
      return try insert(value)
    }
    let id = ItemID<Model>(number)
    try replace(id, with: value)
    return id
  }
}
