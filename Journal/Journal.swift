package import Files
public import Foundation
import Locks

/// START HERE. A journal stores every change of an app's data in order. A change is durable before any reader sees it.
///
/// ```swift
/// let journal = try CatalogJournal.openOrCreate(at: url)
/// let cup = try journal.commit(by: "ana", note: "first find") { draft in
///   try draft.addItem(kind: "place", attributes: ["name": .string("Café")])
/// }.value
/// journal.state.item(cup)                        // the newest
/// try journal.state(asOf: .head(back: 1))        // an earlier one
/// ```
///
/// `commit` runs a body over a ``Draft``, and the draft's events become an ``Entry`` (`Committer`). The entry is sealed
/// (`EntryCoding`) and appended to the log (`EntryLog`). Opening and ``state(asOf:)`` read the log and apply the same
/// events (`Replay`). Documentation/Architecture.md follows one commit file by file.
///
/// Safe to use from any thread. Reading never waits for a commit, and a returned state never changes.
public final class Journal<State: EventSourced>: Sendable {
  /// What a journal is opened for.
  public enum Mode: Sendable {
    /// Read and commit. One process at a time can use this mode; other processes can read meanwhile. A child that this
    /// process forks can't commit.
    case readWrite
    /// Read the journal as of its opening. Another process may have the journal open in any mode; commits after the
    /// opening are not visible. Nothing on disk changes, and the writer is not affected.
    case readOnly
    /// Read, and see what another process commits: ``Journal/state``, ``Journal/states``, ``Journal/changes`` and
    /// ``Journal/newEntries`` show each commit within some milliseconds. Only acknowledged commits are visible.
    case follow

    var access: LogAccess {
      switch self {
      case .readWrite: .write
      case .readOnly: .read
      case .follow: .follow
      }
    }
  }

  /// The identity of this journal.
  public let id: JournalID
  /// The journal's folder; for a journal in memory, a temporary folder that closing removes.
  public let url: URL
  /// The bytes of images.
  public let blobs: BlobStore

  /// Why entries are missing from a journal that was opened up to its damage, and which is the first.
  package let damage: JournalError?
  package let upcast: EventUpcast
  let published: Published<State>
  /// The open log and its files. An erasure or a pruning replaces both.
  let current: CurrentLog<State>
  package let replayedEventCount: Int
  package let options: JournalOptions
  private let committer: Committer<State>?
  let retention: RetentionThread<State>?
  private let lock: FolderLock?
  let follower: Follower<State>?
  /// The log of a shared journal that is open for writing, to which other nodes append too; nil for other journals.
  package let node: (any MultiWriterLog)?
  let removesFolder: Bool
  /// Whether this is a second instance for a background thread, which closes nothing: see `init(handleOf:)`.
  private let isHandle: Bool
  private let process = System.process
  /// The outcome of closing; nil while the journal is open.
  private let closing = Lock<Result<Void, any Error>?>(nil)

  init(_ recovery: Recovery<State>, mode: Mode, options: JournalOptions) throws(JournalError) {
    let (folder, format, log, chain) = (recovery.folder, recovery.format, recovery.log, recovery.chain)
    id = format.id
    upcast = try EventUpcast(State.self)
    url = URL(fileURLWithPath: folder.path, isDirectory: true)
    node = recovery.node
    self.options = options
    lock = recovery.lock
    removesFolder = mode == .readWrite && options.logStorage.isTransient
    blobs = recovery.blobs
    damage = recovery.damage
    isHandle = false
    recovery.replayed.version.state.adopt(options)
    published = Published(recovery.replayed.version)
    replayedEventCount = recovery.replayed.tally.count
    guard mode == .readWrite else {
      let open = OpenLog<State>(
        folder, format, log, chain, head: recovery.replayed.version.head, keeper: nil, options: options)
      current = CurrentLog(open)
      follower =
        mode == .follow
        ? Follower(
          Replay(log: log, format: format), in: folder, chain, published: published,
          recentEntries: open.recentEntries, options: options) : nil
      committer = nil
      retention = nil
      return
    }
    follower = nil
    retention = options.logStorage.isTransient ? nil : options.retention.map { RetentionThread($0) }
    // If layers were missing, opening may have replayed many events: freeze them into one layer.
    let keeper = LayerKeeper(
      folder, format, chain, log, recovery.replayed, published: published, retention: retention,
      options: options)
    let version = keeper.accept(recovery.replayed)
    published.publish(version)
    let commits: any CommitLog =
      if let node { node.commits(naming: blobs) } else {
        LocalCommits(log, blobs: blobs, rateLimiter: keeper.rateLimiter)
      }
    let committer = Committer(
      id, schemaVersion: upcast.schema.version, Replay(log: log, format: format), commits: commits,
      blobs: blobs, lastWrite: { folder.lastWrite }, published: published, keeper: keeper, options: options)
    self.committer = committer
    current = CurrentLog(
      OpenLog(folder, format, log, chain, head: version.head, keeper: keeper, options: options))
    keeper.store(version, eventCount: 0, freezing: committer.freezeRest)
    keeper.mergeEarlierLayers(freezing: committer.freezeRest)
  }

