/// The entries that are accepted and not yet written, in batches.
///
/// 1. There is always a last batch, which takes what comes; those before it were closed because they are large.
/// 2. The first commit to enter a batch leads it.
///
/// Guarded by the committer's lock.
struct CommitQueue<State: EventSourced>: Sendable {
  /// What one flush makes durable.
  struct Work: Sendable {
    let batch = CommitBatch()
    /// The entries so far, in order.
    var entries: [SealedEntry] = []
    /// What the newest of them makes.
    var newest: Version<State>?
    /// How many events they have.
    var eventCount = 0
    /// How many bytes they have.
    var byteCount = 0
    /// The blobs that they name, which must be durable first.
    var blobs: Set<Blob> = []
  }

  /// How many bytes a batch takes, but for an entry that has more by itself. It bounds the memory of a batch.
  private let batchByteLimit: Int
  /// How many bytes an append takes.
  private let appendByteLimit: Int
  /// Whether the turn to append is reserved for the next batch, which then takes all that an append does: only what is in
  /// it can't lose.
  private var isTurnReserved = false

  private var waiting = [Work()]
  /// Why there can be no more commits.
  var refusal: JournalError?
  /// How many times entries that had been accepted were taken back.
  private(set) var takenBackCount = 0

  /// - Parameter limits: those of the log.
  init(_ limits: LogLimits) {
    appendByteLimit = limits.appendByteCount
    batchByteLimit = min(16 << 20, appendByteLimit)
  }

  /// Lets an entry into a batch.
  /// - Returns: the batch, and whether the caller leads it.
  mutating func enter(
    _ entry: SealedEntry, _ version: Version<State>, eventCount: Int, blobs: Set<Blob>
  ) -> (CommitBatch, leads: Bool) {
    let limit = isTurnReserved ? appendByteLimit : batchByteLimit
    if !last.entries.isEmpty, last.byteCount + entry.bytes.count > limit {
      waiting.append(Work())
    }
    let leads = last.entries.isEmpty
    if leads { last.batch.begin() }
    last.entries.append(entry)
    last.newest = version
    last.eventCount += eventCount
    last.byteCount += entry.bytes.count
    last.blobs.formUnion(blobs)
    return (last.batch, leads)
  }

  /// Gives the oldest batch to its leader, and the one after it, which is next.
  mutating func takeFirst() -> (Work, next: CommitBatch) {
    isTurnReserved = false
    let work = waiting.removeFirst()
    if waiting.isEmpty { waiting.append(Work()) }
    return (work, waiting[0].batch)
  }

  /// The batches that have entries and are not being written.
  var batches: [CommitBatch] { waiting.filter { !$0.entries.isEmpty }.map(\.batch) }

  /// Gives up all that is accepted: it rests on what could not be written.
  /// - Parameter isTurnReserved: whether the next append has its turn at a shared log.
  mutating func takeBack(isTurnReserved: Bool) -> (batches: [CommitBatch], next: CommitBatch) {
    let batches = batches
    waiting = [Work()]
    self.isTurnReserved = isTurnReserved
    takenBackCount += 1
    return (batches, waiting[0].batch)
  }

  /// Lets the first leader of all write.
  func start() { waiting[0].batch.giveTurn() }

  private var last: Work {
    get { waiting[waiting.count - 1] }
    _modify { yield &waiting[waiting.count - 1] }
  }
}
