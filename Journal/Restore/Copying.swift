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
    let path = try JournalFolder.path(of: url)
    let name = URL(fileURLWithPath: path).lastPathComponent
    let parentURL = URL(fileURLWithPath: path).deletingLastPathComponent()
    let parent = try Folder(parentURL.path, followsLinks: true, hook: options.fileHook)
    try JournalFolder.checkIsFree(name, in: parent, path: path)
    // Renamed when it is complete. The next creation of a journal with that name removes what a crash leaves.
    let unfinished = "\(name).\(JournalID())\(Folder.temporarySuffix)"
    do {
      let copy = try Journal.create(at: parentURL.appendingPathComponent(unfinished), options: copyOptions)
      do {
        try fill(copy, with: everything, of: version.head, author, note)
      } catch {
        try? copy.close()
        throw error
      }
      try copy.close()
      try parent.rename(unfinished, to: name)
      try parent.flush()
    } catch {
      try? parent.removeFolder(unfinished)
      throw error
    }
  }

  private func fill(
    _ copy: Journal, with everything: [EntityDifference], of head: Head, _ author: String, _ note: String
  ) throws {
    let images = try copy.folder.openImages()
    var copying = images.map {
      BlobCopying(from: try? folder.openImages(), at: folder.images, to: $0, sharesFiles: false)
    }
    for difference in everything {
      guard let record = difference.new else { continue }
      for blob in State.blobs(in: record, of: difference.entity.kind) { try copying?.bring(blob) }
    }
    try copying?.flush()
    let origin = [RestoreMetadata.copyOf: "\(id) \(head.revision) \(head.digest.hex)"]
    try copy.commit(by: author, note: note, metadata: origin) { draft in
      for difference in everything where State.isRestored(difference.entity.kind) {
        if let record = difference.new { try draft.add(difference.entity, record) }
      }
    }
  }
}
