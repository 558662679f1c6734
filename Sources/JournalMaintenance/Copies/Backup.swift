import Files
public import Foundation
public import Journaling
import SHA256

/// The result of a backup.
public struct BackupReport: Sendable {
  /// The journal's receipt when the backup began. The backup has all entries up to the receipt's revision.
  public let receipt: JournalReceipt
  /// The number of entries that are new in the backup.
  public internal(set) var entryCount = 0
  /// The number of bytes of the new entries.
  public internal(set) var entryByteCount = 0
  /// The number of images whose bytes were copied.
  public internal(set) var copiedImageCount = 0
  /// The number of bytes of the copied images.
  public internal(set) var copiedImageByteCount = 0
  /// The number of new images that the backup shares with the journal by hard links.
  public internal(set) var sharedImageCount = 0
  /// The number of copied and shared images that the backup had lost, or had in another size.
  public internal(set) var restoredImageCount = 0
  /// Whether the backup's log was rewritten because of an erasure in the journal.
  public internal(set) var isRebuilt = false
  /// The revision before which the journal's history was pruned; nil unless the backup still has the earlier history.
  /// This backup keeps that history forever, but a new backup will not have it.
  public internal(set) var keepsPruned: Revision?
}

extension Journal {
  /// Creates or updates a backup: a separate journal with the same entries and digests, and the images that they name.
  ///
  /// Commits can continue: the backup has all entries that were acknowledged when the call began. A later backup to the
  /// same folder reads and writes only what is new. All that is written is read back and compared before the call
  /// returns. Images of earlier runs are compared by name and size only, and lost ones are copied again. To check all
  /// bytes of a backup, open it and call ``verify(_:progress:)``. A backup is a sound journal at every moment: an
  /// interrupted run leaves it as it was, possibly with some of the new entries.
  ///
  /// ```swift
  /// try journal.backup(to: URL(filePath: "/media/stick/Books.backup"))
  /// ```
  /// - Parameters:
  ///   - url: the folder of the backup; its parent must exist, and it must not be in this journal's folder.
  ///   - sharesImages: whether an image may be a hard link to the journal's own file, if both are on one file system.
  ///     The link takes no space, but damage to the file affects both journals.
  ///   - progress: called with the progress; an error that it throws, or cancelling the task, ends the backup.
  /// - Throws: ``JournalError``: `locked` while another process has the backup open for writing; `alreadyExists` if
  ///   `url` is anything other than a backup of this journal; `conflict` if the backup has another history, and is left
  ///   unchanged; `damaged` if this journal or the backup is damaged; `io` if the disk is full; `pruned` if another
  ///   process has erased content or pruned the history since this journal was opened.
  /// - Complexity: O(n) in the bytes of entries and images that are new in the backup, and in the number of all images.
  ///   If the backup lacks images of this journal that no new entry names, also O(n) in the bytes of all entries.
  @discardableResult
  public func backup(
    to url: URL, sharesImages: Bool = true, progress: (CopyProgress) throws -> Void = { _ in }
  ) throws -> BackupReport {
    try copying(progress) { observer in
      let path = try JournalFolder.path(of: url)
      try checkIsOutside(path)
      let last = head
      try folder.checkLogIsCurrent()
      if let status = try Files.Folder<JournalError>.status(ofPath: path), status.kind == .folder,
        try !Files.Folder<JournalError>(path, followsLinks: false, hook: nil).names().isEmpty
      {
        return try update(url, through: last, sharesImages: sharesImages, observer)
      }
      return try copy(to: url, through: last, sharesImages: sharesImages, isBackup: true, observer)
    }
  }

