import Dispatch
import Files
import Foundation
import Locks

/// Runs bodies, makes entries of them, and makes the entries durable.
///
/// 1. Bodies run one at a time, each on the state after the previous one (``WriteLock``).
/// 2. An entry is sealed under the same lock, so the chain of digests is in the order of bodies.
/// 3. Entries wait in the queue; a batch of them becomes one append and one flush (``CommitQueue``).
/// 4. Readers see a state after its entry is durable, and never before.
/// 5. The leader of a batch is a running thread: the caller's or, for tasks and while another batch is written, one that
///    leads all such batches. If the system refuses to start that one, it is the caller's.
/// 6. If nothing of a batch was written because of a shortage, everything accepted is withdrawn, and the next body
///    starts from the durable state. After any other failed write, nothing more is written, unless a
///    shared log could not be reached: then the append is repeated later.
/// 7. In a shared journal, another node may have taken the revision of a batch. Then the turn to append is reserved,
///    everything accepted is withdrawn, the other nodes' commits are applied, and the bodies run again. The next append
///    waits until all of them have run. While batches lose, the turn is reserved before they are appended.
///
/// Safe to use from any thread. Locks are taken in this order: write lock, turn, queue, keeper,
/// published.
final class Committer<State: EventSourced>: Sendable {
  /// The version that the next body starts from, durable or not.
  private struct Accepted: Sendable {
    var version: Version<State>
    /// The batch of the newest entry; nil if none is in progress.
    var batch: CommitBatch?
    /// How often entries had been withdrawn when this was accepted.
    var withdrawalCount = 0
    var salts = RandomBytes()
    /// The checkpoint for the next entry.
    var checkpoint: Checkpoint?
    /// The newest entry that has a checkpoint, and may be withdrawn.
    var carrier: (revision: Revision, checkpoint: Checkpoint)?
  }

  /// How often the body of a commit has run.
  private struct Runs {
    var count = 1
    /// The batch that lost its revision to another node, as long as the body has not run again.
    var lost: CommitBatch?
  }

  /// The turn to append to a shared log, for commits that have lost.
  private struct ReservedTurn: Sendable {
    /// The withdrawn batches. The next append waits until their commits have run again.
    var lost: [CommitBatch]
    /// How long it waits. A server releases an unused turn after five seconds.
    let deadline = DispatchTime.now() + .seconds(4)

    /// Whether all of them have run.
    var isComplete: Bool { lost.allSatisfy { $0.waitForDependents(until: .now()) } }
  }

  /// Entries were withdrawn, perhaps some that a commit builds on.
  private struct EarlierCommitIsWithdrawn: Error {}

  private let id: JournalID
  private let process = System.process
  /// The version of the model that commits.
  private let schemaVersion: Int
  private let log: any EntryLog
  /// The log of a shared journal; nil otherwise.
  private let node: NodeLog?
  private let replay: Replay<State>
  private let blobs: BlobStore
  /// When the journal's files were written last, by the clock.
  private let lastWrite: @Sendable () -> Timestamp?
  private let options: JournalOptions
  /// Notified of each published version, in order.
  private let keeper: LayerKeeper<State>
  /// Slower appends are reported: the drive may be busy or failing.
  private static var slowAppend: Duration { .seconds(1) }
  private let writeLock: WriteLock<Accepted>
  private let queue: Lock<CommitQueue>
  /// The turn to append to a shared log, if it is reserved.
  private let turn = Lock<ReservedTurn?>(nil)
  /// Whether the last attempt to append lost its revisions to another node.
  private let isContended = Lock(false)
  private let published: Published<State>
  /// Ends the newest durable batch, if that was put off until the next one is sent to a shared log.
  private let earlierEnd = Lock<(@Sendable () -> Void)?>(nil)
  /// Leads batches whose first commit is a task's, or waits for another batch.
  private let leader = Worker()