  /// Makes a second instance of an open journal for a background thread. A reference to `journal` itself would keep the
  /// app's instance from being deinitialized and thereby closed.
  init(handleOf journal: Journal) {
    id = journal.id
    url = journal.url
    blobs = journal.blobs
    damage = journal.damage
    upcast = journal.upcast
    published = journal.published
    current = journal.current
    replayedEventCount = journal.replayedEventCount
    options = journal.options
    committer = journal.committer
    retention = journal.retention
    lock = journal.lock
    follower = journal.follower
    node = journal.node
    removesFolder = journal.removesFolder
    isHandle = true
  }

  // Deinitializing a journal closes it. Everything acknowledged is durable already.
  deinit {
    try? close()
    guard isForked, !isHandle else { return }
    // The log and the blobs are leaked on purpose. Deinitializing them would wait for threads that only the parent
    // process has, or end the parent's connection to a server.
    for object in [log, blobs] as [AnyObject] { _ = unsafe Unmanaged.passRetained(object) }
  }

  /// Whether this is a forked child of the process that opened the journal.
  private var isForked: Bool { System.process != process }

  // Parts of the current log. Code that needs several parts of the same log runs in `settled(_:)`.

  package var folder: JournalFolder { current.value.folder }
  package var format: JournalFormat { current.value.format }
  package var log: any EntryLog { current.value.log }
  package var chain: LayerChain { current.value.chain }
  var keeper: LayerKeeper<State>? { current.value.keeper }
  var recentEntries: RecentEntries { current.value.recentEntries }

  // MARK: Opening and closing

  /// Creates an empty journal and opens it.
  /// - Parameters:
  ///   - url: the folder to create; its parent must exist.
  ///   - options: options for the open journal.
  /// - Throws: ``JournalError`` with code `alreadyExists` if something is at `url`, `notFound` if its parent does not
  ///   exist.
  public static func create(at url: URL, options: JournalOptions = JournalOptions()) throws -> Journal {
    let format = JournalFormat(schema: try ModelSchema(of: State.self))
    try JournalFolder.create(at: url, format: format, options: options) { _ in }
    return try open(at: url, options: options)
  }

  /// Opens a journal and rebuilds its newest state.
  ///
  /// Before anything in the folder changes, opening checks that the files of the log have every revision, and compares
  /// the log with HEAD. Entries before the newest layer are not read. Alterations in them are found in the background
  /// (``health``), when they are read, and by `verify` of the module JournalMaintenance.
  /// - Parameters:
  ///   - url: the journal's folder.
  ///   - mode: whether to commit, to read, or to follow what another process commits.
  ///   - options: how the journal is kept open.
  /// - Throws: ``JournalError``: `notFound`, `notAJournal`, `locked` if `mode` is to write and the journal is open for
  ///   writing already, `permission`, `otherModel` if it has the events of another model, `newerFormat`, `olderFormat`,
  ///   or `damaged` with the first revision that is missing or altered. The folder is then unchanged.
  /// - Complexity: O(log n) with layers, and O(m) in the number of events after the newest; O(n) without layers.
  public static func open(
    at url: URL, mode: Mode = .readWrite, options: JournalOptions = JournalOptions()
  ) throws -> Journal {
    let recovery = try Recovery<State>(url, mode: mode, options: options)
    let journal = try Journal(recovery, mode: mode, options: options)
    journal.current.value.healthCheck.start()
    try journal.applyFetchedAsItComes()
    try journal.follower?.start()
    journal.retention?.begin(Journal(handleOf: journal))
    return journal
  }

  /// Opens the proven entries of a damaged journal for reading.
  /// - Parameters:
  ///   - log: contains the proven entries.
  ///   - images: the folder of images; nil if it can't be opened.
  ///   - damage: why later entries are missing; nil if no entry is missing.
  package static func open(
    proven log: any EntryLog, in folder: JournalFolder, _ format: JournalFormat,
    images: Files.Folder<JournalError>?, damage: JournalError?, options: JournalOptions
  ) throws -> Journal {
    let recovery = try Recovery<State>(proven: log, folder, format, images: images, damage: damage, options)
    let journal = try Journal(recovery, mode: .readOnly, options: options)
    journal.current.value.healthCheck.start()
    return journal
  }