  /// Creates a journal with the entries of this journal up to a point in time, their digests, and the images that they
  /// name. All that is read is checked.
  ///
  /// In a pruned journal, a later entry proves the base of the history by the digest of its state. A copy that ends
  /// before that entry gets an additional entry with the digest of the base. The metadata of the additional entry,
  /// under `journal.vouchedBy`, names the revision and the digest of the entry in this journal.
  /// - Parameters:
  ///   - url: the folder to create; its parent must exist.
  ///   - selector: the last entry of the copy.
  ///   - progress: called with the progress; an error that it throws, or cancelling the task, ends the work.
  /// - Throws: ``JournalError`` with code `alreadyExists` if something is at `url`, `damaged`, `io` if the disk is
  ///   full, or `pruned` if another process has erased content or pruned the history since this journal was opened.
  ///   After an error, there is no copy.
  /// - Complexity: O(n) in the bytes of the entries and their images; in a pruned journal, also in the bytes of the
  ///   entries up to the one that proves the base.
  public func copy(
    to url: URL, through selector: RevisionSelector = .head(),
    progress: (CopyProgress) throws -> Void = { _ in }
  ) throws {
    try copying(progress) { observer in
      try checkIsOutside(try JournalFolder.path(of: url))
      let last = try Replay<State>(log: log, format: format).head(at: try revision(at: selector))
      try folder.checkLogIsCurrent()
      // The copy shares no files, because it is for further work.
      _ = try copy(to: url, through: last, sharesImages: false, isBackup: false, observer)
    }
  }

  private func copy(
    to url: URL, through last: Head, sharesImages: Bool, isBackup: Bool, _ observer: CopyObserver
  ) throws -> BackupReport {
    var report = BackupReport(receipt: JournalReceipt(id: id, head: last))
    try JournalFolder.create(at: url, format: format, options: copyOptions) { place in
      try place.folder.root.require(try byteCountOfEntries(through: last.revision), for: "the entries")
      try JournalCopy.fill(place) { copy in
        try append(to: copy, through: last, sharesImages: sharesImages, &report, observer)
        if let base = place.format.base { try vouch(for: base, in: copy, observer) }
      }
      if isBackup { try report.receipt.write(in: place.folder) }
    }
    return report
  }

  /// The key of the metadata in the last entry of a copy that ends before the entry of the pruning: the revision and the
  /// digest of the entry in the original that has the digest of the base.
  private static var vouchedBy: String { "journal.vouchedBy" }

  /// Appends an entry that proves the base of a copy's history, if this journal has such an entry and the copy ends
  /// before it.
  private func vouch(for base: HistoryBase, in copy: JournalCopy, _ observer: CopyObserver) throws {
    guard let voucher = try base.voucher(in: log, through: head.revision, of: id),
      voucher.revision > copy.head.revision
    else { return }
    try copy.append(
      EntryAnnotation(
        author: "",
        note:
          "a copy of the entries up to \(copy.head.revision); history before \(base.head.revision) was pruned",
        metadata: [Self.vouchedBy: "\(voucher.revision) \(voucher.digest.hex)"]),
      base.checkpoint, base.schema)
    try copy.prove(observer)
  }

  private func update(
    _ url: URL, through last: Head, sharesImages: Bool, _ observer: CopyObserver
  ) throws -> BackupReport {
    let backup = try ExistingBackup(url, of: format, options: copyOptions)
    defer { backup.close() }
    let head = try backup.commonHead(with: log, format, newest: last)
    try LogReplacement.recover(
      backup.place.folder, backup.log, backup.place.format, State.self, backup.place.options)
    try backup.place.folder.prepareForWriting()
    // An interrupted run may have left a part of an image that was later erased.
    if let images = try backup.place.folder.openImages() { try BlobNames.removeUnfinished(in: images) }
    // Listed before the entries are read, because images that an app adds meanwhile would only lengthen the list.
    var missing = try imagesThatDiffer(in: backup.place.folder)
    var report = BackupReport(receipt: JournalReceipt(id: id, head: last))
    if try hasErasures(after: head, through: last, observer) {
      try rebuild(backup, through: last, sharesImages: sharesImages, &report, observer)
    } else if head.revision < last.revision {
      let copy = try JournalCopy(backup.log, in: backup.place, head: head)
      try append(to: copy, through: last, sharesImages: sharesImages, &report, observer) {
        missing.remove($0.digest)
      }
      try copy.close()
    } else {
      // An interrupted run may have left the newest entry unmarked in HEAD.
      try backup.markNewest()
    }
    if !report.isRebuilt {
      try copyAgain(
        missing, to: backup.place.folder, through: last, sharesImages: sharesImages, &report, observer)
    }
    try report.receipt.write(in: backup.place.folder)
    if let base = format.base?.head, !report.isRebuilt, backup.place.format.head.revision < base.revision {
      report.keepsPruned = base.revision
    }
    return report
  }

