import Locks

/// Makes batches durable, one after the other.
///
/// The thread of a batch's first commit leads the batch. A background thread leads batches whose first commit is of a
/// task or a pipeline, and batches that wait for an earlier one. If the system refuses that thread, the caller leads.
///
/// Safe to use from any thread.
final class BatchWriter: Sendable {
  let queue: Lock<CommitQueue>
  private let log: any CommitLog
  private let options: JournalOptions
  /// The background thread that leads batches.
  private let leader = Worker()

  /// Appends that take longer are reported, because the drive may be busy or failing.
  private static let slowAppend = Duration.seconds(1)

  init(_ log: any CommitLog, _ limits: LogLimits, options: JournalOptions) {
    self.log = log
    self.options = options
    let queue = CommitQueue(limits)
    queue.firstBatch.giveTurn()
    self.queue = Lock(queue)
  }

  /// - Returns: false if the system refuses the background thread; the caller must then lead the batch.
  func leadInBackground(_ batch: CommitBatch) -> Bool { leader.run { self.lead(batch) } }

  func lead(_ batch: CommitBatch) {
    guard batch.waitForTurn() else { return }
    let obstacle = log.awaitTurn { queue.withLock { $0.refusal == nil ? $0.firstRevision : nil } }
    let (work, next) = queue.withLock { $0.takeFirst() }
    do throws(AppendFailure) {
      if let obstacle { throw obstacle }
      try append(work)
      // In a shared journal, the leader of the next batch may send the next batch first, and then end this one.
      if !log.endsLater(work, isNextWaiting: { queue.withLock { !$0.isEmpty } }) { work.end() }
      next.giveTurn()
    } catch {
      fail(work, because: error)
    }
  }

  private func append(_ work: CommitQueue.Work) throws(AppendFailure) {
    let clock = ContinuousClock()
    let start = clock.now
    try log.append(work)
    let duration = clock.now - start
    guard duration > Self.slowAppend else { return }
    options.note(
      .warning,
      "the \(log.isShared ? "shared log" : "drive") took \(duration) to store \(work.entries.count) entries of "
        + "\(work.byteCount) bytes", revision: work.entries.last?.revision)
  }

  private func fail(_ work: CommitQueue.Work, because cause: AppendFailure) {
    let failure = log.meaning(of: cause, first: work.entries.first?.revision)
    let withdrawal = queue.withLock { $0.withdraw(because: failure) }
    switch failure.consequence {
    case .bodiesRunAgain:
      log.bodiesRunAgain(
        work.entries.count + withdrawal.entryCount, isTurnReserved: failure.isTurnReserved)
    case .commitsContinue:
      options.note(.warning, "commits were refused and nothing of them was written", cause: cause.cause)
    case .noMoreCommits where withdrawal.endsCommits:
      options.note(
        .error, "the journal takes no more commits until it is opened again", cause: cause.cause)
    case .noMoreCommits: break
    }
    withdrawal.next.giveTurn()
    work.batch.finish(failure)
    for batch in withdrawal.batches {
      batch.finish(failure.ofLaterBatch)
      // Wakes the batch's leader, which waits for the turn.
      batch.giveTurn()
    }
  }

  /// Refuses all further commits. Called while no commit is in progress.
  func refuse(because cause: JournalError) {
    queue.withLock { $0.refuse(.poisoned(cause)) }
    options.note(.error, "the journal takes no more commits until it is opened again", cause: cause)
  }

  /// Ends the background thread once it has led its batches.
  func close() { leader.close() }
}
