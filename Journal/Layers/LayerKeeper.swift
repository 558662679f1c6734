import Dispatch
import Files
import Foundation
import Locks

/// Freezes changes into layers, and writes and merges these on a background thread, as ``LayerSchedule`` decides.
///
/// A layer is first frozen in memory, under the write lock, which takes almost no time. From then on, the layer backs
/// the state. The thread writes, flushes and renames the layer's file, and then its footer; then the memory is freed. A
/// merge writes a new layer in this way, and then removes the layers that it replaces. A crash can leave a file without
/// a footer, or layers that a merged one has replaced. The next writer removes both.
///
/// Safe to use from any thread. One thread at a time changes files.
final class LayerKeeper<State: EventSourced>: Sendable {
  /// Freezes the changes since the last layer under the write lock; does nothing if the write lock is taken.
  typealias Freeze = @Sendable () -> Void

  let chain: LayerChain
  let rateLimiter = RateLimiter()
  private let folder: JournalFolder
  private let format: JournalFormat
  private let options: JournalOptions
  var policy: LayerPolicy { options.layers }
  /// The number of bytes that layers and snapshots leave free on the disk, for the log.
  private let reserve: Int
  let published: Published<State>
  /// Notified when layers were written, to prune history if that is due; nil without a retention.
  private let retention: RetentionThread<State>?
  let progress: Lock<KeeperProgress>
  /// Entered by the background thread.
  private let background = DispatchGroup()
  private let memoryReturn = MemoryReturn()
  /// Signaled when a layer was written, and when the background thread ends.
  private let room = TimedSemaphore(value: 0)

  /// Makes the keeper of an open log. It keeps the replayed changes only after `accept(replayed)`, the next call.
  init(
    _ folder: JournalFolder, _ format: JournalFormat, _ chain: LayerChain, _ log: any EntryLog,
    _ replayed: Replayed<State>, published: Published<State>, retention: RetentionThread<State>?,
    isReplacement: Bool = false, options: JournalOptions
  ) {
    self.folder = folder
    self.format = format
    self.chain = chain
    self.options = options
    reserve = log.limits.spareByteCount
    self.published = published
    self.retention = retention
    let version = replayed.version
    progress = Lock(
      KeeperProgress(
        schedule: LayerSchedule(
          options.layers, revision: version.revision, eventCount: replayed.eventCount,
          frozenCount: LayerStack.backing(version.state)?.checkpoint.eventCount ?? 0,
          isReplacement: isReplacement)))
  }

  var faults: ReadFaults { chain.faults }

  // MARK: Freezing

  /// Accepts the version that opening has replayed. Returns it, backed by one more layer if a layer is due.
  func accept(_ replayed: Replayed<State>) -> Version<State> {
    // The schedule already counts the replayed events.
    var tally = replayed.tally
    tally.count = 0
    return accept(replayed.version, tally, moments: replayed.moments)
  }

  /// Takes note of the next accepted version. Returns this version, backed by one more layer if a layer is due.
  ///
  /// Called with the write lock held.
  /// - Parameters:
  ///   - events: the events since the previous version.
  ///   - moments: states between the two versions.
  func accept(
    _ version: Version<State>, _ events: EventTally, moments: [LayerMoment] = []
  ) -> Version<State> {
    stall()
    // Only replayed entries, of an opening or of other nodes, can record an erasure.
    if events.newestErasure > 0 { chain.noteErasure(at: events.newestErasure) }
    let acceptance = progress.withLock { progress in
      progress.moments += moments
      return progress.schedule.accept(events, checkpointCount: moments.last?.checkpoint.eventCount) {
        version.state.changedByteCount
      }
    }
    switch acceptance {
    case .nothing: break
    case .checkpoint: keepCheckpoint(version)
    case .freeze: return freeze(version)
    }
    return version
  }