  /// Opens a journal, or creates an empty one if there is none. Apps call it at launch. The folder that contains the
  /// journal must exist.
  /// - Throws: ``JournalError``, as ``open(at:mode:options:)`` and ``create(at:options:)`` do.
  public static func openOrCreate(
    at url: URL, options: JournalOptions = JournalOptions()
  ) throws -> Journal {
    let path = try JournalFolder.path(of: url)
    do {
      return try open(at: url, options: options)
    } catch let error as JournalError where error.code == .notFound && error.path == path {
      do {
        return try create(at: url, options: options)
      } catch let error as JournalError where error.code == .alreadyExists {
        // Another process has just created it.
        return try open(at: url, options: options)
      }
    }
  }

  /// Waits for commits in progress and closes the journal. Later calls that need the disk throw; states that were
  /// returned earlier stay usable. The journal can be opened again once `close` has returned, or once a sequence such
  /// as ``states`` has ended. Closing twice is allowed: a later call waits for the first one and has the same outcome.
  ///
  /// The time to close does not grow with the journal. Background work is cancelled: layers, snapshots, and an erasure
  /// or pruning (except while it reads or writes the base of a pruned history). If the next opening would have to
  /// replay more than about a thousand events, a layer of these events is written first, unless they have more than 4
  /// MiB. The next session writes the remaining layers.
  ///
  /// In a forked child of the process that opened the journal, `close` does nothing: the journal stays open there.
  /// - Throws: ``JournalError`` if HEAD can't be flushed; the journal is closed nevertheless. Code `wrongUse` if called
  ///   in the body of a commit, or in the progress closure of an erasure or a pruning; the journal then stays open.
  public func close() throws {
    if isForked || isHandle { return }
    try committer?.checkIsOutsideOfBody("can't close the journal; close it after the commit")
    try current.checkHasNoTurn("can't close the journal")
    try closing.withLock { outcome in
      if outcome == nil { outcome = Result { try closeOnce() } }
      try outcome?.get()
    }
  }

  private func closeOnce() throws {
    retention?.end()
    try current.close()
    // From here on, the log is not replaced.
    let open = current.value
    follower?.end()
    defer {
      lock?.release()
      // Closing has freed the descriptors that removing the folder takes. If the removal fails nevertheless, a later
      // journal in memory removes the folder.
      if removesFolder { try? open.folder.root.remove() }
      // Last, because this ends the journal's sequences, and a task that sees the end may open the journal again.
      published.close()
    }
    var failure: (any Error)?
    open.keeper?.close()
    do { try committer?.close() } catch { failure = error }
    if !removesFolder, !current.isOutcomeUnknown, let committer {
      open.keeper?.writeRest(freezing: committer.freezeRest)
    }
    blobs.close()
    do { try open.close() } catch { failure = failure ?? error }
    if let failure { throw failure }
  }

  // MARK: Now

  /// The newest durable state. Later commits do not change the returned value.
  /// - Complexity: O(1), and it never waits for a commit.
  public var state: State { published.version.state }

  /// The newest durable entry's number, date and digest.
  /// - Complexity: O(1)
  public var head: Head { published.version.head }

  /// The newest durable state together with the entry that made it.
  /// - Complexity: O(1)
  public var version: Version<State> { published.version }

  // MARK: Committing

  /// Makes one atomic change. When `commit` returns, the entry is durable and readers see it.
  ///
  /// Bodies run one at a time, each on the newest accepted state, so a slow body delays all other commits. An error
  /// that the body throws is rethrown, and nothing is written. A body that changes nothing makes no entry.
  ///
  /// ```swift
  /// try journal.commit(by: "ana", expecting: [.entity(.item(7), at: seen)]) { try $0.deleteItem(7) }
  /// ```
  /// - Parameters:
  ///   - author: who makes the change, as any text. Undo finds a user's entries by their author, so give each user of
  ///     the app an author of their own.
  ///   - note: why the change is made.
  ///   - metadata: other facts to store with the entry; together with author and note up to 1 MiB.
  ///   - date: the date of the change, by default now. If the previous entry's date is later, the new entry is ordered
  ///     by that later date, and stores both dates.
  ///   - expecting: conditions that must still hold; otherwise the commit fails with `conflict`.
  ///   - runsOnce: in a shared journal, whether the body must not run more than once. If so, and another node commits
  ///     first, the commit fails with `conflict`.
  ///   - body: changes the draft. It must not commit to this journal. In a shared journal it can run several times,
  ///     each time on a newer state, until the entry is stored, so the body's side effects must be repeatable.
  /// - Returns: what the body returned, and the revision.
  /// - Throws: what the body throws, and ``JournalError``. After `outcomeUnknown`, the entry is either wholly stored or
  ///   wholly absent. After any other code, nothing was written: `rejected`, `conflict`, `tooLarge`, `outOfResources`,
  ///   `wrongUse`, `readOnly`, `closed`, `damaged`, `io` or `poisoned`, and in a shared journal also `unreachable`,
  ///   `diverged`, `permission`, `newerFormat` or `unsafeSettings`. After `outcomeUnknown` and `poisoned`, close the
  ///   journal and open it again. In a shared journal, later commits may succeed without reopening.
  /// - Complexity: O(e log n) for e events over n entities, and one flush that concurrent commits share.
  @discardableResult
  @inlinable
  public func commit<Value>(
    by author: String = "", note: String = "", metadata: [String: String] = [:], date: Date? = nil,
    expecting: [Expectation] = [], runsOnce: Bool = false, _ body: (inout Draft<State>) throws -> Value
  ) throws -> Commit<Value> {
    var caller = try CommitPipeline(self, waits: true)
    return try caller.commit(
      by: author, note: note, metadata: metadata, date: date, expecting: expecting, runsOnce: runsOnce, body)
  }

