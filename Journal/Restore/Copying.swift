import Files
public import Foundation

extension Journal {
  /// Creates a journal with the state at a point in time as its first entry, without the history before it. Entities
  /// keep their numbers. The metadata of the entry, under `journal.copyOf`, names the journal, revision and digest that
  /// it came from.
  /// - Throws: as ``copy(to:through:progress:)``.
  public func copyState(
    to url: URL, asOf selector: RevisionSelector = .head(), by author: String = "", note: String = ""
  ) throws {
    let version = try version(asOf: selector)
    guard let everything = version.state.differences(from: State()) else {
      throw JournalError(.wrongUse, "the model does not say what its states are made of")
    }
    try checkIsOutside(try JournalFolder.path(of: url))
    let added = everything.compactMap { difference in
      State.isRestored(difference.entity.kind)
        ? difference.new.map { JournalEvent(entity: difference.entity, previous: 0, change: .add($0)) } : nil
    }
    try JournalFolder.create(at: url, upcast.schema, options: copyOptions) { place in
      let copy = try JournalCopy(making: place)
      do {
        try bringImages(of: added, to: try place.folder.root.folder("images"))
        let origin = [RestoreMetadata.copyOf: "\(id) \(version.head.revision) \(version.head.digest.hex)"]
        try copy.append(
          EntryAnnotation(author: author, note: note, metadata: origin), nil, upcast.schema, events: added)
        try copy.prove { _ in }
      } catch {
        try? copy.close()
        throw error
      }
      try copy.close()
    }
  }

  private func bringImages(of added: [JournalEvent], to images: Folder) throws {
    var copying = BlobCopying(
      from: try folder.openImages(), at: folder.images, to: images, sharesFiles: false)
    for event in added {
      guard case .add(let record) = event.change else { continue }
      for blob in State.blobs(in: record, of: event.entity.kind) { try copying.bring(blob) }
    }
    try copying.flush()
  }
}