  /// Waits while the schedule stalls commits, at most until the timeout. An earlier signal only repeats the check.
  private func stall() {
    guard progress.withLock({ $0.schedule.stallsCommits }) else { return }
    let start = ContinuousClock.now
    let deadline = DispatchTime.now() + .seconds(policy.stallTimeout)
    while progress.withLock({ $0.schedule.stallsCommits }), room.wait(timeout: deadline) == .success {}
    let duration = ContinuousClock.now - start
    guard duration > .seconds(1) else { return }
    options.note(.warning, "a commit waited \(duration) for the changes before it to be written to a layer")
  }

  private func keepCheckpoint(_ version: Version<State>) {
    let eventCount = progress.withLock { $0.schedule.eventCount }
    guard let moment = chain.moment(version, eventCount: eventCount) else { return }
    let (changed, replaced) = (moment.parts.changedByteCount, moment.parts.replacedByteCount)
    progress.withLock { progress in
      progress.schedule.keptCheckpoint(changedByteCount: changed, replacedByteCount: replaced)
      progress.moments.append(moment)
      // Each moment takes memory, so their number is limited even if no layer can be written for a long time.
      if progress.moments.count > policy.momentLimit { progress.moments = progress.moments.everySecond }
    }
  }

  private func freeze(_ version: Version<State>) -> Version<State> {
    let (eventCount, earlier) = progress.withLock { progress in
      // The newest moment may be of this version itself, which becomes the top of the layer.
      let earlier = progress.moments.filter { $0.checkpoint.revision != version.revision }
      progress.moments = []
      return (progress.schedule.eventCount, earlier)
    }
    let moment = chain.moment(version, eventCount: eventCount)
    let frozen = moment.flatMap { chain.freeze(version, $0, earlier: earlier) }
    let changed = moment?.parts.changedByteCount ?? 0
    progress.withLock {
      $0.schedule.froze(through: frozen == nil ? nil : version.revision, changedByteCount: changed)
    }
    return frozen ?? version
  }

  /// Freezes changes that were not frozen at their commit, because too many layers were waiting to be written.
  ///
  /// Called with the write lock held.
  /// - Returns: the version, backed by the new layer; nil if no layer is due.
  func freezeRest(of version: Version<State>) -> Version<State>? {
    progress.withLock({ $0.schedule.isFreezeDue }) ? freeze(version) : nil
  }

  /// Forgets all that was accepted after a version and then withdrawn. Other entries will have these revisions.
  ///
  /// Called with the write lock held.
  func withdraw(to version: Version<State>) {
    chain.withdraw(to: version.revision)
    let frozenCount = LayerStack.backing(version.state)?.checkpoint.eventCount ?? 0
    progress.withLock { progress in
      progress.moments.removeAll { $0.checkpoint.revision > version.revision }
      progress.schedule.withdraw(
        to: version.revision, frozenCount: frozenCount,
        checkpointCount: progress.moments.last?.checkpoint.eventCount)
    }
  }

  /// Requests a layer of all changes that are in no layer, even if these are few or the policy is manual.
  func requestLayer() { progress.withLock { $0.schedule.requestLayer() } }

  /// Called when a version is durable, before it is published. Starts the thread if a layer is due.
  func store(_ version: Version<State>, eventCount: Int, freezing freeze: @escaping Freeze) {
    start(freezing: freeze) { $0.schedule.store(version.revision, eventCount: eventCount) }
  }

  /// Starts the thread if earlier sessions have left layers to merge. Called once, after the opening.
  func mergeEarlierLayers(freezing freeze: @escaping Freeze) {
    let (files, logByteCount) = (layersInFiles().map(\.file), logByteCount)
    start(freezing: freeze) { $0.schedule.startsMerging(files, logByteCount: logByteCount) }
  }

  /// The newest durable version, with the number of all events up to it; nil if its revision is not `revision`.
  func newest(at revision: Revision) -> (version: Version<State>, eventCount: Int)? {
    let version = published.version
    let stored = progress.withLock { $0.schedule.stored }
    return version.revision == revision && stored.revision == revision ? (version, stored.eventCount) : nil
  }

  // MARK: The thread

