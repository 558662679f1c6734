import Dispatch
import Journaling
import Locks

/// The log of a node: a local log in the node's folder, with the entries that the node has seen, and a shared log, to
/// which all nodes append.
///
/// 1. Reads are local. Only appending and fetching entries use the network.
/// 2. An entry is stored locally only after it is known to be in the shared log. No commit waits for the local log. So
///    the local log is a prefix of the shared log, unless one of the two was restored from a backup.
/// 3. Each connection begins with a comparison of the newest local entry with the shared log. Digests are chained, so
///    if this entry is equal, all earlier ones are. If the histories differ, nothing is written on either side. An
///    entry that was in the shared log before the connection is stored locally only after the next entry, or the digest
///    that the shared log stores with it, has proven it.
/// 4. An append whose connection was lost is repeated. If the entries were stored already, the digest of the last entry
///    shows that.
/// 5. A thread fetches the entries of other nodes as they are committed.
///
/// Safe to use from any thread.
final class NodeLog: MultiWriterLog {
  /// The state for connecting, appending, and fetching entries. One thread at a time uses it.
  private struct Turn {
    var connection: (any SharedLog)?
    /// The newest entry that this node has.
    var head: Head
    /// The newest entry that the shared log had when this node connected.
    var newestAtConnecting: Revision = 0
    /// Why this node no longer appends, such as a history that differs from the shared log's; nil if it can append.
    var failure: JournalError?
    /// The warning of the last connection, which is not reported again.
    var warning: String?
  }

  private let local: any EntryLog
  private let backlog: EntryBacklog
  private let storage: any SharedLogStorage
  private let place: LogPlace
  /// The place of images; nil if images are in the shared log.
  private let images: (any ImagePlace)?
  private let schema: ModelSchema
  private let turn: Lock<Turn>
  /// The newest entry of other nodes that this node has fetched.
  let fetched: NewestRevision
  /// Why entries of other nodes are no longer fetched; nil if they are.
  private let whyNotFollowing = Lock<JournalError?>(nil)
  private let isEnding = Lock(false)
  private let ending = TimedSemaphore(value: 0)
  private let thread = DispatchGroup()
  /// The connection that waits for new entries. Closing the node's log ends this wait.
  private let listening = Lock<(any SharedLog)?>(nil)
  /// Images that are known to be in the shared log of this connection.
  private let stored = Lock<Set<Blob>>([])

  /// The maximum entries and bytes of a stretch: after each, other operations can get the connection.
  private static let stretchCount = 65_536
  private static let stretchByteCount = 64 << 20

  /// - Parameters:
  ///   - local: the log in the folder, opened for writing.
  ///   - images: the place of images; nil if images are in the shared log.
  ///   - schema: the model that this node can read.
  init(
    _ local: any EntryLog, _ storage: any SharedLogStorage, images: (any ImagePlace)?, in place: LogPlace,
    of schema: ModelSchema
  ) {
    self.local = local
    self.schema = schema
    backlog = EntryBacklog(local, options: place.options)
    self.storage = storage
    self.images = images
    self.place = place
    turn = Lock(Turn(head: place.format.head))
    fetched = NewestRevision(0)
  }

  // MARK: The folder

  var limits: LogLimits {
    LogLimits(
      appendByteCount: min(local.limits.appendByteCount, storage.appendByteCount),
      spareByteCount: local.limits.spareByteCount)
  }

  var followingFailure: JournalError? { whyNotFollowing.withLock { $0 } }
  func commits(naming blobs: BlobStore) -> any CommitLog { SharedCommits(self, blobs) }
  var hasTornTail: Bool { local.hasTornTail }
  func acknowledged() throws(JournalError) -> LogMark? { try local.acknowledged() }
  func byteCount() throws(JournalError) -> Int { try local.byteCount() }

  func read(
    _ range: ClosedRange<Revision>, newestFirst: Bool,
    _ body: (Revision, UnsafeRawBufferPointer) throws(JournalError) -> Bool
  ) throws(JournalError) {
    try unsafe backlog.read(range, newestFirst: newestFirst, body)
  }

  /// Returns the newest revision in the folder.
  func newestRevision(
    after revision: Revision, waitingAtMost time: Duration
  ) throws(JournalError) -> Revision {
    try local.newestRevision(after: revision, waitingAtMost: time)
  }

  func beginWriting() throws(JournalError) {
    try local.beginWriting()
    let newest = try local.newestRevision()
    if newest > place.format.head.revision {
      let head = try local.head(at: newest, place.format)
      turn.withLock { $0.head = head }
    }
    thread.enter()
    let isStarted =
      backlog.start(after: newest)
      && Threads.start {
        self.follow()
        self.thread.leave()
      }
    guard isStarted else {
      thread.leave()
      throw JournalError(.outOfResources, "the system has no thread for the shared log; try again")
    }
  }

