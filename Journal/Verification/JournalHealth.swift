import Dispatch
import Locks

/// How much of a journal is read before it is opened.
public enum OpeningCheck: Sendable {
  /// Checks that every revision is accounted for and every file of the log has its size, reads the entries after the
  /// newest layer, and compares the newest entries with HEAD. Older entries are read in the background; see
  /// ``Journal/health``.
  case recent
  /// Reads everything that ``Journal/verify(deep:progress:)`` reads: every entry and its digest, every state, every
  /// blob. A damaged layer or snapshot does not make the opening fail.
  case everything
}

/// The results of the background check of entries that opening did not read.
public struct JournalHealth: Sendable {
  /// The entries up to this one were read since opening and are intact: each checksum, and the chain of digests. At
  /// first, the revision that a pruned journal begins with; 0 in any other.
  public internal(set) var checkedRevision: Revision
  /// The newest entry when the journal was opened, at which the check ends. Later ones were checked when they were
  /// committed.
  public internal(set) var lastRevision: Revision
  /// Why the check ended early, with the revision: `damaged` if an entry is missing or altered; with any other code the
  /// entry could not be checked, and the next opening tries again.
  public internal(set) var problem: JournalError?

  /// Whether everything was read and is intact.
  public var isSound: Bool { problem == nil && checkedRevision == lastRevision }
}

/// Reads the history of a journal after it was opened, a little at a time, on a thread of low priority.
///
/// Nothing waits for it: it uses the log for a few milliseconds at a time, and ends when the journal is closed. If the
/// system has no thread for it, it does not run.
final class HealthCheck<State: EventSourced>: Sendable {
  /// The share of time in which it reads; it sleeps for the rest.
  private static var share: Double { 0.1 }
  /// How long it reads without a pause.
  private static var stretch: Duration { .milliseconds(2) }

  private let replay: Replay<State>
  private let head: Head
  private let options: JournalOptions
  private let found: Lock<JournalHealth>
  private let isEnding = TimedSemaphore(value: 0)

  init(_ replay: Replay<State>, through head: Head, options: JournalOptions) {
    self.replay = replay
    self.options = options
    self.head = head
    found = Lock(
      JournalHealth(checkedRevision: replay.format.head.revision, lastRevision: head.revision))
  }

  var health: JournalHealth { found.withLock { $0 } }

  func start() {
    guard head.revision > 0 else { return }
    _ = BackgroundThread.start { self.run() }
  }

  /// Asks it to end soon.
  func end() { isEnding.signal() }

  private func run() {
    // Short-lived programs end before it begins.
    var pause = Duration.seconds(1)
    var next = replay.format.head.revision + 1
    while next <= head.revision, isEnding.wait(timeout: .now() + pause.timeInterval) == .timedOut {
      let clock = ContinuousClock()
      let start = clock.now
      let last: Revision
      do throws(JournalError) {
        // Starts at the previous entry, so that the chain is checked across the pieces. At least one more is read.
        last = try replay.checkDigests(
          from: max(next - 1, replay.format.head.revision + 1), through: head.revision,
          mark: LogMark(revision: head.revision, digest: head.digest)
        ) { $0 >= next && clock.now - start >= Self.stretch }
      } catch {
        if error.code == .closed { return }
        found.withLock { $0.problem = error }
        options.note(.error, "the check in the background ended", cause: error)
        return
      }
      found.withLock { $0.checkedRevision = last }
      next = last + 1
      pause = (clock.now - start) * (1 / Self.share - 1)
    }
  }
}

extension Journal {
  /// The results so far of the background check of entries that opening did not read.
  /// - Complexity: O(1), and it never blocks.
  public var health: JournalHealth { healthCheck.health }

  /// Reads everything, and throws at the first revision that is missing or altered.
  func requireSoundness() throws {
    let problems = try verify().problems.filter(\.isDamage)
    guard let first = problems.min(by: { $0.revision ?? .max < $1.revision ?? .max }) else { return }
    throw JournalError(first.code, first.message, revision: first.revision, path: first.path)
  }
}
