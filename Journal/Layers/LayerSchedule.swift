/// Decides when layers are frozen, written, merged and repaired, and when a commit waits for them.
///
/// A value without threads and files: ``LayerKeeper`` reports every event to the schedule, and does the work that the
/// schedule returns. The schedule knows layers only by their ranges and sizes.
struct LayerSchedule: Sendable {
  /// A layer in a file.
  struct File: Sendable {
    let name: LayerName
    let eventCount: Int
    let byteCount: Int
    var hasIndexes = true
    /// Whether the file could not be read, and its contents were rebuilt in memory.
    var isRebuilt = false

    var start: Revision { name.from ?? 0 }
  }

  /// The next work of the thread that writes layers. Indices refer to the `files` that were passed.
  enum Work: Equatable, Sendable {
    /// Takes or drops a snapshot.
    case request
    /// Writes the oldest layer in memory.
    case write
    case merge(Range<Int>)
    /// Writes a damaged file again.
    case repair(Int)
    /// Freezes changes that were committed while other layers waited to be written.
    case freeze
    case finish
  }

  enum Acceptance: Sendable {
    case nothing
    /// Keeps the accepted state, as a checkpoint of the next layer.
    case checkpoint
    /// Freezes all changes since the last layer into a layer.
    case freeze
  }

  /// A file that takes long to write, so other files are written between its pieces.
  struct LargeFile: Sendable {
    let end: Revision
    let eventCount: Int
  }

  private enum Phase { case open, cancelling, closing }

  /// A layer in memory that has no file yet.
  private struct Pending {
    let top: Revision
    let backlog: LayerBacklog
    var isRequested: Bool
  }

  private let policy: LayerPolicy
  private var phase = Phase.open
  private var isSupported = true

  /// The numbers of events up to the newest accepted version, up to the newest checkpoint, and up to the newest layer.
  private(set) var eventCount: Int
  private var checkpointCount: Int
  private var frozenCount: Int
  private var unfrozen = UnfrozenEvents()
  private var pending: [Pending] = []
  /// The newest durable version.
  private(set) var stored: (revision: Revision, eventCount: Int)

  private(set) var isWriting = false
  private var requestCount = 0
  /// Whether a layer is requested of all changes that are in no layer, even if these are few.
  private var isLayerRequested = false
  /// After a failed write, layers are written again at this number of durable events, or of bytes in no file.
  private var nextAttempt = (eventCount: 0, byteCount: 0)
  /// After a failed merge, the number of durable events at which layers are merged again.
  private var nextMerge = 0
  /// The earliest times of the next merge and the next write that interrupt a large file.
  private var nextInterruption = (merge: ContinuousClock.now, write: ContinuousClock.now)
  private var repaired: Set<LayerName> = []
  /// Whether closing has written a layer, and merged layers.
  private var closing = (hasWritten: false, hasMerged: false)

  /// The newest entry of a log that an erasure or a pruning has just made; 0 otherwise. The layers of the old log were
  /// removed, and commits do not wait for the first layer of the new one.
  private let replacedThrough: Revision

  init(
    _ policy: LayerPolicy, revision: Revision, eventCount: Int, frozenCount: Int, isReplacement: Bool = false
  ) {
    replacedThrough = isReplacement ? revision : 0
    self.policy = policy
    self.eventCount = eventCount
    self.frozenCount = frozenCount
    checkpointCount = frozenCount
    stored = (revision, eventCount)
  }

  // MARK: Commits

  /// Whether a commit waits until a layer is written. True if commits come faster than layers are written, and the
  /// backlog has reached the limit of events for an opening to replay, or of memory.
  var stallsCommits: Bool {
    guard policy.isAutomatic, isWriting, phase == .open, !backsOff else { return false }
    let replaced = pending.first { $0.top <= replacedThrough }?.backlog.weight ?? 0
    return backlog.weight - replaced >= policy.backlogCount
      || unfrozen.memoryByteCount >= policy.backlogByteCount && pending.count >= LayerPolicy.pendingLimit
  }

