import Files
import Foundation
import Journaling

/// An existing backup that is locked. Its log is open, and nothing on disk was changed yet.
final class ExistingBackup {
  let place: LogPlace
  let log: any EntryLog
  private let lock: FolderLock

  private var folder: JournalFolder { place.folder }

  /// Opens and locks a backup.
  /// - Throws: ``JournalError``: `alreadyExists` if the folder is not a backup of this journal; `locked` if the backup
  ///   is open for writing; `damaged` if the backup is damaged.
  init(_ url: URL, of format: JournalFormat, options: JournalOptions) throws(JournalError) {
    let folder = try JournalFolder(url, hook: options.fileHook)
    lock = try FolderLock(folder)
    do throws(JournalError) {
      try folder.check(options)
      try folder.checkIsNotShared()
      let found = try folder.readFormat()
      guard found.digest == format.digest else { throw Self.foreign(found, format, folder) }
      let opened = try options.logStorage.open(.write, in: LogPlace(folder, found, options: options))
      let hasReceipt = try folder.root.status(of: JournalReceipt.fileName) != nil
      if !hasReceipt, try opened.newestRevision() > 0 {
        try opened.close()
        throw JournalError(
          .alreadyExists,
          "this is a journal and not a backup, because it has no RECEIPT; swap the two if you want to back it up, or "
            + "choose another folder", path: folder.path)
      }
      place = LogPlace(folder, found, options: options)
      log = opened
    } catch {
      guard error.code == .notAJournal else { throw error }
      throw JournalError(
        .alreadyExists, "something is there that is not a backup; choose another name: \(error.message)",
        path: error.path)
    }
  }

  private static func foreign(
    _ found: JournalFormat, _ format: JournalFormat, _ folder: JournalFolder
  ) -> JournalError {
    if found.id == format.id {
      return JournalError(
        .damaged, "the backup's FORMAT is not the journal's; make a new backup under another name",
        path: folder.format)
    }
    return JournalError(
      .alreadyExists,
      "another journal, \(found.id), is there, not a backup of \(format.id); choose another name",
      path: folder.path)
  }

  /// Returns the newest entry of the backup, after checking that the journal has this entry too.
  /// - Parameter format: the FORMAT of the journal.
  /// - Throws: ``JournalError`` with code `conflict` if the backup has entries that the journal lacks, or if entries
  ///   that the backup lacks were pruned in the journal; `damaged` if the backup has lost entries.
  /// - Complexity: O(1) reads; O(log n) reads of both logs if they differ.
  func commonHead(
    with source: any EntryLog, _ format: JournalFormat, newest: Head
  ) throws(JournalError) -> Head {
    let last = try log.newestRevision()
    if let mark = try log.acknowledged(), last < mark.revision {
      throw JournalError(
        .damaged, "the backup has lost entries; make a new one under another name", revision: last + 1,
        path: folder.path)
    }
    let common = min(last, newest.revision)
    let own = place.format
    if let base = format.base, common < base.head.revision {
      throw JournalError(
        .conflict,
        "the backup ends with entry \(common), and the journal has no entries up to \(base.head.revision) any more: "
          + "history before that revision was pruned. Nothing was changed; the backup keeps what it has, so make a new "
          + "one under another name", revision: common, path: folder.path)
    }
    if let base = own.base, common < base.head.revision {
      throw JournalError(
        .conflict,
        "history up to revision \(base.head.revision) was pruned in the backup, and the journal ends with entry "
          + "\(common): it was restored from an older backup. Nothing was changed; make a new backup under another "
          + "name",
        revision: common, path: folder.path)
    }
    let head = try log.head(at: common, own)
    guard head.digest == (try source.head(at: common, format).digest) else {
      throw JournalError(
        .conflict,
        "the backup has another history from entry \(try firstDifference(source, format, through: common)) on: it or "
          + "the journal was written to after one was restored from the other. Nothing was changed; make a new backup "
          + "under another name", revision: common, path: folder.path)
    }
    guard last <= newest.revision else {
      let count = last - newest.revision
      throw JournalError(
        .conflict,
        "the backup has \(count) \(count == 1 ? "entry" : "entries") more than the journal, from entry "
          + "\(newest.revision + 1) on: another run has just written them, the backup was written to, or the journal was "
          + "restored from an older backup. Nothing was changed; run it again or, if that fails too, make a new backup "
          + "under another name", revision: newest.revision + 1,
        path: folder.path)
    }
    return head
  }

  /// The first entry at which the two logs differ; later entries differ too.
  private func firstDifference(
    _ source: any EntryLog, _ format: JournalFormat, through last: Revision
  ) throws(JournalError) -> Revision {
    let first = max(place.format.head.revision, format.head.revision)
    return try (first..<last).partitionPoint { (revision) throws(JournalError) in
      try log.head(at: revision, place.format).digest != source.head(at: revision, format).digest
    }
  }

  /// Marks the newest entry in HEAD, if an interrupted run has not done so.
  func markNewest() throws(JournalError) {
    guard let mark = try log.acknowledged(), mark.revision < (try log.newestRevision()) else { return }
    try log.beginWriting()
    try log.close()
  }

  /// Marks the newest entry in HEAD after a new log has replaced the old one. The new log's own mark is in the folder
  /// in which the log was built.
  func markNewest(ofNewLog format: JournalFormat) throws(JournalError) {
    let log = try place.options.logStorage.open(
      .write, in: LogPlace(folder, format, options: place.options))
    do throws(JournalError) {
      try log.beginWriting()
    } catch {
      try? log.close()
      throw error
    }
    try log.close()
  }

  /// Closes the backup. A failure is harmless, because all writes were confirmed before.
  func close() {
    try? log.close()
    lock.release()
  }
}
