import Files
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
  let ladder: SnapshotLadder<State>
  /// How many events the entries up to the version have, and how many those up to the snapshot it stands on.
  let eventCount: Int
  let eventCountAtSnapshot: Int

  init(_ url: URL, mode: Journal<State>.Mode, options: JournalOptions) throws {
    folder = try JournalFolder(url, hook: options.fileHook)
    lock = try FolderLock(folder, exclusive: mode == .readWrite)
    try folder.check()
    id = try folder.readFormat()
    let mark = try HeadMarker.read(folder, id: id)

    let viewed = try Self.view(folder, id: id, mark: mark, options: options)
    version = viewed.replayed.version
    ladder = viewed.replayed.ladder
    eventCount = viewed.replayed.eventCount
    eventCountAtSnapshot = viewed.replayed.eventCountAtSnapshot
    guard mode == .readWrite else {
      log = viewed.log
      blobs = BlobStore(folder, try folder.openImages(), isReadOnly: true)
      return
    }
    // Whoever needs the log meanwhile, for a snapshot that fails, has a look of his own.
    ladder.use(nil)
    try viewed.log.close()
    try folder.prepareForWriting()
    System.ignoreFileSizeSignal()
    if viewed.hasTornTail { try LevelDBLog.dropTornTail(in: folder, id: id, options: options.database) }
    log = try LevelDBLog.open(in: folder, id: id, .readWrite, options: options.database)
    guard try log.newestRevision() == version.revision else {
      throw JournalError(
        .damaged, "the log changed while it was being opened; try again", revision: version.revision,
        path: folder.entries)
    }
    ladder.use(log)
    blobs = BlobStore(folder, try folder.openImages(), isReadOnly: false)
    try blobs.removeUnfinished()
  }

  private typealias View = (log: any EntryLog, replayed: Replayed, hasTornTail: Bool)
  private typealias Replayed = (
    version: Version<State>, ladder: SnapshotLadder<State>, eventCount: Int, eventCountAtSnapshot: Int
  )

  /// Reads the log as it is on disk.
  private static func view(
    _ folder: JournalFolder, id: JournalID, mark: HeadMarker.Mark, options: JournalOptions
  ) throws(JournalError) -> View {
    do throws(JournalError) {
      let log = try LevelDBLog.open(in: folder, id: id, .readOnly, options: options.database)
      let ladder = SnapshotLadder<State>(folder, id: id, log: log, options: options)
      return (log, try replay(log, ladder, id: id, mark: mark, checksAll: false), false)
    } catch {
      guard error.code == .damaged else { throw error }
      // After a power loss the end of the log can be torn: writes that were never acknowledged. Everything
      // that was must be there all the same, and every digest must fit, as now LevelDB says less.
      let log = try LevelDBLog.open(
        in: folder, id: id, .readOnlyUpToDamage, options: options.database)
      do throws(JournalError) {
        let ladder = SnapshotLadder<State>(folder, id: id, log: log, options: options)
        return (log, try replay(log, ladder, id: id, mark: mark, checksAll: true), true)
      } catch let second {
        throw second.revision == nil ? error : second
      }
    }
  }

  /// - Parameter checksAll: reads every entry, and no snapshot.
  private static func replay(
    _ log: any EntryLog, _ ladder: SnapshotLadder<State>, id: JournalID, mark: HeadMarker.Mark,
    checksAll: Bool
  ) throws(JournalError) -> Replayed {
    do throws(JournalError) {
      let newest = try log.newestRevision()
      guard newest >= mark.revision else {
        throw JournalError(
          .damaged,
          "entries \(newest + 1) to \(mark.revision) were acknowledged and are missing from the log; "
            + "put the journal back from a backup", revision: newest + 1)
      }
      let replay = Replay<State>(log: log, id: id)
      let rung = checksAll ? .start : try ladder.rung(atOrBefore: newest)
      let (version, eventCount) = try replay.version(through: newest, from: rung)
      try replay.checkDigests(from: checksAll ? 1 : mark.revision, through: newest, mark: mark)
      return (version, ladder, eventCount, rung.eventCount)
    } catch {
      try? log.close()
      throw error
    }
  }
}
