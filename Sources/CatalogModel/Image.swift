import CBOR
import Foundation

extension Catalog {
  /// A picture, or any other file, that belongs to an item. Its bytes are a blob.
  public struct Image: CatalogEntity, Identifiable, Hashable {
    /// The number, from 1: `image:7` has 7.
    public let id: EntityID<Catalog.Image>
    private let row: EntityRow
    /// The number of the item that the image belongs to.
    public let item: Catalog.Item.ID
    /// The blob with the image's bytes.
    public let blob: Blob

    /// Makes an image of its number and its row.
    public init(number: Int, row: EntityRow) {
      id = EntityID(number)
      self.row = row
      let fields = try? ImageFields(row.record)
      item = Catalog.Item.ID(fields?.item ?? 0)
      blob = fields?.blob ?? Blob(digest: .zero, byteCount: 0)
    }

    /// The revision that added the image, or added it again after a deletion.
    public var created: Revision { row.created }
    /// The revision that changed the image last.
    public var modified: Revision { row.modified }

    /// The name of the file, such as `"deu.svg"`.
    public var name: String {
      guard let fields = try? ImageFields(row.record) else { return "" }
      return row.record.text(at: fields.name)
    }

    /// The media type of the bytes, such as `"image/svg+xml"`.
    public var mediaType: String {
      guard let fields = try? ImageFields(row.record) else { return "" }
      return row.record.text(at: fields.mediaType)
    }
  }
}

extension Blob {
  /// The digest as a record has it.
  var digestValue: FieldValue { .data(Data(digest.bytes)) }
}
