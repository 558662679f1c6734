public import CBOR

extension Catalog {
  /// An object of the user: a kind, an optional category, and attributes.
  ///
  /// An item is a value: later changes to the catalog do not affect it. Its attributes are decoded on access.
  public struct Item: CatalogEntity, Identifiable, Hashable {
    /// The number, from 1: `item:42` has 42.
    public let id: EntityID<Catalog.Item>
    private let row: EntityRow

    /// Makes an item of its number and its row.
    public init(number: Int, row: EntityRow) {
      id = EntityID(number)
      self.row = row
    }

    /// The record of the item, encoded.
    public var record: EntityRecord { row.record }
    /// The revision that added the item, or added it again after a deletion.
    public var created: Revision { row.created }
    /// The revision that changed the item last.
    public var modified: Revision { row.modified }

    /// The kind of item, in the app's own words: `"book"`.
    public var kind: String {
      guard let fields = try? ItemFields(record) else { return "" }
      return record.text(at: fields.kind)
    }

    /// The number of the item's category, or nil if it is in none. If the category was erased, the item keeps this
    /// number, and the catalog has no such category.
    public var category: CategoryID? { (try? ItemFields(record))?.category.map { CategoryID($0) } }

    /// All attributes, decoded. O(n) in the size of the item.
    public var attributes: [String: FieldValue] { record.attributes }

    /// An attribute, or nil if the item has none of that name. Only this attribute is decoded.
    public subscript(name: String) -> FieldValue? { record[name] }

    /// Decodes a value from the attributes.
    ///
    /// ```swift
    /// struct Book: Codable { var title: String; var stars: Int? }
    /// let book = try catalog.item(7)?.decode(Book.self)
    /// ```
    /// - Throws: `DecodingError`, which names the item and the attribute that is missing or of another type.
    public func decode<T: Decodable>(_ type: T.Type = T.self) throws -> T {
      try record.decode(type, of: .item(id))
    }
  }
}

extension Catalog.Item: CustomStringConvertible {
  /// The item as text, such as `item:42 (book) {"title": "Dune"}`.
  /// - Complexity: O(n) in the size of the item.
  public var description: String { "item:\(id) (\(kind)) \(FieldValue.dictionary(attributes))" }
}

extension EntityRecord {
  /// Decodes a value from the attributes, such as those of an item before and after a change.
  ///
  /// ```swift
  /// let books = try journal.history(of: .item(7)).map { try $0.after?.decode(Book.self) }
  /// ```
  /// - Throws: `DecodingError`, which names the attribute that is missing or of another type.
  public func decode<T: Decodable>(_ type: T.Type = T.self) throws -> T {
    try ValueDecoder().decode(type, fromAttributesOf: self)
  }

  /// Decodes a value from the attributes of an item. An error names the item, because there may be thousands.
  /// - Parameter decoder: decodes other records too; nil if this is the only one.
  func decode<T: Decodable>(
    _ type: T.Type, of item: EntityKey, by decoder: RecordDecoder? = nil
  ) throws -> T {
    do {
      guard let decoder else { return try decode(type) }
      return try decoder.decode(type, fromAttributesOf: self)
    } catch let error as DecodingError {
      throw error.naming(item)
    }
  }
}

extension DecodingError {
  /// This error, with the name of an item before its description.
  fileprivate func naming(_ item: EntityKey) -> DecodingError {
    func named(_ context: Context) -> Context {
      Context(
        codingPath: context.codingPath,
        debugDescription: "\(Catalog.name(of: item)): \(context.debugDescription)",
        underlyingError: context.underlyingError)
    }
    switch self {
    case .typeMismatch(let type, let context): return .typeMismatch(type, named(context))
    case .valueNotFound(let type, let context): return .valueNotFound(type, named(context))
    case .keyNotFound(let key, let context): return .keyNotFound(key, named(context))
    case .dataCorrupted(let context): return .dataCorrupted(named(context))
    @unknown default: return self
    }
  }
}