  /// Called when a version was accepted, which may not be durable yet.
  /// - Parameters:
  ///   - changedByteCount: returns the bytes of all records that the state has above its layers. Called rarely.
  ///   - checkpointCount: the number of events up to the newest checkpoint that an opening has kept; nil for none.
  mutating func accept(
    _ events: EventTally, checkpointCount: Int? = nil, changedByteCount: () -> Int
  ) -> Acceptance {
    eventCount += events.count
    unfrozen.additionCount += events.additionCount
    guard isActive, isSupported else { return .nothing }
    unfrozen.count(events.byteCount, eventCount, changedByteCount)
    if let checkpointCount { self.checkpointCount = checkpointCount }
    if isFreezeDue { return .freeze }
    guard policy.keepsPast, eventCount - self.checkpointCount >= policy.eventCount else { return .nothing }
    return .checkpoint
  }

  /// Called when the newest accepted state was kept as a checkpoint.
  /// - Parameters:
  ///   - changedByteCount: the bytes of the records that the state has above its layers.
  ///   - replacedByteCount: the bytes of the records that were replaced since these layers.
  mutating func keptCheckpoint(changedByteCount: Int, replacedByteCount: Int) {
    checkpointCount = eventCount
    unfrozen.hold(changedByteCount, replacedByteCount)
  }

  /// Whether to freeze the changes since the last layer now. False while too many layers wait: the next one then grows.
  var isFreezeDue: Bool {
    guard isSupported, pending.count < LayerPolicy.pendingLimit else { return false }
    if isLayerRequested, eventCount > frozenCount { return true }
    return policy.isAutomatic
      && policy.isLayerDue(
        eventCount - frozenCount, additionCount: unfrozen.additionCount,
        byteCount: max(unfrozen.byteCount, unfrozen.logByteCount))
  }

  /// Called when all changes up to a revision were frozen; `revision` is nil if the model has no layers.
  mutating func froze(through revision: Revision?, changedByteCount: Int = 0) {
    guard let revision else {
      isSupported = false
      return
    }
    var backlog = unfrozenBacklog
    backlog.byteCount = changedByteCount + unfrozen.heldByteCount
    pending.append(Pending(top: revision, backlog: backlog, isRequested: isLayerRequested))
    isLayerRequested = false
    unfrozen = UnfrozenEvents()
    frozenCount = eventCount
    checkpointCount = eventCount
  }

  /// Forgets all that was accepted after the stored version, because it was withdrawn.
  /// - Parameters:
  ///   - frozenCount: the number of events up to the newest remaining layer.
  ///   - checkpointCount: the number of events up to the newest remaining checkpoint; nil if that layer is newer.
  mutating func withdraw(to revision: Revision, frozenCount: Int, checkpointCount: Int?) {
    eventCount = stored.eventCount
    self.frozenCount = frozenCount
    self.checkpointCount = checkpointCount ?? frozenCount
    unfrozen = UnfrozenEvents()
    pending.removeAll { $0.top > revision }
  }

  /// Called when a version is durable.
  /// - Returns: whether to start the thread.
  mutating func store(_ revision: Revision, eventCount: Int) -> Bool {
    stored = (revision, stored.eventCount + eventCount)
    return startsIfDue(hasWritable || isFreezeDue)
  }

  /// Whether to start the thread because earlier sessions have left files to merge.
  mutating func startsMerging(_ files: [File], logByteCount: Int) -> Bool {
    startsIfDue(dueRun(files, logByteCount) != nil)
  }

  private mutating func startsIfDue(_ isDue: Bool) -> Bool {
    guard isActive, isDue, !isWriting, phase == .open, !backsOff else { return false }
    isWriting = true
    return true
  }

  // MARK: Requests and closing

  /// Requests that a snapshot is taken or dropped.
  /// - Returns: whether to start the thread; nil if the journal is closing.
  mutating func request() -> Bool? {
    guard phase == .open else { return nil }
    requestCount += 1
    defer { isWriting = true }
    return !isWriting
  }

  mutating func finishRequest() { requestCount -= 1 }

  /// Requests a layer of all changes that are in no layer, even if these are few or the policy is manual.
  mutating func requestLayer() {
    isLayerRequested = eventCount > frozenCount
    for index in pending.indices { pending[index].isRequested = true }
  }

  /// Whether to start the thread because a request waits and no thread is running.
  mutating func startsForRequests() -> Bool {
    guard phase == .open, requestCount > 0, !isWriting else { return false }
    isWriting = true
    return true
  }

