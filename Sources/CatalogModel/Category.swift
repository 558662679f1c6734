extension Catalog {
  /// A group of items, with a name and an optional color.
  public struct Category: CatalogEntity, Identifiable, Hashable {
    /// The number, from 1: `category:3` has 3.
    public let id: EntityID<Catalog.Category>
    private let row: EntityRow

    /// The category of that number with that row.
    public init(number: Int, row: EntityRow) {
      id = EntityID(number)
      self.row = row
    }

    /// The revision that added it, or added it again after a deletion.
    public var created: Revision { row.created }
    /// The revision that changed it last.
    public var modified: Revision { row.modified }

    /// Its name. Two categories may have the same name.
    public var name: String {
      guard let fields = try? CategoryFields(row.record) else { return "" }
      return row.record.text(at: fields.name)
    }

    /// Its color, or nil if it has none.
    public var color: Catalog.Color? { (try? CategoryFields(row.record))?.color }
  }
}
