import CatalogModel

extension StoreMerge {
  mutating func mergeImages(
    _ index: Int, _ row: inout ImportMemory.Element, _ draft: inout Draft<Catalog>
  ) throws {
    let item = store.items[index]
    let byName = Dictionary(draft.state.images(of: row.item).map { ($0.name, $0) }) { first, _ in first }
    for (image, blob) in zip(item.images, blobs[index]) {
      guard let blob, row.images[image.name]?.blob != blob else { continue }
      let known = row.images[image.name]
      if let there = known.flatMap({ draft.state.image($0.image) }) ?? byName[image.name] {
        if there.blob != known?.blob, there.blob != blob {
          report.note(
            place(of: item),
            "\(image.name) was changed both in the journal and in the file; the file's image is used, and the "
              + "history of image:\(there.id) has the other one")
        }
        try draft.updateImage(there.id, mediaType: image.mediaType, blob: blob)
        row.images[image.name] = ImportMemory.Picture(image: there.id, blob: blob)
      } else {
        if known != nil {
          report.note(
            place(of: item),
            "\(image.name) was deleted in the journal but has changed in the file since, so it is added again"
          )
        }
        let number = try draft.addImage(
          to: row.item, name: image.name, mediaType: image.mediaType, blob: blob)
        row.images[image.name] = ImportMemory.Picture(image: number, blob: blob)
      }
      report.images += 1
    }
    let names = Set(item.images.map(\.name))
    for (name, picture) in row.images where !names.contains(name) {
      row.images[name] = nil
      // An image that was renamed in the journal and exported is in the files under its new name.
      if row.images.values.contains(where: { $0.image == picture.image }) { continue }
      guard let there = draft.state.image(picture.image) else { continue }
      if there.blob == picture.blob {
        try draft.deleteImage(there.id)
        report.images += 1
      } else {
        report.note(
          place(of: item),
          "the file no longer has \(name), but it was changed in the journal since, so it stays")
      }
    }
  }
}
