import Dispatch
import Foundation
import Locks
import Synchronization

/// Turns bodies into entries and entries into durable ones.
///
/// 1. Bodies run one at a time, each over the state that the one before it left (``DraftingTurn``).
/// 2. An entry is sealed under the same turn, so the chain of digests is the order of the bodies.
/// 3. Entries wait in the queue; a batch of them becomes one append and one flush (``CommitBatch``).
/// 4. Readers see a state when its entry is durable, and not before.
/// 5. After a failed write nothing is written any more.
///
/// Safe to use from many threads. Locks are taken in this order: turn, queue, published.
final class Committer<State: EventSourced>: Sendable {
  /// What the next body starts from, durable or not.
  private struct Accepted: Sendable {
    var version: Version<State>
    /// The batch of the newest entry; nil when the journal was just opened.
    var batch: CommitBatch?
    var salts = RandomBytes()
  }

  private struct Queue: Sendable {
    /// The batch that takes new entries.
    var batch: CommitBatch
    /// Its entries so far, in order.
    var entries: [SealedEntry] = []
    /// What the newest of them makes.
    var newest: Version<State>?
    /// How many events they have.
    var eventCount = 0
    /// Why there can be no more commits.
    var refusal: JournalError?

    var isEmpty: Bool { entries.isEmpty }
  }

  private let id: JournalID
  private let log: any EntryLog
  private let marker: HeadMarker
  private let blobs: BlobStore
  private let flushesHead: Bool
  /// Told of each version that is published, in order.
  private let keeper: SnapshotKeeper<State>
  private let turn: DraftingTurn<Accepted>
  private let queue: Lock<Queue>
  private let published: Published<State>
  /// Leads batches that only tasks wait for, and flushes HEAD.
  private let background = DispatchQueue(label: "journal.commit")
  private let headFlushIsDue = Atomic<Bool>(false)

  init(
    id: JournalID, log: any EntryLog, marker: HeadMarker, blobs: BlobStore, published: Published<State>,
    keeper: SnapshotKeeper<State>, flushesHead: Bool
  ) {
    self.id = id
    self.log = log
    self.marker = marker
    self.blobs = blobs
    self.published = published
    self.flushesHead = flushesHead
    self.keeper = keeper
    turn = DraftingTurn(Accepted(version: published.version, batch: nil))
    let batch = CommitBatch()
    batch.giveTurn()
    queue = Lock(Queue(batch: batch))
  }

  /// Runs a body and returns when its entry is durable.
  func commit<Value>(
    _ request: CommitRequest, _ body: (inout Draft<State>) throws -> Value
  ) throws -> Commit<Value> {
    let (commit, batch, leads) = try prepare(request, body)
    if leads, let batch { lead(batch) }
    try batch?.wait()
    return commit
  }

  /// The same without blocking a thread while the flush is in progress.
  func commit<Value: Sendable>(
    _ request: CommitRequest, _ body: (inout Draft<State>) throws -> Value
  ) async throws -> Commit<Value> {
    let (commit, batch, leads) = try prepare(request, body)
    if leads, let batch { background.async { self.lead(batch) } }
    try await batch?.wait()
    return commit
  }

  /// Runs a body and returns at once; the entry becomes durable in the background.
  func submit<Value>(
    _ request: CommitRequest, _ body: (inout Draft<State>) throws -> Value
  ) throws -> PendingCommit<Value> {
    let (commit, batch, leads) = try prepare(request, body)
    if leads, let batch { background.async { self.lead(batch) } }
    return PendingCommit(commit: commit, batch: batch)
  }

  /// Lets commits in progress end and refuses all others.
  func close() throws {
    let last = try turn.take { accepted in
      queue.withLock { queue in
        if queue.refusal == nil { queue.refusal = JournalError(.closed, "the journal has been closed") }
      }
      return accepted.batch
    }
    try? last?.wait()
    try marker.flush()
  }

  /// Fails when nothing is written any more.
  func checkIsWriting() throws(JournalError) {
    if let refusal = queue.withLock({ $0.refusal }) { throw refusal }
  }

  // MARK: One after the other

