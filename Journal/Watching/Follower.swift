import Dispatch
import Locks

/// Keeps the newest version of a journal up to date with what another process commits.
///
/// 1. A thread of its own asks the log for new entries, checks that they follow from those before them, and applies
///    them. Each state that is published is that of an acknowledged entry.
/// 2. Nothing waits for that thread: ``catchUp()`` does the same on the caller's.
/// 3. What the system lacks at the moment makes it try again later. Anything else that fails ends it, is told to the
///    app's log, and is thrown by what waits for entries.
///
/// Safe to use from many threads.
final class Follower<State: EventSourced>: Sendable {
  /// Readers see a part of many entries while the rest is being applied.
  private static var stepCount: Int { 1000 }
  /// After so many events the state is backed anew by what the writer has written of it, so that what has changed since
  /// the journal was opened does not stay in memory.
  private static var manyCount: Int { 50_000 }
  /// How long the log waits before it is asked again. Closing ends that at once.
  private static var patience: Duration { .seconds(60) }

  private let replay: Replay<State>
  private let chain: LayerChain<State>
  private let published: Published<State>
  private let options: JournalOptions
  /// How many events were applied since the state was last backed anew. Held by who applies entries.
  private let turn = Lock(0)
  private let found = Lock<JournalError?>(nil)
  private let isEnding = DispatchSemaphore(value: 0)

  init(
    _ replay: Replay<State>, _ chain: LayerChain<State>, published: Published<State>,
    options: JournalOptions
  ) {
    self.replay = replay
    self.chain = chain
    self.published = published
    self.options = options
  }

  /// Why it has ended before the journal was closed.
  var failure: JournalError? { found.withLock { $0 } }

  /// - Throws: ``JournalError`` with code `outOfResources` when there is no thread for it.
  func start() throws(JournalError) {
    guard Threads.start({ self.run() }) else {
      throw JournalError(.outOfResources, "the system has no thread for following the journal; try again")
    }
  }

  /// Lets it end soon.
  func end() { isEnding.signal() }

  private func run() {
    var isShort = false
    while true {
      do throws(JournalError) {
        let seen = published.version.revision
        let newest = try replay.log.newestRevision(after: seen, waitingAtMost: Self.patience)
        if newest > seen { try advance(to: newest) }
        isShort = false
      } catch {
        if error.code == .closed { return }
        guard error.code == .outOfResources else { return fail(error) }
        if !isShort {
          options.note(.warning, "following the journal waits for what is lacking", cause: error)
        }
        isShort = true
        if isEnding.wait(timeout: .now() + .milliseconds(100)) == .success { return }
      }
    }
  }

  private func fail(_ error: JournalError) {
    found.withLock { $0 = error }
    options.note(.error, "the journal is not followed any more", cause: error)
    published.close()
  }

  /// Returns when everything is published that was acknowledged before the call.
  func catchUp() throws(JournalError) {
    if let failure { throw failure }
    try advance(to: try replay.log.newestRevision())
  }

  private func advance(to newest: Revision) throws(JournalError) {
    try turn.withLock { count throws(JournalError) in
      let isFarBehind = newest - published.version.revision > Self.manyCount
      if isFarBehind || count > Self.manyCount {
        count = 0
        try chain.load(through: newest, in: replay.log, isInUse: true)
        let start = chain.start(atOrBefore: newest)
        // From there it is not far to where the state is.
        if start.revision + Self.manyCount > published.version.revision {
          let reached = max(start.revision, published.version.revision)
          published.publish(try replay.version(through: reached, from: start).version)
        }
      }
      while published.version.revision < newest {
        let old = published.version
        let next = min(newest, old.revision + Self.stepCount)
        try replay.checkDigests(from: old.revision + 1, through: next, before: old.digest)
        let start = ReplayStart(revision: old.revision, state: old.state, eventCount: 0)
        let (version, eventCount) = try replay.version(through: next, from: start)
        try chain.faults.check()
        published.publish(version)
        count += eventCount
      }
    }
  }
}

extension Journal {
  /// Returns when ``state`` shows everything that was acknowledged before the call, by whatever process.
  ///
  /// A journal that was opened to follow another process shows it some milliseconds later anyway; this is for a process
  /// that was told of a commit and wants to see it now. In any other mode nothing is to be done, but for a
  /// shared journal that is open for writing: this asks the server.
  /// - Throws: ``JournalError`` with code `damaged` when an entry is missing or altered, or `closed`.
  public func catchUp() throws {
    try follower?.catchUp()
    try bringShared()
  }

  /// Waits on the caller's thread until ``state`` shows an entry after a revision.
  /// - Returns: false when the time was over first.
  package func waitForEntry(after revision: Revision, atMost time: Duration) throws -> Bool {
    guard let newest = published.wait(after: revision, atMost: time) else {
      throw follower?.failure ?? .closed(path: folder.path)
    }
    return newest > revision
  }
}
