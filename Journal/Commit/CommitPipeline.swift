public import Foundation

/// Commits of one caller, one after the other, for imports: while the drive stores entries, the next body runs.
///
/// ```swift
/// try journal.withPipeline { pipeline in
///   for part in parts {
///     try pipeline.commit(by: "import") { for item in part { try $0.addItem(kind: "find", attributes: item) } }
///   }
/// }
/// // Now all of them are durable.
/// ```
///
/// 1. Each body sees the changes of earlier bodies, which may not be durable yet. Readers see only durable entries.
/// 2. Entries are stored in the order of their commits, and a flush stores one or more of them.
/// 3. If an entry can't be stored, no later entry is stored, and the pipeline ends. So the stored entries of a pipeline
///    are always its first ones.
/// 4. A commit waits while more than two flushes of the pipeline are outstanding, which bounds the memory.
///
/// `Journal.withPipeline` passes a pipeline to its closure. The pipeline can't leave the closure.
public struct CommitPipeline<State: EventSourced>: ~Copyable {
  @usableFromInline let committer: Committer<State>
  @usableFromInline var progress: CommitProgress

  /// - Parameter waits: whether each commit returns only when its entry is durable.
  @usableFromInline
  init(_ journal: Journal<State>, waits: Bool) throws {
    // Swift 6.3 destroys `progress` before it is set if its value is computed from `self.committer`.
    let committer = try waits ? journal.openCommitter() : journal.writing()
    // In a shared journal, a body may have to run again, but is valid only during the call. So each commit waits there.
    let isPipeline = !waits && !committer.isShared
    self.committer = committer
    progress = CommitProgress(isPipeline: isPipeline)
  }

  /// Runs a body and returns before its entry is durable.
  ///
  /// In a shared journal, where another node may commit first, the call waits until the entry is stored. The parameters
  /// are those of `Journal.commit`.
  /// - Returns: what the body returned, and the revision of its entry, which is not durable before the pipeline ends.
  /// - Throws: what `commit` throws. If the error is about this commit, such as an error of its body, the pipeline
  ///   takes further commits. If an earlier entry could not be stored, this commit and all later ones throw the error
  ///   of that entry.
  @discardableResult
  @inlinable
  public mutating func commit<Value>(
    by author: String = "", note: String = "", metadata: [String: String] = [:], date: Date? = nil,
    expecting: [Expectation] = [], runsOnce: Bool = false, _ body: (inout Draft<State>) throws -> Value
  ) throws -> Commit<Value> {
    var value: Value?
    let request = try CommitRequest(author, note, metadata, date, expecting, runsOnce)
    // The value is kept here, where the compiler knows its type. The committer would look up the type for each commit.
    return try committer.commit(request, in: &progress) { value = try body(&$0) }.with(value)
  }

  /// Runs a body from a task, which suspends while the blocking `commit` would block a thread.
  @discardableResult
  @inlinable
  nonisolated(nonsending) public mutating func commit<Value>(
    by author: String = "", note: String = "", metadata: [String: String] = [:], date: Date? = nil,
    expecting: [Expectation] = [], runsOnce: Bool = false, _ body: (inout Draft<State>) throws -> Value
  ) async throws -> Commit<Value> {
    var value: Value?
    let request = try CommitRequest(author, note, metadata, date, expecting, runsOnce)
    return try await committer.commit(request, in: &progress) { value = try body(&$0) }.with(value)
  }

  /// Waits until everything is durable.
  mutating func finish() throws {
    try committer.checkProcess()
    var step = try progress.finish()
    while case .wait(let batch) = step { step = try progress.ended(batch.wait()) }
  }

  nonisolated(nonsending) mutating func finish() async throws {
    try committer.checkProcess()
    var step = try progress.finish()
    while case .wait(let batch) = step { step = try progress.ended(await batch.wait()) }
  }
}