  /// Whether one of the entries after `head` records an erasure. Even a backup without entries may have erased images,
  /// from an interrupted run.
  private func hasErasures(after head: Head, through last: Head, _ observer: CopyObserver) throws -> Bool {
    guard head.revision < last.revision else { return false }
    var reader = EntryReader(log, journal: id, after: head)
    var isFound = false
    func find(_ entry: EntryDecoder) throws(JournalError) {
      if try entry.recordsErasure() { isFound = true }
    }
    while !isFound, try reader.next(through: last.revision, find) != nil { try Task.checkCancellation() }
    return isFound
  }

  /// Rewrites the log of a backup to remove erased content, and removes images that no entry names any more.
  private func rebuild(
    _ backup: ExistingBackup, through last: Head, sharesImages: Bool, _ report: inout BackupReport,
    _ observer: CopyObserver
  ) throws {
    // The backup's own base may have content that was erased, so the backup gets the journal's base.
    let replacement = try LogReplacement(in: backup.place) { entries throws(JournalError) in
      try format.base?.copy(to: entries, format)
    }
    var named: Set<ContentDigest> = []
    let images: [ContentDigest]
    let folder = backup.place.folder
    do {
      try folder.root.require(try byteCountOfEntries(through: last.revision), for: "the entries")
      try append(
        to: replacement.copy, images: try folder.root.folder("images"), through: last,
        sharesImages: sharesImages,
        &report, observer
      ) { named.insert($0.digest) }
      images = try folder.root.folder("images").blobs().map(\.digest)
      try backup.log.close()
    } catch {
      replacement.cancel()
      throw error
    }
    try replacement.commit(removing: images.filter { !named.contains($0) })
    try backup.markNewest(ofNewLog: replacement.format)
    report.isRebuilt = true
  }

  var copyOptions: JournalOptions { JournalOptions(fileHook: options.fileHook) }

  /// Appends the entries and images that a copy lacks, and reads the entries back.
  /// - Parameter sees: called with each blob that these entries name.
  private func append(
    to copy: JournalCopy, images target: Files.Folder<JournalError>? = nil, through last: Head,
    sharesImages: Bool,
    _ report: inout BackupReport, _ observer: CopyObserver, sees: (Blob) -> Void = { _ in }
  ) throws {
    var images = BlobCopying(
      from: try folder.openImages(), at: folder.images, to: try target ?? copy.folder.root.folder("images"),
      sharesFiles: sharesImages, fetchingFrom: self.blobs.shared)
    try readPieces(after: copy.head, through: last, observer) { piece, blobs, head in
      for blob in blobs {
        sees(blob)
        if let error = try images.take(blob) { throw explained(error, of: blob, in: piece) }
      }
      try images.flush()
      try copy.append(piece, head: head)
    }
    try copy.prove(observer)
    report.entryCount = copy.entryCount
    report.entryByteCount = copy.entryByteCount
    report.copiedImageCount = images.copiedCount
    report.copiedImageByteCount = images.copiedByteCount
    report.sharedImageCount = images.sharedCount
  }

  /// Fails if a path is this journal's own folder, or is in the folder of a journal.
  func checkIsOutside(_ path: String) throws(JournalError) {
    let parent = try JournalFolder.parent(ofPath: path, hook: nil)
    let target = "\(parent.currentPath() ?? parent.path)/\(URL(fileURLWithPath: path).lastPathComponent)"
    guard target == folder.root.currentPath() ?? folder.path else { return }
    throw JournalError(
      .wrongUse, "a copy can't replace the journal itself; choose another folder", path: path)
  }
}
