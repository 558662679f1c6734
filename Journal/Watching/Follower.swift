import Dispatch
import Locks
import Synchronization

/// Keeps the newest version of a journal up to date with what another process commits.
///
/// 1. A separate thread reads new entries from the log, checks that they follow from the previous ones, and applies
///    them. Each published state is the state after an acknowledged entry.
/// 2. No call waits for that thread: ``catchUp()`` applies new entries on the caller's thread.
/// 3. After an erasure, the follower reads the journal again, so that no erased content stays in memory. If the erasure
///    changed the base of a pruned history, the follower ends, because the base was read at the opening.
/// 4. After a temporary shortage, the follower tries again. Any other failure ends it, is reported to the app's log,
///    and is thrown by calls that wait for newer entries.
///
/// Safe to use from any thread.
final class Follower<State: EventSourced>: Sendable {
  /// After this many events, the state is backed by the writer's newest layers, so that fewer changes stay in memory.
  private static var manyCount: Int { 50_000 }
  /// After changed records of this many bytes, the state is backed by the writer's newest layers too.
  private static var manyByteCount: Int { 64 << 20 }
  /// The timeout of one wait for entries. Closing ends the wait at once.
  private static var patience: Duration { .seconds(60) }

  private let replay: Replay<State>
  private let folder: JournalFolder
  private let chain: LayerChain
  private let published: Published<State>
  /// Large entries that the journal's histories have read.
  private let recentEntries: RecentEntries
  private let options: JournalOptions
  /// Locked while a thread applies entries.
  private let applied = Lock(Applied())
  private let isEnding = TimedSemaphore(value: 0)
  private let erasures = Atomic<Int>(0)

  /// The changes that were applied since the state was last backed by new layers.
  private struct Applied {
    var eventCount = 0
    /// The most bytes of changed records before the state is backed by new layers. It exceeds ``manyByteCount`` by the
    /// bytes that were in no layer the last time.
    var byteLimit = Follower.manyByteCount
    /// Kept from one look for entries to the next: each step reads the log three times and wakes the readers.
    var step = ReplayStep()

    mutating func startsAgain(from state: State) {
      eventCount = 0
      byteLimit = state.changedByteCount + Follower.manyByteCount
    }
  }

  init(
    _ replay: Replay<State>, in folder: JournalFolder, _ chain: LayerChain,
    published: Published<State>,
    recentEntries: RecentEntries, options: JournalOptions
  ) {
    self.replay = replay
    self.folder = folder
    self.chain = chain
    self.published = published
    self.recentEntries = recentEntries
    self.options = options
  }

  /// Changes when an erasure is noticed. Anything derived from the journal before the change may have erased content.
  var erasureCount: Int { erasures.load(ordering: .sequentiallyConsistent) }

  /// Why the follower ended before the journal was closed; nil if it did not.
  var failure: JournalError? { published.failure }

  /// - Throws: ``JournalError`` with code `outOfResources` if the system refuses the thread.
  func start() throws(JournalError) {
    try published.follow("the journal", options, isEnding) { [self] () throws(JournalError) in
      let seen = published.version.revision
      let newest = try replay.log.newestRevision(after: seen, waitingAtMost: Self.patience)
      if newest > seen { try advance(to: newest) }
    }
  }

  func end() { isEnding.signal() }

  /// Returns when all entries that were acknowledged before the call are published.
  func catchUp() throws(JournalError) {
    if let failure { throw failure }
    try advance(to: try replay.log.newestRevision())
  }

  private func advance(to newest: Revision) throws(JournalError) {
    try applied.withLock { applied throws(JournalError) in
      if newest - published.version.revision > Self.manyCount {
        try startFromLayers(through: newest, &applied)
      }
      // In steps, so that readers see progress.
      applied.step.beginAgain()
      while published.version.revision < newest {
        let old = published.version
        let byteCount = old.state.changedByteCount
        if applied.eventCount > Self.manyCount || byteCount > applied.byteLimit {
          try startFromLayers(through: newest, &applied)
          continue
        }
        var (erases, readCount) = (false, 0)
        let next = try replay.checkDigests(
          from: old.revision + 1, through: min(newest, old.revision + applied.step.entryCount),
          before: old.digest, until: { _ in readCount >= ReplayStep.byteCount },
          each: { entry throws(JournalError) in
            if try entry.recordsErasure() { erases = true }
            readCount += entry.byteCount
          })
        if erases {
          try startAnew(at: next, &applied)
          continue
        }
        let start = ReplayStart(revision: old.revision, state: old.state, eventCount: 0)
        let (version, replayed) = try replay.version(
          through: next, from: start, checking: chain.faults)
        published.publish(version)
        applied.eventCount += replayed.count
        applied.step.adapt(toByteCount: version.state.changedByteCount - byteCount)
      }
    }
  }

