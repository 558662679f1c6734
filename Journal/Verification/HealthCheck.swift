import Dispatch
import Locks

/// Reads the history of an opened journal, a little at a time, on a thread of low priority: first the base of a pruned
/// history, then the entries.
///
/// No call waits for the check. It uses the log for a few milliseconds at a time, and ends when the journal is closed.
/// If the system has no thread for the check, the history is not checked.
final class HealthCheck<State: EventSourced>: Sendable {
  /// The share of time in which the thread reads. It sleeps for the rest.
  private static var share: Double { 0.1 }
  /// The time for which the thread reads without a pause.
  private static var stretch: Duration { .milliseconds(2) }

  private let replay: Replay<State>
  private let folder: JournalFolder
  private let head: Head
  private let options: JournalOptions
  private let found: Lock<JournalHealth>
  private let isEnding = TimedSemaphore(value: 0)

  init(_ replay: Replay<State>, in folder: JournalFolder, through head: Head, options: JournalOptions) {
    self.replay = replay
    self.folder = folder
    self.options = options
    self.head = head
    var health = JournalHealth(head: head, lastRevision: head.revision)
    health.checkedRevision = replay.format.head.revision
    health.base = replay.format.base?.head
    health.isBaseChecked = health.base == nil
    found = Lock(health)
  }

  var health: JournalHealth { found.withLock { $0 } }

  func start() {
    guard head.revision > 0 else { return }
    _ = BackgroundThread.start { self.run() }
  }

  func end() { isEnding.signal() }

  private func run() {
    do throws(JournalError) {
      // Wait first, so that short programs end before the check begins.
      if isNotEnding(for: .seconds(1)), try checkBase() { try checkEntries() }
    } catch {
      if error.code == .closed { return }
      found.withLock { health in
        // With any other code, the history could not be checked, and the next opening tries again.
        health.note(error, in: folder, as: error.code == .damaged ? .damage : .note)
      }
      options.note(.error, "the check in the background ended", cause: error)
    }
  }

  /// Checks the base of a pruned history.
  /// - Returns: false if the journal is being closed.
  private func checkBase() throws(JournalError) -> Bool {
    guard let base = replay.format.base else { return true }
    let clock = ContinuousClock()
    var (start, isOpen) = (clock.now, true)
    try base.check {
      isOpen = isNotEnding(for: Self.pause(after: clock.now - start))
      start = clock.now
      return isOpen
    }
    if isOpen { found.withLock { $0.isBaseChecked = true } }
    return isOpen
  }

  private func checkEntries() throws(JournalError) {
    let clock = ContinuousClock()
    var next = replay.format.head.revision + 1
    var pause = Duration.zero
    while next <= head.revision, isNotEnding(for: pause) {
      let start = clock.now
      // Each piece starts at the last entry of the piece before, so that the chain of digests is checked across pieces.
      // A piece has at least one new entry.
      let last = try replay.checkDigests(
        from: max(next - 1, replay.format.head.revision + 1), through: head.revision,
        mark: LogMark(revision: head.revision, digest: head.digest)
      ) { $0 >= next && clock.now - start >= Self.stretch }
      found.withLock { $0.checkedRevision = last }
      next = last + 1
      pause = Self.pause(after: clock.now - start)
    }
  }

  /// Waits, and returns whether the journal is still open.
  private func isNotEnding(for pause: Duration) -> Bool {
    isEnding.wait(timeout: .now() + pause.timeInterval) == .timedOut
  }

  private static func pause(after time: Duration) -> Duration { time * (1 / share - 1) }
}
