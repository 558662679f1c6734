package import CatalogModel

/// A whole state in JSON, made in pieces, so that a state of any size takes little memory.
package struct StateText {
  private static let pieceByteCount = 64 << 10

  private let catalog: Catalog
  private var writer = JSONWriter()
  /// The lists that are not yet written, each with what writes its next element, and returns false at the end.
  private var lists: [(key: String, writeNext: (inout JSONWriter) -> Bool)]

  /// The state of a version as `replay --json` prints it, with a line feed.
  package init(_ version: Version<Catalog>) {
    self.init(version.state) { writer in
      writer.member("revision", version.revision)
      writer.member("date", version.date.precise)
      writer.member("digest", version.digest.hex)
    }
  }

  /// An object with the members `categories`, `items` and `images`, each in the order of numbers.
  /// - Parameter head: writes members before these.
  package init(_ catalog: Catalog, head: (inout JSONWriter) -> Void = { _ in }) {
    self.catalog = catalog
    lists = [
      ("categories", Self.list(of: catalog.categories) { $0.write(to: &$1) }),
      ("items", Self.list(of: catalog.items) { $0.write(to: &$1, in: catalog) }),
      ("images", Self.list(of: catalog.images) { $0.write(to: &$1) }),
    ]
    writer.beginObject()
    head(&writer)
    beginList()
  }

  private static func list<Elements: Sequence>(
    of elements: Elements, _ write: @escaping (Elements.Element, inout JSONWriter) -> Void
  ) -> (inout JSONWriter) -> Bool {
    var iterator = elements.makeIterator()
    return { writer in
      guard let element = iterator.next() else { return false }
      write(element, &writer)
      return true
    }
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
  /// - Throws: ``JournalError`` if a part of the state could not be read. What is written then must not be taken for the
  ///   whole.
  package mutating func next() throws(JournalError) -> [UInt8]? {
    while let list = lists.first, writer.bytes.count < Self.pieceByteCount {
      if list.writeNext(&writer) { continue }
      writer.endArray()
      lists.removeFirst()
      beginList()
    }
    if let failure = catalog.failure { throw failure }
    defer { writer.removeAll() }
    return writer.bytes.isEmpty ? nil : writer.bytes
  }
}