  /// Makes one atomic change from a task, which suspends while other bodies run and while the flush is in progress.
  ///
  /// The body runs in the isolation of the caller, such as the main actor, and may use the caller's state. Parameters,
  /// result and errors are those of the blocking `commit`. Cancelling the task does not stop a commit.
  ///
  /// The task's thread waits for the drive only if the body reads a part of a layer that is not in memory, if an
  /// event names a blob that this process has not added, if the system has no thread for the flush, or if more than
  /// 65,536 events are not in a layer's file yet, eight additions counting as one (for ten seconds at most).
  @discardableResult
  @inlinable
  nonisolated(nonsending) public func commit<Value>(
    by author: String = "", note: String = "", metadata: [String: String] = [:], date: Date? = nil,
    expecting: [Expectation] = [], runsOnce: Bool = false, _ body: (inout Draft<State>) throws -> Value
  ) async throws -> Commit<Value> {
    var caller = try CommitPipeline(self, waits: true)
    return try await caller.commit(
      by: author, note: note, metadata: metadata, date: date, expecting: expecting, runsOnce: runsOnce, body)
  }

  /// Commits one change after the other, for imports: the body of a change runs while the drive stores earlier entries.
  ///
  /// ```swift
  /// try journal.withPipeline { pipeline in
  ///   for part in parts { try pipeline.commit { draft in … } }
  /// }
  /// ```
  /// When `withPipeline` returns, all commits of the pipeline are durable.
  /// - Parameter body: commits with the pipeline, from one thread.
  /// - Returns: what `body` returns.
  /// - Throws: what `body` throws, after its commits are durable; or ``JournalError`` if an entry could not be stored,
  ///   with the code that `commit` would throw and the revision of the first such entry. The commits before that
  ///   revision are durable. The later ones are not stored, except that some may be after `outcomeUnknown`.
  @discardableResult
  public func withPipeline<Result>(
    _ body: (inout CommitPipeline<State>) throws -> Result
  ) throws -> Result {
    var pipeline = try CommitPipeline(self, waits: false)
    let result = Swift.Result { try body(&pipeline) }
    try pipeline.finish()
    return try result.get()
  }

  /// Commits one change after the other from a task, which suspends where the blocking method would block a thread.
  @discardableResult
  nonisolated(nonsending) public func withPipeline<Result>(
    _ body: nonisolated(nonsending) (inout CommitPipeline<State>) async throws -> Result
  ) async throws -> Result {
    var pipeline = try CommitPipeline(self, waits: false)
    let result: Swift.Result<Result, any Error>
    do { result = .success(try await body(&pipeline)) } catch { result = .failure(error) }
    try await pipeline.finish()
    return try result.get()
  }

  package var isOpenForWriting: Bool { committer != nil }

  func openCommitter() throws(JournalError) -> Committer<State> {
    if let committer { return committer }
    throw JournalError(
      .readOnly,
      follower == nil
        ? "the journal was opened for reading only"
        : "the journal was opened to follow another process; commit in that process, or close the journal there and "
          + "open it for writing here", path: folder.path)
  }

  func writing() throws(JournalError) -> Committer<State> {
    let committer = try openCommitter()
    try committer.checkProcess()
    return committer
  }

  func keeping() throws(JournalError) -> LayerKeeper<State> {
    _ = try writing()
    guard let keeper else { throw JournalError(.readOnly, "the journal was opened for reading only") }
    return keeper
  }
}