  mutating func failToStart() { isWriting = false }

  var isOpen: Bool { phase == .open }
  /// Whether to cancel the file that is being written.
  var isCancelling: Bool { phase == .cancelling }

  /// Cancels all work in progress, because the journal is closing or its log is being replaced.
  mutating func cancel() { phase = .cancelling }

  /// Continues after `cancel()`, because the log was not replaced.
  /// - Returns: whether to start the thread.
  mutating func reopen(_ files: [File], logByteCount: Int) -> Bool {
    phase = .open
    return startsIfDue(hasWritable || isFreezeDue || dueRun(files, logByteCount) != nil)
  }

  /// Called at closing, when no work is in progress. From now on, `next` returns only the work of closing.
  mutating func close() {
    phase = .closing
    nextAttempt = (0, 0)
  }

  // MARK: Work

  /// The next work of the thread. After `finish`, the thread must end.
  /// - Parameters:
  ///   - files: all layers that have files, in the order of their ends.
  ///   - logByteCount: the bytes of the log, of which layers may take a share.
  ///   - canFreeze: false if freezing has just been tried and has failed, because a commit was in progress.
  mutating func next(_ files: [File], logByteCount: Int, canFreeze: Bool = true) -> Work {
    if requestCount > 0 { return .request }
    let work: Work? =
      if !isActive || backsOff { nil } else {
        switch phase {
        case .open: due(files, logByteCount, canFreeze)
        case .cancelling: nil
        case .closing: dueAtClosing(files, logByteCount, canFreeze)
        }
      }
    if let work { return work }
    isWriting = false
    return .finish
  }

  private mutating func due(_ files: [File], _ logByteCount: Int, _ canFreeze: Bool) -> Work? {
    let layerCount = mergeable(files).count
    if !(hasWritable && writesFirst(layerCount)), let run = dueRun(files, logByteCount) { return .merge(run) }
    if hasWritable {
      if layerCount < policy.layerLimit || !mergesBackOff { return .write }
      // While merges fail, write no more layers, because their number would grow without limit.
      backOff()
      return nil
    }
    if let run = runWithoutIndexes(files) { return .merge(run) }
    if let damaged = files.firstIndex(where: { $0.isRebuilt && !repaired.contains($0.name) }) {
      return .repair(damaged)
    }
    return canFreeze && isFreezeDue ? .freeze : nil
  }

  /// Closing writes the changes that are in no file, if that was requested, or if they are twice as many events or
  /// bytes as make a layer due. Then closing merges once. Otherwise, sessions that are too short for the thread would
  /// never write a layer, and each opening would take longer than the one before.
  ///
  /// An app that closes has little time, so neither the write nor the merge exceeds `closingByteCount`: more is left to
  /// the next session. The limit `backlogCount` bounds what the next opening replays.
  private func dueAtClosing(_ files: [File], _ logByteCount: Int, _ canFreeze: Bool) -> Work? {
    let backlog = backlog
    let byteCount = max(backlog.byteCount, backlog.logByteCount)
    if byteCount <= policy.closingByteCount,
      isLayerRequested || pending.contains(where: \.isRequested) || backlog.weight >= 2 * policy.eventCount
        || byteCount >= 2 * policy.byteCount
    {
      if hasWritable { return .write }
      if canFreeze, isFreezeDue { return .freeze }
    }
    guard closing.hasWritten, !closing.hasMerged, let run = dueRun(files, logByteCount),
      files[run].reduce(0, { $0 + $1.byteCount }) <= policy.closingByteCount
    else { return nil }
    return .merge(run)
  }

  /// Whether `interruption` may return work now. Checked first, because `interruption` needs a list of the files.
  func mayInterrupt(at now: ContinuousClock.Instant) -> Bool {
    guard policy.isAutomatic, phase == .open, !backsOff else { return false }
    return now >= nextInterruption.merge || now >= nextInterruption.write || isBacklogLarge
  }