  init(
    _ format: JournalFormat, schemaVersion: Int, log: any EntryLog, blobs: BlobStore,
    lastWrite: @escaping @Sendable () -> Timestamp?, published: Published<State>,
    keeper: LayerKeeper<State>, options: JournalOptions
  ) {
    id = format.id
    self.schemaVersion = schemaVersion
    self.log = log
    node = log as? NodeLog
    replay = Replay(log: log, format: format)
    self.blobs = blobs
    self.lastWrite = lastWrite
    self.published = published
    self.options = options
    self.keeper = keeper
    writeLock = WriteLock(Accepted(version: published.version, batch: nil))
    queue = Lock(CommitQueue(log.limits))
    queue.withLock { $0.start() }
  }

  /// Runs a body and returns when its entry is durable.
  func commit(
    _ request: CommitRequest, _ body: (inout Draft<State>) throws -> Void
  ) throws -> Commit<Void> {
    var runs = Runs()
    while true {
      let prepared = try writeLock.take { accepted in
        let prepared = try prepare(request, body, on: &accepted, &runs)
        // While another batch is written, this thread would only sleep until its turn, and then compete with all threads
        // that the other batch has woken. With 64 callers, that took a sixth of the time.
        return prepared.batch?.hasTurn == false ? prepared.ledInBackground(by: leadInBackground) : prepared
      }
      if prepared.leads, let batch = prepared.batch { lead(batch) }
      do throws(JournalError) { try prepared.batch?.wait() } catch {
        try check(error, of: prepared, request, &runs)
        continue
      }
      if node != nil { prepared.batch?.leave() }
      if prepared.ownRevision == nil { freezeRest() }
      return try prepared.outcome.get()
    }
  }

  /// Like the blocking call, but suspends while other bodies run or the flush is in progress.
  nonisolated(nonsending) func commit(
    _ request: CommitRequest, _ body: (inout Draft<State>) throws -> Void
  ) async throws -> Commit<Void> {
    var runs = Runs()
    while true {
      let prepared = try await writeLock.takeSuspending { accepted in
        try prepare(request, body, on: &accepted, &runs).ledInBackground(by: leadInBackground)
      }
      if prepared.leads, let batch = prepared.batch { lead(batch) }
      do {
        try await prepared.batch?.wait()
      } catch let error as JournalError {
        try check(error, of: prepared, request, &runs)
        continue
      }
      if node != nil { prepared.batch?.leave() }
      if prepared.ownRevision == nil { freezeRest() }
      return try prepared.outcome.get()
    }
  }

  /// Runs a body and returns at once; the entry becomes durable in the background.
  func commit(
    _ request: CommitRequest, in pipeline: inout PipelineProgress,
    _ body: (inout Draft<State>) throws -> Void
  ) throws -> Commit<Void> {
    // The body may have to run again, and it is only valid during the call.
    if node != nil { return try commit(request, body) }
    while true {
      try pipeline.wait(downTo: PipelineProgress.limit)
      do {
        let prepared = try writeLock.take { accepted in
          try prepare(request, body, on: &accepted, &pipeline).ledInBackground(by: leadInBackground)
        }
        if prepared.leads, let batch = prepared.batch { lead(batch) }
        if case .failure = prepared.outcome { try wait(for: prepared) }
        if prepared.ownRevision == nil { freezeRest() }
        return try prepared.outcome.get()
      } catch is EarlierCommitIsWithdrawn {
        try pipeline.wait(downTo: 0)
      } catch let error as JournalError where error.code == .poisoned {
        // If an entry of the pipeline was the first that failed, its error says more.
        try pipeline.wait(downTo: 0)
        throw error
      }
    }
  }

