/// Decides about accepted entries that are not yet written: which batch they join, who leads it, and what is withdrawn.
///
/// 1. There is always a last batch, which new entries join; the batches before it were closed because they are large.
/// 2. The first commit in a batch leads it, or has it led by another thread.
/// 3. If a batch fails, all entries accepted since are withdrawn, because they build on its entries.
///
/// A value that does nothing: ``BatchWriter`` writes and wakes what this returns.
package struct CommitQueue: Sendable {
  package struct Work: Sendable {
    let batch = CommitBatch()
    package var entries: [SealedEntry] = []
    var eventCount = 0
    var byteCount = 0
    /// The blobs that they name, which must be durable first.
    package var blobs: Set<Blob> = []
    /// Shows readers the state after the newest of them.
    var publish: @Sendable (_ eventCount: Int) -> Void = { _ in }

    /// Shows readers what is durable now, and wakes the callers.
    package func end() {
      publish(eventCount)
      batch.finish(nil)
    }
  }

  struct Withdrawal {
    /// The batches with entries that were not tried, in order.
    let batches: [CommitBatch]
    let entryCount: Int
    /// The batch that new entries join, and that can be led now.
    let next: CommitBatch
    /// Whether commits are refused from now on, and were not before.
    let endsCommits: Bool
  }

  /// The most bytes of a batch, unless a single entry has more. It bounds the memory of a batch.
  private let batchByteLimit: Int
  private let appendByteLimit: Int
  /// Whether the turn to append is reserved for the next batch. That batch may then be as large as an append: its
  /// entries keep their revisions, and those of a later batch may lose them.
  private var isTurnReserved = false

  /// The batch that new entries join. Not in the array: with one batch, as nearly always, nothing is moved in memory.
  private var last = Work()
  /// The batches before it, the oldest first.
  private var closed: [Work] = []
  private(set) var refusal: JournalError?
  /// How often accepted entries were withdrawn.
  private(set) var withdrawalCount = 0

  init(_ limits: LogLimits) {
    appendByteLimit = limits.appendByteCount
    batchByteLimit = min(16 << 20, appendByteLimit)
  }

  /// Adds an entry to a batch.
  /// - Parameters:
  ///   - withdrawalCount: how often entries had been withdrawn when the state was accepted that this entry follows.
  ///   - publish: called when the batch is durable, with its number of events, if no other entry follows in it.
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

  /// Takes the oldest batch for its leader, and returns the one after it.
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

  /// Withdraws everything accepted, because it builds on entries that could not be written.
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
