package import Files
import Foundation

/// Replaces a journal's log atomically by a rewritten log of the same journal.
///
/// 1. The new log is built in the folder `entries.new`, like the log of a new journal. The journal's own log does not
///    change before the exchange in step 4.
/// 2. The file `ERASING` names the images that are removed with the old log. After a crash, the next opening for
///    writing completes or withdraws the replacement.
/// 3. If the new log has a base, FORMAT announces the base before step 4. But the log decides whether there is a base.
/// 4. The folder of layers and snapshots, which may have content that the new log lacks, is exchanged with an empty
///    folder in `entries.new`. Then the two logs are exchanged. After any crash, the journal has the old log or the new
///    one. If it has the old one, the layers and snapshots are put back.
///
/// The caller holds the journal's lock for writing. From step 4 until the new log is open, it commits to neither log.
package final class LogReplacement {
  static let buildingName = "entries" + Folder.temporarySuffix

  package let copy: JournalCopy
  var base: HistoryBase? { format.base }
  private let folder: JournalFolder
  private let storage: any LogStorage
  private let building: Folder
  /// The FORMAT for the new log.
  package let format: JournalFormat
  private let oldFormat: JournalFormat
  /// Whether the journal's FORMAT already fits the new log, which has a base or none.
  private let isFormatWritten: Bool
  private var isExchanging = false

  /// Begins to build a new log.
  /// - Parameter base: writes the base into the folder of the new log, or returns nil if history begins with entry 1.
  package init(
    in place: LogPlace, base: (_ entries: Files.Folder<JournalError>) throws(JournalError) -> HistoryBase?
  ) throws(JournalError) {
    folder = place.folder
    oldFormat = place.format
    storage = place.options.logStorage
    try folder.checkIsNotShared()
    try Self.removeBuilding(in: folder)
    try folder.root.makeFolder(Self.buildingName)
    building = try folder.root.folder(Self.buildingName)
    do throws(JournalError) {
      try Self.checkExchanges(in: building, of: folder.root)
      for name in ["entries", "snapshots"] { try building.makeFolder(name) }
      format = place.format.with(try base(try building.folder("entries")))
      isFormatWritten = place.format.announcesBase == (format.base != nil)
      let inner = LogPlace(try JournalFolder(root: building), format, options: place.options)
      try place.options.logStorage.create(in: inner)
      copy = try JournalCopy(making: inner)
    } catch {
      try? Self.removeBuilding(in: place.folder)
      throw error
    }
  }

  /// Fails if the file system can't exchange folders. Called first, so that no work is lost.
  private static func checkExchanges(in building: Folder, of root: Folder) throws(JournalError) {
    let names = ["one", "other"]
    for name in names { try building.makeFolder(name) }
    try building.exchange(names[0], with: names[1], in: building)
    try building.folder(names[0]).makeFolder("inner")
    for name in ["entries", "snapshots"] where try root.status(of: name) != nil {
      try root.checkMoves(name, over: names[0], in: building)
    }
    for name in names { try building.removeFolder(name) }
  }

  /// Removes the new log; the journal is unchanged. After ``exchange(removing:)`` has begun, this does nothing.
  package func cancel() {
    if !isExchanging { removeNewLog() }
  }

  private func removeNewLog() {
    try? copy.close()
    try? Self.removeBuilding(in: folder)
    for name in [ReplacementRecord.fileName, "FORMAT"] {
      try? folder.root.removeFile(name + Folder.temporarySuffix)
    }
  }

  /// Closes the new log, replaces the old one with it, and removes all content that only the old log had.
  /// - Parameter images: the digests of images that only the old log needs.
  package func commit(removing images: [ContentDigest]) throws(JournalError) {
    try exchange(removing: images)
    try finish(removing: images)
  }

  /// Closes the new log and puts it in the place of the old one. After a failure, the old log stays and the new one is
  /// removed, except with code `outcomeUnknown`, after which the journal may have either.
  /// - Parameter images: the images that ``finish(removing:by:)`` will remove.
  func exchange(removing images: [ContentDigest]) throws(JournalError) {
    isExchanging = true
    do throws(JournalError) {
      try copy.close()
      let record = ReplacementRecord(revision: copy.head.revision, digest: copy.head.digest, images: images)
      try folder.root.write(ReplacementRecord.fileName, record.bytes)
      if format.base != nil, !isFormatWritten { try folder.root.write("FORMAT", format.bytes) }
      try building.flush()
      try folder.root.flush()
      if try folder.openSnapshots() != nil { try Self.exchange("snapshots", of: folder, in: building) }
      try folder.root.exchange("entries", with: "entries", in: building)
    } catch {
      withdraw()
      throw error
    }
    do throws(JournalError) {
      try folder.root.flush()
      try building.flush()
    } catch { throw unknown(error) }
  }

  /// Puts the old log back after ``exchange(removing:)``. The new log must have no further entries.
  /// - Throws: ``JournalError`` with code `outcomeUnknown` if the journal may have either log after a power loss.
  func putBack() throws(JournalError) {
    do throws(JournalError) {
      try Self.exchange("entries", of: folder, in: building)
    } catch { throw unknown(error) }
    withdraw()
  }

  private func unknown(_ cause: JournalError) -> JournalError {
    JournalError(
      .outcomeUnknown,
      "the new log was put in the place of the old one, and this may not be durable; close the journal and open it again",
      path: cause.path, cause: cause)
  }

  /// Undoes the preparations of the exchange, and removes the new log. After a failure, the next writer does this.
  private func withdraw() {
    try? copy.close()
    do throws(JournalError) {
      try Self.putSnapshotsBack(folder)
      if !isFormatWritten { try folder.root.write("FORMAT", oldFormat.bytes) }
      try folder.root.removeFile(ReplacementRecord.fileName)
      try folder.root.flush()
    } catch { return }
    removeNewLog()
  }

  /// Removes the old log, its layers and snapshots, and the images that only it needs.
  /// - Parameter remove: removes an image from a folder.
  func finish(
    removing images: [ContentDigest], by remove: ImageRemoval = LogReplacement.remove
  ) throws(JournalError) {
    do throws(JournalError) {
      if format.base == nil, !isFormatWritten { try folder.root.write("FORMAT", format.bytes) }
      try Self.finish(folder, removing: images, by: remove, storage)
    } catch {
      throw JournalError(
        .outcomeUnknown,
        "the new log is in its place, but what the old one had could not be removed; opening the journal for writing "
          + "does that", path: error.path, cause: error)
    }
  }

  package typealias ImageRemoval = (ContentDigest, Files.Folder<JournalError>) throws(JournalError) -> Void

  package static func remove(
    _ image: ContentDigest, from images: Files.Folder<JournalError>
  ) throws(JournalError) {
    try images.removeFile(image.hex)
  }

  /// Completes a replacement that a crash has interrupted, after the log of the journal was found intact.
  package static func recover<State: EventSourced>(
    _ folder: JournalFolder, _ log: any EntryLog, _ format: JournalFormat, _: State.Type,
    by remove: ImageRemoval = LogReplacement.remove, _ options: JournalOptions
  ) throws(JournalError) {
    if format.announcesBase != (format.base != nil) {
      try folder.root.write("FORMAT", format.bytes)
      try folder.root.flush()
    }
    for name in [ReplacementRecord.fileName, "FORMAT"] {
      let unfinished = name + Folder.temporarySuffix
      if try folder.root.status(of: unfinished) != nil { try folder.root.removeFile(unfinished) }
    }
    var record: ReplacementRecord?
    do throws(JournalError) {
      record = try ReplacementRecord(in: folder.root)
      if record == nil {
        // Without a record, nothing was exchanged, and the unfinished log has no erased content. If the log can't be
        // removed now, a later opening removes it.
        try? removeBuilding(in: folder)
        return
      }
    } catch {
      // Another program has altered or written the file. The logs are intact, and show which of them is the new one.
      guard error.code == .damaged else { throw error }
      options.note(
        .warning,
        "ERASING can't be parsed and is removed; what it records is finished, except that images stay: gc removes those "
          + "that no entry names", cause: error)
      record = try ReplacementRecord(
        unfinishedIn: try folder.openFolder(buildingName), of: format.id, options.logStorage)
    }
    var images: Set<ContentDigest> = []
    if let record {
      if try record.isCommitted(in: log, format) {
        images = try record.images(unnamedIn: log, format, of: State.self, folder)
      } else if record.revision > format.head.revision {
        try putSnapshotsBack(folder)
      }
    }
    try finish(folder, removing: images.sorted { $0.hex < $1.hex }, by: remove, options.logStorage)
  }

  private static func finish(
    _ folder: JournalFolder, removing images: [ContentDigest], by remove: ImageRemoval,
    _ storage: any LogStorage
  ) throws(JournalError) {
    if !images.isEmpty, let names = try folder.openImages() {
      for image in images { try remove(image, names) }
      try names.flush()
    }
    try keepForeignFiles(of: folder, storage)
    let building = try folder.openFolder(buildingName)
    try building?.removeContents()
    try building?.flush()
    // The record goes after all that is still to be done, and before the empty folder, without which another process
    // takes a record for one that was brought back.
    try folder.root.removeFile(ReplacementRecord.fileName)
    try folder.root.flush()
    try removeBuilding(in: folder)
    try folder.root.flush()
  }

  private static func removeBuilding(in folder: JournalFolder) throws(JournalError) {
    guard try folder.root.status(of: buildingName) != nil else { return }
    try folder.root.removeFolder(buildingName)
  }

  /// Moves files of other programs out of the folders that are about to be removed, except the folder `lost`, where
  /// LevelDB's repair has put files of the old log.
  private static func keepForeignFiles(of folder: JournalFolder, _ storage: any LogStorage)
    throws(JournalError)
  {
    guard let building = try folder.openFolder(buildingName) else { return }
    for (name, part) in [("entries", JournalFolder.Part.entries), ("snapshots", .snapshots)] {
      guard try building.status(of: name) != nil, let new = try folder.openFolder(name) else { continue }
      let old = try building.folder(name)
      for file in try old.names() where part.kind(of: file, storage) == nil {
        if part == .entries, file == "lost" { continue }
        try old.rename(file, to: file, in: new)
      }
    }
  }

  private static func exchange(
    _ name: String, of folder: JournalFolder, in building: Folder
  ) throws(JournalError) {
    try folder.root.exchange(name, with: name, in: building)
    try folder.root.flush()
    try building.flush()
  }

  /// Gives the journal the layers and snapshots that an unfinished replacement has put aside. If that failed at first,
  /// the journal may have written others since, which stay.
  private static func putSnapshotsBack(_ folder: JournalFolder) throws(JournalError) {
    guard try folder.root.status(of: buildingName)?.kind == .folder,
      let snapshots = try folder.openSnapshots()
    else { return }
    let building = try folder.root.folder(buildingName)
    guard try building.status(of: "snapshots")?.kind == .folder else { return }
    let aside = try building.folder("snapshots")
    let names = try aside.names()
    if names.isEmpty { return }
    if try snapshots.names().isEmpty { return try exchange("snapshots", of: folder, in: building) }
    // An archive without its footer counts for nothing, so the archives come first and replace such ones.
    let isFooter = { (name: String) in LayerName(footerName: name) != nil }
    for name in names where !isFooter(name) {
      let needed = LayerName(fileName: name)?.footerName ?? name
      if try snapshots.status(of: needed) == nil { try aside.rename(name, to: name, in: snapshots) }
    }
    try snapshots.flush()
    for name in names where isFooter(name) {
      if try snapshots.status(of: name) == nil { try aside.rename(name, to: name, in: snapshots) }
    }
    try snapshots.flush()
    try aside.flush()
  }
}
