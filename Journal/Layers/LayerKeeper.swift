import Files
import Foundation
import Locks
import PropertyLists
import Synchronization

/// Freezes changes into layers when due, and writes, merges and thins them on a background thread.
///
/// A layer is first frozen in memory, under the write lock, which takes almost no time; from then on the state is
/// backed by it. The thread writes its file, flushes it and renames it, then does the same with its record, and the
/// memory is free again. Merges write a new layer in the same way, and then remove those that it replaces. A crash
/// leaves a file without a record, or layers that another one has replaced; the next writer removes both. To bound what
/// an opening has to replay, a commit waits, for ten seconds at most, while 65,536 events are in no file, eight additions
/// counting as one. To bound the memory, it also waits while two layers have no file yet and the records that changed
/// since have 64 MiB.
///
/// Safe to use from any thread. One file is written at a time.
final class LayerKeeper<State: EventSourced>: Sendable {
  private struct Progress: Sendable {
    var published: Version<State>
    var eventCount: Int
    var isWriting = false
    var isClosed = false
    /// After a failure, no layer is written before there are this many events or unwritten bytes.
    var nextAttempt = (eventCount: 0, byteCount: 0)
    /// After a failed merge, none is tried before this many events.
    var nextMerge = 0
  }

  private let folder: JournalFolder
  private let format: JournalFormat
  private let policy: LayerPolicy
  private let options: JournalOptions
  /// How many bytes layers and snapshots leave free on the disk for the log.
  private let reserve: Int
  private let chain: LayerChain<State>
  /// Told of commits by the committer.
  let pace = RateLimiter()
  private let accepted: Lock<AcceptedEvents>
  private let progress: Lock<Progress>
  /// Held by the thread that writes or removes files. A plain lock, because it is held as long as a file takes to
  /// write.
  private let fileLock = NSLock()
  /// Entered by the background thread.
  private let background = DispatchGroup()
  /// Set by closing, and checked for each piece that is written.
  private let isCancelled = Atomic<Bool>(false)
  /// Signaled when a layer was written, and when no more will be.
  private let room = TimedSemaphore(value: 0)
  /// Freezes the rest under the write lock, if that is free.
  let whenIdle = Lock<(@Sendable () -> Void)?>(nil)
  /// When the writing of a large file may be interrupted next, by a merge and by the writing of a pending layer.
  private let nextInterruptions = Lock((merge: ContinuousClock.now, write: ContinuousClock.now))
  /// Files that failed and were rewritten.
  private let repaired = Lock<Set<LayerName>>([])

  init(
    _ folder: JournalFolder, format: JournalFormat, chain: LayerChain<State>, reserve: Int,
    options: JournalOptions, version: Version<State>, eventCount: Int
  ) {
    self.folder = folder
    self.format = format
    self.chain = chain
    policy = options.layers
    self.options = options
    self.reserve = reserve
    let frozenCount = LayerStack.backing(version.state)?.checkpoint.eventCount ?? 0
    accepted = Lock(AcceptedEvents(eventCount: eventCount, frozenCount: frozenCount))
    progress = Lock(Progress(published: version, eventCount: eventCount))
  }

  // MARK: Freezing

  /// The read failures of the journal's states.
  var faults: ReadFaults { chain.faults }

  /// Takes the next accepted version, and returns it, backed by one more layer if one is due.
  ///
  /// Called with the write lock held.
  /// - Parameters:
  ///   - events: those since the version before.
  ///   - moments: states between the two.
  func accept(
    _ version: Version<State>, _ events: EventTally, moments: [LayerMoment] = []
  ) -> Version<State> {
    waitForRoom()
    // Of an opening, or among the entries of other nodes.
    if events.newestErasure > 0 { chain.noteErasure(at: events.newestErasure) }
    return accepted.withLock { accepted in
      accepted.eventCount += events.count
      accepted.additionCount += events.additionCount
      guard policy.isAutomatic, accepted.isSupported, version.revision > 0 else { return version }
      accepted.countBytes(of: version, entries: events.byteCount)
      accepted.moments += moments
      if isFreezeDue(accepted) { return freeze(version, &accepted) }
      if policy.keepsPast, accepted.eventCount - accepted.knownCount >= policy.eventCount,
        let moment = chain.moment(version, eventCount: accepted.eventCount)
      {
        accepted.moments.append(moment)
        accepted.countHeldBytes(by: moment)
        // Each holds what changed since, so there are few even if no layer can be written for long.
        if accepted.moments.count > policy.momentLimit {
          accepted.moments = accepted.moments.everySecond
        }
      }
      return version
    }
  }

