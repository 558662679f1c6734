import Files
import Foundation

/// Replaces a journal's log by another one with the same history, atomically.
///
/// 1. The new log is built in the folder `entries.new`, like that of a new journal. Until the last step the journal
///    does not change, except that its layers and snapshots are removed: they are caches, and may have content that the
///    new log lacks.
/// 2. The last step exchanges two folders. After any crash, the journal has the old log or the new one.
/// 3. If the new log has a base, FORMAT announces it before that step. The log decides whether there is one.
/// 4. The file `ERASING` names the images that are removed with the old log. The next opening for writing completes
///    what a crash has interrupted.
///
/// The caller holds the journal's lock for writing.
final class LogReplacement {
  private static let buildingName = "entries" + Folder.temporarySuffix
  static let fileName = "ERASING"

  let copy: JournalCopy
  /// The base of the new log.
  var base: HistoryBase? { format.base }
  private let folder: JournalFolder
  private let storage: any LogStorage
  private let building: Folder
  /// The FORMAT for the new log.
  let format: JournalFormat
  /// Whether the journal's FORMAT already announces what the new log has: a base, or none.
  private let isFormatWritten: Bool

  /// Creates the new, empty log.
  /// - Parameter base: writes the base into the folder of the new log, or returns nil if history begins with entry 1.
  init(
    in place: LogPlace, base: (_ entries: Folder) throws(JournalError) -> HistoryBase?
  ) throws(JournalError) {
    folder = place.folder
    storage = place.options.logStorage
    try folder.checkIsNotShared()
    try Self.removeBuilding(in: folder)
    try folder.root.makeFolder(Self.buildingName)
    building = try folder.root.folder(Self.buildingName)
    do throws(JournalError) {
      try Self.checkExchanges(in: building)
      try building.makeFolder("entries")
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

  /// Fails if the file system can't exchange folders, before there is work that would be lost.
  private static func checkExchanges(in folder: Folder) throws(JournalError) {
    let names = ["one", "other"]
    for name in names { try folder.makeFolder(name) }
    try folder.exchange(names[0], with: names[1], in: folder)
    for name in names { try folder.removeFolder(name) }
  }

  /// Removes the new log; the journal is unchanged.
  func cancel() {
    try? copy.close()
    try? Self.removeBuilding(in: folder)
    for name in [Self.fileName, "FORMAT"] { try? folder.root.removeFile(name + Folder.temporarySuffix) }
  }

  /// Closes the new log and replaces the old one; content that only the old one had is nowhere in the folder
  /// afterwards.
  /// - Parameter images: the digests of images that only the old log needs.
  func commit(removing images: [ContentDigest]) throws(JournalError) {
    let lines = images.map { $0.hex + "\n" }.joined()
    do throws(JournalError) {
      try copy.close()
      try Self.removeSnapshots(in: folder)
      try folder.root.write(
        Self.fileName, Array("erasing 1 \(copy.head.revision) \(copy.head.digest.hex)\n\(lines)".utf8))
      if format.base != nil, !isFormatWritten { try folder.root.write("FORMAT", format.bytes) }
      try building.flush()
      try folder.root.flush()
      try folder.root.exchange("entries", with: "entries", in: building)
    } catch {
      // What this leaves, the next opening for writing removes.
      try? folder.root.removeFile(Self.fileName)
      cancel()
      throw error
    }
    do throws(JournalError) {
      try folder.root.flush()
      try building.flush()
      if format.base == nil, !isFormatWritten { try folder.root.write("FORMAT", format.bytes) }
      try Self.finish(folder, removing: images, storage)
    } catch {
      throw JournalError(
        .outcomeUnknown,
        "the new log is in its place, but what the old one had could not be removed; opening the journal for writing "
          + "does that", path: error.path, cause: error)
    }
  }

  /// Completes a replacement that a crash has interrupted, after the log of the journal was found intact.
  /// - Parameter log: the current log of the journal.
  static func recover(
    _ folder: JournalFolder, _ log: any EntryLog, _ format: JournalFormat, _ storage: any LogStorage
  ) throws(JournalError) {
    if format.announcesBase != (format.base != nil) {
      try folder.root.write("FORMAT", format.bytes)
      try folder.root.flush()
    }
    for name in [fileName, "FORMAT"] {
      let unfinished = name + Folder.temporarySuffix
      if try folder.root.status(of: unfinished) != nil { try folder.root.removeFile(unfinished) }
    }
    guard try folder.root.status(of: fileName) != nil else {
      // An unfinished log has no erased content. If it can't be removed now, a later opening removes it.
      try? removeBuilding(in: folder)
      return
    }
    let bytes = try folder.root.file(fileName, .reading).contents(limit: 1 << 30)
    try FileVersion.check(bytes, is: "erasing", path: folder.root.path(of: fileName))
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    let words = lines.first?.split(separator: " ") ?? []
    guard words.count == 4, words[0] == "erasing", words[1] == "1", let revision = Revision(words[2]),
      (1..<NumberLimit.revision).contains(revision), let digest = ContentDigest(hex: words[3])
    else {
      throw JournalError(
        .damaged,
        "ERASING can't be parsed, so an erasure can't be finished; restore the journal from a backup",
        path: folder.root.path(of: fileName))
    }
    var isCommitted = false
    if try log.newestRevision() >= revision {
      let found = try log.read(revision) { entry throws(JournalError) in try entry.digest(journal: format.id)
      }
      isCommitted = found == digest
    }
    try finish(
      folder, removing: isCommitted ? lines.dropFirst().compactMap { ContentDigest(hex: $0) } : [], storage)
  }

  private static func finish(
    _ folder: JournalFolder, removing images: [ContentDigest], _ storage: any LogStorage
  ) throws(JournalError) {
    if !images.isEmpty, let names = try folder.openImages() {
      for image in images { try names.removeFile(image.hex) }
      try names.flush()
    }
    try keepForeignFiles(of: folder, storage)
    try removeBuilding(in: folder)
    try folder.root.flush()
    // Last, because it records what is still to be done.
    try folder.root.removeFile(fileName)
    try folder.root.flush()
  }

  private static func removeBuilding(in folder: JournalFolder) throws(JournalError) {
    guard try folder.root.status(of: buildingName) != nil else { return }
    try folder.root.removeFolder(buildingName)
  }

  /// Moves files of other programs out of the folder that is to be removed.
  private static func keepForeignFiles(of folder: JournalFolder, _ storage: any LogStorage)
    throws(JournalError)
  {
    guard let building = try folder.openFolder(buildingName), try building.status(of: "entries") != nil else {
      return
    }
    let (old, new) = (try building.folder("entries"), try folder.openEntries())
    for name in try old.names() where JournalFolder.Part.entries.kind(of: name, storage) == nil {
      try old.rename(name, to: name, in: new)
    }
  }

  private static func removeSnapshots(in folder: JournalFolder) throws(JournalError) {
    guard let snapshots = try folder.openSnapshots() else { return }
    let names = try snapshots.names().filter {
      JournalFolder.Part.snapshots.kind(of: $0, JournalOptions.usualStorage) != nil
    }
    for name in names where name.contains(".record") { try snapshots.removeFile(name) }
    // Otherwise a power loss could leave a record without its file.
    try snapshots.flush()
    for name in names where !name.contains(".record") { try snapshots.removeFile(name) }
    try snapshots.flush()
  }
}
