import Files
import Foundation
import LevelDB

/// What opening finds out and holds: the steps from a folder to a state that can be trusted.
///
/// LevelDB changes its folder when it opens it: the log becomes a table, and what it could not read is gone.
/// So that happens in memory first. Only when every revision is accounted for and HEAD agrees, and commits are
/// wanted, is it put on disk.
struct OpenedFolder<State: EventSourced> {
  let folder: JournalFolder
  let id: JournalID
  let lock: FolderLock
  let log: any EntryLog
  let blobs: BlobStore
  let version: Version<State>
  let chain: LayerChain<State>
  /// How many events the entries up to the version have.
  let eventCount: Int

  init(_ url: URL, mode: Journal<State>.Mode, options: JournalOptions) throws {
    folder = try JournalFolder(url, hook: options.fileHook)
    lock = try FolderLock(folder, exclusive: mode == .readWrite)
    try folder.check()
    id = try folder.readFormat()
    let mark = try HeadMarker.read(folder, id: id)

    let log = try LevelDBLog.open(
      in: folder, id: id, mode == .readWrite ? .readWrite : .readOnly, options: options.database)
    let chain = LayerChain<State>(folder, id: id, log: log, options: options)
    do throws(JournalError) {
      (version, eventCount) = try Self.replay(log, chain, id: id, mark: mark)
      if mode == .readWrite {
        try folder.prepareForWriting()
        System.ignoreFileSizeSignal()
        try log.beginWriting()
      }
      blobs = BlobStore(folder, try folder.openImages(), isReadOnly: mode == .readOnly)
    } catch {
      let error = Self.naming(error, in: log, mark)
      chain.close()
      try? log.close()
      throw error
    }
    self.chain = chain
    self.log = log
    if mode == .readWrite { try blobs.removeUnfinished() }
  }

  private static func replay(
    _ log: any EntryLog, _ chain: LayerChain<State>, id: JournalID, mark: HeadMarker.Mark
  ) throws(JournalError) -> (version: Version<State>, eventCount: Int) {
    let newest = try log.newestRevision()
    guard newest >= mark.revision else {
      throw JournalError(
        .damaged,
        "entries \(newest + 1) to \(mark.revision) were acknowledged and are missing from the log; "
          + "put the journal back from a backup", revision: newest + 1)
    }
    let replay = Replay<State>(log: log, id: id)
    try chain.load(through: newest, in: log)
    let faultCount = chain.faults.count
    let replayed = try replay.version(through: newest, from: chain.start(atOrBefore: newest))
    try chain.faults.check(since: faultCount)
    try replay.checkDigests(from: mark.revision, through: newest, mark: mark)
    return replayed
  }

  /// The error about damage with the first revision that can't be read, if it does not name one: all entries are read
  /// for that.
  private static func naming(
    _ error: JournalError, in log: any EntryLog, _ mark: HeadMarker.Mark
  ) -> JournalError {
    guard error.code == .damaged, error.revision == nil, mark.revision > 0 else { return error }
    do throws(JournalError) {
      try log.readAll(1...mark.revision) { _ in }
      return error
    } catch let found {
      guard let revision = found.revision else { return error }
      return JournalError(
        error.code, error.message, revision: revision, path: error.path, offset: error.offset,
        cause: error.cause)
    }
  }
}
