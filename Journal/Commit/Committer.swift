import Files
import Foundation
import Locks

/// Runs bodies, makes entries of them, and has the entries made durable.
///
/// 1. Bodies run one at a time, each on the state after the previous one (``WriteLock``).
/// 2. Entries are sealed under the write lock too, so the chain of digests is in the order of bodies.
/// 3. Entries wait in the queue; a batch of them becomes one append and one flush (``CommitQueue``, ``BatchWriter``).
/// 4. Readers see a state after its entry is durable, and never before.
/// 5. If a shortage keeps a batch from being written, all accepted entries are withdrawn, and the next body starts from
///    the durable state. After any other failed write, no more commits are taken, except in a shared journal, where
///    most failures are temporary (``CommitFailure``).
/// 6. ``CommitProgress`` decides when a caller waits, runs its body again, or returns.
/// 7. In a shared journal, another node may take the revision of a batch (``CommitLog``). Then the turn to append is
///    reserved, all accepted entries are withdrawn, the other nodes' commits are applied, and the bodies run again.
///
/// Safe to use from any thread. Locks are taken in this order: write lock, turn, queue, keeper, published.
@usableFromInline
final class Committer<State: EventSourced>: Sendable {
  /// The version that the next body starts from, durable or not.
  struct Accepted: Sendable {
    var version: Version<State>
    /// The batch of the newest entry; nil if that entry is known to be durable.
    var batch: CommitBatch?
    /// The queue's withdrawal count when `version` was accepted.
    var withdrawalCount = 0
    var salts = RandomBytes()
    /// Notified of each published version, in order.
    var keeper: LayerKeeper<State>
    /// The newest requested checkpoint, and the accepted entry that has it; `carrier` is nil if the next entry gets it.
    var checkpoint: (value: Checkpoint, carrier: Revision?)?

    var dueCheckpoint: Checkpoint? { checkpoint?.carrier == nil ? checkpoint?.value : nil }
  }

  private let id: JournalID
  private let process = System.process
  /// The version of the app's model, which every new entry records.
  private let schemaVersion: Int
  private let entryByteLimit: Int
  private let log: any CommitLog
  /// Replays the commits of other nodes.
  private let replay: Replay<State>
  private let blobs: BlobStore
  /// When the journal's files were last written, by the clock.
  private let lastWrite: @Sendable () -> Timestamp?
  private let options: JournalOptions
  let writeLock: WriteLock<Accepted>
  private let writer: BatchWriter
  let published: Published<State>

  init(
    _ id: JournalID, schemaVersion: Int, _ replay: Replay<State>, commits: any CommitLog, blobs: BlobStore,
    lastWrite: @escaping @Sendable () -> Timestamp?, published: Published<State>,
    keeper: LayerKeeper<State>, options: JournalOptions
  ) {
    self.id = id
    self.schemaVersion = schemaVersion
    self.log = commits
    entryByteLimit = replay.log.limits.appendByteCount
    self.replay = replay
    self.blobs = blobs
    self.lastWrite = lastWrite
    self.published = published
    self.options = options
    writeLock = WriteLock(Accepted(version: published.version, keeper: keeper))
    writer = BatchWriter(commits, replay.log.limits, options: options)
  }

  var isShared: Bool { log.isShared }

  // MARK: Committing

  /// Runs a body, and returns when its entry is durable or, in a pipeline, when the entry was accepted.
  @usableFromInline
  func commit(
    _ request: CommitRequest, in progress: inout CommitProgress, _ body: (inout Draft<State>) throws -> Void
  ) throws -> Commit<Void> {
    try checkProcess()
    defer { reportRun(&progress) }
    var step = try progress.begin(runsOnce: request.runsOnce)
    while true {
      switch step {
      case .run:
        do {
          let prepared = try writeLock.take { accepted in
            try prepare(request, body, on: &accepted, &progress, isTask: false)
          }
          if prepared.leads, let batch = prepared.batch { writer.lead(batch) }
          step = progress.ran(prepared)
        } catch { step = try progress.refused(because: error) }
      case .wait(let batch): step = try progress.ended(batch.wait())
      case .end(let prepared): return try end(prepared)
      }
    }
  }

