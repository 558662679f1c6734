import CBOR

// References: an image refers to its item, an item to its category and, by rules, to other items. Restores and reverts
// preserve them.
extension Catalog {
  /// The category of an item, and the item of an image.
  public static func references(in record: EntityRecord, of kind: EntityKind) -> [EntityKey] {
    switch kind {
    case .item: (try? ItemFields(record))?.category.map { [.category($0)] } ?? []
    case .image: (try? ImageFields(record)).map { [.item($0.item)] } ?? []
    default: []
    }
  }

  /// The category of an item and the items to which it refers by rules; the item of an image.
  public func references(in record: EntityRecord, of kind: EntityKind) -> [EntityKey] {
    guard kind == .item, !rules.isEmpty, let fields = try? ItemFields(record) else {
      return Self.references(in: record, of: kind)
    }
    var references: [EntityKey] = fields.category.map { [.category($0)] } ?? []
    let rules = rules(for: record, fields)
    // An iteration over the rules would copy each, with its reference counts.
    for index in rules.indices where rules[index].holdsTargets {
      for target in rules[index].targets(in: record) { references.append(.item(target)) }
    }
    return references
  }

  /// The items of a category; the images of an item, and the items that refer to it by rules, even if the rules allow
  /// references to missing items.
  /// - Complexity: grows with the answer, not with the catalog.
  public func referrers(to entity: EntityKey) -> [EntityKey] {
    switch entity.kind {
    case .category: itemsByCategory.members(of: entity.number).map { .item($0) }
    case .item:
      imagesByItem.members(of: entity.number).map { .image($0) }
        + itemsByReference.members(of: entity.number).map { .item($0) }
    default: []
    }
  }

  /// The record without references to a deleted entity; nil if its own entity is deleted too. Items of a deleted
  /// category stay, and images of a deleted item are deleted. An item that refers to a deleted item by a rule is
  /// deleted or loses the reference. If its rules forbid the deletion or allow references to missing items, it keeps
  /// the reference.
  public func record(_ record: EntityRecord, of kind: EntityKind, without entity: EntityKey) -> EntityRecord?
  {
    guard kind == .item, entity.kind == .item else {
      return Self.record(record, of: kind, without: entity)
    }
    var changed = record
    for rule in rules(for: record) where rule.targets(in: record).contains(entity.number) {
      switch rule.form {
      case .reference(_, .cascade): return nil
      case .reference(_, .nullify): changed = rule.removing([entity.number], from: changed)
      default: break
      }
    }
    return changed
  }

  /// The record of an item without its category, or nil for an image, which belongs to its item.
  public static func record(_ record: EntityRecord, of kind: EntityKind, without entity: EntityKey)
    -> EntityRecord?
  {
    kind == .item ? record.setting(ItemField.category, to: nil) : nil
  }

  /// Restores and reverts change no tags, which name points in time, and no rules, which hold whatever the items are.
  public static func isRestored(_ kind: EntityKind) -> Bool { kind != .tag && kind != .rule }

  /// A state without history has no tags.
  public static func isCopied(_ kind: EntityKind) -> Bool { kind != .tag }

  /// The name of a category, an image or a tag; what a rule demands; the title, name or path of an item, or its first
  /// short text.
  public static func label(of record: EntityRecord, of kind: EntityKind) -> String? {
    switch kind {
    case .category: (try? CategoryFields(record)).map { record.text(at: $0.name) }
    case .image: (try? ImageFields(record)).map { record.text(at: $0.name) }
    case .tag: (try? TagFields(record)).map { record.text(at: $0.name) }
    case .rule: Rule(number: 0, record: record).description
    default: record.label
    }
  }
}
