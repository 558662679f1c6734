import Foundation
import LevelDB

/// What opening finds out and holds: the steps from a folder to a state that can be trusted.
///
/// LevelDB changes its folder when it opens it: the log becomes a table, and what it could not read is gone.
/// So the log is first opened without touching the disk and held against HEAD; only when it is whole, and
/// commits are wanted, is it opened for writing.
struct OpenedFolder<State: EventSourced> {
  let folder: JournalFolder
  let id: JournalID
  let lock: FolderLock
  let log: any EntryLog
  let blobs: BlobStore
  let version: Version<State>

  init(_ url: URL, mode: Journal<State>.Mode, options: JournalOptions) throws {
    folder = JournalFolder(url, hook: options.fileHook)
    try folder.check()
    id = try folder.readFormat()
    lock = try FolderLock(folder, exclusive: mode == .readWrite)
    // Whoever had the journal before may have changed the folder until the lock was free.
    try folder.check()
    let mark = try HeadMarker.read(folder, id: id)

    let viewed = try Self.view(folder, id: id, mark: mark, options: options.database)
    version = viewed.version
    blobs = BlobStore(folder, isReadOnly: mode == .readOnly)
    guard mode == .readWrite else {
      log = viewed.log
      return
    }
    try viewed.log.close()
    if viewed.hasTornTail { try LevelDBLog.dropTornTail(in: folder, id: id, options: options.database) }
    log = try LevelDBLog.open(in: folder, id: id, .readWrite, options: options.database)
    guard try log.newestRevision() == version.revision else {
      throw JournalError(
        .damaged, "the log changed while it was being opened; try again", revision: version.revision,
        path: folder.entries)
    }
    try blobs.removeUnfinished()
  }

  private typealias View = (log: any EntryLog, version: Version<State>, hasTornTail: Bool)

  /// Reads the log as it is on disk.
  private static func view(
    _ folder: JournalFolder, id: JournalID, mark: HeadMarker.Mark, options: Database.Options
  ) throws(JournalError) -> View {
    do throws(JournalError) {
      let log = try LevelDBLog.open(in: folder, id: id, .readOnly, options: options)
      return (log, try replay(log, id: id, mark: mark, checksAll: false), false)
    } catch {
      guard error.code == .damaged else { throw error }
      // After a power loss the end of the log can be torn: writes that were never acknowledged. Everything
      // that was must be there all the same, and every digest must fit, as now LevelDB says less.
      let log = try LevelDBLog.open(in: folder, id: id, .readOnlyUpToDamage, options: options)
      do throws(JournalError) {
        return (log, try replay(log, id: id, mark: mark, checksAll: true), true)
      } catch let second {
        throw second.revision == nil ? error : second
      }
    }
  }

  private static func replay(
    _ log: any EntryLog, id: JournalID, mark: HeadMarker.Mark, checksAll: Bool
  ) throws(JournalError) -> Version<State> {
    do throws(JournalError) {
      let newest = try log.newestRevision()
      guard newest >= mark.revision else {
        throw JournalError(
          .damaged,
          "entries \(newest + 1) to \(mark.revision) were acknowledged and are missing from the log; "
            + "put the journal back from a backup", revision: newest + 1)
      }
      let replay = Replay<State>(log: log, id: id)
      let version = try replay.version(through: newest)
      try replay.checkDigests(from: checksAll ? 1 : mark.revision, through: newest, mark: mark)
      return version
    } catch {
      try? log.close()
      throw error
    }
  }
}