  /// Commits from a task, which suspends while other bodies run or a flush is in progress.
  @usableFromInline
  nonisolated(nonsending) func commit(
    _ request: CommitRequest, in progress: inout CommitProgress, _ body: (inout Draft<State>) throws -> Void
  ) async throws -> Commit<Void> {
    try checkProcess()
    defer { reportRun(&progress) }
    var step = try progress.begin(runsOnce: request.runsOnce)
    while true {
      switch step {
      case .run:
        do {
          let prepared = try await writeLock.takeSuspending { accepted in
            try prepare(request, body, on: &accepted, &progress, isTask: true)
          }
          if prepared.leads, let batch = prepared.batch { writer.lead(batch) }
          step = progress.ran(prepared)
        } catch { step = try progress.refused(because: error) }
      case .wait(let batch): step = try progress.ended(await batch.wait())
      case .end(let prepared): return try end(prepared)
      }
    }
  }

  private func end(_ prepared: PreparedCommit) throws -> Commit<Void> {
    if prepared.ownRevision == nil { freezeRest() }
    return try prepared.outcome.get()
  }

  /// Reports to the log that a body that had to run again has run again, or will not.
  private func reportRun(_ progress: inout CommitProgress) {
    guard progress.hasLost else { return }
    progress.hasLost = false
    log.hasRunAgain { writer.queue.withLock { $0.isEmpty } }
  }

  // MARK: Under the write lock

  private func prepare(
    _ request: CommitRequest, _ body: (inout Draft<State>) throws -> Void, on accepted: inout Accepted,
    _ progress: inout CommitProgress, isTask: Bool
  ) throws -> PreparedCommit {
    // Reports last, when the entry is in the queue, because an append may wait for the bodies that run again.
    defer { reportRun(&progress) }
    try update(&accepted)
    if let seen = progress.withdrawalCount, seen != accepted.withdrawalCount {
      throw CommitProgress.EarlierCommitIsWithdrawn()
    }
    try applyFetched(to: &accepted)
    var prepared: PreparedCommit
    do { prepared = try run(body, of: request, on: &accepted) } catch {
      // The error may depend on entries that are not durable yet, so it is thrown after their batch.
      prepared = PreparedCommit(
        outcome: .failure(error), batch: accepted.batch, withdrawalCount: accepted.withdrawalCount)
    }
    // While another batch is written, this thread would only sleep until its turn, and then compete with all threads
    // that the other batch wakes. With 64 callers, that took a sixth of the time. The batch is handed over with the
    // write lock held, so that the background thread gets the batches in their order.
    if prepared.leads, let batch = prepared.batch, isTask || progress.isPipeline || !batch.hasTurn {
      prepared.leads = !writer.leadInBackground(batch)
    }
    return prepared
  }

  /// Returns to the published version if accepted entries were withdrawn.
  /// - Throws: ``JournalError`` if no more commits are taken.
  func update(_ accepted: inout Accepted) throws(JournalError) {
    let count = try writer.queue.withLock { queue throws(JournalError) in
      if let refusal = queue.refusal { throw refusal }
      return queue.withdrawalCount
    }
    if accepted.withdrawalCount == count { return }
    accepted.withdrawalCount = count
    accepted.version = published.version
    accepted.batch = nil
    // If the carrier of the checkpoint was withdrawn, the next entry must carry it.
    if accepted.checkpoint?.carrier ?? 0 > accepted.version.revision { accepted.checkpoint?.carrier = nil }
    accepted.keeper.withdraw(to: accepted.version)
  }

