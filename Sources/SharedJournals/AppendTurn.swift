import Dispatch
import Journaling

/// Decides when a node reserves the turn to append to the shared log, and until when it waits before it uses the turn.
///
/// When another node has taken the revision of a batch, the turn is reserved: no other node can append until this one has.
/// Its next append waits until all bodies that have to run again have done so, because in it their entries can't lose.
/// While batches lose, the turn is reserved before each append.
///
/// A value that does nothing: ``SharedCommits`` reserves, waits and releases.
struct AppendTurn: Sendable {
  enum Step: Equatable {
    /// Append the batch.
    case append
    /// Wait until ``bodiesHaveRun``, or until a time, and append the batch.
    case awaitBodies(until: DispatchTime)
    /// Reserve the turn; then ask ``loses(_:to:)``.
    case reserve
  }

  /// How long an unused turn is kept. A server releases it after five seconds.
  private static let limit = DispatchTimeInterval.seconds(4)

  /// Whether the last batch lost, or would have lost, its revisions to another node.
  private(set) var isContended = false
  /// The turn was reserved for the next append, which waits for bodies until then.
  private var reservedUntil: DispatchTime?
  /// How many entries have lost their revisions, and wait for their bodies to run again.
  private var lostCount = 0

  /// Whether all bodies that have to run again have done so.
  var bodiesHaveRun: Bool { lostCount == 0 }

  /// A batch is to be appended.
  /// - Parameter canRunAgain: whether the bodies can run again, if they lose.
  mutating func begin(canRunAgain: Bool) -> Step {
    if let time = reservedUntil {
      reservedUntil = nil
      return .awaitBodies(until: time)
    }
    return isContended && canRunAgain ? .reserve : .append
  }

  /// The turn was reserved for a batch. If it can be appended, no other node competes any more.
  /// - Returns: whether another node has taken its first revision.
  mutating func loses(_ first: Revision, to newest: Revision) -> Bool {
    isContended = first <= newest
    return isContended
  }

  /// Bodies have to run again.
  /// - Parameters:
  ///   - count: the number of their entries.
  ///   - isReserved: whether the turn could be reserved for them.
  mutating func lost(_ count: Int, isReserved: Bool, now: DispatchTime = .now()) {
    isContended = true
    lostCount += count
    reservedUntil = isReserved ? now + Self.limit : nil
  }

  /// The bodies have run, or the time is over. Later turns do not wait for those that are still to run.
  mutating func endWait() { lostCount = 0 }

  /// One of these bodies has run again, or will not.
  /// - Returns: whether the turn is to be released: it was reserved, and there is nothing to append.
  mutating func hasRunAgain(isQueueEmpty: Bool) -> Bool {
    // A body may be one of an earlier turn, whose time was over.
    lostCount = max(0, lostCount - 1)
    guard bodiesHaveRun, reservedUntil != nil, isQueueEmpty else { return false }
    reservedUntil = nil
    return true
  }
}
