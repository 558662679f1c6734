/// A commit whose body has run and whose flush may still be in progress.
package struct PendingCommit<Value> {
  /// The result of the body, which is not durable yet.
  package let commit: Commit<Value>
  let batch: CommitBatch?

  /// Blocks until this entry and all before it are durable.
  /// - Throws: ``JournalError`` if that failed, with the code that a commit would throw, such as `outcomeUnknown`.
  package func wait() throws(JournalError) { try batch?.wait() }
}
