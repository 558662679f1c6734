import Locks

/// The log as commits need it: what appending means for those who wait, and what other nodes add.
///
/// ``LocalCommits`` only appends. A ``MultiWriterLog``, to which other nodes append too, makes another one.
package protocol CommitLog: Sendable {
  /// Whether other nodes append too, so that bodies may have to run again.
  var isShared: Bool { get }

  /// The newest entry of another node that can be applied; 0 if there is none.
  var fetched: Revision { get }

  /// Whether another node has stored the bytes of an image.
  func hasImage(_ blob: Blob) throws(JournalError) -> Bool

  /// Waits for other nodes, after the turn of the batch and before it is taken from the queue. Meanwhile, more commits
  /// join it.
  /// - Parameter first: the revision of its first entry; nil if commits are refused.
  /// - Returns: why the batch can't be appended; nil if it can.
  func awaitTurn(before first: () -> Revision?) -> AppendFailure?

  /// Makes a batch durable, after the blobs that it names.
  func append(_ work: CommitQueue.Work) throws(AppendFailure)

  /// Takes over a durable batch: publishes it and wakes its callers, but only after the next batch was sent. Returns false
  /// if the caller must do both now.
  /// - Parameter isNextWaiting: whether the queue has a next batch.
  func endsLater(_ work: CommitQueue.Work, isNextWaiting: () -> Bool) -> Bool

  /// What a failed append means.
  /// - Parameter first: the revision of the first entry of the batch.
  func meaning(of failure: AppendFailure, first: Revision?) -> CommitFailure

  /// Called when bodies have to run again, before their callers wake.
  /// - Parameter count: the number of their entries.
  func bodiesRunAgain(_ count: Int, isTurnReserved: Bool)

  /// Called when one of them has run again, or will not.
  func hasRunAgain(isQueueEmpty: () -> Bool)
}

extension CommitQueue.Work {
  /// Makes the names of the blobs durable that the entries name.
  package func flushBlobs(in store: BlobStore) throws(AppendFailure) {
    if blobs.isEmpty { return }
    do throws(JournalError) { try store.flush() } catch {
      // After a failed flush, even one that failed for a shortage, another may succeed although data was lost.
      throw .refused(.poisoned(error))
    }
  }
}

/// A log to which only this process appends. An erasure or a pruning replaces it while no batch is in progress.
final class LocalCommits: CommitLog {
  private let blobs: BlobStore
  /// The rate limiter is told of each append.
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
