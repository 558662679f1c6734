import CBOR
import Foundation

extension Catalog {
  /// A picture, or any other file, that belongs to an item. Its bytes are a blob.
  public struct Image: CatalogEntity, Identifiable, Hashable {
    /// The number, from 1: `image:7` has 7.
    public let id: EntityID<Catalog.Image>
    private let row: EntityRow
    /// The number of the item that it belongs to.
    public let item: Catalog.Item.ID
    /// The blob with its bytes.
    public let blob: Blob

    /// The image of that number with that row.
    public init(number: Int, row: EntityRow) {
      id = EntityID(number)
      self.row = row
      let fields = try? ImageFields(row.record)
      item = Catalog.Item.ID(fields?.item ?? 0)
      blob = fields?.blob ?? Blob(digest: .zero, byteCount: 0)
    }

    /// The revision that added it, or added it again after a deletion.
    public var created: Revision { row.created }
    /// The revision that changed it last.
    public var modified: Revision { row.modified }

    /// The name of the file, such as `"deu.svg"`.
    public var name: String {
      guard let fields = try? ImageFields(row.record) else { return "" }
      return row.record.text(at: fields.name)
    }

    /// The media type of its bytes, such as `"image/svg+xml"`.
    public var mediaType: String {
      guard let fields = try? ImageFields(row.record) else { return "" }
      return row.record.text(at: fields.mediaType)
    }
  }
}

extension Blob {
  /// The digest in the form of a record.
  var digestValue: FieldValue { .data(Data(digest.bytes)) }
}