  private func start(freezing freeze: @escaping Freeze, if isDue: (inout KeeperProgress) -> Bool) {
    let starts = progress.withLock { progress in
      let starts = isDue(&progress)
      // Entered under the lock, so that a later `close()` waits for the thread.
      if starts { background.enter() }
      return starts
    }
    guard starts, !BackgroundThread.start({ self.run(freeze) }) else { return }
    progress.withLock { $0.schedule.failToStart() }
    room.signal()
    background.leave()
  }

  private func run(_ freeze: Freeze) {
    work(freeze)
    room.signal()
    background.leave()
  }

  /// Writes and merges layers and runs requests until no work is left.
  private func work(_ freeze: Freeze) {
    var canFreeze = true
    while true {
      let (layers, logByteCount) = (layersInFiles(), logByteCount)
      let work = progress.withLock { progress in
        progress.schedule.next(layers.map(\.file), logByteCount: logByteCount, canFreeze: canFreeze)
      }
      canFreeze = work != .freeze
      switch work {
      case .finish: return
      case .freeze: freeze()
      case .request:
        progress.withLock { $0.requests.removeFirst() }()
        progress.withLock { $0.schedule.finishRequest() }
      case .write:
        removeStrays()
        perform(work, layers)
      case .merge, .repair: perform(work, layers)
      }
    }
  }

  private typealias LayerInFile = (layer: Layer, file: LayerSchedule.File)

  private func layersInFiles() -> [LayerInFile] {
    let indexes = Set(indexes())
    return chain.layers.compactMap { layer in
      guard let footer = layer.footer else { return nil }
      let file = LayerSchedule.File(
        name: layer.name, eventCount: layer.eventCount, byteCount: footer.byteCount,
        hasIndexes: indexes.isSubset(of: layer.indexes), isRebuilt: layer.isRebuilt)
      return (layer, file)
    }
  }

  /// The approximate bytes of the log; the maximum if they are unknown, so that the space of layers is not limited.
  private var logByteCount: Int { (try? chain.logByteCount()) ?? .max }

  /// Writes or merges other layers between the pieces of a large file, so that layers stay few and opening stays fast.
  private func interrupt(_ large: LayerSchedule.LargeFile) {
    let start = ContinuousClock.now
    guard progress.withLock({ $0.schedule.mayInterrupt(at: start) }) else { return }
    let layers = layersInFiles()
    let work = progress.withLock { $0.schedule.interruption(of: large, layers.map(\.file), at: start) }
    guard let work else { return }
    perform(work, layers)
    let end = ContinuousClock.now
    progress.withLock { $0.schedule.interrupted(by: work, from: start, to: end) }
  }

  /// Writes, merges or repairs layers, and reports success or failure to the schedule.
  private func perform(_ work: LayerSchedule.Work, _ layers: [LayerInFile]) {
    do throws(JournalError) {
      switch work {
      case .write: try writeOldest()
      case .merge(let run): try merge(layers[run].map(\.layer))
      case .repair(let index): try repair(layers[index].layer)
      case .request, .freeze, .finish: break
      }
      memoryReturn.run()
      retention?.look()
    } catch {
      let isMerge = if case .merge = work { true } else { false }
      if error.code == .closed {
        progress.withLock { $0.schedule.failed() }
      } else if isMerge {
        faults.report(error, "layers could not be merged; this is tried again later")
        progress.withLock { $0.schedule.failedToMerge() }
      } else {
        faults.report(error, "a layer could not be written; until one is, opening replays the newest events")
        progress.withLock { $0.schedule.failed() }
      }
    }
  }

  private func indexes() -> [IndexDefinition] {
    chain.indexes(declared: published.version.state.parts?.declaredIndexes ?? [:])
  }

  // MARK: Files

  private func writeOldest() throws(JournalError) {
    guard let top = progress.withLock({ $0.schedule.writable }) else { return }
    if let layer = chain.layers.first(where: { $0.footer == nil && $0.top.revision == top }) {
      let (sources, checkpoints) = layer.parts
      let footer = try write(sources, layer.name, from: layer.start, to: checkpoints, generation: 1)
      layer.use(try chain.contents(layer.name, footer), footer)
      report("a layer of revisions \(layer.revisions) was written: \(footer.byteCount) bytes", layer.top)
    }
    progress.withLock { $0.schedule.wrote(top) }
    room.signal()
  }

