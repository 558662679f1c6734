import Locks

extension Journal {
  /// Starts a thread that applies the commits of other nodes until the journal is closed.
  func applyFetchedAsItComes() throws(JournalError) {
    guard let node, let committer = try? writing() else { return }
    let seen = Lock<Revision>(0)
    try published.follow("the shared log", options, TimedSemaphore(value: 0)) { () throws(JournalError) in
      guard let newest = node.fetched.wait(after: seen.withLock { $0 }, atMost: .seconds(60)) else {
        throw JournalError.closed()
      }
      do { try committer.applyFetched() } catch {
        throw error as? JournalError
          ?? JournalError(.io, "the commits of other nodes can't be applied", cause: error)
      }
      seen.withLock { $0 = newest }
    }
  }

  /// Why commits of other nodes are no longer fetched; nil if they are fetched.
  package var nodeFailure: JournalError? { node?.followingFailure }

  /// Fetches the commits of other nodes, and returns when ``state`` shows them.
  func fetchShared() throws {
    guard let node else { return }
    try node.fetchAll()
    try writing().applyFetched()
  }
}