  /// Does the same without a new commit, for changes that were not frozen because earlier layers were waiting to be
  /// written.
  ///
  /// Called with the write lock held.
  /// - Returns: nil if no layer is due.
  func freezeRest(of version: Version<State>) -> Version<State>? {
    accepted.withLock { accepted in isFreezeDue(accepted) ? freeze(version, &accepted) : nil }
  }

  /// What the events that are in no layer count.
  private func weight(of accepted: AcceptedEvents) -> Int {
    policy.weight(accepted.eventCount - accepted.frozenCount, additionCount: accepted.additionCount)
  }

  private func hasRest(_ accepted: AcceptedEvents) -> Bool {
    policy.isAutomatic && accepted.isSupported
      && policy.isLayerDue(
        accepted.eventCount - accepted.frozenCount, additionCount: accepted.additionCount,
        byteCount: max(accepted.byteCount, accepted.logByteCount))
  }

  /// While layers wait to be written, the next one grows.
  private func isFreezeDue(_ accepted: AcceptedEvents) -> Bool {
    hasRest(accepted) && chain.pendingCount() < LayerPolicy.pendingLimit
  }

  private func freeze(_ version: Version<State>, _ accepted: inout AcceptedEvents) -> Version<State> {
    // The newest moment may be that of this very version.
    accepted.moments.removeAll { $0.checkpoint.revision == version.revision }
    guard let moment = chain.moment(version, eventCount: accepted.eventCount),
      let frozen = chain.freeze(
        version, moment, earlier: accepted.moments,
        Backlog(
          weight: weight(of: accepted), byteCount: moment.parts.changedByteCount + accepted.heldByteCount,
          logByteCount: accepted.logByteCount))
    else {
      accepted.isSupported = false
      return version
    }
    accepted.frozenCount = accepted.eventCount
    accepted.additionCount = 0
    accepted.forgetBytes()
    accepted.moments = []
    return Version(head: version.head, state: frozen.state)
  }

  /// Waits while the backlog is as large as the most that opening may have to replay. This happens when large entries
  /// come faster than layers are written, or many commits come during a long merge.
  private func waitForRoom() {
    guard policy.isAutomatic else { return }
    let (unfrozen, byteCount) = accepted.withLock { (weight(of: $0), $0.byteCount + $0.heldByteCount) }
    func isBehind() -> Bool {
      let isFull =
        unfrozen + chain.pendingBacklog().weight >= policy.backlogCount
        || byteCount >= policy.backlogByteCount && chain.pendingCount() >= LayerPolicy.pendingLimit
      return isFull && progress.withLock { $0.isWriting && !$0.isClosed }
    }
    guard isBehind() else { return }
    // A slow drive must not stop commits for longer. Signals from before this wait only repeat the check.
    let deadline = DispatchTime.now() + .seconds(policy.patience)
    while isBehind(), room.wait(timeout: deadline) == .success {}
  }

  /// Forgets what was accepted after a version: it was withdrawn, and other entries will have its revisions.
  ///
  /// Called with the write lock held.
  func withdraw(to version: Version<State>) {
    chain.withdraw(to: version.revision)
    let eventCount = progress.withLock { $0.eventCount }
    accepted.withLock { accepted in
      accepted.eventCount = eventCount
      accepted.frozenCount = LayerStack.backing(version.state)?.checkpoint.eventCount ?? 0
      accepted.additionCount = 0
      accepted.forgetBytes()
      accepted.moments.removeAll { $0.checkpoint.revision > version.revision }
    }
  }

  /// Notes that a version is durable, and starts the thread if there is something to write.
  func note(_ version: Version<State>, eventCount: Int) {
    let starts = progress.withLock { progress in
      progress.published = version
      progress.eventCount += eventCount
      return startsIfDue(&progress)
    }
    if starts { runInBackground() }
  }

  /// Starts the thread if earlier sessions ended before their merges. Called once, after the opening.
  func mergeEarlierLayers() {
    // If the folder can't be read now, they are merged before the next layer is written.
    guard policy.isAutomatic, (try? dueRun()) != nil else { return }
    if progress.withLock({ startsIfDue(&$0, isMergeDue: true) }) { runInBackground() }
  }

  /// The newest durable version, and how many events the entries up to it have; nil if it is of another revision.
  func newest(at revision: Revision) -> (version: Version<State>, eventCount: Int)? {
    progress.withLock { progress in
      progress.published.revision == revision ? (progress.published, progress.eventCount) : nil
    }
  }