  private func repair(_ layer: Layer) throws(JournalError) {
    let footer = try write(
      [try chain.source(layer)], layer.name, from: layer.start, to: layer.checkpoints,
      generation: layer.footer?.generation ?? 1, replacesFile: true)
    progress.withLock { $0.schedule.repaired(layer.name) }
    // States that are held keep the rebuilt contents in memory. New states use the file.
    chain.add(try chain.open(layer.name, footer))
    report("the damaged layer of revisions \(layer.revisions) was written again", layer.top)
  }

  private func merge(_ run: [Layer]) throws(JournalError) {
    guard let first = run.first, let last = run.last else { return }
    let large = LayerSchedule.LargeFile(
      end: last.top.revision, eventCount: run.reduce(0) { $0 + $1.eventCount })
    do throws(JournalError) {
      let sources = try run.map { (layer) throws(JournalError) in try chain.source(layer) }
      let logByteCount = try chain.logByteCount()
      let share = progress.withLock { $0.schedule.share(of: large.eventCount, logByteCount: logByteCount) }
      let checkpoints = try chain.checkpoints(of: run, sources, policy, share: share) {
        self.interrupt(large)
        return self.isCancelling
      }
      let name = LayerName(from: first.start.revision, to: last.top.revision)
      let generation = 1 + (run.compactMap { $0.footer?.generation }.max() ?? 0)
      let footer = try write(
        sources, name, from: first.start, to: checkpoints, generation: generation, merging: run, large: large)
      chain.add(try chain.open(name, footer))
      report(
        "\(run.count) layers were merged into one of revisions \(first.start.revision + 1) to "
          + "\(last.top.revision): \(footer.byteCount) bytes", last.top)
    } catch {
      // Read all layers, so that a damaged one is rebuilt in memory, and its file is then repaired.
      if error.code == .damaged || error.code == .io {
        for layer in run { layer.readWhole(chain.shape) { self.isCancelling } }
      }
      throw error
    }
    progress.withLock { $0.schedule.merged() }
    let names = run.map(\.name)
    chain.remove(names)
    try chain.footers.remove(names)
    if large.eventCount >= policy.backlogCount { memoryReturn.run(isMuch: true) }
  }

  private var isCancelling: Bool { progress.withLock { $0.schedule.isCancelling } }

  func report(_ message: @autoclosure () -> String, _ top: LayerCheckpoint) {
    options.note(.info, message(), revision: top.revision)
  }

  /// Writes the file of a layer or snapshot, and its footer.
  /// - Parameter run: the layers that are the sources, if layers are merged.
  func write(
    _ sources: [any LayerSource], _ name: LayerName, from start: LayerCheckpoint,
    to checkpoints: [LayerCheckpoint], generation: Int, replacesFile: Bool = false, merging run: [Layer] = [],
    large: LayerSchedule.LargeFile? = nil
  ) throws(JournalError) -> LayerFooter {
    guard let shape = chain.shape, let top = checkpoints.last else {
      throw JournalError(.wrongUse, "\(State.schema) has no layers: its model has no parts")
    }
    guard top.tables.allSatisfy({ $0.count >= 0 && $0.deletionCount >= 0 && $0.erasedCount >= 0 }) else {
      throw JournalError(
        .damaged, "a \(name.noun) does not have as many entities as it says", revision: top.revision,
        path: folder.snapshots)
    }
    try chain.waitForEntry(top.revision)
    let checkIsWanted: @Sendable () throws(JournalError) -> Void = { () throws(JournalError) in
      if let large { self.interrupt(large) }
      if self.isCancelling { throw .closed(path: self.folder.path) }
    }
    let header = LayerHeader(
      journal: format.id, shape: shape, head: try chain.head(at: top.revision), start: start,
      checkpoints: checkpoints, indexes: indexes(),
      history: LayerHistory(
        entries: run.isEmpty
          ? sources.map { _ in (after: start.revision, through: top.revision) }
          : run.map { (after: $0.start.revision, through: $0.top.revision) },
        forEachVersion: { [chain] kinds, entries, body throws(JournalError) in
          try chain.forEachVersion(
            State.self, of: kinds, after: entries.after, through: entries.through,
            checkIsWanted: checkIsWanted, body)
        }, checkIsWanted: checkIsWanted), isSnapshot: name.from == nil)
    let written = try LayerFile.write(
      sources, header, to: name, in: folder.makeSnapshots(), reserve: reserve, rateLimiter: rateLimiter
    ) {
      self.progress.withLock { $0.schedule.pressure(writing: name.from == nil ? nil : name.to) }
    } isCancelled: {
      if let large { self.interrupt(large) }
      return self.isCancelling
    } check: { () throws(JournalError) in
      // If a read has failed, the contents may be incomplete, and the file must not be used.
      try self.faults.check()
      // The old footer does not fit the new file. It is removed as late as possible: until then, the layer may be used.
      if replacesFile { try self.chain.footers.remove([name]) }
    }
    let footer = LayerFooter(
      byteCount: written.byteCount, pageChecksums: written.pageChecksums, stateDigest: written.stateDigest,
      entryDigest: header.head.digest, schema: State.schema, generation: generation,
      newestErasure: chain.newestErasure, start: start, checkpoints: checkpoints)
    try chain.footers.write(name, footer)
    return footer
  }

