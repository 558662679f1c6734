extension Catalog {
  /// A group of items, with a name and an optional color.
  public struct Category: CatalogEntity, Identifiable, Hashable {
    /// The number, from 1: `category:3` has 3.
    public let id: EntityID<Catalog.Category>
    private let row: EntityRow

    /// Makes a category of its number and its row.
    public init(number: Int, row: EntityRow) {
      id = EntityID(number)
      self.row = row
    }

    /// The revision that added the category, or added it again after a deletion.
    public var created: Revision { row.created }
    /// The revision that changed the category last.
    public var modified: Revision { row.modified }

    /// The name of the category. Two categories may have the same name.
    public var name: String {
      guard let fields = try? CategoryFields(row.record) else { return "" }
      return row.record.text(at: fields.name)
    }

    /// The color of the category, or nil if it has none.
    public var color: Catalog.Color? { (try? CategoryFields(row.record))?.color }
  }
}
