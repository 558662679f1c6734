import Dispatch
import Journaling

/// Decides when a node reserves the turn to append to the shared log, and how long it then waits before it appends.
///
/// When another node has taken the revisions of a batch, the turn is reserved: no other node can append before this
/// one, so its next append can't conflict. That append waits until all bodies that have to run again have run. As long
/// as batches lose their revisions, the turn is reserved before each append.
///
/// A value that only decides: ``SharedCommits`` reserves, waits and releases.
struct AppendTurn: Sendable {
  enum Step: Equatable {
    case append
    /// Wait until ``bodiesHaveRun``, or until a time, and then append the batch.
    case awaitBodies(until: DispatchTime)
    /// Reserve the turn; then ask ``loses(_:to:)``.
    case reserve
  }

  /// The time for which an unused turn is kept. A server releases it after five seconds.
  private static let limit = DispatchTimeInterval.seconds(4)

  /// Whether the last batch lost, or would have lost, its revisions to another node.
  private(set) var isContended = false
  /// The end of the wait for bodies; nil if the turn is not reserved for the next append.
  private var reservedUntil: DispatchTime?
  /// The number of entries that have lost their revisions, and whose bodies have to run again.
  private var lostCount = 0

  /// Whether no body still has to run again.
  var bodiesHaveRun: Bool { lostCount == 0 }

  /// Decides what to do before an append.
  /// - Parameter canRunAgain: whether the bodies of the batch can run again, if the batch loses its revisions.
  mutating func begin(canRunAgain: Bool) -> Step {
    if let time = reservedUntil {
      reservedUntil = nil
      return .awaitBodies(until: time)
    }
    return isContended && canRunAgain ? .reserve : .append
  }

  /// Called after the turn was reserved for a batch. If the batch has kept its revisions, the log no longer counts as
  /// contended.
  /// - Returns: whether another node has taken the first revision of the batch.
  mutating func loses(_ first: Revision, to newest: Revision) -> Bool {
    isContended = first <= newest
    return isContended
  }

  /// Called when bodies have to run again.
  /// - Parameters:
  ///   - count: the number of entries of these bodies.
  ///   - isReserved: whether the turn could be reserved for them.
  mutating func lost(_ count: Int, isReserved: Bool, now: DispatchTime = .now()) {
    isContended = true
    lostCount += count
    reservedUntil = isReserved ? now + Self.limit : nil
  }

  /// Called when the wait for bodies ends, because they have run or the time has passed. Later turns do not wait for
  /// the bodies that have not run by then.
  mutating func endWait() { lostCount = 0 }

  /// Called when a body that had to run again has run, or will not run.
  /// - Returns: whether the turn must be released, because it was reserved and there is nothing to append.
  mutating func hasRunAgain(isQueueEmpty: Bool) -> Bool {
    // The body may belong to an earlier turn, whose wait ended before it had run.
    lostCount = max(0, lostCount - 1)
    guard bodiesHaveRun, reservedUntil != nil, isQueueEmpty else { return false }
    reservedUntil = nil
    return true
  }
}
