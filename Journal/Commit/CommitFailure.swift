/// Why a batch could not be stored, and what follows for its commits and for the commits that build on them.
package struct CommitFailure: Sendable {
  enum Consequence: Sendable {
    /// The bodies run again: another node has taken the revisions.
    case bodiesRunAgain
    /// The next body starts from the durable state.
    case commitsContinue
    /// No more commits are taken until the journal is opened again.
    case noMoreCommits
  }

  /// The error of commits whose entries are in the batch.
  let error: JournalError
  /// The error of later commits, which build on the batch. Nothing of these later commits was written.
  let later: JournalError
  let consequence: Consequence
  /// Whether the next append to the shared log is reserved for this node, so that no other node can come first again.
  package var isTurnReserved = false

  /// The failure of a later batch, which was not tried because it builds on the batch that failed.
  var ofLaterBatch: CommitFailure { CommitFailure(later, later, consequence) }

  private init(_ error: JournalError, _ later: JournalError, _ consequence: Consequence) {
    self.error = error
    self.later = later
    self.consequence = consequence
  }

  /// - Parameters:
  ///   - first: the revision of the first entry.
  ///   - isShared: whether other nodes append to the log. After most failures of such a log, commits continue.
  package init(_ failure: AppendFailure, first: Revision?, isShared: Bool) {
    let cause = failure.cause
    switch failure {
    case .conflict where isShared:
      let lost = JournalError(.conflict, cause.message, revision: cause.revision)
      self.init(lost, lost, .bodiesRunAgain)
    case .conflict:
      let conflict = JournalError(
        .conflict,
        "another writer has appended to the log, and nothing was written; close the journal and open it again",
        revision: cause.revision)
      self.init(conflict, .poisoned(cause), .noMoreCommits)
    case .refused where isShared ? cause.code != .poisoned : cause.code == .outOfResources:
      let refusal = cause.code == .outOfResources ? JournalError.nothingWritten(cause) : cause
      self.init(refusal, refusal, .commitsContinue)
    case .refused:
      self.init(.poisoned(cause), .poisoned(cause), .noMoreCommits)
    case .unknown where isShared && [.unreachable, .diverged].contains(cause.code):
      let unknown = JournalError(
        .outcomeUnknown,
        "the server did not confirm the commit, which is wholly there or wholly absent; once the server can be "
          + "reached, catchUp() or journal join fetches it if it is there", revision: first, cause: cause)
      self.init(unknown, cause, .commitsContinue)
    case .unknown:
      let unknown = JournalError(
        .outcomeUnknown,
        "writing failed: the commit is wholly there or wholly absent; close the journal and open it again: the commit is "
          + "there if the journal then has this revision", revision: first, cause: cause)
      self.init(unknown, .poisoned(cause), .noMoreCommits)
    }
  }
}

extension JournalError {
  /// The error of commits after a failed write.
  static func poisoned(_ cause: (any Error)?) -> JournalError {
    if let cause = cause as? JournalError, cause.code == .poisoned { return cause }
    return JournalError(
      .poisoned, "an earlier write failed, so the journal takes no more commits; close it and open it again",
      cause: cause)
  }

  /// The error of commits that were not written because of a shortage.
  static func nothingWritten(_ cause: JournalError?) -> JournalError {
    JournalError(
      .outOfResources,
      "the system lacked a resource that the commit needed; nothing was written, so try again", cause: cause)
  }

  /// The error for one commit of a batch. If the outcome is unknown, it has the revision of that commit's entry.
  func ofCommit(_ revision: Revision) -> JournalError {
    guard code == .outcomeUnknown else { return self }
    return JournalError(code, message, revision: revision, path: path, offset: offset, cause: cause)
  }
}