  /// Like the blocking call, but suspends while other bodies run or too many flushes are outstanding.
  nonisolated(nonsending) func commit(
    _ request: CommitRequest, in pipeline: inout PipelineProgress,
    _ body: (inout Draft<State>) throws -> Void
  ) async throws -> Commit<Void> {
    if node != nil { return try await commit(request, body) }
    while true {
      try await pipeline.wait(downTo: PipelineProgress.limit)
      do {
        let prepared = try await writeLock.takeSuspending { accepted in
          try prepare(request, body, on: &accepted, &pipeline).ledInBackground(by: leadInBackground)
        }
        if prepared.leads, let batch = prepared.batch { lead(batch) }
        if case .failure = prepared.outcome { try await wait(for: prepared) }
        if prepared.ownRevision == nil { freezeRest() }
        return try prepared.outcome.get()
      } catch is EarlierCommitIsWithdrawn {
        try await pipeline.wait(downTo: 0)
      } catch let error as JournalError where error.code == .poisoned {
        try await pipeline.wait(downTo: 0)
        throw error
      }
    }
  }

  /// Fails in a forked child of the process that opened the journal: it has none of the threads that write, and the
  /// locks and files are its parent's.
  func checkProcess() throws(JournalError) {
    if System.process != process {
      throw JournalError(
        .wrongUse,
        "the journal is open in the process that this one was forked from; commit there, or open it here "
          + "after it is closed there")
    }
  }

  /// Fails inside the body of a commit, because closing would wait for that commit.
  func checkIsOutsideOfBody() throws(JournalError) {
    if writeLock.isTakenByThisThread {
      throw JournalError(.wrongUse, "a commit's body can't close the journal; close it after the commit")
    }
  }

  /// Waits for commits in progress and refuses all others.
  func close() throws {
    defer { leader.close() }
    let last = try writeLock.take { accepted in
      queue.withLock { queue in
        if queue.refusal == nil { queue.refusal = .closed() }
      }
      return accepted.batch
    }
    try? last?.wait()
  }

  /// Puts the digest of a state into the next entry.
  func note(_ checkpoint: Checkpoint) {
    try? writeLock.take { accepted in accepted.checkpoint = checkpoint }
  }

  /// Freezes the changes of the newest version above its layers, if no commit is in progress.
  ///
  /// A commit without an entry does so too: the keeper may have found the write lock taken by its body.
  func freezeRest() {
    _ = try? writeLock.takeIfFree { accepted in
      // Changes in progress are frozen by their own commit or by the next.
      guard accepted.version.head == published.version.head,
        let frozen = keeper.freezeRest(of: accepted.version)
      else { return }
      accepted.version = frozen
      keeper.note(frozen, eventCount: 0)
      published.publish(frozen)
    }
  }

  /// Waits for the entries that a body without an entry of its own has seen.
  private func wait(for prepared: PreparedCommit) throws(JournalError) {
    do throws(JournalError) { try prepared.batch?.wait() } catch { throw asBystander(error) }
  }

  private nonisolated(nonsending) func wait(for prepared: PreparedCommit) async throws {
    do { try await prepared.batch?.wait() } catch let error as JournalError { throw asBystander(error) }
  }

  /// Decides about a commit whose batch failed: it may run again if another node took its revision.
  /// - Throws: ``JournalError`` if it is over.
  private func check(
    _ error: JournalError, of prepared: PreparedCommit, _ request: CommitRequest, _ runs: inout Runs
  ) throws(JournalError) {
    runs.lost = prepared.batch
    if error.code == .lostRevision, !request.runsOnce, runs.count < Self.runLimit {
      runs.count += 1
      return
    }
    leaveLost(&runs)
    guard error.code == .lostRevision else {
      throw prepared.ownRevision.map { error.ofCommit($0) } ?? asBystander(error)
    }
    throw JournalError(
      .conflict,
      request.runsOnce
        ? "another node has committed meanwhile, and this commit must not run twice; nothing of it was written"
        : "other nodes committed first \(runs.count) times; nothing was written, so try again",
      revision: error.revision)
  }

