// The parts of a catalog in layers and snapshots. Their files contain these names, so a new name needs a new schema.
extension Catalog {
  private enum PartName {
    static let itemsByKind = "itemsByKind"
    static let itemsByCategory = "itemsByCategory"
    static let imagesByItem = "imagesByItem"
    static let itemsByReference = "itemsByReference"
    static let itemsByKey = "itemsByKey"
    /// The kinds of items, in the order of their numbers in the index by kind.
    static let kinds = "kinds"
  }

  /// The entities, a table for each kind, in the order of ``kindNames``.
  package var tables: [EntityTable] { [categoryTable, itemTable, imageTable, tagTable, ruleTable] }

  /// The tables, indexes and kinds of this catalog.
  public var parts: StateParts? {
    var parts = StateParts(
      tables: tables,
      indexes: [
        (PartName.itemsByKind, itemsByKind), (PartName.itemsByCategory, itemsByCategory),
        (PartName.imagesByItem, imagesByItem), (PartName.itemsByReference, itemsByReference),
        (PartName.itemsByKey, itemsByKey),
      ],
      lists: [(PartName.kinds, itemKindNumbers)])
    parts.declaredIndexes = indexCache.declared
    return parts
  }

  /// Makes a catalog of its parts; nil if they are not the parts of a catalog.
  /// - Complexity: O(1)
  public init?(parts: StateParts) {
    guard parts.tables.count == Self.kindNames.count,
      let itemsByKind = parts.index(PartName.itemsByKind),
      let itemsByCategory = parts.index(PartName.itemsByCategory),
      let imagesByItem = parts.index(PartName.imagesByItem),
      let itemsByReference = parts.index(PartName.itemsByReference),
      let itemsByKey = parts.index(PartName.itemsByKey),
      let itemKindNumbers = parts.list(PartName.kinds)
    else { return nil }
    (categoryTable, itemTable, imageTable) = (parts.tables[0], parts.tables[1], parts.tables[2])
    (tagTable, ruleTable) = (parts.tables[3], parts.tables[4])
    self.itemsByKind = itemsByKind
    self.itemsByCategory = itemsByCategory
    self.imagesByItem = imagesByItem
    self.itemsByReference = itemsByReference
    self.itemsByKey = itemsByKey
    self.itemKindNumbers = itemKindNumbers
    if ruleTable.count > 0 { rules = RuleSet(ruleTable, itemKindNumbers) }
  }

  /// This catalog, made of equal parts, with its indexes, checks and rules; nil if they are not the parts of a catalog.
  public func replacing(parts: StateParts) -> Catalog? {
    guard var catalog = Catalog(parts: parts) else { return nil }
    (catalog.indexCache, catalog.itemChecks, catalog.rules) = (indexCache, itemChecks, rules)
    return catalog
  }

  /// Takes over the checks and the declarations of indexes. The indexes themselves have values that may be erased here.
  public mutating func adoptAdditions(of other: Catalog) {
    itemChecks = other.itemChecks
    indexCache.adoptAdditions(of: other.indexCache)
  }

  /// Takes the options by which slow queries are reported.
  public func adopt(_ options: JournalOptions) { indexCache.adopt(options) }

  /// The names of the fields of the schema, as written in JSON.
  public static func fieldNames(of kind: EntityKind) -> [String] {
    switch kind {
    case .category: ["name", "color"]
    case .item: ["kind", "category"]
    case .image: ["item", "name", "mediaType", "sha256", "byteCount"]
    case .tag: ["name", "revision"]
    case .rule: ["form", "kind"]
    default: []
    }
  }
}
