import Dispatch
import Journaling
import Locks

/// The commits of a node of a shared journal. Unlike in a local journal, other nodes may take their revisions, and no
/// commit waits for the folder's drive.
///
/// A durable batch is ended after the next one was sent: its state becomes visible, and its commits return, while the
/// server works on the next batch.
///
/// Safe to use from any thread.
final class SharedCommits: CommitLog {
  private let node: NodeLog
  private let blobs: BlobStore
  private let turn = Lock(AppendTurn())
  /// Signaled when all bodies that had to run again have done so.
  private let bodiesHaveRun = TimedSemaphore(value: 0)
  /// The durable batch that was not ended yet; nil if there is none.
  private let durable = Lock<CommitQueue.Work?>(nil)

  init(_ node: NodeLog, _ blobs: BlobStore) {
    self.node = node
    self.blobs = blobs
  }

  var isShared: Bool { true }
  var fetched: Revision { node.fetched.revision }
  func hasImage(_ blob: Blob) throws(JournalError) -> Bool { try node.hasImage(blob) }

  func awaitTurn(before first: () -> Revision?) -> AppendFailure? {
    let next = first()
    switch turn.withLock({ $0.begin(canRunAgain: next != nil) }) {
    case .append: return nil
    case .awaitBodies(let time):
      endDurable()
      while !turn.withLock({ $0.bodiesHaveRun }), bodiesHaveRun.wait(timeout: time) == .success {}
      turn.withLock { $0.endWait() }
    case .reserve:
      endDurable()
      // If the turn can't be reserved, the append that follows fails with the reason.
      guard let next, let newest = try? node.reserve(), turn.withLock({ $0.loses(next, to: newest) }) else {
        return nil
      }
      return .conflict(newest: newest)
    }
    return nil
  }

  func append(_ work: CommitQueue.Work) throws(AppendFailure) {
    // The previous batch ends here at the latest: this batch may fail before it is sent.
    defer { endDurable() }
    guard let first = work.entries.first else { return }
    if !work.blobs.isEmpty {
      // Images are flushed and sent first, which may take long, so the previous batch ends before that.
      endDurable()
      try work.flushBlobs(in: blobs)
    }
    try node.append(
      work.entries, after: first.revision - 1, naming: work.blobs, from: blobs, meanwhile: endDurable)
  }

  func endsLater(_ work: CommitQueue.Work, isNextWaiting: () -> Bool) -> Bool {
    guard isNextWaiting() else { return false }
    durable.withLock { $0 = work }
    return true
  }

  private func endDurable() {
    let work = durable.withLock { work in
      defer { work = nil }
      return work
    }
    work?.end()
  }

  func meaning(of failure: AppendFailure, first: Revision?) -> CommitFailure {
    var found = CommitFailure(failure, first: first, isShared: true)
    switch failure {
    // No append follows in this turn, so the turn is released.
    case .refused: node.release()
    // The bodies run again while no other node can append.
    case .conflict: found.isTurnReserved = (try? node.reserve()) != nil
    case .unknown: break
    }
    return found
  }

  func bodiesRunAgain(_ count: Int, isTurnReserved: Bool) {
    turn.withLock { $0.lost(count, isReserved: isTurnReserved) }
  }

  func hasRunAgain(isQueueEmpty: () -> Bool) {
    let isEmpty = isQueueEmpty()
    let (isUnused, isComplete) = turn.withLock { turn in
      (turn.hasRunAgain(isQueueEmpty: isEmpty), turn.bodiesHaveRun)
    }
    if isComplete { bodiesHaveRun.signal() }
    if isUnused { node.release() }
  }
}