  private func startsIfDue(_ progress: inout Progress, isMergeDue: Bool = false) -> Bool {
    guard policy.isAutomatic, !progress.isWriting, !progress.isClosed,
      !isPutOff(progress),
      isMergeDue || chain.hasPending(through: progress.published.revision)
        || accepted.withLock({ hasRest($0) })
    else { return false }
    progress.isWriting = true
    background.enter()
    return true
  }

  private func runInBackground() {
    let isStarted = BackgroundThread.start {
      self.work()
      self.room.signal()
      self.background.leave()
    }
    if !isStarted {
      progress.withLock { $0.isWriting = false }
      room.signal()
      background.leave()
    }
  }

  // MARK: In the background

  /// Writes and merges until there is nothing left to do.
  private func work() {
    while true {
      do throws(JournalError) {
        if isClosed { break }
        fileLock.lock()
        defer { fileLock.unlock() }
        let pending = nextPending
        if pending == nil || !isBehind, let run = try dueRun() {
          try mergeIfPossible(run)
        } else if let layer = pending {
          // Without merges, there would be more and more layers.
          if isMergePutOff, mergeableLayers().count >= policy.layerLimit {
            putOff()
            break
          }
          removeStrays()
          try write(layer)
        } else if !isMergePutOff, let run = runWithoutIndexes() {
          try mergeIfPossible(run)
        } else if let layer = chain.layers.first(where: { $0.isRebuilt && !$0.isWhole && !isRepaired($0) }) {
          try repair(layer)
        } else if accepted.withLock({ hasRest($0) }), freezesRest() {
          continue
        } else {
          // Checked again under the lock: a layer that was frozen since would otherwise wait for the next commit.
          let isDone = progress.withLock { progress in
            if !progress.isClosed, chain.hasPending(through: progress.published.revision) { return false }
            progress.isWriting = false
            return true
          }
          if isDone { return }
        }
      } catch {
        putOff(because: error)
        break
      }
    }
    progress.withLock { $0.isWriting = false }
  }

  /// Freezes changes that waited, unless a commit is in progress: that commit freezes them.
  /// - Returns: whether there is a layer to write now.
  private func freezesRest() -> Bool {
    whenIdle.withLock { $0 }?()
    return nextPending != nil
  }

  /// Nothing depends on layers, so the next attempt waits for as many events or bytes as make a layer due.
  private func putOff(because error: JournalError) {
    if error.code != .closed {
      chain.note(
        error,
        "a layer could not be written; until one is, opening replays the newest events")
    }
    putOff()
  }

  private func putOff() {
    let byteCount = backlog.byteCount + policy.byteCount
    progress.withLock { $0.nextAttempt = ($0.eventCount + policy.eventCount, byteCount) }
  }

  /// Merges layers. If that fails, for example because the disk has room only for small files, merges are put off, and
  /// new layers are still written.
  /// - Throws: ``JournalError`` with code `closed` if the journal is closing.
  private func mergeIfPossible(_ run: [Layer]) throws(JournalError) {
    do throws(JournalError) { try merge(run) } catch {
      if error.code == .closed { throw error }
      chain.note(error, "layers could not be merged; this is tried again later")
      progress.withLock { $0.nextMerge = $0.eventCount + policy.eventCount }
    }
  }

  private var isMergePutOff: Bool { progress.withLock { $0.eventCount < $0.nextMerge } }

  /// Merges and writes newer layers between the pieces of a large file, which may take long, so that there are few layers
  /// and opening stays fast.
  ///
  /// Merges get half of the time, and pending layers a fifth. Otherwise the large file would not end under constant
  /// commits. While merges are behind, changes stay in memory longer, so that fewer and larger layers are written. Before
  /// commits have to wait for room, layers are written at once, as long as there are few.
  /// - Parameters:
  ///   - revision: where the large file ends.
  ///   - eventCount: how many events it has. A merge of more than half of them waits.
  private func catchUp(after revision: Revision, eventCount: Int) {
    let clock = ContinuousClock()
    let start = clock.now
    let (merges, writes) = nextInterruptions.withLock { (start >= $0.merge, start >= $0.write) }
    let isBehind = isBehind
    guard merges || writes || isBehind, !isPutOff else { return }
    do throws(JournalError) {
      if isBehind, let layer = nextPending { return try write(layer) }
      let run = dueRun(after: revision, eventCount: eventCount)
      if merges, let run {
        try mergeIfPossible(run)
        let end = clock.now
        nextInterruptions.withLock { $0.merge = end + (end - start) }
      } else if writes, run == nil || isFarBehind, let layer = nextPending {
        try write(layer)
        let end = clock.now
        nextInterruptions.withLock { $0.write = end + (end - start) * 4 }
      }
    } catch {
      putOff(because: error)
    }
  }

