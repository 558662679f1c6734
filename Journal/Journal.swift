public import Foundation
import Locks

/// START HERE. A journal: every change of an app's data, kept in order, durable before anyone sees it.
///
/// ```swift
/// let journal = try CatalogJournal.openOrCreate(at: url)
/// let cup = try journal.commit(by: "ana", note: "first find") { draft in
///   try draft.addItem(kind: "place", attributes: ["name": .string("Café")])
/// }.value
/// journal.state.item(cup)                        // what is
/// try journal.state(asOf: .head(back: 1))        // what was
/// ```
///
/// One edit, from the call to the disk and back: `commit` runs a body over a ``Draft``, whose events become an
/// ``Entry`` (`Committer`), sealed (`EntryCoding`) and appended to the log (`EntryLog`). Opening, and
/// ``state(asOf:)``, read the log back and apply the same events (`Replay`). Documentation/Architecture.md
/// follows it file by file.
///
/// Safe to use from many threads. Reading never waits for a commit, and a state that was handed out never
/// changes.
public final class Journal<State: EventSourced>: Sendable {
  /// What a journal is opened for.
  public enum Mode: Sendable {
    /// To read and to commit. One process at a time can open it in this mode; others can read it meanwhile.
    case readWrite
    /// To read what is there now. Another process may have it open in any mode, and what it commits meanwhile is not
    /// seen. Nothing on disk is changed, and who writes is not disturbed.
    case readOnly
    /// The same, and to see what another process commits: ``Journal/state``, ``Journal/states``, ``Journal/changes`` and
    /// ``Journal/newEntries`` follow within some milliseconds. Only what was acknowledged is seen.
    case follow
    /// To read what can be proven of a damaged journal: every entry up to the first that is missing or altered.
    /// ``Journal/damage`` says what is not there. All entries are read at opening.
    case upToDamage

    var access: LogAccess {
      switch self {
      case .readWrite: .write
      case .readOnly, .upToDamage: .read
      case .follow: .follow
      }
    }
  }

  /// What tells this journal from all others.
  public let id: JournalID
  /// The journal's folder; of a journal in memory, a temporary one that is removed when it is closed.
  public let url: URL
  /// Why entries are missing from a journal that was opened with ``Mode/upToDamage``, with the first of them; nil when
  /// nothing is missing, as far as anybody can tell.
  public let damage: JournalError?
  /// The bytes of images.
  public let blobs: BlobStore

  let format: JournalFormat
  let upcast: EventUpcast
  let folder: JournalFolder
  let log: any EntryLog
  let published: Published<State>
  let chain: LayerChain<State>
  /// How many events opening replayed.
  let replayedEventCount: Int
  /// What it was opened with.
  let options: JournalOptions
  private let committer: Committer<State>?
  let keeper: SnapshotKeeper<State>?
  let healthCheck: HealthCheck<State>
  private let lock: FolderLock?
  let follower: Follower<State>?
  /// The log, when other nodes append to it too.
  var node: NodeLog? { log as? NodeLog }
  private let removesFolder: Bool
  private let isClosed = Lock(false)

  init(_ recovery: Recovery<State>, mode: Mode, options: JournalOptions) throws(JournalError) {
    format = recovery.format
    id = format.id
    upcast = try EventUpcast(State.self)
    folder = recovery.folder
    url = URL(fileURLWithPath: recovery.folder.path, isDirectory: true)
    log = recovery.log
    self.options = options
    lock = recovery.lock
    removesFolder = mode == .readWrite && options.logStorage.isTransient
    blobs = recovery.blobs
    damage = recovery.damage
    published = Published(recovery.version)
    chain = recovery.chain
    replayedEventCount = recovery.replayedCount
    healthCheck = HealthCheck(
      Replay(log: log, format: format), through: recovery.version.head, options: options)
    follower =
      mode == .follow
      ? Follower(Replay(log: log, format: format), chain, published: published, options: options) : nil
    guard mode == .readWrite else {
      committer = nil
      keeper = nil
      return
    }
    let keeper = SnapshotKeeper(
      folder, format: format, chain: chain, reserve: log.limits.spareByteCount, options: options,
      version: recovery.version, eventCount: recovery.eventCount)
    // Opening may have replayed much, for want of layers.
    published.publish(keeper.accept(recovery.version, eventCount: 0))
    let committer = Committer(
      format, schemaVersion: upcast.schema.version, log: log, blobs: blobs, published: published,
      keeper: keeper, options: options)
    self.keeper = keeper
    self.committer = committer
    keeper.whenIdle.withLock { $0 = { [weak committer] in committer?.freezeRest() } }
    keeper.startIfDue()
  }

  // Deinitializing a journal closes it: what was acknowledged is durable already.
  deinit { try? close() }

  // MARK: Opening and closing