  /// Removes files that are no longer needed. A failure is only reported, because no new file depends on the removal.
  func removeStrays() {
    do throws(JournalError) { try chain.removeStrays() } catch {
      faults.report(error, "files that are no longer needed could not be removed; this is tried again later")
    }
  }

  /// Has the thread run a request between two files, and waits for the result.
  /// - Throws: ``JournalError`` with code `closed` if the journal is closing, so that its folder must not change.
  func request<Value: Sendable>(
    freezing freeze: @escaping Freeze, _ body: @escaping @Sendable () throws(JournalError) -> Value
  ) throws(JournalError) -> Value {
    let result = Lock<Result<Value, JournalError>?>(nil)
    let done = DispatchSemaphore(value: 0)
    let starts = progress.withLock { progress -> Bool? in
      guard let starts = progress.schedule.request() else { return nil }
      progress.requests.append {
        let outcome = Result { () throws(JournalError) in
          guard self.isOpen else { throw JournalError.closed(path: self.folder.path) }
          return try body()
        }
        result.withLock { $0 = outcome }
        done.signal()
      }
      if starts { background.enter() }
      return starts
    }
    guard let starts else { throw JournalError.closed(path: folder.path) }
    // If the system refuses the thread, the caller's thread does the work.
    if starts, !BackgroundThread.start({ self.run(freeze) }) { run(freeze) }
    // Start a thread again if there is none: the request may have been left to a thread that could not be started.
    while done.wait(timeout: .now() + .seconds(1)) == .timedOut {
      start(freezing: freeze) { $0.schedule.startsForRequests() }
    }
    guard let outcome = result.withLock({ $0 }) else { preconditionFailure("the request was run") }
    return try outcome.get()
  }

  // MARK: Closing

  /// Cancels work in progress, and waits for its end. After that, only ``writeRest(freezing:)`` changes files.
  func close() {
    progress.withLock { $0.schedule.cancel() }
    background.wait()
    // Requests may be left whose thread did not start. Running them ends their waits.
    if progress.withLock({ !$0.requests.isEmpty }) { work({}) }
  }

  /// Continues after ``close()``, if the log was not replaced after all.
  func reopen(freezing freeze: @escaping Freeze) {
    let (files, logByteCount) = (layersInFiles().map(\.file), logByteCount)
    start(freezing: freeze) { $0.schedule.reopen(files, logByteCount: logByteCount) }
  }

  /// Writes the changes that are in no layer's file, if they are few. Called after ``close()`` and after all commits.
  func writeRest(freezing freeze: Freeze) {
    progress.withLock { $0.schedule.close() }
    work(freeze)
  }

  var isOpen: Bool { progress.withLock { $0.schedule.isOpen } }

  /// Waits until all due layers are written and merged.
  func waitUntilIdle() { background.wait() }
}
