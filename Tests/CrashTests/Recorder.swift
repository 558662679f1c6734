import Files
import Journaling
import LevelDB
import Locks

/// All operations that changed the disk, in order, and when each commit was acknowledged.
struct Trace: Sendable {
  struct Acknowledgement: Sendable {
    /// How many operations there had been when the commit returned.
    var position: Int
    var revision: Revision
  }

  var operations: [FileOperation] = []
  /// How many operations there had been when `create` returned, or nil if it did not return.
  var creation: Int?
  var acknowledgements: [Acknowledgement] = []

  /// The newest revision that was acknowledged before the operation after the first `count` began.
  func acknowledged(after count: Int) -> Revision {
    acknowledgements.reduce(0) { $1.position <= count ? max($0, $1.revision) : $0 }
  }
}

/// Records a trace through the hook of a journal.
final class Recorder: Sendable {
  private let state = Lock(Trace())

  var trace: Trace { state.withLock { $0 } }

  var hook: FileHook {
    { [self] operation in
      state.withLock { $0.operations.append(operation) }
      return .proceed
    }
  }

  func didCreate() { state.withLock { $0.creation = $0.operations.count } }

  func acknowledge(_ revision: Revision) {
    state.withLock { trace in
      trace.acknowledgements.append(
        Trace.Acknowledgement(position: trace.operations.count, revision: revision))
    }
  }
}