  /// Makes an empty journal and opens it.
  /// - Parameters:
  ///   - url: the folder to make; its parent must exist.
  ///   - options: how the journal is kept open.
  /// - Throws: ``JournalError`` with code `alreadyExists` when something is there.
  public static func create(at url: URL, options: JournalOptions = JournalOptions()) throws -> Journal {
    let schema = try ModelSchema(of: State.self)
    try JournalFolder.create(at: url, schema, options: options)
    return try open(at: url, options: options)
  }

  /// Opens a journal and rebuilds its newest state.
  ///
  /// Before anything in the folder is changed, every revision is accounted for by the files of the log, and the log is
  /// held against HEAD. Entries before the newest snapshot are not read, unless `checking` asks for it: what is altered
  /// in them is found in the background (``health``), when they are read, and by ``verify(deep:progress:)``.
  /// - Parameters:
  ///   - url: the journal's folder.
  ///   - mode: whether to commit, to read, or to follow what another process commits.
  ///   - checking: how much is read before it opens.
  ///   - options: how the journal is kept open.
  /// - Throws: ``JournalError``: `notFound`, `notAJournal`, `locked` when it is open for writing elsewhere and is to be
  ///   so here, `permission`, `otherModel` when it holds the
  ///   events of another model, `newerFormat` or `olderFormat`, or `damaged` with the first revision that is
  ///   missing or altered. The folder is then as it was.
  ///   When ``JournalOptions/retention`` wants history pruned and that fails, the journal opens with all of it.
  /// - Complexity: O(log n) with a snapshot, and O(m) in the number of events after it; O(n) without one, when everything
  ///   is checked, or when history is pruned.
  public static func open(
    at url: URL, mode: Mode = .readWrite, checking: OpeningCheck = .recent,
    options: JournalOptions = JournalOptions()
  ) throws -> Journal {
    if checking == .everything {
      // A look of its own: opening for writing changes the folder.
      let look = try open(at: url, mode: .readOnly, options: options)
      defer { try? look.close() }
      try look.requireSoundness()
    }
    let recovery = try Recovery<State>(url, mode: mode, options: options)
    var journal = try Journal(recovery, mode: mode, options: options)
    if mode == .readWrite, let retention = options.retention {
      journal = try keeping(retention, of: journal, options: options)
    }
    journal.healthCheck.start()
    try journal.applyBroughtAsItComes()
    try journal.follower?.start()
    return journal
  }

  /// Opens a journal to read only, and keeps away who would write to it.
  static func openExclusively(at url: URL, options: JournalOptions) throws -> Journal {
    let recovery = try Recovery<State>(url, mode: .readOnly, locksExclusively: true, options: options)
    return try Journal(recovery, mode: .readOnly, options: options)
  }

  /// Opens a journal, or makes an empty one where nothing is: what an app does at launch.
  /// - Throws: ``JournalError``, as `open` and `create` do.
  public static func openOrCreate(
    at url: URL, checking: OpeningCheck = .recent, options: JournalOptions = JournalOptions()
  ) throws -> Journal {
    let path = try JournalFolder.path(of: url)
    do {
      return try open(at: url, checking: checking, options: options)
    } catch let error as JournalError where error.code == .notFound && error.path == path {
      do {
        return try create(at: url, options: options)
      } catch let error as JournalError where error.code == .alreadyExists {
        // Somebody else has just made it.
        return try open(at: url, options: options)
      }
    }
  }

  /// Waits for commits in progress and closes the journal. All later calls that need the disk throw; states
  /// that were handed out stay. Closing twice is fine.
  ///
  /// A snapshot or layer that is being written is cancelled; opening does without it.
  /// - Throws: ``JournalError`` when HEAD can't be flushed; the journal is closed all the same. With code `wrongUse`
  ///   inside of a commit's body, and then it stays open.
  public func close() throws {
    try committer?.checkIsOutsideOfBody()
    let wasClosed = isClosed.withLock { isClosed in
      defer { isClosed = true }
      return isClosed
    }
    if wasClosed { return }
    healthCheck.end()
    follower?.end()
    defer {
      // Nothing is lost if it stays: the system empties the folder of temporary files.
      if removesFolder { try? folder.remove() }
      lock?.release()
    }
    defer { published.close() }
    var failure: (any Error)?
    keeper?.close()
    do { try committer?.close() } catch { failure = error }
    blobs.close()
    chain.close()
    do { try log.close() } catch { failure = failure ?? error }
    if let failure { throw failure }
  }

  // MARK: Now

  /// The newest durable state. Later commits do not touch what this returned.
  /// - Complexity: O(1), and it never waits for a commit.
  public var state: State { published.version.state }

  /// The newest durable entry's number, date and digest.
  /// - Complexity: O(1)
  public var head: Head { published.version.head }

