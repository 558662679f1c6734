import Dispatch
import Journaling

/// Decides when a node reserves the turn to append to the shared log, and until when it waits before it uses the turn.
///
/// When another node has taken the revision of a batch, the turn is reserved: no other node can append before
/// this one, so the entries of its next append can't lose. This append waits for all bodies that have to run
/// again. While batches lose, the turn is reserved before each append.
///
/// A value that only decides: ``SharedCommits`` reserves, waits and releases.
struct AppendTurn: Sendable {
  enum Step: Equatable {
    case append
    /// Wait until ``bodiesHaveRun``, or until a time, and append the batch.
    case awaitBodies(until: DispatchTime)
    /// Reserve the turn; then ask ``loses(_:to:)``.
    case reserve
  }

  /// The time for which an unused turn is kept. A server releases it after five seconds.
  private static let limit = DispatchTimeInterval.seconds(4)

  /// Whether the last batch lost, or would have lost, its revisions to another node.
  private(set) var isContended = false
  /// The end of the wait for bodies, if the turn was reserved for the next append.
  private var reservedUntil: DispatchTime?
  /// The entries that have lost their revisions, and wait for their bodies to run again.
  private var lostCount = 0

  /// Whether no body has to run again.
  var bodiesHaveRun: Bool { lostCount == 0 }

  /// Called before each append.
  /// - Parameter canRunAgain: whether the bodies can run again, if they lose.
  mutating func begin(canRunAgain: Bool) -> Step {
    if let time = reservedUntil {
      reservedUntil = nil
      return .awaitBodies(until: time)
    }
    return isContended && canRunAgain ? .reserve : .append
  }

  /// Called after the turn was reserved for a batch. If the batch has not lost its revisions, the log no longer counts as
  /// contended.
  /// - Returns: whether another node has taken the first revision of the batch.
  mutating func loses(_ first: Revision, to newest: Revision) -> Bool {
    isContended = first <= newest
    return isContended
  }

  /// Called when bodies have to run again.
  /// - Parameters:
  ///   - count: the number of their entries.
  ///   - isReserved: whether the turn could be reserved for them.
  mutating func lost(_ count: Int, isReserved: Bool, now: DispatchTime = .now()) {
    isContended = true
    lostCount += count
    reservedUntil = isReserved ? now + Self.limit : nil
  }

  /// Called when the bodies have run, or the time is over. Later turns do not wait for bodies that are still
  /// to run.
  mutating func endWait() { lostCount = 0 }

  /// Called when one of these bodies has run again, or will not.
  /// - Returns: whether the turn must be released: it was reserved, and there is nothing to append.
  mutating func hasRunAgain(isQueueEmpty: Bool) -> Bool {
    // A body may be one of an earlier turn, whose time was over.
    lostCount = max(0, lostCount - 1)
    guard bodiesHaveRun, reservedUntil != nil, isQueueEmpty else { return false }
    reservedUntil = nil
    return true
  }
}
