import Locks

/// The newest durable version, with the threads and tasks that wait for a newer one.
///
/// Reading holds a lock only to copy a few references, so it never waits for a commit.
final class Published<State: EventSourced>: Sendable {
  private let newest: Lock<Version<State>>
  /// Threads and tasks wait here for a newer version.
  let revision: NewestRevision
  private let ending = Lock(Ending())

  private struct Ending: Sendable {
    var isClosed = false
    var failure: JournalError?
  }

  init(_ version: Version<State>) {
    newest = Lock(version)
    revision = NewestRevision(version.revision)
  }

  var version: Version<State> { newest.withLock { $0 } }

  func publish(_ version: Version<State>) {
    // The old version is released outside of the lock, because freeing its nodes can take a while.
    _ = newest.withLock { newest in
      defer { newest = version }
      return newest
    }
    revision.raise(to: version.revision)
  }

  /// Ends all present and future waits, because the journal was closed.
  func close() {
    ending.withLock { $0.isClosed = true }
    revision.close()
  }

  /// Ends all present and future waits, because newer entries can't be read. The published version can still be read.
  func end(because failure: JournalError) {
    ending.withLock { $0.failure = failure }
    revision.close()
  }

  var isClosed: Bool { ending.withLock { $0.isClosed } }

  /// Why waits ended before the journal was closed; nil if they did not.
  var failure: JournalError? { ending.withLock { $0.failure } }
}