  private func startFromLayers(
    through newest: Revision, _ applied: inout Applied
  ) throws(JournalError) {
    try chain.load(through: newest, in: replay.log, isInUse: true)
    let start: ReplayStart<State> = chain.start(atOrBefore: newest)
    let base = LayerStack.backing(published.version.state)?.checkpoint.revision ?? 0
    // Only if the layers are newer than those that back the state now, and few entries follow them.
    if start.revision > base, start.revision + Self.manyCount > published.version.revision {
      let reached = max(start.revision, published.version.revision)
      if try skipsErasure(through: reached) { return try startAnew(at: reached, &applied) }
      let version = try replay.version(through: reached, from: start, checking: chain.faults).version
      version.state.adopt(options)
      published.publish(version)
    }
    applied.startsAgain(from: published.version.state)
  }

  /// Whether any entry after the published one, up to `last`, records an erasure.
  private func skipsErasure(through last: Revision) throws(JournalError) -> Bool {
    let first = published.version.revision + 1
    // An erasure replaces the log, so the entries are read only if it was replaced.
    guard first <= last, folder.isLogReplaced else { return false }
    var isFound = false
    try replay.log.readAll(first...last) { entry throws(JournalError) in
      if try entry.recordsErasure() { isFound = true }
    }
    return isFound
  }

  /// Starts again from the log and the layers after an erasure. The old state has entities that were erased since, so
  /// later entries may not fit it.
  private func startAnew(at revision: Revision, _ applied: inout Applied) throws(JournalError) {
    if let base = replay.format.base, try folder.readBase(replay.format)?.stateDigest != base.stateDigest {
      throw folder.logIsReplaced
    }
    chain.removeErased()
    recentEntries.removeAll()
    // Raised again at the end, because answers in between may still be derived from the old state.
    erasures.add(1, ordering: .sequentiallyConsistent)
    defer { erasures.add(1, ordering: .sequentiallyConsistent) }
    try chain.load(through: revision, in: replay.log, isInUse: true)
    let version = try chain.version(through: revision, replay).version
    version.state.adopt(options)
    published.publish(version)
    applied.startsAgain(from: published.version.state)
  }
}

extension Published {
  /// Starts a thread that calls `step` repeatedly until `step` throws `closed`. A shortage pauses the thread. Any other
  /// failure ends the thread, and all waits for newer versions.
  /// - Parameters:
  ///   - subject: what is followed, for messages.
  ///   - isEnding: signaled to end the pause after a shortage, and then the thread.
  /// - Throws: ``JournalError`` with code `outOfResources` if the system refuses the thread.
  func follow(
    _ subject: String, _ options: JournalOptions, _ isEnding: TimedSemaphore,
    _ step: @escaping @Sendable () throws(JournalError) -> Void
  ) throws(JournalError) {
    let isStarted = Threads.start {
      var isShort = false
      while true {
        do throws(JournalError) {
          try step()
          isShort = false
        } catch {
          if error.code == .closed { return }
          guard error.code == .outOfResources else {
            options.note(.error, "\(subject) can't be followed any more", cause: error)
            return self.end(because: error)
          }
          if !isShort {
            options.note(.warning, "following \(subject) is paused by a shortage", cause: error)
          }
          isShort = true
          if isEnding.wait(timeout: .now() + .milliseconds(100)) == .success { return }
        }
      }
    }
    guard !isStarted else { return }
    throw JournalError(.outOfResources, "the system has no thread for following \(subject); try again")
  }
}

extension Journal {
  /// Waits until ``state`` shows every commit that any process acknowledged before the call.
  ///
  /// A follower shows each commit within some milliseconds without this call. Call `catchUp` to see a commit at once,
  /// for example when the process that made the commit has sent a message. In a shared journal that is open for
  /// writing, the call asks the server. In other modes it does nothing.
  /// - Throws: ``JournalError``: `damaged` if an entry is missing or altered, `closed`; in a shared journal also
  ///   `unreachable` or `diverged`.
  public func catchUp() throws {
    try follower?.catchUp()
    try fetchShared()
  }

  /// Changes with each erasure or pruning; in a follower, when it notices an erasure. Anything derived from the journal
  /// before the change may have erased content.
  package var erasureCount: Int { follower?.erasureCount ?? current.replacementCount }

  /// Blocks until ``state`` shows an entry after a revision.
  /// - Returns: false after the timeout `time`.
  package func waitForEntry(after revision: Revision, atMost time: Duration) throws -> Bool {
    if let newest = published.revision.wait(after: revision, atMost: time) { return newest > revision }
    guard let failure = published.failure else { throw JournalError.closed(path: folder.path) }
    if !published.isClosed, published.version.revision > revision { return true }
    throw failure
  }
}