  private func run(
    _ body: (inout Draft<State>) throws -> Void, of request: CommitRequest, on accepted: inout Accepted
  ) throws -> PreparedCommit {
    let (base, keeper) = (accepted.version, accepted.keeper)
    let revision = base.revision + 1
    // Only a forged history has so many entries.
    guard revision < NumberLimit.revision else {
      throw JournalError(.tooLarge, "a journal has \(NumberLimit.revision - 1) entries at most")
    }
    let clock = try request.clock(after: base.head, lastWrite: lastWrite)
    var draft = Draft(base: base, date: clock.date.date, journal: id, chain: keeper.chain)
    let result = Result {
      try request.check(base)
      try body(&draft)
    }
    // If a layer could not be read, the state was incomplete. Nothing derived from it must be written or reported.
    try keeper.faults.check()
    try result.get()
    let plans = draft.plans
    let (events, state) = try draft.finish()
    if events.isEmpty {
      let commit = Commit(
        value: (), revision: base.revision, isEmpty: true, date: base.date, clockDate: base.date,
        clockWarning: nil)
      return PreparedCommit(
        outcome: .success(commit), batch: accepted.batch, withdrawalCount: accepted.withdrawalCount)
    }
    let named = try checkBlobs(events, state)
    try keeper.faults.check()

    let checkpoint = accepted.dueCheckpoint
    let header = EntryHeader(
      date: clock.date, clockDate: clock.clockDate, schemaVersion: schemaVersion, previousDigest: base.digest,
      checkpointRevision: checkpoint?.revision)
    let annotation = EntryAnnotation(
      author: request.author, note: request.note.isEmpty ? plans.first?.note ?? "" : request.note,
      metadata: plans.reduce(request.metadata) { $0.merging($1.metadata) { own, _ in own } })
    let entry = try EntryCoding.seal(
      header, annotation, events: events, stateDigest: checkpoint?.stateDigest, revision: revision,
      journal: id, salts: &accepted.salts, logLimit: entryByteLimit)
    let version = keeper.accept(
      Version(
        head: Head(revision: revision, timestamp: clock.date, digest: entry.digest), state: consume state),
      EventTally(
        count: events.count, additionCount: events.count { $0.operation == .add },
        byteCount: entry.bytes.count))
    // If an earlier batch has failed while the body ran, this throws, because the entry can't be written.
    let (batch, leads) = try writer.queue.withLock { queue throws(JournalError) in
      try queue.enter(
        entry, eventCount: events.count, blobs: named, after: accepted.withdrawalCount
      ) { [self] eventCount in publish(version, eventCount: eventCount, keeper) }
    }
    if !named.isEmpty { blobs.noteNamed(named) }
    accepted.version = version
    accepted.batch = batch
    if checkpoint != nil { accepted.checkpoint?.carrier = revision }
    if let warning = clock.warning, case .ahead = warning {
      options.note(.warning, warning.description, revision: revision, clockWarning: warning)
    }
    let commit = Commit(
      value: (), revision: revision, isEmpty: false, date: clock.date.date,
      clockDate: clock.clockDate.date,
      clockWarning: clock.warning)
    return PreparedCommit(
      outcome: .success(commit), batch: batch, leads: leads, withdrawalCount: accepted.withdrawalCount,
      base: base.box)
  }

  /// Fails unless the blobs that the events name exist.
  /// - Returns: the blobs that the events name.
  private func checkBlobs(_ events: [JournalEvent], _ state: State) throws(JournalError) -> Set<Blob> {
    var named: Set<Blob> = []
    for event in events {
      guard let record = state.record(after: event) else { continue }
      for blob in State.blobs(in: record, of: event.entity.kind) {
        var isThere = try blobs.contains(blob, keeps: false)
        if !isThere { isThere = try log.hasImage(blob) }
        guard isThere else {
          throw JournalError(
            .rejected,
            "\(State.name(of: event.entity)) names \(blob.byteCount) bytes with the SHA-256 \(blob.digest), "
              + "which are not in the journal; add the bytes first")
        }
        named.insert(blob)
      }
    }
    return named
  }

  private func publish(_ version: Version<State>, eventCount: Int, _ keeper: LayerKeeper<State>) {
    // The keeper comes first: once a version is published, another thread may already store the version after it.
    keeper.store(version, eventCount: eventCount, freezing: freezeRest)
    published.publish(version)
  }

  /// Has the next entry carry a checkpoint: the digest of an earlier state.
  /// - Parameter keeper: the keeper of the log that the state is from. If that log was replaced, the checkpoint is
  ///   ignored, because the state of the new log may differ.
  func note(_ checkpoint: Checkpoint, of keeper: LayerKeeper<State>) {
    try? writeLock.take { accepted in
      if accepted.keeper === keeper { accepted.checkpoint = (checkpoint, nil) }
    }
  }

  /// Freezes the changes of the newest version above its layers, if no commit is in progress.
  ///
  /// Also called after a commit without an entry: its body may have held the write lock when a layer became due.
  func freezeRest() {
    _ = try? writeLock.takeIfFree { accepted in
      // If a commit is in progress, that commit or the next one freezes the changes.
      guard accepted.version.head == published.version.head,
        let frozen = accepted.keeper.freezeRest(of: accepted.version)
      else { return }
      accepted.version = frozen
      publish(frozen, eventCount: 0, accepted.keeper)
    }
  }