  /// Whether no layer is written now, because of a failure or because the journal is closing.
  private var isPutOff: Bool {
    progress.withLock { $0.isClosed || isPutOff($0) } || !policy.isAutomatic
  }

  private func isPutOff(_ progress: Progress) -> Bool {
    progress.eventCount < progress.nextAttempt.eventCount
      && backlog.byteCount < progress.nextAttempt.byteCount
  }

  private var nextPending: Layer? { chain.pending(through: progress.withLock { $0.published.revision }) }

  /// How much is in no file.
  private var backlog: Backlog {
    var backlog = accepted.withLock { accepted in
      Backlog(
        weight: weight(of: accepted), byteCount: accepted.byteCount + accepted.heldByteCount,
        logByteCount: accepted.logByteCount)
    }
    backlog += chain.pendingBacklog()
    return backlog
  }

  /// Whether closing writes what is in no file.
  private var isOverdue: Bool {
    let backlog = backlog
    return backlog.weight >= 2 * policy.eventCount
      || max(backlog.byteCount, backlog.logByteCount) >= 2 * policy.byteCount
  }

  /// Whether commits would soon wait (``waitForRoom()``).
  private var isBacklogLarge: Bool {
    let backlog = backlog
    return backlog.weight >= policy.backlogCount / 4 || backlog.byteCount >= policy.backlogByteCount
  }

  /// Whether so many events are in no file that the next layer does not wait for merges.
  private var isFarBehind: Bool {
    backlog.weight >= policy.eventCount * 8
  }

  /// Whether the backlog is large, and there are few enough layers to write one more before a merge.
  private var isBehind: Bool {
    isBacklogLarge && mergeableLayers().count < policy.layerLimit
  }

  private func isRepaired(_ layer: Layer) -> Bool { repaired.withLock { $0.contains(layer.name) } }

  /// Writes the file of a layer that is in memory.
  private func write(_ layer: Layer) throws(JournalError) {
    let (sources, checkpoints) = layer.parts
    let footer = try write(sources, layer.name, from: layer.start, to: checkpoints, generation: 1)
    layer.use(try chain.contents(layer.name, footer), footer)
    options.note(
      .info, "a layer of revisions \(layer.revisions) was written: \(footer.byteCount) bytes",
      revision: layer.top.revision)
    progress.withLock { $0.nextAttempt = (0, 0) }
    room.signal()
  }

  /// Rewrites the file of a damaged layer.
  private func repair(_ layer: Layer) throws(JournalError) {
    let footer = try write(
      [try source(layer)], layer.name, from: layer.start, to: layer.checkpoints,
      generation: layer.footer?.generation ?? 1, replacesFile: true)
    repaired.withLock { _ = $0.insert(layer.name) }
    // Held states keep the rebuilt contents; others use the file.
    chain.add(try chain.open(layer.name, footer))
    options.note(
      .info, "the damaged layer of revisions \(layer.revisions) was written again",
      revision: layer.top.revision)
  }

  /// The layers that can be merged, oldest first.
  private func mergeableLayers() -> [Layer] {
    var run: [Layer] = []
    for layer in chain.layers.reversed() where !layer.isWhole {
      guard layer.footer != nil else { continue }
      guard run.last.map({ $0.start.revision == layer.top.revision }) ?? true else { break }
      run.append(layer)
    }
    return run.reversed()
  }

  /// The layers to merge so that all have the declared indexes, nil if all have them. A single layer waits for the next
  /// one, because a file is never replaced by another of its name.
  private func runWithoutIndexes() -> [Layer]? {
    let indexes = indexes()
    let run = mergeableLayers()
    guard let first = run.firstIndex(where: { !Set(indexes).isSubset(of: $0.indexes) }), run.count > 1 else {
      return nil
    }
    return Array(run[min(first, run.count - 2)...])
  }