  /// The work between two pieces of a large file; nil to continue with the file.
  ///
  /// Merges get at most half of the time, and writes a fifth. Otherwise the large file would never be complete under
  /// constant commits. While merges are behind, changes stay in memory longer, so that fewer and larger layers are
  /// written. If commits would soon have to wait and layers are few, a layer is written at once.
  func interruption(
    of large: LargeFile, _ files: [File], at now: ContinuousClock.Instant
  ) -> Work? {
    guard mayInterrupt(at: now) else { return nil }
    if hasWritable, writesFirst(mergeable(files).count) { return .write }
    let run = dueRun(files, during: large)
    if let run, now >= nextInterruption.merge { return .merge(run) }
    guard hasWritable, now >= nextInterruption.write else { return nil }
    // If eight times the events of a layer are in no file, the next layer does not wait for merges.
    return run == nil || backlog.weight >= policy.eventCount * 8 ? .write : nil
  }

  mutating func interrupted(
    by work: Work, from start: ContinuousClock.Instant, to end: ContinuousClock.Instant
  ) {
    if case .merge = work {
      nextInterruption.merge = end + (end - start)
    } else {
      nextInterruption.write = end + (end - start) * 4
    }
  }

  /// How urgently layers wait for the file that is being written.
  /// - Parameter top: the newest revision of the layer; nil for a snapshot.
  func pressure(writing top: Revision?) -> WritePressure {
    if pending.allSatisfy({ $0.top == top }) { return .none }
    return isBacklogLarge ? .high : .some
  }

  // MARK: Outcomes

  mutating func wrote(_ top: Revision) {
    pending.removeAll { $0.top == top }
    nextAttempt = (0, 0)
    closing.hasWritten = phase == .closing
  }

  mutating func merged() { closing.hasMerged = phase == .closing }

  mutating func repaired(_ name: LayerName) { repaired.insert(name) }

  /// Called when a layer could not be written. No commit depends on layers, so the next attempt waits for as many
  /// events or bytes as make a layer due.
  mutating func failed() { backOff() }

  /// Called when a merge failed, for example on a nearly full disk. Merging waits for more events; if there are
  /// `layerLimit` layers, writing waits as well.
  mutating func failedToMerge() { nextMerge = stored.eventCount + policy.eventCount }

  // MARK: What is due

  /// Whether any layer may have to be frozen, written or merged.
  private var isActive: Bool { policy.isAutomatic || isLayerRequested || !pending.isEmpty }

  private mutating func backOff() {
    nextAttempt = (stored.eventCount + policy.eventCount, backlog.byteCount + policy.byteCount)
  }

  private var backsOff: Bool {
    stored.eventCount < nextAttempt.eventCount && backlog.byteCount < nextAttempt.byteCount
  }

  private var mergesBackOff: Bool { stored.eventCount < nextMerge }

  private var unfrozenBacklog: LayerBacklog {
    LayerBacklog(
      weight: policy.weight(eventCount - frozenCount, additionCount: unfrozen.additionCount),
      byteCount: unfrozen.memoryByteCount, logByteCount: unfrozen.logByteCount)
  }

  private var backlog: LayerBacklog { pending.reduce(into: unfrozenBacklog) { $0 += $1.backlog } }

  /// The number of layers that wait for their files.
  var pendingCount: Int { pending.count }

  /// The newest revision of the oldest layer in memory; nil if there is none, or not all of its entries are durable.
  var writable: Revision? { pending.first.flatMap { $0.top <= stored.revision ? $0.top : nil } }
  private var hasWritable: Bool { writable != nil }

  /// Whether so much is in no file that commits would soon wait.
  private var isBacklogLarge: Bool {
    let backlog = backlog
    return backlog.weight >= policy.backlogCount / 4 || backlog.byteCount >= policy.backlogByteCount
  }

  /// Whether to write a layer before merging, because commits would soon wait and layers are few.
  private func writesFirst(_ layerCount: Int) -> Bool { isBacklogLarge && layerCount < policy.layerLimit }

  /// The longest run of layers without a gap that ends with the newest one.
  private func mergeable(_ files: [File]) -> Range<Int> {
    var first = files.count
    while first > 0, first == files.count || files[first].start == files[first - 1].name.to { first -= 1 }
    return first..<files.count
  }

  private func dueRun(_ files: [File], _ logByteCount: Int) -> Range<Int>? {
    let layers = mergeable(files)
    if mergesBackOff || layers.count < 2 { return nil }
    let share = share(of: Self.eventCount(of: files[layers]), logByteCount: logByteCount)
    return run(policy.run(Self.sizes(files[layers]), share: share), from: layers.lowerBound)
  }