  // MARK: Connecting

  private func failure(_ turn: Turn) -> JournalError? { turn.failure ?? backlog.failure }

  /// Returns the connection, or makes one if there is none.
  private func connected(_ turn: inout Turn) throws(JournalError) -> any SharedLog {
    if let failure = failure(turn) { throw failure }
    // A connection that is made after closing would never be dropped.
    if isEnding.withLock({ $0 }) { throw JournalError.closed() }
    if let connection = turn.connection { return connection }
    let connection = try storage.connect(to: place.journal)
    let warning = connection.durability.warning
    if let warning, warning != turn.warning { place.options.note(.warning, warning, sharedLog: .waits) }
    turn.warning = warning
    // The server may be another one, which lacks the images that this node has sent last.
    stored.withLock { $0 = [] }
    do throws(JournalError) {
      try checkHistory(connection, &turn)
      let newest = try connection.newestRevision()
      // After a crash, a server may have entries that its standby lacks. Such entries can still be lost.
      if newest > turn.head.revision { try connection.confirmIfPermitted() }
      turn.newestAtConnecting = newest
    } catch {
      connection.close()
      throw error
    }
    turn.connection = connection
    return connection
  }

  /// Calls `body` with the connection and, if that was lost, again with a new one.
  private func using<Result>(
    _ turn: inout Turn, _ body: (any SharedLog) throws(JournalError) -> Result
  ) throws(JournalError) -> Result {
    let connection = try connected(&turn)
    do throws(JournalError) { return try body(connection) } catch {
      guard error.code == .unreachable else { throw error }
      drop(&turn)
      return try body(connected(&turn))
    }
  }

  /// Throws if the histories of this node and the shared log differ.
  private func checkHistory(_ connection: any SharedLog, _ turn: inout Turn) throws(JournalError) {
    do throws(JournalError) {
      try connection.compare(with: self, through: turn.head, of: place.format)
    } catch {
      if error.code == .diverged { turn.failure = error }
      throw error
    }
  }

  private func drop(_ turn: inout Turn) {
    turn.connection?.close()
    turn.connection = nil
  }

  // MARK: Entries of others

  private func follow() {
    var isNoted = false
    var delay = 100
    while !isEnding.withLock({ $0 }) {
      var used: (any SharedLog)?
      do throws(JournalError) {
        let (connection, seen) = try turn.withLock { turn throws(JournalError) in
          (try connected(&turn), turn.head.revision)
        }
        used = connection
        listening.withLock { $0 = connection }
        defer { listening.withLock { $0 = nil } }
        if isEnding.withLock({ $0 }) { return }
        // After a failure, the first wait is short, so that success is reported soon.
        let newest = try connection.newestRevision(
          after: seen, waitingAtMost: isNoted ? .milliseconds(10) : .seconds(60))
        try fetch(from: connection, through: newest)
        if isNoted {
          place.options.note(.info, "the shared log can be reached again", sharedLog: .isBack)
        }
        (isNoted, delay) = (false, 100)
      } catch {
        if isEnding.withLock({ $0 }) { return }
        // Another operation has dropped or replaced the connection.
        if error.code == .closed { continue }
        let (isFinal, isReplaced) = turn.withLock { turn in
          // An append may have connected again in the meantime, and may have the turn on that connection.
          let isReplaced = turn.connection != nil && turn.connection !== used
          if !isReplaced { drop(&turn) }
          return (failure(turn) != nil, isReplaced)
        }
        if isReplaced, !isFinal { continue }
        if !isNoted || isFinal {
          let level = isFinal ? JournalNotice.Level.error : .warning
          place.options.note(
            level, "the shared log can't be followed at the moment", cause: error, sharedLog: .isAway)
        }
        if isFinal {
          whyNotFollowing.withLock { $0 = error }
          return
        }
        isNoted = true
        if ending.wait(timeout: .now() + .milliseconds(delay)) == .success { return }
        delay = min(2 * delay, 5000)
      }
    }
  }

  /// Fetches the entries up to the newest one that a connection has reported, unless the connection was lost
  /// since.
  private func fetch(from connection: any SharedLog, through newest: Revision) throws(JournalError) {
    var isDone = false
    while !isDone, !isEnding.withLock({ $0 }) {
      isDone = try turn.withLock { turn throws(JournalError) in
        guard turn.connection === connection else { return true }
        try fetchStretch(connection, through: newest, &turn)
        return turn.head.revision >= newest
      }
    }
  }