  /// A body that has lost gets a reserved turn, so only failures and slow bodies make it lose again.
  private static var runLimit: Int { 8 }

  /// The error for a commit that depends on a failed batch without being in it: nothing of that commit was written.
  private func asBystander(_ error: JournalError) -> JournalError {
    guard error.code == .outcomeUnknown else { return error }
    if let cause = error.cause as? JournalError, isAskedAgain(after: cause) { return cause }
    return .poisoned(error.cause)
  }

  /// Whether the journal continues after an append whose outcome is unknown: before each later append, a node asks the
  /// shared log what it has.
  private func isAskedAgain(after cause: JournalError) -> Bool {
    node != nil && [.unreachable, .diverged].contains(cause.code)
  }

  // MARK: One after the other

  private func prepare(
    _ request: CommitRequest, _ body: (inout Draft<State>) throws -> Void, on accepted: inout Accepted,
    _ pipeline: inout PipelineProgress
  ) throws -> PreparedCommit {
    var runs = Runs()
    let prepared = try prepare(request, body, on: &accepted, &runs, withdrawalCount: pipeline.withdrawalCount)
    if case .success(let commit) = prepared.outcome, let batch = prepared.batch {
      pipeline.append(
        batch, revision: commit.isEmpty ? nil : commit.revision, withdrawalCount: accepted.withdrawalCount)
    }
    return prepared
  }

  /// - Parameter withdrawalCount: how often entries had been withdrawn when a commit was accepted that this one builds on.
  /// - Throws: `EarlierCommitIsWithdrawn` if that commit may have been withdrawn since.
  private func prepare(
    _ request: CommitRequest, _ body: (inout Draft<State>) throws -> Void, on accepted: inout Accepted,
    _ runs: inout Runs, withdrawalCount: Int? = nil
  ) throws -> PreparedCommit {
    // Not earlier, because an append may wait until the body has run again.
    defer { leaveLost(&runs) }
    try queue.withLock { queue throws(JournalError) in
      if let refusal = queue.refusal { throw refusal }
      withdrawAccepted(&accepted, queue)
    }
    if let withdrawalCount, withdrawalCount != accepted.withdrawalCount { throw EarlierCommitIsWithdrawn() }
    try applyFetched(to: &accepted)
    do {
      return try run(body, of: request, on: &accepted)
    } catch {
      // The state that the body saw, or the revision of a conflict, may not be durable yet.
      return bystander(.failure(error), on: accepted)
    }
  }

  /// The result of a body that wrote nothing. If the state that it saw is lost, it runs again.
  private func bystander(
    _ outcome: Result<Commit<Void>, any Error>, on accepted: Accepted
  ) -> PreparedCommit {
    if node != nil { accepted.batch?.join() }
    return PreparedCommit(outcome: outcome, batch: accepted.batch, leads: false)
  }

  /// Forgets accepted entries that were withdrawn.
  private func withdrawAccepted(_ accepted: inout Accepted, _ queue: CommitQueue) {
    if accepted.withdrawalCount == queue.withdrawalCount { return }
    accepted.withdrawalCount = queue.withdrawalCount
    accepted.version = published.version
    accepted.batch = nil
    // Otherwise a requested checkpoint would be lost.
    if let carrier = accepted.carrier, carrier.revision > accepted.version.revision {
      accepted.checkpoint = accepted.checkpoint ?? carrier.checkpoint
    }
    accepted.carrier = nil
    keeper.withdraw(to: accepted.version)
  }