  /// The indexes that layers get: those that the app has declared in this process. For entities without a declaration,
  /// they are those of the newest layer.
  private func indexes() -> [IndexDefinition] {
    let declared = progress.withLock { $0.published.state.parts?.declaredIndexes } ?? [:]
    let kept = chain.layers.last { $0.footer != nil }?.indexes ?? []
    let indexes = declared.values.joined() + kept.filter { declared[$0.scope] == nil }
    // Sorted, so that the same state makes the same file.
    return indexes.sorted {
      ($0.scope.text, $0.path.names.joined(separator: ".")) < (
        $1.scope.text, $1.path.names.joined(separator: ".")
      )
    }
  }

  /// The layers to merge next.
  private func dueRun() throws(JournalError) -> [Layer]? {
    let run = mergeableLayers()
    if isMergePutOff || run.count < 2 { return nil }
    let range = policy.run(run.map(size), share: try share(of: run))
    return range.isEmpty ? nil : Array(run[range])
  }

  /// Those of the layers after a revision that can be merged before a larger file is complete.
  private func dueRun(after revision: Revision, eventCount: Int) -> [Layer]? {
    if isMergePutOff { return nil }
    let layers = mergeableLayers().filter { $0.start.revision >= revision }
    let run = layers[policy.run(layers.map(size))]
    return run.isEmpty || self.eventCount(of: run) > eventCount / 2 ? nil : Array(run)
  }

  private func size(of layer: Layer) -> LayerPolicy.Size {
    (layer.eventCount, layer.footer?.byteCount ?? 0)
  }

  private func eventCount(of run: some Collection<Layer>) -> Int { run.reduce(0) { $0 + $1.eventCount } }

  private func merge(_ run: [Layer]) throws(JournalError) {
    guard let first = run.first, let last = run.last else { return }
    let eventCount = eventCount(of: run)
    func meanwhile() { catchUp(after: last.top.revision, eventCount: eventCount) }
    do throws(JournalError) {
      let sources = try run.map { (layer) throws(JournalError) in try source(layer) }
      let name = LayerName(from: first.start.revision, to: last.top.revision)
      let footer = try write(
        sources, name, from: first.start, to: try checkpoints(of: run, sources, meanwhile: meanwhile),
        generation: 1 + (run.compactMap { $0.footer?.generation }.max() ?? 0), meanwhile: meanwhile)
      chain.add(try chain.open(name, footer))
      options.note(
        .info,
        "\(run.count) layers were merged into one of revisions \(first.start.revision + 1) to \(last.top.revision): "
          + "\(footer.byteCount) bytes", revision: last.top.revision)
    } catch {
      // A layer that failed is rebuilt when it is read, and then rewritten.
      if error.code == .damaged || error.code == .io { for layer in run { readWhole(layer) } }
      throw error
    }
    let names = run.map(\.name)
    chain.remove(names)
    try chain.footers.remove(names)
  }

  /// A layer to write into another file.
  private func source(_ layer: Layer) throws(JournalError) -> any LayerSource {
    do throws(ArchiveError) { return try Self.sequential(layer.contents) } catch {
      throw ChecksummedFile.failure(error, of: layer.name, chain.path(of: layer.name))
    }
  }

  private static func sequential(_ contents: any LayerContents) throws(ArchiveError) -> any LayerSource {
    if let file = contents as? LayerFile { try SequentialLayer(file) } else { contents }
  }

  /// Reads a whole layer from its file, and has it rebuilt if that fails. If it can't be rebuilt either, it is left to
  /// readers: they may never need what can't be read, and the fault may pass.
  private func readWhole(_ layer: Layer) {
    let contents = layer.contents
    do throws(ArchiveError) {
      let source = try Self.sequential(contents)
      for kind in layer.top.tables.indices {
        let next = try source.versions(kind)
        let row = source.rows(kind)
        while let version = try next() {
          if isCancelled.load(ordering: .relaxed) { return }
          _ = try row(version)
        }
      }
      for index in chain.shape?.indexes.indices ?? 0..<0 {
        let next = try source.lines(index)
        while try next() != nil {}
      }
      for definition in layer.indexes {
        let lines = try source.knownOrScannedLines(definition)
        for position in 0..<lines.count { _ = try lines.line(at: position) }
      }
    } catch {
      _ = layer.replacement(of: contents, because: error, isForAnswer: false)
    }
  }

