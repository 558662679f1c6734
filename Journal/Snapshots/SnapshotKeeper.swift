import Foundation
import LevelDB
import Locks

/// Takes snapshots, in the background when they are due, and drops those that have become superfluous.
///
/// A snapshot is written from an immutable state while commits go on: its file is written and flushed, gets its
/// name, the folder is flushed, and only then does the log note it. What a crash leaves of one is a file that
/// the log does not know; it is removed before the next is written.
///
/// Safe to use from many threads. One snapshot is written at a time.
final class SnapshotKeeper<State: EventSourced>: Sendable {
  /// The newest version, and how far it is from a snapshot.
  private struct Progress: Sendable {
    var version: Version<State>
    var eventCount: Int
    /// How many events the entries up to the newest snapshot have.
    var eventCountAtSnapshot: Int
    var isWriting = false
    var isClosed = false
  }

  private let folder: JournalFolder
  private let id: JournalID
  private let policy: SnapshotPolicy
  /// How many bytes a snapshot leaves on the disk: what LevelDB needs to write its buffer out, twice.
  private let reserve: Int
  private let log: any EntryLog
  private let ladder: SnapshotLadder<State>
  private let progress: Lock<Progress>
  /// Held by who writes or drops a snapshot, and guards what is noted of all that are there. A plain lock: it is
  /// held for as long as a snapshot takes to write.
  private let turn = NSLock()
  /// Entered by a writing in the background.
  private let background = DispatchGroup()

  init(
    _ folder: JournalFolder, id: JournalID, log: any EntryLog, ladder: SnapshotLadder<State>,
    options: JournalOptions, version: Version<State>, eventCount: Int, eventCountAtSnapshot: Int
  ) {
    self.folder = folder
    self.id = id
    self.log = log
    self.ladder = ladder
    policy = options.snapshots
    reserve = 2 * options.database.writeBufferByteCount
    progress = Lock(
      Progress(version: version, eventCount: eventCount, eventCountAtSnapshot: eventCountAtSnapshot))
  }

  // MARK: In the background

  /// Says that there is a newer version, and starts a snapshot of it when one is due.
  func note(_ version: Version<State>, eventCount: Int, committer: Committer<State>) {
    let isDue = progress.withLock { progress in
      progress.version = version
      progress.eventCount += eventCount
      return startsIfDue(&progress)
    }
    if isDue { writeInBackground(committer) }
  }

  /// Starts a snapshot when one is due, as after an opening without any.
  func startIfDue(_ committer: Committer<State>) {
    if progress.withLock({ startsIfDue(&$0) }) { writeInBackground(committer) }
  }

  /// The newest version, and how many events the entries up to it have; nil when it is of another revision.
  func newest(at revision: Revision) -> (version: Version<State>, eventCount: Int)? {
    progress.withLock { progress in
      progress.version.revision == revision ? (progress.version, progress.eventCount) : nil
    }
  }

  private func startsIfDue(_ progress: inout Progress) -> Bool {
    guard !progress.isWriting, !progress.isClosed else { return false }
    let count = progress.eventCount - progress.eventCountAtSnapshot
    // The state is asked for its size only when the count alone does not decide.
    guard policy.isDue(eventCount: count, entityCount: 0),
      let parts = progress.version.state.parts,
      policy.isDue(eventCount: count, entityCount: parts.entityCount)
    else { return false }
    progress.isWriting = true
    background.enter()
    return true
  }

  private func writeInBackground(_ committer: Committer<State>) {
    let thread = Thread {
      lowerPriorityOfThread()
      do throws(JournalError) {
        try self.takeNewest(committer)
      } catch {
        // Nothing depends on it. The next one is tried when as much has happened again.
        if error.code != .closed, error.code != .poisoned {
          self.ladder.note(error, at: error.revision ?? 0)
        }
        // Closing decides for itself.
        if error.code != .closed { self.progress.withLock { $0.eventCountAtSnapshot = $0.eventCount } }
      }
      self.progress.withLock { $0.isWriting = false }
      self.background.leave()
    }
    // The thread is gone with its work; a pool's would keep its low priority.
    thread.qualityOfService = .utility
    thread.start()
  }

  private func takeNewest(_ committer: Committer<State>) throws(JournalError) {
    let (version, eventCount) = progress.withLock { ($0.version, $0.eventCount) }
    _ = try take(version, eventCount: eventCount, isAutomatic: true, committer)
  }

  // MARK: Taking and dropping

  /// Writes a snapshot and returns when it is durable and known to the log.
  func take(
    _ version: Version<State>, eventCount: Int, isAutomatic: Bool, _ committer: Committer<State>
  ) throws(JournalError) -> SnapshotRecord {
    turn.lock()
    defer { turn.unlock() }
    try checkIsWriting(committer)
    return try write(version, eventCount: eventCount, isAutomatic: isAutomatic, committer)
  }

  /// Fails once the journal is closing: then nothing in its folder may be changed. And after a failed write: then
  /// the log may hold other records than it gives, and no file can be known to be superfluous. Asked with the
  /// turn taken.
  private func checkIsWriting(_ committer: Committer<State>) throws(JournalError) {
    if progress.withLock({ $0.isClosed }) {
      throw JournalError(.closed, "the journal has been closed", path: folder.path)
    }
    try committer.checkIsWriting()
  }

