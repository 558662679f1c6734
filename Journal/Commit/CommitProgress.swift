/// Decides what one caller does next: run a body, wait for a batch, or return.
///
/// A caller of `Journal.commit` waits for its own batch, and runs the body again if another node has taken the revision. A
/// pipeline returns before its entries are durable, waits while more than two of its batches are outstanding, and ends at the
/// first batch that failed.
///
/// A value that does nothing: the ``Committer`` runs and waits, and tells it the outcome.
@usableFromInline
struct CommitProgress {
  enum Step {
    /// Run the body under the write lock. Then comes ``ran(_:)`` or ``refused(because:)``.
    case run
    /// Wait for a batch. Then comes ``ended(_:)``.
    case wait(CommitBatch)
    /// Return.
    case end(PreparedCommit)
  }

  /// Entries were withdrawn, perhaps some that a commit of a pipeline builds on.
  struct EarlierCommitIsWithdrawn: Error {}

  /// A pipeline's outstanding batches: one that is written, and one that fills meanwhile.
  private static let batchLimit = 2
  /// A body that has lost gets a reserved turn, so only failures and slow bodies make it lose again.
  private static let runLimit = 8

  let isPipeline: Bool

  // Of the pipeline.

  /// The batches that may not be durable yet, in order, and the revision of the pipeline's first entry in each. It is nil
  /// if bodies without an entry have only seen entries of others.
  private var batches: [(batch: CommitBatch, first: Revision?)] = []
  /// How many of them may be outstanding before the next step.
  private var limit = batchLimit
  /// Why the pipeline has ended.
  private var failure: JournalError?
  /// Why a commit was refused, unless an earlier entry has failed.
  private var refusal: (any Error)?
  /// How often entries had been withdrawn when the newest commit was accepted; nil if everything before is durable.
  private(set) var withdrawalCount: Int?

  // Of the commit in progress.

  /// What is returned when its batch is durable.
  private var prepared: PreparedCommit?
  private var runsOnce = false
  private var runCount = 0
  /// Whether its entry has lost its revision to another node, and the body has not run again.
  var hasLost = false

  init(isPipeline: Bool) { self.isPipeline = isPipeline }

  mutating func begin(runsOnce: Bool) throws -> Step {
    (self.runsOnce, runCount) = (runsOnce, 0)
    return try next()
  }

  /// Begins the end of the pipeline: everything must be durable. It ends at the step `run`.
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

  /// The body did not run, or its entry was not accepted.
  mutating func refused(because error: any Error) throws -> Step {
    guard isPipeline else { throw error }
    // If an entry of the pipeline was the first that failed, its error says more.
    if (error as? JournalError)?.code == .poisoned {
      refusal = error
    } else if !(error is EarlierCommitIsWithdrawn) {
      throw error
    }
    limit = 0
    return try next()
  }

  /// The batch of the step before is durable, or has failed.
  mutating func ended(_ failure: CommitFailure?) throws -> Step {
    if let prepared {
      self.prepared = nil
      guard let failure else { return .end(prepared) }
      // If an entry of the pipeline was the first that failed, its error says more.
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
/// The type does not depend on the state. This code can't be specialized for an app's types, so each type that depends on
/// them is looked up at run time. With such types here and in the queue, these lookups took a sixth of the time of a
/// commit of one event.
struct PreparedCommit {
  let outcome: Result<Commit<Void>, any Error>
  /// The batch that must be durable before the outcome is reported; nil if it is durable.
  let batch: CommitBatch?
  /// Whether the caller must have the batch written.
  var leads = false
  /// How often entries had been withdrawn when it was accepted.
  let withdrawalCount: Int
  /// The version before. The caller releases it without the write lock, because freeing what only it has takes a tenth
  /// of the time of a small commit.
  var base: AnyObject?

  /// The revision of the entry that the body made, if it made one.
  var ownRevision: Revision? {
    if case .success(let commit) = outcome, !commit.isEmpty { commit.revision } else { nil }
  }
}
