/// Decides about accepted entries that are not yet written: which batch they join, who leads it, and what is withdrawn.
///
/// 1. There is always a last batch, which new entries join. Earlier batches were closed because they are large.
/// 2. The first commit in a batch leads it, or has it led by another thread.
/// 3. If a batch fails, all entries accepted after it are withdrawn, because they build on its entries.
///
/// A value without side effects: ``BatchWriter`` writes the batches and wakes their callers.
package struct CommitQueue: Sendable {
  package struct Work: Sendable {
    let batch = CommitBatch()
    package var entries: [SealedEntry] = []
    var eventCount = 0
    var byteCount = 0
    /// The blobs that the entries name. They must be durable before the entries are written.
    package var blobs: Set<Blob> = []
    /// Shows readers the state after the newest of the entries.
    var publish: @Sendable (_ eventCount: Int) -> Void = { _ in }

    /// Called when the entries are durable: shows them to readers, and wakes the callers.
    package func end() {
      publish(eventCount)
      batch.finish(nil)
    }
  }

  struct Withdrawal {
    /// The batches whose entries were accepted and not written, oldest first.
    let batches: [CommitBatch]
    let entryCount: Int
    /// The new and empty last batch. Its leader may write at once.
    let next: CommitBatch
    /// Whether this withdrawal is the one that ends all commits.
    let endsCommits: Bool
  }

  /// The most bytes of a batch, to bound its memory. A single larger entry or a reserved turn may exceed it.
  private let batchByteLimit: Int
  private let appendByteLimit: Int
  /// Whether the turn to append is reserved for the next batch. That batch may then be as large as an append, because
  /// its entries are sure to keep their revisions. Entries of a later batch may lose theirs to another node.
  private var isTurnReserved = false

  /// The batch that new entries join. It is not in `closed`, so that a single batch, the usual case, is not moved.
  private var last = Work()
  /// The batches before `last`, oldest first.
  private var closed: [Work] = []
  private(set) var refusal: JournalError?
  /// The number of times that accepted entries were withdrawn.
  private(set) var withdrawalCount = 0

  init(_ limits: LogLimits) {
    appendByteLimit = limits.appendByteCount
    batchByteLimit = min(16 << 20, appendByteLimit)
  }

  /// Adds an entry to a batch.
  /// - Parameters:
  ///   - withdrawalCount: the queue's ``withdrawalCount`` when the state before this entry was accepted.
  ///   - publish: called with the batch's number of events when the batch is durable, if this entry is its last.
  /// - Returns: the batch, and whether the caller leads it.
  /// - Throws: ``JournalError`` if commits are refused, or if the state that the entry follows was withdrawn.
  mutating func enter(
    _ entry: SealedEntry, eventCount: Int, blobs: Set<Blob>, after withdrawalCount: Int,
    publish: @escaping @Sendable (_ eventCount: Int) -> Void
  ) throws(JournalError) -> (CommitBatch, leads: Bool) {
    if let refusal { throw refusal }
    if withdrawalCount != self.withdrawalCount { throw .nothingWritten(nil) }
    let limit = isTurnReserved ? appendByteLimit : batchByteLimit
    if !last.entries.isEmpty, last.byteCount + entry.bytes.count > limit {
      closed.append(last)
      last = Work()
    }
    let leads = last.entries.isEmpty
    if leads { last.batch.begin() }
    last.entries.append(entry)
    last.eventCount += eventCount
    last.byteCount += entry.bytes.count
    if !blobs.isEmpty { last.blobs.formUnion(blobs) }
    last.publish = publish
    return (last.batch, leads)
  }

  /// Removes and returns the oldest batch, for its leader, together with the next batch.
  mutating func takeFirst() -> (Work, next: CommitBatch) {
    isTurnReserved = false
    if !closed.isEmpty { return (closed.removeFirst(), firstBatch) }
    let work = last
    last = Work()
    return (work, last.batch)
  }

  var isEmpty: Bool { closed.isEmpty && last.entries.isEmpty }

  var firstBatch: CommitBatch { closed.first?.batch ?? last.batch }

  var firstRevision: Revision? { (closed.first ?? last).entries.first?.revision }

  /// Withdraws all accepted entries, because they build on entries that could not be written.
  mutating func withdraw(because failure: CommitFailure) -> Withdrawal {
    let works = (closed + [last]).filter { !$0.entries.isEmpty }
    closed = []
    last = Work()
    isTurnReserved = failure.isTurnReserved
    withdrawalCount += 1
    let endsCommits = failure.consequence == .noMoreCommits && refusal?.code != .poisoned
    if endsCommits { refusal = .poisoned(failure.later) }
    return Withdrawal(
      batches: works.map(\.batch), entryCount: works.reduce(0) { $0 + $1.entries.count }, next: last.batch,
      endsCommits: endsCommits)
  }

  /// Refuses further commits. Accepted entries are still written.
  mutating func refuse(_ error: JournalError) {
    if refusal == nil { refusal = error }
  }
}