  /// The layers to merge while a large file is written: layers after it, with at most half of its events together.
  private func dueRun(_ files: [File], during large: LargeFile) -> Range<Int>? {
    if mergesBackOff { return nil }
    let layers = mergeable(files)
    let first = layers.first { files[$0].start >= large.end } ?? layers.upperBound
    let run = run(policy.run(Self.sizes(files[first...])), from: first)
    return run.flatMap { Self.eventCount(of: files[$0]) <= large.eventCount / 2 ? $0 : nil }
  }

  /// The layers to merge so that all have the declared indexes. A single layer waits for the next one, because its
  /// merge would have the same name, and a merge never replaces a file of its name.
  private func runWithoutIndexes(_ files: [File]) -> Range<Int>? {
    let layers = mergeable(files)
    guard !mergesBackOff, layers.count > 1, let first = layers.first(where: { !files[$0].hasIndexes }) else {
      return nil
    }
    return min(first, layers.upperBound - 2)..<layers.upperBound
  }

  /// The most bytes that layers of a number of events may take, in proportion to all events.
  func share(of eventCount: Int, logByteCount: Int) -> Int {
    let part = Double(eventCount) / Double(max(stored.eventCount, 1))
    return policy.share(ofLog: Double(logByteCount) * min(part, 1))
  }

  private func run(_ range: Range<Int>, from first: Int) -> Range<Int>? {
    range.isEmpty ? nil : first + range.lowerBound..<first + range.upperBound
  }

  private static func sizes(_ files: ArraySlice<File>) -> [LayerPolicy.Size] {
    files.map { ($0.eventCount, $0.byteCount) }
  }

  private static func eventCount(of files: ArraySlice<File>) -> Int { files.reduce(0) { $0 + $1.eventCount } }
}

/// The amount of changes that are in no layer's file.
struct LayerBacklog: Sendable {
  /// The weight of the events, by the time that replaying them takes (``LayerPolicy/weight(_:additionCount:)``).
  var weight: Int
  /// The approximate bytes of the events' records in memory.
  var byteCount: Int
  /// The approximate bytes of the events in the log, which an opening reads. They exceed the bytes of the records if
  /// large records are updated often.
  var logByteCount: Int

  static func += (sum: inout LayerBacklog, other: LayerBacklog) {
    sum.weight += other.weight
    sum.byteCount += other.byteCount
    sum.logByteCount += other.logByteCount
  }
}

/// The events that are in no layer.
private struct UnfrozenEvents {
  /// The number of these events that are known to add an entity.
  var additionCount = 0
  private(set) var logByteCount = 0
  /// The approximate bytes of the events' records.
  private(set) var byteCount = 0
  /// An upper bound of the bytes of records that only checkpoints still hold, because later events replaced them.
  private(set) var heldByteCount = 0
  /// The number of events at the last count of records, and the bytes of the entries since; nil before the first count.
  private var counted: (eventCount: Int, byteCount: Int)?
  /// At the newest checkpoint, the bytes of changed records, and of records replaced before it.
  private var checkpoint = (changed: 0, replaced: 0)

  var memoryByteCount: Int { byteCount + heldByteCount }

  /// Counts the bytes of records after every eighth event and after large entries. Computing these bytes takes longer
  /// than the rest of a commit.
  mutating func count(_ entryByteCount: Int, _ eventCount: Int, _ changedByteCount: () -> Int) {
    logByteCount += entryByteCount
    if let counted, eventCount - counted.eventCount < 8, counted.byteCount + entryByteCount < 1 << 20 {
      self.counted = (counted.eventCount, counted.byteCount + entryByteCount)
    } else {
      byteCount = changedByteCount()
      counted = (eventCount, 0)
    }
  }

  /// Called for a new checkpoint: counts the replaced records that only the previous checkpoint still holds.
  mutating func hold(_ changed: Int, _ replaced: Int) {
    // At most the bytes of that checkpoint: none holds a record that was made and replaced since.
    heldByteCount += min(replaced - checkpoint.replaced, checkpoint.changed)
    checkpoint = (changed, replaced)
  }
}
