package import Files

/// The file `ERASING`, which names the images to remove once a new log has replaced the old one.
/// Documentation/Format.md, "Erasure", describes the file.
///
/// A program that syncs folders may bring back an earlier file, so an image that an entry names stays even if the file
/// lists it.
package struct ReplacementRecord {
  package static let fileName = "ERASING"

  /// The last entry of the new log when the new log replaced the old one.
  let revision: Revision
  let digest: ContentDigest
  /// The images that only the old log needs.
  let images: [ContentDigest]

  init(revision: Revision, digest: ContentDigest, images: [ContentDigest]) {
    self.revision = revision
    self.digest = digest
    self.images = images
  }

  var bytes: [UInt8] {
    Array("erasing 1 \(revision) \(digest.hex)\n\(images.map { $0.hex + "\n" }.joined())".utf8)
  }

  /// Reads the file; nil if there is none.
  /// - Throws: ``JournalError`` with code `damaged` if it is invalid, `newerFormat` if a newer library has written it.
  package init?(in root: Files.Folder<JournalError>) throws(JournalError) {
    guard let bytes = try root.contents(of: Self.fileName, limit: 1 << 30) else { return nil }
    let path = root.path(of: Self.fileName)
    try FileVersion.check(bytes, is: "erasing", path: path)
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    let words = lines.first?.split(separator: " ") ?? []
    let images = lines.dropFirst().compactMap { ContentDigest(hex: $0) }
    guard bytes.last == UInt8(ascii: "\n"), words.count == 4, words[0] == "erasing", words[1] == "1",
      let revision = Revision(words[2]), (1..<NumberLimit.revision).contains(revision),
      let digest = ContentDigest(hex: words[3]), images.count == lines.count - 1
    else {
      throw JournalError(
        .damaged,
        "ERASING can't be parsed; the next opening for writing removes it and finishes what it records, except that images "
          + "stay: gc removes those that no entry names", path: path)
    }
    self.init(revision: revision, digest: digest, images: images)
  }

  /// Makes a record from the mark of the new log, for the case that ERASING can't be parsed. The record names no
  /// images. Nil if there is no mark.
  init?(
    unfinishedIn building: Folder?, of journal: JournalID, _ storage: any LogStorage
  ) throws(JournalError) {
    guard let building else { return nil }
    do throws(JournalError) {
      guard let mark = try storage.mark(in: JournalFolder(root: building), of: journal) else { return nil }
      self.init(revision: mark.revision, digest: mark.digest, images: [])
    } catch {
      guard error.saysSomethingOfTheJournal else { throw error }
      return nil
    }
  }

  /// Whether `log` is the new log, possibly with later entries. False if the entry `revision` was pruned later, because
  /// a pruning finishes earlier replacements first.
  func isCommitted(in log: any EntryLog, _ format: JournalFormat) throws(JournalError) -> Bool {
    guard revision > format.head.revision, try log.newestRevision() >= revision else { return false }
    return try log.read(revision) { entry throws(JournalError) in try entry.digest(journal: format.id) }
      == digest
  }

  /// Whether another program has brought the file back. Commits may continue before a replacement is finished, and until
  /// then the old log is there.
  package func isStale(
    in log: any EntryLog, _ format: JournalFormat, _ folder: JournalFolder
  ) throws(JournalError) -> Bool {
    if try folder.root.status(of: LogReplacement.buildingName) != nil { return false }
    // Without the record, another process has finished the replacement since the record was read.
    guard try ReplacementRecord(in: folder.root)?.digest == digest else { return false }
    let newest = try log.newestRevision()
    if revision == newest { return try !isCommitted(in: log, format) }
    return revision < newest
  }

  /// The problem with a record that another program has brought back.
  package static func stale(in root: Files.Folder<JournalError>) -> JournalError {
    JournalError(
      .notAJournal,
      "another program has brought back the record of an earlier erasure or pruning; the next opening for writing "
        + "removes it, and no image that an entry names", path: root.path(of: fileName))
  }

  /// The recorded images that still exist and that neither an entry nor the base names.
  /// - Complexity: O(n) in the bytes of the entries if any recorded image exists.
  func images<State: EventSourced>(
    unnamedIn log: any EntryLog, _ format: JournalFormat, of model: State.Type, _ folder: JournalFolder
  ) throws(JournalError) -> Set<ContentDigest> {
    guard let names = try folder.openImages() else { return [] }
    var unnamed: Set<ContentDigest> = []
    for image in images where try names.status(of: image.hex) != nil { unnamed.insert(image) }
    if unnamed.isEmpty { return [] }
    for blob in try format.base?.blobs(of: model) ?? [] { unnamed.remove(blob.digest) }
    var named = try NamedBlobs<State>(in: log, format.base)
    try log.readAll(format.head.revision + 1...(try log.newestRevision())) { entry throws(JournalError) in
      named.trim()
      for blob in try named.blobs(in: entry) { unnamed.remove(blob.digest) }
    }
    return unnamed
  }
}