  /// Fetches all entries of the shared log that this node lacks.
  func fetchAll() throws(JournalError) {
    while true {
      // Fetches in steps, so that a node that was offline for long can close in between.
      let isDone = try turn.withLock { turn throws(JournalError) in
        do throws(JournalError) {
          let connection = try connected(&turn)
          let newest = try connection.newestRevision()
          try fetchStretch(connection, through: newest, &turn)
          return turn.head.revision >= newest
        } catch {
          drop(&turn)
          throw isEnding.withLock({ $0 }) ? .closed() : error
        }
      }
      if isDone { return }
      if isEnding.withLock({ $0 }) { throw JournalError.closed() }
    }
  }

  /// Fetches the entries through `newest`, which is known to be in the shared log.
  private func fetchAll(
    _ connection: any SharedLog, through newest: Revision, _ turn: inout Turn
  ) throws(JournalError) {
    while turn.head.revision < newest { try fetchStretch(connection, through: newest, &turn) }
  }

  /// Fetches entries through `newest`, but only about as many as ``stretchCount`` and ``stretchByteCount`` allow.
  private func fetchStretch(
    _ connection: any SharedLog, through newest: Revision, _ turn: inout Turn
  ) throws(JournalError) {
    let last = min(newest, turn.head.revision + Self.stretchCount)
    guard last > turn.head.revision else { return }
    // An entry from before this connection may have been altered since it was committed. Later entries were committed a
    // moment ago, and comparing their digests would cost competing nodes a round trip in each turn. If they are
    // altered, this node can't append after them anyway.
    let mayBeAltered = turn.head.revision < turn.newestAtConnecting
    var pieces = EntryPieces(
      EntryReader(connection, journal: place.journal, after: turn.head), through: last)
    var byteCount = 0
    // The piece that was read last. Its last entry is not proven yet.
    var held: EntryPiece?
    while true {
      let piece: EntryPiece?
      do throws(JournalError) {
        piece = try byteCount < Self.stretchByteCount ? pieces.next() : nil
        if let held, piece == nil, mayBeAltered { try connection.checkDigest(of: held.head) }
      } catch {
        guard error.code == .damaged, let revision = error.revision else { throw error }
        // The server's history may have been replaced since this node connected.
        try checkHistory(connection, &turn)
        let found = connection.naming(error, in: place.journal)
        turn.failure = JournalError.diverged(
          "the next entries of the shared log can't be fetched: \(found.message); nothing was changed here",
          at: found.revision ?? revision)
        throw turn.failure ?? error
      }
      if let held {
        try backlog.add(held.entries)
        turn.head = held.head
        fetched.raise(to: turn.head.revision)
      }
      guard let piece else { return }
      do throws(JournalError) { try piece.checkCanBeStored(of: schema, at: storage.address) } catch {
        turn.failure = error
        throw error
      }
      byteCount += piece.entries.reduce(0) { $0 + $1.bytes.count }
      held = piece
    }
  }

  // MARK: Appending

  func append(_ entries: [SealedEntry], after revision: Revision) throws(AppendFailure) {
    try append(entries, after: revision, meanwhile: {}, prepare: { _ in })
  }

  /// Sends the images that entries name, and then appends the entries.
  /// - Parameter meanwhile: as in ``SharedLog/append(_:after:meanwhile:)``; called first if the entries can't
  ///   be sent at once.
  func append(
    _ entries: [SealedEntry], after revision: Revision, naming images: Set<Blob>, from blobs: BlobStore,
    meanwhile: () -> Void
  ) throws(AppendFailure) {
    if turn.withLockIfFree({ _ in true }) == nil { meanwhile() }
    try append(
      entries, after: revision, meanwhile: meanwhile,
      prepare: { connection throws(JournalError) in
        for image in images where !stored.withLock({ $0.contains(image) }) {
          try blobs.send(image, to: connection, or: self.images)
          noteStored(image)
        }
      })
  }

  /// - Parameter prepare: sends the images of the entries; called again for each new connection.
  private func append(
    _ entries: [SealedEntry], after revision: Revision, meanwhile: () -> Void,
    prepare: (any SharedLog) throws(JournalError) -> Void
  ) throws(AppendFailure) {
    guard let last = entries.last else { return }
    try turn.withLock { turn throws(AppendFailure) in
      if let failure = failure(turn) { throw .refused(failure) }
      guard turn.head.revision == revision else { throw .conflict(newest: turn.head.revision) }
      try store(entries, after: revision, &turn, meanwhile, prepare)
      let date = (try? last.decode { entry throws(JournalError) in try entry.date() }) ?? turn.head.timestamp
      do throws(JournalError) { try backlog.add(entries) } catch { throw .unknown(error) }
      turn.head = Head(revision: last.revision, timestamp: date, digest: last.digest)
    }
  }

