import Locks

/// The log to which commits are appended. In a shared journal, other nodes append to it too.
///
/// ``LocalCommits`` is the implementation for a log of one process. A ``MultiWriterLog`` makes another one.
package protocol CommitLog: Sendable {
  /// Whether other nodes append too, so that bodies may have to run again.
  var isShared: Bool { get }

  /// The revision of the newest fetched entry of another node; 0 if there is none.
  var fetched: Revision { get }

  /// Whether another node has stored the bytes of an image.
  func hasImage(_ blob: Blob) throws(JournalError) -> Bool

  /// Waits until this node may append the oldest batch. The batch stays in the queue meanwhile, so more commits join
  /// it.
  /// - Parameter first: returns the revision of the batch's first entry, or nil if commits are refused.
  /// - Returns: why the batch can't be appended; nil if it can.
  func awaitTurn(before first: () -> Revision?) -> AppendFailure?

  /// Makes a batch durable, after the blobs that it names.
  func append(_ work: CommitQueue.Work) throws(AppendFailure)

  /// Takes over a durable batch: publishes it and wakes its callers, but only after the next batch was sent. Returns
  /// false if the caller must do both now.
  /// - Parameter isNextWaiting: whether the queue has a next batch.
  func endsLater(_ work: CommitQueue.Work, isNextWaiting: () -> Bool) -> Bool

  /// What a failed append means for the commits.
  /// - Parameter first: the revision of the first entry of the batch.
  func meaning(of failure: AppendFailure, first: Revision?) -> CommitFailure

  /// Called when bodies have to run again, before the callers of these bodies wake.
  /// - Parameter count: the number of entries whose bodies have to run again.
  func bodiesRunAgain(_ count: Int, isTurnReserved: Bool)

  /// Called when one of the bodies that must run again has run, or will not run.
  func hasRunAgain(isQueueEmpty: () -> Bool)
}

extension CommitQueue.Work {
  /// Makes the blobs that the entries name durable, by flushing the folder of blobs.
  package func flushBlobs(in store: BlobStore) throws(AppendFailure) {
    if blobs.isEmpty { return }
    do throws(JournalError) { try store.flush() } catch {
      // After any failed flush, even for a shortage, the next flush may succeed although data was lost.
      throw .refused(.poisoned(error))
    }
  }
}

/// A log to which only this process appends. An erasure or a pruning replaces it while no batch is in progress.
final class LocalCommits: CommitLog {
  private let blobs: BlobStore
  /// The log, and the rate limiter that is notified of each append.
  private let current: Lock<(log: any EntryLog, rateLimiter: RateLimiter)>

  init(_ log: any EntryLog, blobs: BlobStore, rateLimiter: RateLimiter) {
    self.blobs = blobs
    current = Lock((log, rateLimiter))
  }

  func use(_ log: any EntryLog, _ rateLimiter: RateLimiter) { current.withLock { $0 = (log, rateLimiter) } }

  var isShared: Bool { false }
  var fetched: Revision { 0 }
  func hasImage(_ blob: Blob) -> Bool { false }
  func awaitTurn(before first: () -> Revision?) -> AppendFailure? { nil }

  func append(_ work: CommitQueue.Work) throws(AppendFailure) {
    try work.flushBlobs(in: blobs)
    guard let first = work.entries.first else { return }
    let (log, rateLimiter) = current.withLock { $0 }
    try log.append(work.entries, after: first.revision - 1)
    rateLimiter.noteCommit()
  }

  func endsLater(_ work: CommitQueue.Work, isNextWaiting: () -> Bool) -> Bool { false }

  func meaning(of failure: AppendFailure, first: Revision?) -> CommitFailure {
    CommitFailure(failure, first: first, isShared: false)
  }

  func bodiesRunAgain(_ count: Int, isTurnReserved: Bool) {}
  func hasRunAgain(isQueueEmpty: () -> Bool) {}
}
