import CBOR

extension Draft where State == Catalog {
  /// Adds an image to an item. The image's bytes must be in the journal's blob store when the commit ends.
  /// - Parameters:
  ///   - name: the name of the file, up to 4,096 bytes.
  ///   - mediaType: the media type of the bytes, such as `"image/png"`.
  /// - Returns: the new image's number.
  /// - Throws: ``JournalError`` with code `rejected` if the item does not exist, or a name is empty or too long.
  @discardableResult
  public mutating func addImage(
    to item: Catalog.Item.ID, name: String, mediaType: String, blob: Blob
  ) throws(JournalError) -> ImageID {
    let number = state.imageTable.highest + 1
    guard state.itemTable[item.number] != nil else {
      throw Rules.rejected(
        "\(Catalog.name(of: .image(number))) can't belong to \(Catalog.name(of: item.entity)): "
          + state.absence(of: item.entity))
    }
    try Rules.checkName(name, "name", of: .image(number))
    try Rules.checkName(mediaType, "media type", of: .image(number))
    try Rules.checkBlob(blob, of: .image(number))
    try add(
      .image(number),
      EntityRecord(fields: [
        ImageField.item: item.value, ImageField.name: .string(name),
        ImageField.mediaType: .string(mediaType), ImageField.digest: blob.digestValue,
        ImageField.byteCount: .integer(Int64(blob.byteCount)),
      ]))
    return ImageID(number)
  }

  /// Changes an image. If an argument is nil, that part stays unchanged. Only differences are recorded.
  /// - Throws: ``JournalError`` with code `rejected` if the image does not exist, or a name is empty or too long.
  public mutating func updateImage(
    _ id: ImageID, name: String? = nil, mediaType: String? = nil, blob: Blob? = nil
  ) throws(JournalError) {
    let record = try state.presentRecord(of: id.entity)
    var fields: [UInt8: FieldValue] = [:]
    if let name {
      try Rules.checkName(name, "name", of: id.entity)
      fields[ImageField.name] = .string(name)
    }
    if let mediaType {
      try Rules.checkName(mediaType, "media type", of: id.entity)
      fields[ImageField.mediaType] = .string(mediaType)
    }
    if let blob {
      try Rules.checkBlob(blob, of: id.entity)
      fields[ImageField.digest] = blob.digestValue
      fields[ImageField.byteCount] = .integer(Int64(blob.byteCount))
    }
    try update(id.entity, to: record.applying(RecordChanges(setFields: fields)))
  }

  /// Deletes an image. The image's blob stays as long as the history refers to it.
  /// - Throws: ``JournalError`` with code `rejected` if the image does not exist.
  public mutating func deleteImage(_ id: ImageID) throws(JournalError) {
    try state.checkPresence(of: id.entity)
    try delete(id.entity)
  }
}
