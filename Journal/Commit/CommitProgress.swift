/// Decides what one caller does next: run a body, wait for a batch, or return.
///
/// A caller of `Journal.commit` waits for its own batch, and runs the body again if another node has taken the
/// revision. A pipeline returns before its entries are durable, waits while more than two of its batches are
/// outstanding, and ends at the first batch that fails.
///
/// A value without side effects: the ``Committer`` carries out each step and reports its outcome.
@usableFromInline
struct CommitProgress {
  enum Step {
    /// Run the body under the write lock. Then call ``ran(_:)`` or ``refused(because:)``.
    case run
    /// Wait for a batch. Then call ``ended(_:)``.
    case wait(CommitBatch)
    /// Return the result of the commit.
    case end(PreparedCommit)
  }

  /// Entries were withdrawn since the pipeline's newest commit, perhaps entries of the pipeline.
  struct EarlierCommitIsWithdrawn: Error {}

  /// The most outstanding batches of a pipeline: one is written while the other one fills.
  private static let batchLimit = 2
  /// The most runs of a body. After losing its revision, a body gets a reserved turn, so it loses again only if it is
  /// slow or the append fails.
  private static let runLimit = 8

  let isPipeline: Bool

  // The state of a pipeline.

  /// The batches that may not be durable yet, oldest first. `first` is the pipeline's first revision in the batch; nil
  /// if the pipeline has no entry in the batch, and its bodies have only read what entries of other callers changed.
  private var batches: [(batch: CommitBatch, first: Revision?)] = []
  /// The number of batches that may be outstanding when the next body runs.
  private var limit = batchLimit
  /// Why the pipeline has ended; nil while it takes commits.
  private var failure: JournalError?
  /// The error of a refused commit. It is thrown once all earlier batches are durable, unless one of them fails.
  private var refusal: (any Error)?
  /// The queue's withdrawal count when the newest commit was accepted; nil if all earlier commits are durable.
  private(set) var withdrawalCount: Int?

  // The state of the commit in progress.

  /// The result to return when its batch is durable; nil if the caller waits for no batch of its own.
  private var prepared: PreparedCommit?
  private var runsOnce = false
  private var runCount = 0
  /// Whether the entry has lost its revision to another node, and the body has not run again since.
  var hasLost = false

  init(isPipeline: Bool) { self.isPipeline = isPipeline }

  mutating func begin(runsOnce: Bool) throws -> Step {
    (self.runsOnce, runCount) = (runsOnce, 0)
    return try next()
  }

  /// Begins the end of the pipeline. At the step `run`, all its batches are durable.
  mutating func finish() throws -> Step {
    limit = 0
    return try next()
  }

  private mutating func next() throws -> Step {
    if let failure { throw failure }
    if batches.count > limit { return .wait(batches[0].batch) }
    if batches.isEmpty { withdrawalCount = nil }
    if let refusal {
      self.refusal = nil
      throw refusal
    }
    limit = Self.batchLimit
    return .run
  }

  mutating func ran(_ prepared: PreparedCommit) -> Step {
    guard let batch = prepared.batch else { return .end(prepared) }
    guard isPipeline, case .success = prepared.outcome else {
      self.prepared = prepared
      return .wait(batch)
    }
    withdrawalCount = prepared.withdrawalCount
    if let last = batches.last, last.batch === batch {
      if last.first == nil { batches[batches.count - 1].first = prepared.ownRevision }
    } else {
      batches.append((batch, prepared.ownRevision))
    }
    return .end(prepared)
  }

  /// Decides the next step if the body did not run, or its entry was not accepted.
  mutating func refused(because error: any Error) throws -> Step {
    guard isPipeline else { throw error }
    // Wait for earlier batches first: if one with an entry of this pipeline failed, its error says more.
    if (error as? JournalError)?.code == .poisoned {
      refusal = error
    } else if !(error is EarlierCommitIsWithdrawn) {
      throw error
    }
    limit = 0
    return try next()
  }

  /// Decides the next step after the wait for a batch.
  /// - Parameter failure: nil if the batch is durable.
  mutating func ended(_ failure: CommitFailure?) throws -> Step {
    if let prepared {
      self.prepared = nil
      guard let failure else { return .end(prepared) }
      // Wait for earlier batches first: if one with an entry of this pipeline failed, its error says more.
      if isPipeline { return try refused(because: failure.later) }
      return try again(after: failure, of: prepared)
    }
    let (_, first) = batches.removeFirst()
    if let failure { self.failure = Self.error(failure, first) }
    return try next()
  }

  private mutating func again(after failure: CommitFailure, of prepared: PreparedCommit) throws -> Step {
    guard failure.consequence == .bodiesRunAgain else {
      throw prepared.ownRevision.map { failure.error.ofCommit($0) } ?? failure.later
    }
    hasLost = prepared.ownRevision != nil
    runCount += 1
    if !runsOnce, runCount < Self.runLimit { return .run }
    throw JournalError(
      .conflict,
      runsOnce
        ? "another node has committed meanwhile, and this commit must not run twice; nothing of it was written"
        : "other nodes committed first \(runCount) times; nothing was written, so try again",
      revision: failure.error.revision)
  }

  /// - Parameter first: the revision of the pipeline's first entry in the batch that failed.
  private static func error(_ failure: CommitFailure, _ first: Revision?) -> JournalError {
    guard let first else { return failure.later }
    if failure.error.code == .outcomeUnknown { return failure.error.ofCommit(first) }
    return JournalError(
      failure.error.code, "the commits of a pipeline from revision \(first) on were not stored",
      revision: first, cause: failure.error)
  }
}

/// The result of a body.
///
/// The type is not generic. The engine's code is not specialized for an app's state, so types that are generic over the
/// state are looked up at run time. When this type and the queue were generic, the lookups took a sixth of the time of
/// a commit of one event.
struct PreparedCommit {
  let outcome: Result<Commit<Void>, any Error>
  /// The batch that must be durable before the outcome is reported; nil if the outcome can be reported now.
  let batch: CommitBatch?
  /// Whether the caller must lead the batch.
  var leads = false
  /// The queue's withdrawal count when the commit was accepted.
  let withdrawalCount: Int
  /// The previous version. The caller releases it without the write lock, because freeing the nodes that no other
  /// version shares takes a tenth of the time of a small commit.
  var base: AnyObject?

  /// The revision of the entry that the body made; nil if it made none.
  var ownRevision: Revision? {
    if case .success(let commit) = outcome, !commit.isEmpty { commit.revision } else { nil }
  }
}