  /// Which checkpoints a merged layer keeps.
  private func checkpoints(
    of run: [Layer], _ sources: [any LayerSource], meanwhile: () -> Void
  ) throws(JournalError) -> [LayerCheckpoint] {
    let all = run.flatMap(\.checkpoints)
    guard let first = run.first, let last = all.last else { return [] }
    let name = LayerName(from: first.start.revision, to: last.revision)
    var choices = [all]
    while let newest = choices.last, newest.count > 1 {
      // Every second, counted from the end, so that the last stays.
      let sparser = newest.enumerated().filter { (newest.count - 1 - $0.offset) % 2 == 0 }
      choices.append(sparser.map(\.element))
    }
    if !policy.keepsPast { return [last] }
    let share = try share(of: run)
    // Nearly always all fit.
    if run.reduce(0, { $0 + ($1.footer?.byteCount ?? 0) }) <= share { return all }
    let (newest, past) = try byteCounts(
      sources, of: name, keeping: choices.map { $0.map(\.revision) }, meanwhile: meanwhile)
    return choices[policy.choice(past, newestByteCount: newest, share: share)]
  }

  /// About how many bytes the newest state of a merged layer would take, and its past states for each choice of
  /// checkpoints. The first choice includes all others.
  private func byteCounts(
    _ sources: [any LayerSource], of name: LayerName, keeping choices: [[Revision]], meanwhile: () -> Void
  ) throws(JournalError) -> (newest: Int, past: [Int]) {
    do throws(ArchiveError) {
      var counts = choices.map { _ in 0 }
      var sample = VersionSample()
      var entityCount = 0
      for kind in chain.shape?.kinds.indices ?? 0..<0 {
        var cursors: [VersionCursor] = []
        for source in sources { cursors.append(try source.versions(kind)) }
        var merge = try VersionMerge(cursors, keeping: choices.first ?? [])
        let readers = sources.map { $0.rows(kind) }
        while try merge.next() {
          entityCount += 1
          if entityCount % 1024 == 0 {
            if isCancelled.load(ordering: .relaxed) { break }
            meanwhile()
          }
          for choice in choices.indices { counts[choice] += merge.furtherCount(keeping: choices[choice]) }
          try sample.add(merge.group) { (found) throws(ArchiveError) in
            try readers[found.source](found.version)
          }
        }
      }
      return (sample.newestByteCount, counts.map { $0 * sample.furtherByteCount })
    } catch {
      throw ChecksummedFile.failure(error, of: name, error.path ?? folder.snapshots)
    }
  }

  /// How many bytes some layers may take, by their part of the log.
  private func share(of run: [Layer]) throws(JournalError) -> Int {
    let eventCount = progress.withLock { $0.eventCount }
    let part = Double(self.eventCount(of: run)) / Double(max(eventCount, 1))
    return policy.share(ofLog: Double(try chain.logByteCount()) * min(part, 1))
  }

  // MARK: Files

  private func write(
    _ sources: [any LayerSource], _ name: LayerName, from start: LayerCheckpoint,
    to checkpoints: [LayerCheckpoint],
    generation: Int, replacesFile: Bool = false, meanwhile: @escaping () -> Void = {}
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
    let snapshots = try folder.makeSnapshots()
    let header = LayerHeader(
      journal: format.id, shape: shape, head: try chain.head(at: top.revision), start: start,
      checkpoints: checkpoints, indexes: indexes())
    func backlog() -> LayerBacklog {
      if chain.pendingCount(except: name) == 0 { return .none }
      return isBacklogLarge ? .large : .layer
    }
    let written = try ChecksummedFile.write(
      sources, header, to: name, in: snapshots, reserve: reserve, pace: pace,
      backlog: backlog
    ) {
      meanwhile()
      return self.isCancelled.load(ordering: .relaxed)
    } check: { () throws(JournalError) in
      // A state with read failures must not become a file.
      try self.faults.check()
      // A record must not exist together with another file than its own. It goes last, because it may still be of use.
      if replacesFile { try self.chain.footers.remove([name]) }
    }
    let footer = LayerFooter(
      byteCount: written.byteCount, pageChecksums: written.pageChecksums, stateDigest: written.stateDigest,
      entryDigest: header.head.digest, schema: State.schema, generation: generation,
      newestErasure: chain.newestErasure, start: start, checkpoints: checkpoints)
    try chain.footers.write(name, footer)
    return footer
  }

  /// Removes files that a crash left unfinished or kept from being removed, and unusable layers: those that were
  /// replaced, that are damaged, or that are another model's. Requested snapshots stay. No new file depends on the
  /// removal, so a failure is only noted.
  private func removeStrays() {
    do throws(JournalError) { try removeAllStrays() } catch {
      chain.note(error, "files that are no longer needed could not be removed; this is tried again later")
    }
  }

