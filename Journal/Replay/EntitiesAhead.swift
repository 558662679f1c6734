import Dispatch
import Synchronization

/// Reads the entities that events change, on a second thread, so that a replay over layers finds their pages in memory.
/// The thread begins at the last event, goes backward, and ends where it meets the replay.
///
/// Reading an entity from layers takes longer than changing it, mostly because its pages are read at random.
final class EntitiesAhead: Sendable {
  private let appliedCount = Atomic<Int>(0)
  private let isDone = DispatchSemaphore(value: 0)

  private init() {}

  /// Below this many events, a second thread does not pay off.
  private static let smallCount = 256

  /// - Parameter bases: for each kind, the base of its table in the state to which the events are applied.
  /// - Returns: nil if reading ahead gains nothing.
  static func start(_ entities: [EntityKey], in bases: [(any EntityBase)?]) -> EntitiesAhead? {
    guard entities.count >= smallCount, bases.contains(where: { $0 != nil }) else { return nil }
    let ahead = EntitiesAhead()
    let isStarted = SecondThreads.start {
      for (index, entity) in entities.enumerated().reversed() {
        if index <= ahead.appliedCount.load(ordering: .relaxed) { break }
        let kind = Int(entity.kind.rawValue)
        if bases.indices.contains(kind) { _ = bases[kind]?.row(entity.number) }
      }
      ahead.isDone.signal()
    }
    return isStarted ? ahead : nil
  }

  /// Counts an applied event.
  func advance() { appliedCount.add(1, ordering: .relaxed) }

  /// Ends the thread, and waits until it has read its current entity.
  func end() {
    appliedCount.store(.max, ordering: .relaxed)
    isDone.wait()
  }
}