  /// Stores entries in the shared log. After a lost connection, finds out whether they are stored.
  private func store(
    _ entries: [SealedEntry], after revision: Revision, _ turn: inout Turn, _ meanwhile: () -> Void,
    _ prepare: (any SharedLog) throws(JournalError) -> Void
  ) throws(AppendFailure) {
    var lost: JournalError?
    var deadline: ContinuousClock.Instant?
    while true {
      // Connecting may take long, so `meanwhile` is called first.
      if turn.connection == nil { meanwhile() }
      var failure: AppendFailure
      do throws(JournalError) {
        let connection = try using(&turn) { connection throws(JournalError) in
          try prepare(connection)
          return connection
        }
        do throws(AppendFailure) {
          return try connection.append(entries, after: revision, meanwhile: meanwhile)
        } catch { failure = error.adding(connection.durability.warning) }
        if case .conflict = failure, lost != nil, let last = entries.last,
          try connection.digest(of: last.revision) == last.digest
        {
          // The first attempt has stored the entries, but may not have waited for a standby.
          try connection.awaitConfirmation()
          return
        }
      } catch {
        failure = .refused(error)
      }
      switch failure {
      case .conflict(let newest):
        guard newest <= revision else { throw failure }
        // No other node was faster, so the server's history was replaced. The next connection finds the first entry
        // that differs.
        drop(&turn)
      case .refused(let error):
        // A pooler may have changed the session of the connection.
        if [.unreachable, .unsafeSettings].contains(error.code) { drop(&turn) }
        // The refusal is final only if no earlier attempt was lost: its entries may have reached another server than
        // the present one.
        guard let lost else { throw failure }
        if error.code == .diverged { throw .unknown(error) }
        guard error.code == .unreachable else { throw .unknown(lost) }
      case .unknown(let error):
        drop(&turn)
        lost = error
      }
      // The time for retrying starts now, because a lost connection may be noticed late.
      let end = deadline ?? .now + storage.retryTime
      deadline = end
      guard ContinuousClock.now < end, ending.wait(timeout: .now() + .milliseconds(100)) == .timedOut else {
        throw lost.map { .unknown($0) } ?? failure
      }
    }
  }

  // MARK: Images

  /// Whether the shared log, or the place of images, has the bytes of an image.
  func hasImage(_ blob: Blob) throws(JournalError) -> Bool {
    if stored.withLock({ $0.contains(blob) }) { return true }
    if let images, try images.has(blob) { return true }
    let isThere = try turn.withLock { turn throws(JournalError) in
      try using(&turn) { connection throws(JournalError) in try connection.hasImage(blob) }
    }
    if isThere { noteStored(blob) }
    return isThere
  }

  private func noteStored(_ blob: Blob) {
    stored.withLock { stored in
      if stored.count >= 10_000 { stored.removeAll() }
      stored.insert(blob)
    }
  }

  // MARK: Taking turns

  /// Waits for the turn to append, and fetches what other nodes have appended, so that the next append can't conflict.
  /// - Returns: the newest revision.
  func reserve() throws(JournalError) -> Revision {
    try turn.withLock { turn throws(JournalError) in
      do throws(JournalError) {
        let connection = try connected(&turn)
        let newest: Revision
        do throws(JournalError) { newest = try connection.reserve(after: turn.head.revision) } catch {
          throw error.adding(connection.durability.warning)
        }
        try fetchAll(connection, through: newest, &turn)
        return turn.head.revision
      } catch {
        drop(&turn)
        throw error
      }
    }
  }

  /// Releases the turn, because no append follows.
  func release() { turn.withLock { $0.connection?.release() } }

  // MARK: Closing

  func close() throws(JournalError) {
    let wasEnding = isEnding.withLock { isEnding in
      defer { isEnding = true }
      return isEnding
    }
    if !wasEnding {
      ending.signal()
      fetched.close()
      listening.withLock { $0 }?.close()
      ending.signal()
      thread.wait()
      turn.withLock { drop(&$0) }
    }
    backlog.close()
    try local.close()
  }
}

extension EntryPiece {
  /// Throws if a node must not store these entries in its folder, because the app could then not read the folder, or
  /// because they erased content that the folder still has.
  func checkCanBeStored(of schema: ModelSchema, at address: String) throws(JournalError) {
    try schema.checkReads(self, path: address)
    // Erased entries keep their digests, so only the entry that records an erasure reveals it.
    guard let entry = entries.first(where: { (try? $0.recordsErasure()) ?? false }) else { return }
    throw JournalError.diverged(
      "entry \(entry.revision) erased something from the shared history, and this node's folder still has it; "
        + "remove the folder and join the shared journal again", at: entry.revision)
  }
}