  private func run(
    _ body: (inout Draft<State>) throws -> Void, of request: CommitRequest, on accepted: inout Accepted
  ) throws -> PreparedCommit {
    let base = accepted.version
    let revision = base.revision + 1
    // Only a forged history comes so far.
    guard revision < NumberLimit.revision else {
      throw JournalError(.tooLarge, "a journal has \(NumberLimit.revision - 1) entries at most")
    }
    let clock = try request.clock(after: base.head, lastWrite: lastWrite)
    var draft = Draft(base: base, date: clock.date.date)
    let result = Result {
      try request.check(base)
      try body(&draft)
    }
    // Nothing derived from an incomplete state may be written or reported.
    try keeper.faults.check()
    try result.get()
    let (events, state) = try draft.finish()
    if events.isEmpty {
      let commit = Commit(
        value: (), revision: base.revision, isEmpty: true, date: base.date, clockDate: base.date,
        clockWarning: nil)
      return bystander(.success(commit), on: accepted)
    }
    let named = try checkBlobs(events, state)
    try keeper.faults.check()

    let header = EntryHeader(
      date: clock.date, clockDate: clock.clockDate, schemaVersion: schemaVersion, previousDigest: base.digest,
      checkpointRevision: accepted.checkpoint?.revision)
    let annotation = EntryAnnotation(
      author: request.author, note: request.note, metadata: request.metadata)
    let entry = try EntryCoding.seal(
      header, annotation, events: events, stateDigest: accepted.checkpoint?.stateDigest, revision: revision,
      journal: id, salts: &accepted.salts, logLimit: log.limits.appendByteCount)
    let version = keeper.accept(
      Version(
        head: Head(revision: revision, timestamp: clock.date, digest: entry.digest), state: consume state),
      EventTally(
        count: events.count, additionCount: events.count { $0.operation == .add },
        byteCount: entry.bytes.count))
    let (batch, leads) = try queue.withLock { queue throws(JournalError) in
      // The previous batch may have failed while the body ran; then this entry can't be written.
      if let refusal = queue.refusal { throw refusal }
      if queue.withdrawalCount != accepted.withdrawalCount { throw Self.nothingWritten(nil) }
      let entered = queue.enter(entry, eventCount: events.count, blobs: named) { [self] eventCount in
        publish(version, eventCount: eventCount)
      }
      if node != nil { entered.0.join() }
      return entered
    }
    accepted.version = version
    accepted.batch = batch
    if let checkpoint = accepted.checkpoint { accepted.carrier = (revision, checkpoint) }
    accepted.checkpoint = nil
    if let warning = clock.warning, case .ahead = warning {
      options.note(.warning, warning.description, revision: revision, clockWarning: warning)
    }
    let commit = Commit(
      value: (), revision: revision, isEmpty: false, date: clock.date.date,
      clockDate: clock.clockDate.date,
      clockWarning: clock.warning)
    return PreparedCommit(outcome: .success(commit), batch: batch, leads: leads, base: base.box)
  }

