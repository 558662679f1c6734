public import CBOR

extension Catalog {
  /// An object of the user: a kind, an optional category, and attributes.
  ///
  /// An item is a value: later changes to the catalog do not affect it. Its attributes are decoded on access.
  public struct Item: Identifiable, Hashable, Sendable {
    /// The number, from 1: `item:42` has 42.
    public let id: EntityID<Catalog.Item>
    private let row: EntityRow

    init(number: Int, row: EntityRow) {
      id = EntityID(number)
      self.row = row
    }

    /// The record of the item, encoded.
    public var record: EntityRecord { row.record }
    /// The revision that added it, or added it again after a deletion.
    public var created: Revision { row.created }
    /// The revision that changed it last.
    public var modified: Revision { row.modified }

    /// The kind of item, in the app's own words: `"book"`.
    public var kind: String {
      guard let fields = try? ItemFields(record) else { return "" }
      return record.text(at: fields.kind)
    }

    /// The number of its category, or nil if it is in none. If the category was erased, the item keeps its number, and
    /// the catalog has no such category.
    public var category: CategoryID? { (try? ItemFields(record))?.category.map { CategoryID($0) } }

    /// All attributes, decoded. O(n) in the size of the item.
    public var attributes: [String: FieldValue] { record.attributes }

    /// An attribute, or nil if the item has none of that name. Only this one is decoded.
    public subscript(name: String) -> FieldValue? { record[name] }

    /// Decodes a value from the attributes.
    ///
    /// ```swift
    /// struct Book: Codable { var title: String; var stars: Int? }
    /// let book = try catalog.item(7)?.decode(Book.self)
    /// ```
    /// - Throws: `DecodingError`, which says which attribute is missing or of another type.
    public func decode<T: Decodable>(_ type: T.Type = T.self) throws -> T {
      try ValueDecoder().decode(type, from: .dictionary(attributes))
    }
  }
}
