import Files
import Journaling
import SHA256

extension Journal {
  /// The images in this journal's folder that a backup lacks, or has in another size, whether entries name them or not.
  ///
  /// Only names and sizes are compared, so the cost is that of listing both folders.
  func imagesThatDiffer(in backup: JournalFolder) throws -> Set<ContentDigest> {
    guard let source = try folder.openImages() else { return [] }
    let target = try backup.root.folder("images")
    return Set(try source.blobs().filter { try !target.has($0) }.map(\.digest))
  }

  /// Copies images to a backup, if entries up to `last` name them.
  /// - Parameter images: images that the backup may have lost. If there are any, all entries are read.
  func copyAgain(
    _ images: Set<ContentDigest>, to backup: JournalFolder, through last: Head, sharesImages: Bool,
    _ report: inout BackupReport, _ observer: CopyObserver
  ) throws {
    var missing = images
    if missing.isEmpty { return }
    var copying = BlobCopying(
      from: try folder.openImages(), at: folder.images, to: try backup.root.folder("images"),
      sharesFiles: sharesImages, fetchingFrom: self.blobs.shared)
    try readPieces(after: format.head, through: last, observer) { piece, blobs, _ in
      for blob in blobs where missing.remove(blob.digest) != nil {
        if let error = try copying.take(blob) { throw explained(error, of: blob, in: piece) }
      }
      try copying.flush()
    }
    report.restoredImageCount = copying.copiedCount + copying.sharedCount
    report.copiedImageCount += copying.copiedCount
    report.copiedImageByteCount += copying.copiedByteCount
    report.sharedImageCount += copying.sharedCount
  }

  /// Returns the error about an image that can't be copied. If the image is lost, names the entities that need it.
  /// - Parameter piece: the entries that were read last; empty for the base of a pruned history.
  func explained(_ error: JournalError, of blob: Blob, in piece: [SealedEntry]) -> JournalError {
    let error = folder.explaining(error)
    guard error.code == .damaged else { return error }
    var entities: [EntityKey] = []
    func note(_ entity: EntityKey, _ blobs: [Blob]) {
      if blobs.contains(blob), !entities.contains(entity) { entities.append(entity) }
    }
    // If the entities can't be read, the error is reported without them.
    do throws(JournalError) {
      if piece.isEmpty {
        try format.base?.contents().forEach(upcast) { entity, row throws(JournalError) in
          if case .there(let row) = row { note(entity, State.blobs(in: row.record, of: entity.kind)) }
        }
      }
      var named = namedBlobs
      for entry in piece { try named.forEach(in: entry) { entity, blobs in note(entity, blobs) } }
    } catch {}
    return error.naming(entities.map { State.name(of: $0) })
  }
}

extension JournalError {
  /// Adds the names of the entities that need a lost image to the error about the image.
  func naming(_ entities: [String]) -> JournalError {
    guard code == .damaged, !entities.isEmpty else { return self }
    return JournalError(
      code,
      "\(message), add the same image again, or erase \(entities.joined(separator: " and ")), so that the rest can be "
        + "copied", revision: revision, path: path, cause: cause)
  }
}