  /// Fails unless the blobs that the events name exist.
  /// - Returns: these blobs.
  private func checkBlobs(_ events: [JournalEvent], _ state: State) throws(JournalError) -> Set<Blob> {
    var named: Set<Blob> = []
    for event in events {
      guard let record = state.record(after: event) else { continue }
      for blob in State.blobs(in: record, of: event.entity.kind) {
        var isThere = try blobs.contains(blob)
        // Another node may have added it.
        if !isThere, let node { isThere = try node.hasImage(blob) }
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

  // MARK: Making a batch durable

  /// - Returns: false if the system has no thread for it; then the thread of the task waits for the drive.
  private func leadInBackground(_ batch: CommitBatch) -> Bool { leader.run { self.lead(batch) } }

  private func lead(_ batch: CommitBatch) {
    guard batch.waitForTurn() else { return }
    if isContended.withLock({ $0 }) || turn.withLock({ $0 != nil }) { endEarlierBatch() }
    if !waitForReruns(), losesContendedTurn(batch) { return }
    let (work, next) = queue.withLock { $0.takeFirst() }
    do throws(AppendFailure) {
      try write(work)
      let end = { @Sendable in
        work.publish(work.eventCount)
        batch.finish(nil)
      }
      // The next batch has a leader already, which can send it to a shared log first.
      let isPutOff = node != nil && queue.withLock { !$0.isEmpty }
      if isPutOff { earlierEnd.withLock { $0 = end } } else { end() }
      next.giveTurn()
    } catch {
      let cause = error.cause
      switch error {
      case .refused:
        // No append follows in this turn.
        node?.release()
        if passes(cause) { return withdraw(batch, because: cause) }
      case .conflict where node != nil:
        // The bodies run again while no other node can append.
        return withdrawLost(batch, because: cause, isReserved: (try? node?.reserve()) != nil)
      case .unknown where isAskedAgain(after: cause):
        return withdraw(
          batch, because: cause,
          ofBatch: JournalError(
            .outcomeUnknown,
            "the server did not confirm the commit, which is wholly there or wholly absent; once the server can be "
              + "reached, catchUp() or journal join fetches it if it is there",
            revision: work.entries.first?.revision, cause: cause))
      default: break
      }
      refuseAll(because: cause)
      next.giveTurn()
      batch.finish(Self.failure(error, first: work.entries.first?.revision))
    }
  }

  /// The error of a failed append for the commits of its batch.
  private static func failure(_ failure: AppendFailure, first: Revision?) -> JournalError {
    switch failure {
    case .unknown(let error):
      JournalError(
        .outcomeUnknown,
        "writing failed: the commit is wholly there or wholly absent; close the journal and open it again: the commit is "
          + "there if the journal then has this revision",
        revision: first, cause: error)
    case .refused(let error): .poisoned(error)
    case .conflict(let newest):
      JournalError(
        .conflict,
        "another writer has appended to the log, and nothing was written; close the journal and open it again",
        revision: newest)
    }
  }

  private func write(_ work: CommitQueue.Work) throws(AppendFailure) {
    // At the latest now: this batch may have failed before it was sent.
    defer { endEarlierBatch() }
    // A journal that is being closed still writes accepted entries.
    if let refusal = queue.withLock({ $0.refusal }), refusal.code != .closed { throw .refused(refusal) }
    guard let first = work.entries.first, let last = work.entries.last else { return }
    if !work.blobs.isEmpty {
      // Before anything is sent, images are flushed and sent, which may take long.
      endEarlierBatch()
      do throws(JournalError) { try blobs.flush() } catch {
        // After a failed flush, another one may succeed although data was lost. A shortage is no exception.
        throw .refused(.poisoned(error))
      }
    }
    let clock = ContinuousClock()
    let start = clock.now
    if let node {
      try node.append(
        work.entries, after: first.revision - 1, naming: work.blobs, from: blobs, meanwhile: endEarlierBatch)
    } else {
      try log.append(work.entries, after: first.revision - 1)
    }
    // The commits of a node do not wait for this drive.
    if node == nil { keeper.pace.noteCommit() }
    let duration = clock.now - start
    if duration > Self.slowAppend {
      options.note(
        .warning,
        "the \(node == nil ? "drive" : "shared log") took \(duration) to store \(work.entries.count) entries of "
          + "\(work.byteCount) bytes",
        revision: last.revision)
    }
  }

  /// Ends the batch before the one that is led, if that was put off: readers see its state, and its commits return while
  /// the server works on the other.
  private func endEarlierBatch() {
    let end = earlierEnd.withLock { end in
      defer { end = nil }
      return end
    }
    end?()
  }

  /// Shows readers a version that is durable.
  private func publish(_ version: Version<State>, eventCount: Int) {
    // The keeper first, because versions of other nodes may follow as soon as it is published.
    keeper.note(version, eventCount: eventCount)
    published.publish(version)
  }

  // MARK: Shared journals

  /// Applies the commits of other nodes that the log has fetched so far.
  func applyFetched() throws {
    guard let node else { return }
    let newest = node.fetched.revision
    // Under constant commits, there are always some under way.
    while published.version.revision < newest {
      let batch = try writeLock.take { accepted in
        queue.withLock { withdrawAccepted(&accepted, $0) }
        if isUnderWay(accepted) { return accepted.batch }
        try applyFetched(to: &accepted, atMost: ReplayStep.limit)
        return nil
      }
      // It depends on earlier entries, or fails. After most failures it is withdrawn; after others nothing follows.
      do throws(JournalError) { try batch?.wait() } catch {
        if let refusal = queue.withLock({ $0.refusal }) { throw refusal }
      }
    }
  }

  /// Called with the write lock held. Does nothing while entries of this node are in progress, because these either
  /// follow the fetched ones, or fail and are withdrawn.
  private func applyFetched(to accepted: inout Accepted, atMost count: Int = .max) throws(JournalError) {
    guard let newest = node?.fetched.revision, newest > accepted.version.revision, !isUnderWay(accepted)
    else {
      return
    }
    let last = newest - accepted.version.revision > count ? accepted.version.revision + count : newest
    var step = ReplayStep()
    while accepted.version.revision < last {
      let first = accepted.version.revision + 1
      let next = min(last, first + step.entryCount - 1)
      var state = accepted.version.state
      let byteCount = state.changedByteCount
      let applied = try keeper.faults.checking { () throws(JournalError) in
        try replay.apply(first, through: next, to: &state)
      }
      step.adapt(toByteCount: state.changedByteCount - byteCount)
      let version = keeper.accept(
        Version(head: try replay.head(at: next), state: state), applied)
      accepted.version = version
      accepted.batch = nil
      publish(version, eventCount: applied.count)
    }
  }

  private func isUnderWay(_ accepted: Accepted) -> Bool {
    accepted.batch != nil && accepted.version.head != published.version.head
  }

  /// Withdraws everything that builds on a revision that another node has taken.
  /// - Parameter isReserved: whether the turn is reserved. If it could not be, the next append reports the problem of
  ///   the connection.
  private func withdrawLost(_ batch: CommitBatch, because error: JournalError, isReserved: Bool) {
    isContended.withLock { $0 = true }
    if isReserved {
      let lost = [batch] + queue.withLock { $0.batches }
      turn.withLock { $0 = ReservedTurn(lost: lost) }
    }
    withdraw(
      batch, finishing: JournalError(.lostRevision, error.message, revision: error.revision),
      isTurnReserved: isReserved)
  }

  /// Called before the first append of a turn: its entries can't lose, so all commits that have lost should be in it.
  /// - Returns: whether the turn was reserved.
  private func waitForReruns() -> Bool {
    guard node != nil else { return false }
    let reserved = turn.withLock { turn in
      defer { turn = nil }
      return turn
    }
    guard let reserved else { return false }
    for batch in reserved.lost { batch.waitForDependents(until: reserved.deadline) }
    return true
  }

  /// While nodes compete, an append without a turn would wait for those of other nodes and then lose. So the turn is
  /// reserved first, until no other node appends any more.
  /// - Returns: whether the batch has lost; otherwise it can be appended.
  private func losesContendedTurn(_ batch: CommitBatch) -> Bool {
    guard let node, isContended.withLock({ $0 }), queue.withLock({ $0.refusal == nil }),
      let newest = try? node.reserve()
    else { return false }
    let isLost = queue.withLock { queue in
      guard let first = queue.firstRevision, first <= newest else { return false }
      _ = queue.takeFirst()
      return true
    }
    if isLost {
      withdrawLost(batch, because: AppendFailure.conflict(newest: newest).cause, isReserved: true)
    } else {
      isContended.withLock { $0 = false }
    }
    return isLost
  }

  /// Notes that a body has run again, or will not. If it was the last one and there is nothing to append, the turn is
  /// released.
  private func leaveLost(_ runs: inout Runs) {
    guard let node, let lost = runs.lost else { return }
    runs.lost = nil
    lost.leave()
    let isUnused = turn.withLock { turn in
      guard let reserved = turn, reserved.isComplete, queue.withLock({ $0.isEmpty }) else {
        return false
      }
      turn = nil
      return true
    }
    if isUnused { node.release() }
  }

  /// Whether commits may succeed after a failure that wrote nothing. A node asks its shared log again at each commit.
  private func passes(_ error: JournalError) -> Bool {
    node == nil ? error.code == .outOfResources : error.code != .poisoned
  }

  /// Fails a batch of which nothing was written, and everything accepted after it, which builds on it.
  /// - Parameter outcome: the error for the commits of the batch itself, if it is another one.
  private func withdraw(
    _ batch: CommitBatch, because error: JournalError, ofBatch outcome: JournalError? = nil
  ) {
    options.note(.warning, "commits were refused and nothing of them was written", cause: error)
    let refusal = error.code == .outOfResources ? Self.nothingWritten(error) : error
    withdraw(batch, finishing: outcome ?? refusal, later: refusal)
  }

  private func withdraw(
    _ batch: CommitBatch, finishing error: JournalError, later: JournalError? = nil,
    isTurnReserved: Bool = false
  ) {
    let (others, next) = queue.withLock { $0.withdraw(isTurnReserved: isTurnReserved) }
    next.giveTurn()
    batch.finish(error)
    for other in others {
      other.finish(later ?? error)
      // Wakes its leader, which waits for its turn.
      other.giveTurn()
    }
  }

  private static func nothingWritten(_ cause: JournalError?) -> JournalError {
    JournalError(
      .outOfResources,
      "the system lacked a resource that the commit needed; nothing was written, so try again",
      cause: cause)
  }

  private func refuseAll(because error: JournalError) {
    let isNew = queue.withLock { queue in
      if queue.refusal?.code == .poisoned { return false }
      queue.refusal = .poisoned(error)
      return true
    }
    if isNew {
      options.note(.error, "the journal takes no more commits until it is opened again", cause: error)
    }
  }
}

/// The result of a body.
///
/// Its type does not depend on the state. This code can't be specialized for an app's types, so each type that depends on
/// them is looked up at run time. With such types here and in the queue, these lookups took a sixth of the time of a
/// commit of one event.
private struct PreparedCommit {
  let outcome: Result<Commit<Void>, any Error>
  /// The batch that must be durable before the outcome is reported; nil if it is durable.
  let batch: CommitBatch?
  /// Whether the caller must have the batch written.
  let leads: Bool
  /// The version before. To free what only it has takes a tenth of the time of a small commit, and is done by the caller,
  /// without the write lock.
  var base: AnyObject?

  /// The revision of the entry that the body made, if it made one.
  var ownRevision: Revision? {
    if case .success(let commit) = outcome, !commit.isEmpty { commit.revision } else { nil }
  }

  /// The same after another thread has taken over the batch, if there is one.
  ///
  /// Called with the write lock held: that thread leads one batch after the other, so it must get them in their order.
  func ledInBackground(by lead: (CommitBatch) -> Bool) -> PreparedCommit {
    guard leads, let batch, lead(batch) else { return self }
    return PreparedCommit(outcome: outcome, batch: batch, leads: false, base: base)
  }
}

extension JournalError {
  /// The error of commits after a failed write.
  static func poisoned(_ cause: (any Error)?) -> JournalError {
    if let cause = cause as? JournalError, cause.code == .poisoned { return cause }
    return JournalError(
      .poisoned, "an earlier write failed, so the journal takes no more commits; close it and open it again",
      cause: cause)
  }

  /// The error for one commit of a batch. If the outcome is unknown, it has the revision of that commit's entry.
  func ofCommit(_ revision: Revision) -> JournalError {
    guard code == .outcomeUnknown else { return self }
    return JournalError(code, message, revision: revision, path: path, offset: offset, cause: cause)
  }
}