  private func removeAllStrays() throws(JournalError) {
    guard let snapshots = try folder.openSnapshots() else { return }
    let layers = chain.layers
    let useless = layers.filter { layer in
      if layer.isWhole || layer.footer == nil { return false }
      let isReplaced = layers.contains {
        $0 !== layer && !$0.isWhole && $0.footer != nil && $0.start.revision <= layer.start.revision
          && $0.top.revision >= layer.top.revision
      }
      // One that can't be read at the moment may be below it.
      if isReplaced || !chain.unreadable.isEmpty { return isReplaced }
      // The layers below it may reach beyond its start, for example one that has replaced a dropped snapshot.
      let reached = chain.stack(atOrBefore: layer.top.revision - 1)?.checkpoint.revision ?? 0
      return reached < layer.start.revision
    }
    chain.remove(useless.map(\.name))
    let known = Set(chain.layers.filter { $0.footer != nil }.map(\.name)).union(chain.unreadable)
    let names = try chain.footers.names()
    try chain.footers.remove(names.filter { $0.from != nil && !known.contains($0) })
    let recorded = Set(names.filter { $0.from == nil || known.contains($0) })
    for name in try snapshots.names()
    where JournalFolder.Part.snapshots.kind(of: name, options.logStorage) != nil {
      if let layer = LayerName(fileName: name) ?? LayerName(recordName: name), recorded.contains(layer) {
        continue
      }
      try snapshots.removeFile(name)
    }
  }

  // MARK: Requested snapshots

  /// Writes a whole state and returns when its file and its record are durable.
  /// - Throws: ``JournalError`` with code `closed` if the journal is closed in the meantime.
  func take(_ version: Version<State>, eventCount: Int) throws(JournalError) -> FooterFile {
    fileLock.lock()
    defer { fileLock.unlock() }
    try checkIsOpen()
    guard let parts = version.state.parts, let shape = chain.shape else {
      throw JournalError(.wrongUse, "\(State.schema) has no snapshots: its model has no parts")
    }
    removeStrays()
    let name = LayerName(from: nil, to: version.revision)
    let footer = try write(
      [WholeState(parts: parts, revision: version.revision)], name, from: .start(shape),
      to: [LayerCheckpoint(revision: version.revision, eventCount: eventCount, parts)], generation: 1,
      replacesFile: try chain.footers.record(name) != nil
    ) { self.catchUp(after: 0, eventCount: eventCount) }
    chain.add(try chain.open(name, footer))
    options.note(
      .info, "a snapshot of revision \(version.revision) was written: \(footer.byteCount) bytes",
      revision: version.revision)
    return FooterFile(name, footer)
  }

  /// Fails once the journal is closing: then nothing in its folder may change. Called with the lock of the files held.
  private func checkIsOpen() throws(JournalError) {
    if progress.withLock({ $0.isClosed }) {
      throw JournalError.closed(path: folder.path)
    }
  }

  /// Drops the snapshot of a revision; states that it backs stay usable, and so do all checkpoints of layers.
  /// - Throws: ``JournalError`` with code `notFound` if there is none.
  func drop(_ revision: Revision) throws(JournalError) {
    fileLock.lock()
    defer { fileLock.unlock() }
    try checkIsOpen()
    let name = LayerName(from: nil, to: revision)
    guard try chain.footers.names().contains(name) else {
      throw JournalError(.notFound, "there is no snapshot of that revision", revision: revision)
    }
    if let layer = chain.layers.first(where: { $0.name == name }) { try keepReach(without: layer) }
    chain.remove([name])
    try chain.footers.remove([name])
  }

  /// Writes the changes between the last checkpoint below a snapshot and the snapshot into a layer, if a layer or the
  /// newest state begins at the snapshot. Without it, nothing would lead to them.
  private func keepReach(without snapshot: Layer) throws(JournalError) {
    let top = snapshot.top
    let reached = chain.stack(atOrBefore: top.revision, without: snapshot)?.checkpoint
    let start = reached ?? snapshot.start
    guard start.revision < top.revision else { return }
    let newest = progress.withLock { LayerStack.backing($0.published.state)?.checkpoint.revision }
    guard
      policy.isAutomatic && newest == top.revision
        || chain.layers.contains(where: {
          (start.revision + 1...top.revision).contains($0.start.revision)
        })
    else { return }
    let name = LayerName(from: start.revision, to: top.revision)
    // Without layers below, the snapshot has what changed since the empty state.
    let sources = reached == nil ? [try source(snapshot)] : [try chain.changes(after: start, to: top)]
    let footer = try write(sources, name, from: start, to: [top], generation: 1) {
      self.catchUp(after: top.revision, eventCount: top.eventCount - start.eventCount)
    }
    chain.add(try chain.open(name, footer))
  }