  private func write(
    _ version: Version<State>, eventCount: Int, isAutomatic: Bool, _ committer: Committer<State>
  ) throws(JournalError) -> SnapshotRecord {
    guard let parts = version.state.parts else {
      throw JournalError(.wrongUse, "\(State.schema) has no snapshots: its state does not say its parts")
    }
    var known = try knownSnapshots()
    try removeStrays(known)
    if try Folder.status(folder.snapshots) == nil {
      try Folder.make(folder.snapshots, hook: folder.hook)
      try Folder.synchronize(folder.path, hook: folder.hook)
    }
    let path = folder.snapshot(version.revision)
    let header = SnapshotHeader(
      journal: id, schema: State.schema, head: version.head, kinds: State.kindNames,
      fieldNames: State.allFieldNames)
    let written = try SnapshotFile.write(
      parts, header, to: path, in: folder.snapshots, reserve: reserve, hook: folder.hook)
    let before = known.first { $0.revision == version.revision }
    let facts = SnapshotFacts(
      byteCount: written.byteCount, pageChecksums: written.pageChecksums,
      stateDigest: written.stateDigest,
      entryDigest: version.digest, schema: State.schema, entityCount: parts.entityCount,
      eventCount: eventCount,
      // One that somebody asked for stays so.
      isAutomatic: isAutomatic && before?.facts?.isAutomatic != false)
    let record =
      try before?.followed(by: .taken(facts))
      ?? SnapshotRecord(revision: version.revision, number: 0, content: .taken(facts))
    // The same state makes the same file, and what is known of it may be in the log already.
    if before?.content != record.content { try committer.append([record]) }
    ladder.forgive(version.revision)
    progress.withLock { $0.eventCountAtSnapshot = max($0.eventCountAtSnapshot, eventCount) }
    known.removeAll { $0.revision == version.revision }
    known.append(record)
    known.sort { $0.revision < $1.revision }
    do throws(JournalError) {
      try thin(known, committer)
    } catch {
      // The snapshot is there; what is too many goes the next time.
      ladder.note(error, at: 0)
    }
    return record
  }

  /// Drops the snapshot of a revision; states that stand on it stay.
  /// - Throws: ``JournalError`` with code `notFound` when there is none.
  func drop(_ revision: Revision, _ committer: Committer<State>) throws(JournalError) {
    turn.lock()
    defer { turn.unlock() }
    try checkIsWriting(committer)
    guard
      let record = try knownSnapshots().first(where: { $0.revision == revision && $0.content != .dropped })
    else {
      throw JournalError(.notFound, "there is no snapshot of that revision", revision: revision)
    }
    try drop([record], committer)
  }

  /// What the log knows of all snapshots, the oldest first, dropped ones included.
  private func knownSnapshots() throws(JournalError) -> [SnapshotRecord] {
    var records: [SnapshotRecord] = []
    try log.readSnapshotRecords(0...Revision.max) { record throws(JournalError) in
      records.append(record)
      return true
    }
    return records.reversed()
  }

  private func thin(_ known: [SnapshotRecord], _ committer: Committer<State>) throws(JournalError) {
    let failed = ladder.failed
    let bad = known.filter { record in
      record.number < .max
        && (record.problem != nil || (failed.contains(record.revision) && record.facts != nil))
    }
    let good = known.compactMap { record in
      failed.contains(record.revision) ? nil : record.facts.map { (revision: record.revision, facts: $0) }
    }
    let superfluous = Set(policy.superfluous(good))
    try drop(bad + known.filter { superfluous.contains($0.revision) }, committer)
  }

  private func drop(_ records: [SnapshotRecord], _ committer: Committer<State>) throws(JournalError) {
    if records.isEmpty { return }
    // First the log, so that a file that is gone is never missed.
    var dropped: [SnapshotRecord] = []
    for record in records { dropped.append(try record.followed(by: .dropped)) }
    try committer.append(dropped)
    for record in records { try Folder.removeFile(folder.snapshot(record.revision), hook: folder.hook) }
  }

  /// Removes files that a crash kept from being finished, or from being removed.
  private func removeStrays(_ known: [SnapshotRecord]) throws(JournalError) {
    guard try Folder.status(folder.snapshots) != nil else { return }
    let taken = Set(known.lazy.filter { $0.content != .dropped }.map(\.revision))
    for name in try Folder.names(folder.snapshots) {
      let revision = JournalFolder.revision(ofSnapshot: name)
      if revision.map({ taken.contains($0) }) ?? false { continue }
      try Folder.removeFile("\(folder.snapshots)/\(name)", hook: folder.hook)
    }
  }

  // MARK: Closing

  /// Waits for whoever writes or drops a snapshot, and takes one more when the next opening gains by it. From
  /// then on nothing of snapshots is changed.
  func close(takesSnapshot: Bool, _ committer: Committer<State>) {
    progress.withLock { $0.isClosed = true }
    background.wait()
    turn.lock()
    defer { turn.unlock() }
    let (version, eventCount, count) = progress.withLock { progress in
      (progress.version, progress.eventCount, progress.eventCount - progress.eventCountAtSnapshot)
    }
    guard takesSnapshot, let parts = version.state.parts,
      policy.isDueAtClosing(eventCount: count, entityCount: parts.entityCount)
    else { return }
    do throws(JournalError) {
      try committer.checkIsWriting()
      _ = try write(version, eventCount: eventCount, isAutomatic: true, committer)
    } catch {
      // The next opening replays; nothing is lost.
      ladder.note(error, at: version.revision)
    }
  }
}

extension StateParts {
  var entityCount: Int { tables.reduce(0) { $0 + $1.count } }
}

/// Lets all others go first. On Linux this is about the calling thread alone.
private func lowerPriorityOfThread() {
  #if os(Linux)
    _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
  #endif
}