  /// The newest durable state together with the entry that made it.
  /// - Complexity: O(1)
  public var version: Version<State> { published.version }

  // MARK: Committing

  /// Makes one atomic change. When it returns, the entry is durable and readers see it.
  ///
  /// The body runs alone, over the newest accepted state, and may be slow only at the cost of all others that
  /// want to commit. Whatever it throws is thrown on, and nothing is written. A body that changes nothing
  /// makes no entry.
  ///
  /// ```swift
  /// try journal.commit(by: "ana", expecting: [.entity(.item(7), at: seen)]) { try $0.deleteItem(7) }
  /// ```
  /// - Parameters:
  ///   - author: who makes the change, in the app's own words.
  ///   - note: why.
  ///   - metadata: whatever else shall be kept with the entry: with author and note up to 1 MiB.
  ///   - date: when it was made; now when nil. The entry before it sets the earliest date.
  ///   - expecting: what must still be so.
  ///   - runsOnce: in a shared journal, whether the body must not run again when another node has committed meanwhile;
  ///     the commit then fails with `conflict`.
  ///   - body: changes the draft. It must not commit to this journal itself. In a shared journal it can run several
  ///     times, each time over a newer state, until an entry of it is stored: what it does besides changing the draft
  ///     must bear that.
  /// - Returns: what the body returned, and the revision.
  /// - Throws: ``JournalError``: `rejected`, `conflict`, `tooLarge` or `outOfResources`, and nothing was written;
  ///   `outcomeUnknown`, and the entry is wholly there or wholly absent. What an error says of the journal is
  ///   durable. In a shared journal also `unreachable`, and nothing was written, or `diverged`.
  /// - Complexity: O(e log n) for e events over n entities, and one flush that concurrent commits share.
  @discardableResult
  public func commit<Value>(
    by author: String = "", note: String = "", metadata: [String: String] = [:], date: Date? = nil,
    expecting: [Expectation] = [], runsOnce: Bool = false, _ body: (inout Draft<State>) throws -> Value
  ) throws -> Commit<Value> {
    var request = try request(author, note, metadata, date, expecting)
    request.runsOnce = runsOnce
    return try writing().commit(request, body)
  }

  /// The same for tasks: suspends instead of blocking a thread while other bodies run and the flush is in progress.
  ///
  /// The body runs where the caller does, on the main actor or any other, and may use what is there. The task's
  /// thread waits for the drive when the body reads what a snapshot holds and memory does not, when an event names a
  /// blob that this process has not added, and when the system has no thread for the flush.
  @discardableResult
  nonisolated(nonsending) public func commit<Value>(
    by author: String = "", note: String = "", metadata: [String: String] = [:], date: Date? = nil,
    expecting: [Expectation] = [], runsOnce: Bool = false, _ body: (inout Draft<State>) throws -> Value
  ) async throws -> Commit<Value> {
    var request = try request(author, note, metadata, date, expecting)
    request.runsOnce = runsOnce
    return try await writing().commit(request, body)
  }

  /// The same for bulk work of one thread: returns when the body has run, and the flush goes on beside it.
  ///
  /// Entries become durable in the order of the calls. The caller bounds how many are under way by waiting
  /// for the oldest.
  package func submit<Value>(
    by author: String = "", note: String = "", metadata: [String: String] = [:], date: Date? = nil,
    expecting: [Expectation] = [], _ body: (inout Draft<State>) throws -> Value
  ) throws -> PendingCommit<Value> {
    try writing().submit(request(author, note, metadata, date, expecting), body)
  }

  /// Whether it was opened to commit.
  package var isOpenForWriting: Bool { committer != nil }

  func writing() throws(JournalError) -> Committer<State> {
    guard let committer else { throw notForWriting }
    return committer
  }

  func keeping() throws(JournalError) -> SnapshotKeeper<State> {
    guard let keeper else { throw notForWriting }
    return keeper
  }

  private var notForWriting: JournalError {
    JournalError(
      .readOnly,
      follower == nil
        ? "the journal was opened for reading only"
        : "the journal was opened to follow what another process commits; commit there, or open it for writing when it "
          + "is closed there", path: folder.path)
  }

  private func request(
    _ author: String, _ note: String, _ metadata: [String: String], _ date: Date?, _ expecting: [Expectation]
  ) throws(JournalError) -> CommitRequest {
    var timestamp: Timestamp?
    if let date {
      // One that is beyond all timestamps is refused with those that have a year of five digits.
      timestamp = Timestamp(date) ?? Timestamp(microseconds: date < .distantPast ? .min : .max)
    }
    let request = CommitRequest(
      author: author, note: note, metadata: metadata, date: timestamp, expecting: expecting)
    try request.checkSize()
    return request
  }
}
