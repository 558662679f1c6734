public import Foundation

/// Commits of one caller, one after the other, for imports: while the drive stores entries, the next body runs.
///
/// ```swift
/// try journal.withPipeline { pipeline in
///   for part in parts {
///     try pipeline.commit(by: "import") { draft in for item in part { try draft.addItem(kind: "find", attributes: item) } }
///   }
/// }
/// // Now all of them are durable.
/// ```
///
/// 1. Each body sees the changes of the bodies before it, although they may not be durable yet. Readers see only durable
///    entries.
/// 2. Entries are stored in the order of their commits, and a flush stores one or more of them.
/// 3. If an entry can't be stored, none of the later ones is, and the pipeline ends. So the stored entries of a pipeline
///    are always its first ones.
/// 4. A commit waits while more than two flushes of the pipeline are outstanding, which bounds the memory.
///
/// `Journal.withPipeline` makes one. It can't leave the closure.
public struct CommitPipeline<State: EventSourced>: ~Copyable {
  private let committer: Committer<State>
  private var progress = PipelineProgress()

  init(_ committer: Committer<State>) { self.committer = committer }

  /// Runs a body and returns before its entry is durable.
  ///
  /// In a shared journal, where another node may commit first, it waits until the entry is stored.
  /// The parameters are those of `Journal.commit`.
  /// - Returns: what the body returned, and the revision of its entry. Neither is durable before the pipeline has ended.
  /// - Throws: what `commit` throws. If the error is about this commit, for example because its body has thrown, the
  ///   pipeline takes further ones. If an earlier entry could not be stored, this commit and all later ones throw
  ///   the error of that entry.
  @discardableResult
  @inlinable
  public mutating func commit<Value>(
    by author: String = "", note: String = "", metadata: [String: String] = [:], date: Date? = nil,
    expecting: [Expectation] = [], runsOnce: Bool = false, _ body: (inout Draft<State>) throws -> Value
  ) throws -> Commit<Value> {
    var value: Value?
    let commit = try commitChanges(author, note, metadata, date, expecting, runsOnce) { draft in
      value = try body(&draft)
    }
    return commit.with(value)
  }

  /// The same in a task: suspends where the blocking method blocks.
  @discardableResult
  @inlinable
  nonisolated(nonsending) public mutating func commit<Value>(
    by author: String = "", note: String = "", metadata: [String: String] = [:], date: Date? = nil,
    expecting: [Expectation] = [], runsOnce: Bool = false, _ body: (inout Draft<State>) throws -> Value
  ) async throws -> Commit<Value> {
    var value: Value?
    let commit = try await commitChanges(author, note, metadata, date, expecting, runsOnce) { draft in
      value = try body(&draft)
    }
    return commit.with(value)
  }

  @usableFromInline
  mutating func commitChanges(
    _ author: String, _ note: String, _ metadata: [String: String], _ date: Date?,
    _ expecting: [Expectation], _ runsOnce: Bool, _ body: (inout Draft<State>) throws -> Void
  ) throws -> Commit<Void> {
    try committer.checkProcess()
    let request = try CommitRequest(author, note, metadata, date, expecting, runsOnce)
    return try committer.commit(request, in: &progress, body)
  }

  @usableFromInline
  nonisolated(nonsending) mutating func commitChanges(
    _ author: String, _ note: String, _ metadata: [String: String], _ date: Date?,
    _ expecting: [Expectation], _ runsOnce: Bool, _ body: (inout Draft<State>) throws -> Void
  ) async throws -> Commit<Void> {
    try committer.checkProcess()
    let request = try CommitRequest(author, note, metadata, date, expecting, runsOnce)
    return try await committer.commit(request, in: &progress, body)
  }

  /// Waits until everything is durable.
  mutating func finish() throws(JournalError) {
    try committer.checkProcess()
    try progress.wait(downTo: 0)
  }

  nonisolated(nonsending) mutating func finish() async throws {
    try committer.checkProcess()
    try await progress.wait(downTo: 0)
  }
}

/// The batches that a pipeline waits for.
struct PipelineProgress: Sendable {
  /// One that is written, and one that fills meanwhile.
  static let limit = 2

  /// The batches that may not be durable yet, in order, and the revision of the pipeline's first entry in each. It is nil
  /// if bodies without an entry have only seen entries of others.
  private var batches: [(batch: CommitBatch, first: Revision?)] = []
  /// Why the pipeline has ended.
  private var failure: JournalError?
  /// How often entries had been withdrawn when the newest commit was accepted; nil if everything before is durable.
  private(set) var withdrawalCount: Int?

  /// Notes a commit that was accepted.
  /// - Parameter revision: that of its entry; nil if it made none.
  mutating func append(_ batch: CommitBatch, revision: Revision?, withdrawalCount: Int) {
    self.withdrawalCount = withdrawalCount
    guard let last = batches.last, last.batch === batch else { return batches.append((batch, revision)) }
    if last.first == nil { batches[batches.count - 1].first = revision }
  }

  /// Waits until at most `count` batches are left.
  /// - Throws: ``JournalError`` if one of the others failed. The pipeline has then ended.
  mutating func wait(downTo count: Int) throws(JournalError) {
    if let failure { throw failure }
    while batches.count > count {
      let (batch, first) = batches.removeFirst()
      do throws(JournalError) { try batch.wait() } catch { throw fail(error, first) }
    }
    if batches.isEmpty { withdrawalCount = nil }
  }

  nonisolated(nonsending) mutating func wait(downTo count: Int) async throws {
    if let failure { throw failure }
    while batches.count > count {
      let (batch, first) = batches.removeFirst()
      do { try await batch.wait() } catch let error as JournalError { throw fail(error, first) }
    }
    if batches.isEmpty { withdrawalCount = nil }
  }

  private mutating func fail(_ error: JournalError, _ first: Revision?) -> JournalError {
    let failure =
      switch (error.code, first) {
      case (.outcomeUnknown, let first?): error.ofCommit(first)
      case (.outcomeUnknown, nil): JournalError.poisoned(error.cause)
      case (_, let first?):
        JournalError(
          error.code, "the commits of a pipeline from revision \(first) on were not stored", revision: first,
          cause: error)
      case (_, nil): error
      }
    self.failure = failure
    return failure
  }
}