  // MARK: Entries of other nodes

  /// Applies the commits of other nodes that the log has fetched so far.
  func applyFetched() throws {
    let newest = log.fetched
    // Under constant commits, some commits of this node are always in progress, so wait for the newest batch.
    while published.version.revision < newest {
      let batch = try writeLock.take { accepted in
        try update(&accepted)
        if isUnderWay(accepted) { return accepted.batch }
        try applyFetched(to: &accepted, atMost: ReplayStep.limit)
        return nil
      }
      // After the wait, the batch is durable or withdrawn.
      _ = batch?.wait()
    }
  }

  /// Applies the fetched entries, but at most `count`. Called with the write lock held. Does nothing while entries of
  /// this node are in progress, because these become durable first, or are withdrawn.
  private func applyFetched(to accepted: inout Accepted, atMost count: Int = .max) throws(JournalError) {
    let newest = log.fetched
    guard newest > accepted.version.revision, !isUnderWay(accepted) else { return }
    let last = newest - accepted.version.revision > count ? accepted.version.revision + count : newest
    var step = ReplayStep()
    while accepted.version.revision < last {
      let first = accepted.version.revision + 1
      let next = min(last, first + step.entryCount - 1)
      var state = accepted.version.state
      let byteCount = state.changedByteCount
      let applied = try accepted.keeper.faults.checking { () throws(JournalError) in
        try replay.apply(first, through: next, to: &state)
      }
      step.adapt(toByteCount: state.changedByteCount - byteCount)
      accepted.version = accepted.keeper.accept(
        Version(head: try replay.head(at: next), state: state), applied)
      accepted.batch = nil
      publish(accepted.version, eventCount: applied.count, accepted.keeper)
    }
  }

  private func isUnderWay(_ accepted: Accepted) -> Bool {
    accepted.batch != nil && accepted.version.head != published.version.head
  }

  // MARK: Replacing the log

  /// - Throws: ``JournalError`` if no more commits are taken.
  func checkTakesCommits() throws {
    try writeLock.take { accepted in try update(&accepted) }
  }

  /// Replaces the log to which commits are appended. Meanwhile, no commit is in progress, and new ones wait.
  /// - Parameter replace: makes the new log of the durable entries, and returns it with its keeper and its newest
  ///   version. If it throws, commits continue with the old log.
  func replaceLog(
    by replace: () throws -> (any EntryLog, LayerKeeper<State>, Version<State>)
  ) throws {
    guard let local = log as? LocalCommits else {
      throw JournalError(.wrongUse, "the log of a shared journal can't be replaced")
    }
    try writeLock.take { accepted in
      try update(&accepted)
      // If the batch fails, its entries are withdrawn, and only durable entries are left.
      if accepted.batch?.wait() != nil { try update(&accepted) }
      let new: (any EntryLog, LayerKeeper<State>, Version<State>)
      do { new = try replace() } catch {
        // After a power loss, the folder may have the new log, without entries that were appended to the old one.
        if let error = error as? JournalError, error.code == .outcomeUnknown { writer.refuse(because: error) }
        throw error
      }
      let (log, keeper, version) = new
      local.use(log, keeper.rateLimiter)
      accepted.version = version
      accepted.batch = nil
      accepted.keeper = keeper
      // The checkpoint's digest may be of a state with erased content.
      accepted.checkpoint = nil
    }
  }

  // MARK: Closing

  /// Fails in a forked child of the process that opened the journal: the child has none of the threads that write, and
  /// the locks and files are the parent's.
  func checkProcess() throws(JournalError) {
    if System.process != process {
      throw JournalError(
        .wrongUse,
        "the journal is open in the process that this one was forked from; commit there, or open it here "
          + "after it is closed there")
    }
  }

  /// Fails inside the body of a commit, because the caller would wait for that body's end.
  func checkIsOutsideOfBody(_ what: String) throws(JournalError) {
    if writeLock.isTakenByThisThread { throw JournalError(.wrongUse, "a commit's body \(what)") }
  }

  /// Waits for commits in progress and refuses all others.
  func close() throws {
    defer { writer.close() }
    let last = try writeLock.take { accepted in
      writer.queue.withLock { $0.refuse(.closed()) }
      return accepted.batch
    }
    _ = last?.wait()
  }
}