  private func prepare<Value>(
    _ request: CommitRequest, _ body: (inout Draft<State>) throws -> Value
  ) throws -> (Commit<Value>, CommitBatch?, leads: Bool) {
    try turn.take { accepted in
      try checkIsWriting()
      let base = accepted.version
      try request.check(base)

      let revision = base.revision + 1
      let date = max(request.date ?? .now, base.head.timestamp)
      var draft = Draft(base: base, date: date.date)
      let value = try body(&draft)
      let (events, state) = try draft.finish()
      if events.isEmpty {
        // What the body saw may not be durable yet, and its answer may rest on it.
        let commit = Commit(value: value, revision: base.revision, isEmpty: true)
        return (commit, accepted.batch, false)
      }
      try checkBlobs(events, state)

      let header = EntryHeader(
        date: date, author: request.author, note: request.note, metadata: request.metadata,
        previousDigest: base.digest)
      let entry = try EntryCoding.seal(
        header, events: events, revision: revision, journal: id, salts: &accepted.salts)
      let version = Version(
        head: Head(revision: revision, timestamp: date, digest: entry.digest), state: state)
      accepted.version = version
      let (batch, leads) = try queue.withLock { queue in
        // A batch may have failed while the body ran; nothing would come of this entry.
        if let refusal = queue.refusal { throw refusal }
        let leads = queue.isEmpty
        queue.entries.append(entry)
        queue.newest = version
        queue.eventCount += events.count
        return (queue.batch, leads)
      }
      accepted.batch = batch
      return (Commit(value: value, revision: revision, isEmpty: false), batch, leads)
    }
  }

  private func checkBlobs(_ events: [Event], _ state: State) throws(JournalError) {
    for event in events {
      let record: Record?
      switch event.change {
      case .add(let added): record = added
      case .update: record = state.record(of: event.entity)
      case .delete: record = nil
      }
      guard let record else { continue }
      for blob in State.blobs(in: record, of: event.entity.kind) {
        guard try blobs.contains(blob) else {
          throw JournalError(
            .rejected,
            "\(State.name(of: event.entity)) names \(blob.byteCount) bytes with the SHA-256 \(blob.digest), "
              + "which are not in the journal; add the bytes first")
        }
        blobs.willName(blob)
      }
    }
  }

  // MARK: Making a batch durable

  private func lead(_ batch: CommitBatch) {
    batch.waitForTurn()
    let next = CommitBatch()
    let work = queue.withLock { queue in
      let work = queue
      queue.entries = []
      queue.newest = nil
      queue.eventCount = 0
      queue.batch = next
      return work
    }
    // A journal that is being closed still writes what it has accepted.
    var failure = work.refusal?.code == .closed ? nil : work.refusal
    if failure == nil {
      do throws(JournalError) {
        try blobs.flush()
        try log.append(work.entries)
        if let newest = work.newest {
          try markHead(newest.head)
          published.publish(newest)
          keeper.note(newest, eventCount: work.eventCount)
        }
      } catch {
        failure = error
        refuseAll(because: error)
      }
    }
    next.giveTurn()
    batch.finish(
      failure.map {
        JournalError(
          .outcomeUnknown,
          "writing failed: the commit is wholly there or wholly absent; open the journal again to see",
          revision: work.entries.first?.revision, cause: $0)
      })
  }

  private func refuseAll(because error: JournalError) {
    queue.withLock { queue in
      queue.refusal = JournalError(
        .poisoned, "an earlier write failed, so the journal takes no more; open it again", cause: error)
    }
  }

  private func markHead(_ head: Head) throws(JournalError) {
    try marker.mark(HeadMarker.Mark(revision: head.revision, digest: head.digest))
    if flushesHead {
      try marker.flush()
    } else if headFlushIsDue.exchange(true, ordering: .relaxed) == false {
      background.asyncAfter(deadline: .now() + .seconds(1)) { [weak self] in self?.flushHead() }
    }
  }

  private func flushHead() {
    headFlushIsDue.store(false, ordering: .relaxed)
    do throws(JournalError) { try marker.flush() } catch { refuseAll(because: error) }
  }
}

/// What a commit says of itself, and expects.
struct CommitRequest: Sendable {
  var author: String
  var note: String
  var metadata: [String: String]
  /// Nil: now.
  var date: Timestamp?
  var expecting: [Expectation]

  /// Fails when something is not as expected.
  fileprivate func check<State: EventSourced>(_ version: Version<State>) throws(JournalError) {
    if expecting.isEmpty { return }
    let (revision, state) = (version.revision, version.state)
    for expectation in expecting {
      switch expectation {
      case .journal(let expected) where expected != revision:
        throw JournalError(
          .conflict, "the journal is at revision \(revision), not at \(expected); look at what came since",
          revision: revision)
      case .entity(let entity, let expected) where expected != state.revision(of: entity):
        let found = state.revision(of: entity)
        throw JournalError(
          .conflict,
          "\(State.name(of: entity)) was changed by revision \(found), not last by \(expected); "
            + "look at what came since", revision: found)
      default: continue
      }
    }
  }
}