  // MARK: Closing

  /// Cancels the write in progress. After that, only ``writeOverdueLayers()`` changes a file of a layer or snapshot.
  func close() {
    isCancelled.store(true, ordering: .relaxed)
    progress.withLock { $0.isClosed = true }
    background.wait()
    fileLock.lock()
    fileLock.unlock()
  }

  /// Writes what is in no file of a layer, if it is twice as many events or bytes as make a layer due. Less is replayed
  /// by the next opening. Then it merges layers once, if a merge is due that does not take long, or if there are many.
  ///
  /// Called after ``close()``, when all commits have ended. Sessions that are too short for the thread would otherwise
  /// never write a layer, and each opening would take longer than the one before. Or each session would leave one more
  /// layer. One merge is enough, because it replaces several layers and the session adds one.
  func writeOverdueLayers() {
    guard policy.isAutomatic else { return }
    isCancelled.store(false, ordering: .relaxed)
    do throws(JournalError) {
      var isWritten = false
      while isOverdue, nextPending != nil || freezesRest(), let layer = nextPending {
        try write(layer)
        isWritten = true
      }
      let layerCount = mergeableLayers().count
      // Without a new layer, the next session has as much to merge as this one had.
      guard isWritten || layerCount >= policy.layerLimit, let run = try dueRun() else { return }
      let byteCount = run.reduce(0) { $0 + size(of: $1).byteCount }
      if policy.mergesAtClosing((eventCount(of: run), byteCount), layerCount: layerCount) {
        try mergeIfPossible(run)
      }
    } catch {
      putOff(because: error)
    }
  }

  var isClosed: Bool { progress.withLock { $0.isClosed } }
  var isWriting: Bool { progress.withLock { $0.isWriting } }

  /// Waits until everything that is due is written and merged.
  package func waitUntilIdle() { background.wait() }
}

/// The number of events up to the newest accepted version, and up to its layers.
///
/// Not nested: the type would depend on the state, and each commit would look it up at run time.
private struct AcceptedEvents: Sendable {
  var eventCount: Int
  var frozenCount: Int
  /// How many events in no layer are known to add an entity.
  var additionCount = 0
  /// About how many bytes the events have in the log that are in no layer. More than those of the records if large
  /// records are updated often.
  private(set) var logByteCount = 0
  /// About how many bytes the records have that are in no layer.
  private(set) var byteCount = 0
  /// How many events there were when these were counted, and how many bytes the entries since then have.
  private var counted: (eventCount: Int, byteCount: Int)?
  /// At most how many bytes the moments hold that later events have replaced.
  private(set) var heldByteCount = 0
  /// The bytes of records at the newest moment, and of those that were replaced before it.
  private var momentByteCounts = (changed: 0, replaced: 0)

  init(eventCount: Int, frozenCount: Int) {
    self.eventCount = eventCount
    self.frozenCount = frozenCount
  }
  var isSupported = true
  /// The coming checkpoints of the next layer, in the order of time.
  var moments: [LayerMoment] = []

  /// How many events the newest checkpoint includes.
  var knownCount: Int { moments.last?.checkpoint.eventCount ?? frozenCount }

  /// Counts the bytes of a state's changed records, after every eighth event and after large entries.
  mutating func countBytes(of version: Version<some EventSourced>, entries entryByteCount: Int) {
    logByteCount += entryByteCount
    // Copying a state and asking it for its parts takes longer than all else here.
    if let counted, eventCount - counted.eventCount < 8, counted.byteCount + entryByteCount < 1 << 20 {
      self.counted = (counted.eventCount, counted.byteCount + entryByteCount)
      return
    }
    byteCount = version.state.changedByteCount
    counted = (eventCount, 0)
  }

  /// Counts what a moment holds that the one before has otherwise.
  mutating func countHeldBytes(by moment: LayerMoment) {
    let changed = moment.parts.changedByteCount
    let replaced = moment.parts.replacedByteCount
    // What was replaced since the moment before was there then, or was made since and is held by none.
    heldByteCount += min(replaced - momentByteCounts.replaced, momentByteCounts.changed)
    momentByteCounts = (changed, replaced)
  }

  mutating func forgetBytes() {
    logByteCount = 0
    byteCount = 0
    counted = nil
    heldByteCount = 0
    momentByteCounts = (0, 0)
  }
}
