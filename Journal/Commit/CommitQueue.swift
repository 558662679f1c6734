/// The accepted entries that are not yet written, in batches.
///
/// 1. There is always a last batch, which new entries join; the batches before it were closed because they are large.
/// 2. The first commit in a batch leads it, or has it led by another thread.
///
/// Guarded by the committer's lock `queue`.
struct CommitQueue: Sendable {
  /// The work of one flush.
  struct Work: Sendable {
    let batch = CommitBatch()
    /// The entries so far, in order.
    var entries: [SealedEntry] = []
    /// How many events they have.
    var eventCount = 0
    /// How many bytes they have.
    var byteCount = 0
    /// The blobs that they name, which must be durable first.
    var blobs: Set<Blob> = []
    /// Shows readers the state after the newest of them.
    var publish: @Sendable (_ eventCount: Int) -> Void = { _ in }
  }

  /// The most bytes of a batch, unless a single entry has more. It bounds the memory of a batch.
  private let batchByteLimit: Int
  /// The most bytes of an append.
  private let appendByteLimit: Int
  /// Whether the turn to append is reserved for the next batch. That batch may then be as large as an append, because
  /// only its entries can't lose their revisions.
  private var isTurnReserved = false

  /// The batch that new entries join. Not in the array: with one batch, as nearly always, nothing is moved in memory.
  private var last = Work()
  /// The batches before it, the oldest first.
  private var closed: [Work] = []
  /// Why further commits are refused.
  var refusal: JournalError?
  /// How often accepted entries were withdrawn.
  private(set) var withdrawalCount = 0

  /// - Parameter limits: the limits of the log.
  init(_ limits: LogLimits) {
    appendByteLimit = limits.appendByteCount
    batchByteLimit = min(16 << 20, appendByteLimit)
  }

  /// Adds an entry to a batch.
  /// - Parameter publish: called when the batch is durable, with its number of events, if no other entry follows in it.
  /// - Returns: the batch, and whether the caller leads it.
  mutating func enter(
    _ entry: SealedEntry, eventCount: Int, blobs: Set<Blob>,
    publish: @escaping @Sendable (_ eventCount: Int) -> Void
  ) -> (CommitBatch, leads: Bool) {
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

  /// Whether no entry waits to be written.
  var isEmpty: Bool { closed.isEmpty && last.entries.isEmpty }

  private var firstBatch: CommitBatch { closed.first?.batch ?? last.batch }

  /// The revision of the oldest entry.
  var firstRevision: Revision? { (closed.first ?? last).entries.first?.revision }

  /// The batches with entries that are not being written.
  var batches: [CommitBatch] { (closed + [last]).filter { !$0.entries.isEmpty }.map(\.batch) }

  /// Withdraws everything accepted, because it builds on entries that could not be written.
  /// - Parameter isTurnReserved: whether the next append has its turn at a shared log.
  mutating func withdraw(isTurnReserved: Bool) -> (batches: [CommitBatch], next: CommitBatch) {
    let batches = batches
    closed = []
    last = Work()
    self.isTurnReserved = isTurnReserved
    withdrawalCount += 1
    return (batches, last.batch)
  }

  /// Lets the very first leader write.
  func start() { firstBatch.giveTurn() }
}
