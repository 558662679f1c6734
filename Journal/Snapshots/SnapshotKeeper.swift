import Files
import Foundation
import Locks
import Synchronization

/// Takes snapshots, in the background when they are due, and drops those that have become superfluous.
///
/// A snapshot is written from an immutable state while commits go on: its file is written and flushed and gets its
/// name, and then the same is done with its record. What a crash leaves of one is a file without a record; it is
/// removed before the next is written. Commits neither wait for any of this nor know of it.
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
  private let options: JournalOptions
  /// How many bytes a snapshot leaves on the disk, for the log.
  private let reserve: Int
  private let records: SnapshotRecords
  private let ladder: SnapshotLadder<State>
  private let progress: Lock<Progress>
  /// Held by who writes or drops a snapshot, and guards what is noted of all that are there. A plain lock: it is
  /// held for as long as a snapshot takes to write.
  private let turn = NSLock()
  /// Entered by a writing in the background.
  private let background = DispatchGroup()
  /// Set by closing, and looked at for each piece that is written.
  private let isCancelled = Atomic<Bool>(false)

  init(
    _ folder: JournalFolder, id: JournalID, ladder: SnapshotLadder<State>, reserve: Int,
    options: JournalOptions, version: Version<State>, eventCount: Int, eventCountAtSnapshot: Int
  ) {
    self.folder = folder
    self.id = id
    records = SnapshotRecords(folder: folder)
    self.ladder = ladder
    policy = options.snapshots
    self.options = options
    self.reserve = reserve
    progress = Lock(
      Progress(version: version, eventCount: eventCount, eventCountAtSnapshot: eventCountAtSnapshot))
  }

  /// What the states of the journal could not be read for.
  var faults: ReadFaults { ladder.faults }

  // MARK: In the background

  /// Says that there is a newer version, and starts a snapshot of it when one is due.
  func note(_ version: Version<State>, eventCount: Int) {
    let isDue = progress.withLock { progress in
      progress.version = version
      progress.eventCount += eventCount
      return startsIfDue(&progress)
    }
    if isDue { writeInBackground() }
  }

  /// Starts a snapshot when one is due, as after an opening without any.
  func startIfDue() {
    if progress.withLock({ startsIfDue(&$0) }) { writeInBackground() }
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

  private func writeInBackground() {
    let isStarted = BackgroundThread.start {
      do throws(JournalError) {
        let (version, eventCount) = self.progress.withLock { ($0.version, $0.eventCount) }
        _ = try self.take(version, eventCount: eventCount, isAutomatic: true)
      } catch {
        // Nothing depends on it. The next one is tried when as much has happened again.
        if error.code != .closed {
          self.ladder.note(error, at: error.revision ?? 0)
          // Closing decides for itself.
          self.progress.withLock { $0.eventCountAtSnapshot = $0.eventCount }
        }
      }
      self.finishWriting()
    }
    if !isStarted { finishWriting() }
  }

  private func finishWriting() {
    progress.withLock { $0.isWriting = false }
    background.leave()
  }

  // MARK: Taking and dropping

  /// Writes a snapshot and returns when it and its record are durable.
  /// - Throws: ``JournalError`` with code `closed` when the journal is closed meanwhile.
  func take(
    _ version: Version<State>, eventCount: Int, isAutomatic: Bool
  ) throws(JournalError) -> SnapshotRecord {
    turn.lock()
    defer { turn.unlock() }
    try checkIsOpen()
    return try write(version, eventCount: eventCount, isAutomatic: isAutomatic) {
      self.isCancelled.load(ordering: .relaxed)
    }
  }

  /// Fails once the journal is closing: then nothing in its folder may be changed. Asked with the turn taken.
  private func checkIsOpen() throws(JournalError) {
    if progress.withLock({ $0.isClosed }) {
      throw JournalError(.closed, "the journal has been closed", path: folder.path)
    }
  }

  private func write(
    _ version: Version<State>, eventCount: Int, isAutomatic: Bool, isCancelled: @escaping () -> Bool
  ) throws(JournalError) -> SnapshotRecord {
    guard let parts = version.state.parts else {
      throw JournalError(.wrongUse, "\(State.schema) has no snapshots: its state does not say its parts")
    }
    var known = try records.all()
    let snapshots = try folder.makeSnapshots()
    try removeStrays(known, snapshots)
    let before = known.first { $0.revision == version.revision }
    // The same state makes the same file; another one must not be there together with the old record.
    if let before, before.facts?.schema != State.schema || ladder.failed.contains(version.revision) {
      try records.removeSnapshots([before.revision])
    }
    let header = SnapshotHeader(
      journal: id, schema: State.schema, head: version.head, kinds: State.kindNames,
      fieldNames: State.allFieldNames)
    let written = try SnapshotFile.write(
      parts, header, in: snapshots, reserve: reserve, isCancelled: isCancelled, check: ladder.faults.check)
    let facts = SnapshotFacts(
      byteCount: written.byteCount, pageChecksums: written.pageChecksums,
      stateDigest: written.stateDigest,
      entryDigest: version.digest, schema: State.schema, entityCount: parts.entityCount,
      eventCount: eventCount,
      // One that somebody asked for stays so.
      isAutomatic: isAutomatic && before?.facts?.isAutomatic != false)
    let record = SnapshotRecord(revision: version.revision, facts: facts)
    try records.write(record)
    ladder.forgive(version.revision)
    options.note(
      .info, "a snapshot of revision \(version.revision) was written: \(written.byteCount) bytes",
      revision: version.revision)
    progress.withLock { $0.eventCountAtSnapshot = max($0.eventCountAtSnapshot, eventCount) }
    known.removeAll { $0.revision == version.revision }
    known.append(record)
    known.sort { $0.revision < $1.revision }
    do throws(JournalError) {
      try thin(known)
    } catch {
      // The snapshot is there; what is too many goes the next time.
      ladder.note(error, at: 0)
    }
    return record
  }

  /// Drops the snapshot of a revision; states that stand on it stay.
  /// - Throws: ``JournalError`` with code `notFound` when there is none.
  func drop(_ revision: Revision) throws(JournalError) {
    turn.lock()
    defer { turn.unlock() }
    try checkIsOpen()
    guard try records.revisions().contains(revision) else {
      throw JournalError(.notFound, "there is no snapshot of that revision", revision: revision)
    }
    try records.removeSnapshots([revision])
  }

  private func thin(_ known: [SnapshotRecord]) throws(JournalError) {
    let failed = ladder.failed
    let good = known.compactMap { record in
      failed.contains(record.revision) ? nil : record.facts.map { (revision: record.revision, facts: $0) }
    }
    // One that somebody asked for stays, also when it is damaged: they decide.
    let bad = known.filter { failed.contains($0.revision) && $0.facts?.isAutomatic != false }
    try records.removeSnapshots(bad.map(\.revision) + policy.superfluous(good))
  }

  /// Removes files that a crash kept from being finished, or from being removed.
  private func removeStrays(_ known: [SnapshotRecord], _ snapshots: Folder) throws(JournalError) {
    let taken = Set(known.map(\.revision))
    for name in try snapshots.names() where !System.isLitter(name) {
      let revision =
        JournalFolder.revision(ofSnapshot: name) ?? JournalFolder.revision(ofSnapshotRecord: name)
      if revision.map({ taken.contains($0) }) ?? false { continue }
      try snapshots.removeFile(name)
    }
  }

  // MARK: Closing

  /// Cancels what is being written, and takes one more snapshot when the next opening gains by it. From then on
  /// nothing of snapshots is changed.
  func close(takesSnapshot: Bool) {
    progress.withLock { $0.isClosed = true }
    isCancelled.store(true, ordering: .relaxed)
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
      _ = try write(version, eventCount: eventCount, isAutomatic: true) { false }
    } catch {
      // The next opening replays; nothing is lost.
      ladder.note(error, at: version.revision)
    }
  }
}

extension StateParts {
  var entityCount: Int { tables.reduce(0) { $0 + $1.count } }
}
