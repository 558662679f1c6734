/// A commit whose body has run and whose flush may still be in progress.
package struct PendingCommit<Value> {
  /// The result of the body, which is not durable yet.
  package let commit: Commit<Value>
  private let batch: CommitBatch?

  init(commit: Commit<Value>, batch: CommitBatch?) {
    self.commit = commit
    self.batch = batch
  }

  /// Blocks until the entry is durable, and all before it are.
  /// - Throws: ``JournalError`` with code `outcomeUnknown` if that failed.
  package func wait() throws(JournalError) { try batch?.wait() }
}
