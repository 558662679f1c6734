package import CatalogModel

/// The JSON of a state, made in pieces, so that even a large state takes little memory.
package struct StateText {
  private static let pieceByteCount = 64 << 10

  private let catalog: Catalog
  private var writer = JSONWriter()
  /// The lists that are not yet completely written.
  private var lists: [(key: String, elements: AnyIterator<JSONObject>)]

  /// The state as `replay --json` prints it.
  package init(_ version: Version<Catalog>) {
    self.init(
      version.state,
      head: [
        "revision": version.revision, "date": version.date.precise, "digest": version.digest.hex,
      ])
  }

  /// An object with the members `categories`, `items` and `images`, each in the order of the entities' numbers.
  /// - Parameter head: the members before `categories`.
  package init(_ catalog: Catalog, head: JSONObject = [:]) {
    self.catalog = catalog
    lists = [
      ("categories", AnyIterator(catalog.categories.lazy.map(\.json).makeIterator())),
      ("items", AnyIterator(catalog.items.lazy.map { $0.json(in: catalog) }.makeIterator())),
      ("images", AnyIterator(catalog.images.lazy.map(\.json).makeIterator())),
    ]
    writer.beginObject()
    writer.members(head)
    beginList()
  }

  private mutating func beginList() {
    if let list = lists.first {
      writer.key(list.key)
      writer.beginArray()
    } else {
      writer.endObject()
      writer.newline()
    }
  }

  /// The next piece; nil at the end.
  /// - Throws: ``JournalError`` if a part of the state could not be read. The pieces returned so far are then not
  ///   complete JSON.
  package mutating func next() throws(JournalError) -> [UInt8]? {
    while let list = lists.first, writer.bytes.count < Self.pieceByteCount {
      if let element = list.elements.next() {
        writer.value(element)
        continue
      }
      writer.endArray()
      lists.removeFirst()
      beginList()
    }
    if let failure = catalog.failure { throw failure }
    defer { writer.removeAll() }
    return writer.bytes.isEmpty ? nil : writer.bytes
  }
}
