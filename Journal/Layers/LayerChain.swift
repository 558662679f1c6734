import Files
import Locks
import PropertyLists

/// All layers of a journal. A replay to a revision starts from the newest checkpoint at or before the revision to which
/// layers lead without a gap; if there is none, from the empty state of revision 0. Snapshots are for people: no replay
/// starts from a snapshot.
///
/// 1. A layer is not trusted. It is used only if it has a footer, its entry is in the log, its schema is the model's,
///    and all bytes read have the checksums of the footer.
/// 2. A damaged layer is reported and not used again. A temporarily unreadable layer stays for the next opening.
/// 3. If a layer fails while states are backed by it, its contents are rebuilt from the layers below and the log. So a
///    reader waits, but gets the right answer.
///
/// Safe to use from any thread.
package final class LayerChain: Sendable {
  private struct Known: Sendable {
    /// The usable layers, in the order of their ends.
    var layers: [Layer] = []
    var lineage = LayerLineage()
    /// The newest erasure that an entry or a footer read so far has shown; 0 if there was none.
    var newestErasure: Revision = 0
    /// The open log; nil after the journal was closed.
    var log: (any EntryLog)?
  }

  package let footers: LayerFooters
  package let faults: ReadFaults
  let rebuilder: LayerRebuilder
  private let folder: JournalFolder
  private let format: JournalFormat
  /// The entry up to which history was pruned; nil if no history was pruned.
  var base: Head? { format.base?.head }
  private let options: JournalOptions
  /// The limit for all pages of layers in memory.
  private let pageQuota: PageQuota
  private let known: Lock<Known>

  init<State: EventSourced>(
    _ folder: JournalFolder, format: JournalFormat, _: State.Type, log: any EntryLog, options: JournalOptions
  ) {
    self.folder = folder
    self.format = format
    self.options = options
    footers = LayerFooters(folder: folder)
    faults = ReadFaults(options)
    rebuilder = LayerRebuilder(
      folder: folder, format: format, options: options, model: State.self, shape: StateShape(State.self))
    pageQuota = PageQuota(limit: PageBudget.limit(options.cacheByteCount, []))
    known = Lock(Known(log: log))
  }

  /// Nil for a model without parts, which has no layers and no snapshots.
  var shape: StateShape? { rebuilder.shape }

  /// Replaces the open log by a second opening of the same log, or by nil.
  func use(_ log: (any EntryLog)?) { known.withLock { $0.log = log } }

  /// Ends the use of the log. States that callers hold stay usable.
  func close() {
    known.withLock { known in
      known.log = nil
      known.layers = []
    }
  }

  // MARK: Layers

  /// All layers that can be used, in the order of their ends.
  package var layers: [Layer] { known.withLock { $0.layers } }

  func add(_ layer: Layer) {
    let layers = known.withLock { known in
      known.layers.removeAll { $0.name == layer.name }
      known.layers.append(layer)
      known.layers.sort { $0.name < $1.name }
      return known.layers
    }
    pageQuota.limit = PageBudget.limit(options.cacheByteCount, layers)
    faults.forgetDamage(of: [layer.name])
  }

  /// Removes the layers in memory that end after a revision, because entries after that revision were withdrawn.
  func withdraw(to revision: Revision) {
    let taken = layers.filter { $0.footer == nil && $0.top.revision > revision }
    for layer in taken { layer.withdraw() }
    remove(taken.map(\.name))
  }

  func remove(_ names: [LayerName]) {
    known.withLock { known in known.layers.removeAll { names.contains($0.name) } }
    faults.forgetDamage(of: names)
  }

  var newestErasure: Revision { known.withLock { $0.newestErasure } }

  /// Records the entry of an erasure; does nothing for 0.
  func noteErasure(at revision: Revision) {
    // Ignore an erasure whose own entry was pruned: layers that were made after the pruning have no erased content.
    guard revision > format.head.revision else { return }
    known.withLock { $0.newestErasure = max($0.newestErasure, revision) }
  }

  /// Forgets layers from before the newest erasure, because they have erased content.
  /// - Returns: whether there were such layers.
  private func removeOutdated() -> Bool {
    let outdated = layers.filter { $0.footer.map(isOutdated) ?? false }.map(\.name)
    remove(outdated)
    for name in outdated { reportOutdated(name) }
    return !outdated.isEmpty
  }

  func isOutdated(_ footer: LayerFooter) -> Bool { footer.newestErasure < newestErasure }

  private func reportOutdated(_ name: LayerName) {
    faults.report(outdated(name), of: name, name.from == nil ? "a snapshot has what was erased" : nil)
  }

  func outdated(_ name: LayerName) -> JournalError {
    JournalError(
      .damaged, "the \(name.noun) is from before an erasure and has what was erased; remove the file",
      revision: name.to, path: folder.path(of: name))
  }

  /// Forgets all layers, because an erasure has removed their files.
  func removeErased() {
    remove(layers.map(\.name))
    known.withLock { $0.lineage = LayerLineage() }
  }

  /// Finds the layers that have footers, and opens the usable ones.
  /// - Parameter isInUse: whether another process may be writing the journal. If so, layers that disappear meanwhile,
  ///     or that are newer than `newest`, are not problems.
  func load(
    through newest: Revision, in log: any EntryLog, isInUse: Bool = false
  ) throws(JournalError) {
    guard shape != nil, newest > 0 else { return }
    for _ in 0..<Self.loadLimit {
      let names = try footers.names()
      let known = layers.map(\.name)
      if isInUse { remove(known.filter { !names.contains($0) }) }
      var found: [(layer: Layer, footer: LayerFooter)] = []
      let new = names.filter { $0.from != nil && !(isInUse && known.contains($0)) }
      try visit(new, through: newest, in: log, isInUse: isInUse) { (name, footer) throws(JournalError) in
        found.append((try open(name, footer), footer))
      }
      noteErasure(at: found.map(\.footer.newestErasure).max() ?? 0)
      // Added only after all footers were read, so that no reader sees an outdated layer.
      for (layer, footer) in found {
        if isOutdated(footer) { reportOutdated(layer.name) } else { add(layer) }
      }
      if !isInUse { return }
      // If layers were removed meanwhile, look again: other layers have replaced them.
      if Set(try footers.names()).isSuperset(of: names) { return }
    }
  }

  /// Fails if a layer or snapshot belongs to a later entry than the log has. A file is only written after its entry is
  /// durable, so another program has replaced the log with an older one. Fails before any commit, because commits could
  /// replace the file that proves the loss.
  func checkIsNoLoss(after newest: Revision) throws(JournalError) {
    if let later = try footers.newest(after: newest) { throw loss(after: newest, shownBy: later.name) }
  }

  package func loss(after newest: Revision, shownBy name: LayerName) -> JournalError {
    JournalError(
      .damaged,
      "the log ends with entry \(newest), and a \(name.noun) of entry \(name.to) shows that there were more: "
        + "\(name.fileName). If an older copy of the log was put here on purpose, remove the folder snapshots",
      revision: newest + 1, path: folder.entries)
  }

  /// Reports snapshots that are damaged or from before an erasure, as far as that shows without reading the files.
  /// Called when the newest erasure is known from the layers and the log.
  func checkSnapshots(
    through newest: Revision, in log: any EntryLog, isInUse: Bool
  ) throws(JournalError) {
    guard shape != nil, newest > 0 else { return }
    let names = try footers.names().filter { $0.from == nil }
    try visit(names, through: newest, in: log, isInUse: isInUse) { (name, footer) throws(JournalError) in
      _ = try LayerFile.open(name, in: folder.openSnapshots(), footer: footer)
      if isOutdated(footer) { reportOutdated(name) }
    }
  }

  /// Calls `body` with each usable footer of this model, and reports unusable ones.
  private func visit(
    _ names: [LayerName], through newest: Revision, in log: any EntryLog, isInUse: Bool,
    _ body: (LayerName, LayerFooter) throws(JournalError) -> Void
  ) throws(JournalError) {
    for name in names where !isInUse || name.to <= newest {
      do throws(JournalError) {
        if let footer = try footer(name, through: newest, in: log) { try body(name, footer) }
      } catch {
        if error.code == .closed { throw error }
        if isInUse, try footers.footer(name) == nil { continue }
        faults.report(error, of: name, name.from == nil ? "a snapshot is damaged or can't be read" : nil)
      }
    }
  }

  /// The most attempts to find layers while another process removes some.
  private static let loadLimit = 10

  /// The footer of a given name; nil if it has another schema, or no longer exists.
  private func footer(
    _ name: LayerName, through newest: Revision, in log: any EntryLog
  ) throws(JournalError) -> LayerFooter? {
    guard let file = try footers.footer(name) else { return nil }
    if let problem = file.problem { throw problem }
    guard let footer = file.footer, footer.schema == shape?.schema else { return nil }
    let head = name.to <= newest ? try log.head(at: name.to, format) : nil
    guard let head, head.digest == footer.entryDigest else {
      throw JournalError(
        .damaged, "the \(name.noun) belongs to another entry than the one in the log", revision: name.to,
        path: folder.path(of: name))
    }
    return footer
  }

  func open(_ name: LayerName, _ footer: LayerFooter) throws(JournalError) -> Layer {
    Layer(name, footer, try contents(name, footer), faults: faults, rebuild: rebuild)
  }

  func contents(_ name: LayerName, _ footer: LayerFooter) throws(JournalError) -> LayerFile {
    guard let shape, footer.start.tables.count == shape.kinds.count,
      footer.start.textCounts.count == shape.lists.count
    else {
      throw JournalError(
        .damaged, "the \(name.noun) can't be used: \(StateShape.advice)", revision: name.to,
        path: folder.path(of: name))
    }
    return try LayerFile(
      name, in: folder.openSnapshots(), footer: footer, shape: shape,
      memoryByteCount: options.layers.memoryByteCount, quota: pageQuota)
  }

  /// Reads the whole file of a layer, and fails at the first page that is altered.
  func checkAllPages(_ name: LayerName, _ footer: LayerFooter) throws(JournalError) {
    try LayerFile.checkAllPages(name, in: folder.openSnapshots(), footer: footer)
  }

  func path(of name: LayerName) -> String { folder.path(of: name) }

  /// The description in a snapshot, for people, and the snapshot's declared indexes; nil for a model without parts.
  func about(
    _ name: LayerName, _ footer: LayerFooter
  ) throws(JournalError) -> (text: String, indexes: [IndexDefinition])? {
    guard let shape else { return nil }
    return try LayerFile.about(name, in: folder.openSnapshots(), footer: footer, shape: shape)
  }

  /// The header of a snapshot; nil for a model without parts.
  func snapshotHeader(_ head: Head, _ top: LayerCheckpoint) -> LayerHeader? {
    shape.map { shape in
      LayerHeader(
        journal: format.id, shape: shape, head: head, start: .start(shape), checkpoints: [top],
        isSnapshot: true)
    }
  }

  /// The contents of a layer, to be written into another file.
  func source(_ layer: Layer) throws(JournalError) -> any LayerSource {
    do throws(ArchiveError) { return try layer.contents.sequential() } catch {
      throw LayerFile.failure(error, of: layer.name, path(of: layer.name))
    }
  }

  /// The indexes that new layers get: those that the app has declared in this process and, for entities without a
  /// declaration, those of the newest layer.
  func indexes(declared: [IndexScope: [IndexDefinition]]) -> [IndexDefinition] {
    let kept = layers.last { $0.footer != nil }?.indexes ?? []
    let indexes = Set(declared.values.joined()).union(
      kept.filter { definition in
        guard let own = declared[definition.scope] else { return true }
        // Once made for a search of the past, it stays as long as the app declares an index of the values.
        return definition.content == .pastValues
          && own.contains(IndexDefinition(definition.scope, definition.path))
      })
    // Sorted, so that the same state makes the same file.
    return indexes.sorted {
      ($0.scope.text, $0.path.names.joined(separator: "\0"), $0.content.rawValue) < (
        $1.scope.text, $1.path.names.joined(separator: "\0"), $1.content.rawValue
      )
    }
  }

  /// Removes files that a crash has left, and layers that were replaced, are damaged, or are another model's.
  func removeStrays() throws(JournalError) {
    guard let snapshots = try folder.openSnapshots() else { return }
    let layers = layers
    let useless = layers.filter { layer in
      if layer.footer == nil { return false }
      let isReplaced = layers.contains {
        $0 !== layer && $0.footer != nil && $0.start.revision <= layer.start.revision
          && $0.top.revision >= layer.top.revision
      }
      // If a layer can't be read now, it may be the one below this layer. So only replaced layers are removed then.
      if isReplaced || !faults.unreadable.isEmpty { return isReplaced }
      let reached = stack(atOrBefore: layer.top.revision - 1)?.checkpoint.revision ?? 0
      return reached < layer.start.revision
    }
    remove(useless.map(\.name))
    let known = Set(self.layers.filter { $0.footer != nil }.map(\.name)).union(faults.unreadable)
    let names = try footers.names()
    try footers.remove(names.filter { $0.from != nil && !known.contains($0) })
    let recorded = Set(names.filter { $0.from == nil || known.contains($0) })
    for name in try snapshots.names()
    where JournalFolder.Part.snapshots.kind(of: name, options.logStorage) != nil {
      if let layer = LayerName(fileName: name) ?? LayerName(footerName: name), recorded.contains(layer) {
        continue
      }
      try snapshots.removeFile(name)
    }
  }

  // MARK: States

  func checkpoint(atOrAfter revision: Revision) -> Revision? {
    layers.compactMap { $0.checkpoint(atOrAfter: revision)?.revision }.min()
  }

  /// The layers that lead to the newest checkpoint at or before a revision; nil if there are none.
  func stack(atOrBefore revision: Revision) -> LayerStack? {
    let (layers, lineage) = known.withLock { ($0.layers, $0.lineage) }
    var chosen: [Layer] = []
    var reached: LayerCheckpoint?
    while true {
      var best: (layer: Layer, checkpoint: LayerCheckpoint)?
      for layer in layers where layer.start.revision <= reached?.revision ?? 0 {
        guard let checkpoint = layer.checkpoint(atOrBefore: revision),
          checkpoint.revision > best?.checkpoint.revision ?? reached?.revision ?? 0
        else { continue }
        best = (layer, checkpoint)
      }
      guard let best else { break }
      chosen.append(best.layer)
      reached = best.checkpoint
    }
    // Layers from before a pruning that another program has brought back can have checkpoints before the base, to which
    // no entry can be applied.
    guard let reached, reached.revision >= format.head.revision else { return nil }
    return LayerStack(chosen.reversed(), at: reached, faults: faults, lineage: lineage)
  }

  /// - Parameter defersUpdates: whether a replay from there may defer updates of entities that it has not read.
  func start<State: EventSourced>(
    atOrBefore revision: Revision, defersUpdates: Bool = false
  ) -> ReplayStart<State> {
    guard let shape, let stack = stack(atOrBefore: revision) else { return .empty }
    do throws(ArchiveError) {
      if let lists = try stack.lists(shape),
        let state = State(parts: stack.parts(shape, lists, defersUpdates: defersUpdates))
      {
        return ReplayStart(
          revision: stack.checkpoint.revision, state: state, eventCount: stack.checkpoint.eventCount)
      }
    } catch {
      // Not expected, because the texts were read when the files were opened.
    }
    faults.report(
      JournalError(
        .damaged, "the layer can't be used: \(StateShape.advice)", revision: stack.checkpoint.revision,
        path: folder.snapshots))
    return .empty
  }

  /// The version at a revision, replayed from the layers. If the replay finds an erasure that is newer than some of
  /// these layers, the replay is repeated without these layers.
  /// - Parameter momentLimit: the approximate number of moments to keep on the way, as checkpoints of the next layer.
  ///   With none, that layer would have one checkpoint, and each earlier state would need a replay.
  func version<State: EventSourced>(
    through revision: Revision, _ replay: Replay<State>, momentLimit: Int = 0
  ) throws(JournalError) -> Replayed<State> {
    while true {
      var start: ReplayStart<State> = start(atOrBefore: revision)
      let count = revision - start.revision
      let step = momentLimit == 0 ? count : max(count / momentLimit, options.layers.eventCount)
      var replayed = EventTally()
      var moments: [LayerMoment] = []
      while true {
        // The base stands for all pruned entries.
        let end = min(max(start.revision + step, format.head.revision), revision)
        let (version, passed) = try replay.version(through: end, from: start, checking: faults)
        replayed += passed
        let eventCount = start.eventCount + passed.count
        if end == revision {
          noteErasure(at: replayed.newestErasure)
          if removeOutdated() { break }
          return Replayed(version: version, eventCount: eventCount, tally: replayed, moments: moments)
        }
        if let moment = moment(version, eventCount: eventCount) { moments.append(moment) }
        while LayerMoment.heldByteCount(moments) > options.layers.backlogByteCount {
          moments = moments.everySecond
        }
        start = ReplayStart(revision: end, state: version.state, eventCount: eventCount)
      }
    }
  }

  // MARK: Freezing

  /// The changes of a state above its layers; nil for a model without parts. Takes O(1).
  func moment(_ version: Version<some EventSourced>, eventCount: Int) -> LayerMoment? {
    guard shape != nil, let parts = version.state.parts, !parts.tables.isEmpty else { return nil }
    return LayerMoment(
      checkpoint: LayerCheckpoint(revision: version.revision, eventCount: eventCount, parts), parts: parts)
  }

  /// Freezes the changes of a state above its layers into a layer in memory.
  /// - Parameter earlier: earlier moments since the layer below, which become checkpoints too.
  /// - Returns: the same version, backed by the new layer too; nil for a model without parts.
  func freeze<State: EventSourced>(
    _ version: Version<State>, _ moment: LayerMoment, earlier: [LayerMoment]
  ) -> Version<State>? {
    guard let shape else { return nil }
    let base = LayerStack.backing(version.state)
    let layer = Layer(
      earlier, top: moment, from: base?.checkpoint ?? .start(shape), entryDigest: version.digest,
      faults: faults, rebuild: rebuild)
    add(layer)
    var stack = stack(atOrBefore: version.revision)
    if stack?.checkpoint.revision != version.revision {
      // The layers that back the state were dropped or found damaged meanwhile. The state keeps using them.
      stack = LayerStack(
        [layer] + (base?.layers ?? []), at: moment.checkpoint, faults: faults,
        lineage: known.withLock { $0.lineage })
    }
    guard let stack,
      let state = version.state.replacing(parts: stack.parts(shape, moment.parts.lists.map(\.texts)))
    else {
      remove([layer.name])
      return nil
    }
    return Version(head: version.head, state: state)
  }

  // MARK: The log

  func head(at revision: Revision) throws(JournalError) -> Head { try openLog().head(at: revision, format) }

  /// Waits until the local log has an entry. In a shared journal, the entry is stored locally after the commit, and a
  /// layer must not be ahead of the local log.
  func waitForEntry(_ revision: Revision) throws(JournalError) {
    guard try openLog().newestRevision(after: revision - 1, waitingAtMost: .seconds(1)) >= revision else {
      throw JournalError(.io, "this node's folder does not have the entry yet", revision: revision)
    }
  }

  func logByteCount() throws(JournalError) -> Int { try openLog().byteCount() }

  /// Applies the events of a range of entries to a state.
  func replay<State: EventSourced>(
    _ first: Revision, through last: Revision, to state: inout State
  ) throws(JournalError) {
    try Replay<State>(log: openLog(), format: format).apply(first, through: last, to: &state)
  }

  /// Reads those entries of a range that the log has.
  func readLog(
    after first: Revision, through last: Revision, _ body: (EntryDecoder) throws(JournalError) -> Void
  ) throws(JournalError) {
    let log = try openLog()
    let (first, last) = (max(first, format.head.revision) + 1, min(last, try log.newestRevision()))
    if first <= last { try log.readAll(first...last, body) }
  }

  private func openLog() throws(JournalError) -> any EntryLog {
    guard let log = known.withLock({ $0.log }) else { throw JournalError.closed(path: folder.path) }
    return log
  }

  /// Returns a closure that rebuilds a layer. The closure holds the chain weakly, because the chain has all layers, and
  /// each layer has the closure.
  private var rebuild: Layer.Rebuild {
    { [weak self, rebuilder, faults] layer throws(JournalError) in
      if let self, let log = self.known.withLock({ $0.log }) {
        do throws(JournalError) {
          // After a failed read, layers must not be used for the rebuild.
          let chain = faults.failure == nil ? self : nil
          let usesLayers = chain?.stack(atOrBefore: layer.start.revision) != nil
          let contents = try rebuilder.rebuild(layer, in: log, over: chain)
          if usesLayers { try faults.check() }
          return contents
        } catch {
          // If the journal was closed meanwhile, that may be the reason, so the layer is rebuilt without the chain.
          if self.known.withLock({ $0.log }) != nil { throw error }
        }
      }
      return try rebuilder.rebuild(layer)
    }
  }
}

/// Rebuilds the contents of layers from the log.
struct LayerRebuilder: Sendable {
  let folder: JournalFolder
  let format: JournalFormat
  let options: JournalOptions
  let model: any EventSourced.Type
  let shape: StateShape?

  /// Rebuilds the contents of a layer of a closed journal. Opens the log separately, which changes nothing on disk.
  func rebuild(_ layer: Layer) throws(JournalError) -> LayerFile {
    let log = try options.logStorage.open(.read, in: LogPlace(folder, format, options: options))
    defer { try? log.close() }
    return try rebuild(layer, in: log, over: nil)
  }

  /// Rebuilds the contents of a layer whose file failed while it was in use.
  /// - Parameter chain: the layers from which to start; nil to start from the empty state.
  func rebuild(
    _ layer: Layer, in log: any EntryLog, over chain: LayerChain?
  ) throws(JournalError) -> LayerFile {
    let head = try log.head(at: layer.top.revision, format)
    // The log may have another history now, for example that of a backup.
    guard head.digest == layer.entryDigest, let shape else {
      throw JournalError(
        .damaged, "the \(layer.name.noun) belongs to another entry than the one in the log",
        revision: head.revision, path: folder.entries)
    }
    let sources = try changes(of: model, in: log, over: chain, after: layer.start, to: layer.checkpoints)
    let header = LayerHeader(
      journal: format.id, shape: shape, head: head, start: layer.start, checkpoints: layer.checkpoints)
    do {
      var bytes: [UInt8] = []
      _ = try unsafe LayerWriter.write(sources, header) { unsafe bytes.append(contentsOf: $0) }
      return try LayerFile(ArchiveBytes(bytes), revision: layer.top.revision, shape: shape)
    } catch {
      throw error as? JournalError
        ?? JournalError(.io, "a layer can't be rebuilt", revision: head.revision, cause: error)
    }
  }

  func changes<State: EventSourced>(
    of _: State.Type, in log: any EntryLog, over chain: LayerChain?, after start: LayerCheckpoint,
    to checkpoints: [LayerCheckpoint]
  ) throws(JournalError) -> [Memtable] {
    let replay = Replay<State>(log: log, format: format)
    let base: ReplayStart<State> = chain?.start(atOrBefore: start.revision) ?? .empty
    var state = base.state
    try replay.apply(base.revision + 1, through: start.revision, to: &state)
    // The layer may be used above a checkpoint inside its range, so it must have the removals from each index since its
    // start. Only an index with a base records removals.
    if base.revision == 0, start.revision > 0, let parts = state.parts {
      guard let based = state.replacing(parts: parts.withBasedIndexes) else {
        throw JournalError(
          .damaged, "the layer can't be rebuilt: \(StateShape.advice)", revision: start.revision)
      }
      state = based
    }
    var before = state.parts
    var checkpoint = start
    var sources: [Memtable] = []
    for next in checkpoints {
      try replay.apply(checkpoint.revision + 1, through: next.revision, to: &state)
      let parts = state.parts
      if let parts, let before {
        sources.append(Memtable(parts, since: before, at: next, after: checkpoint))
      }
      before = parts
      checkpoint = next
    }
    return sources
  }
}

struct Replayed<State: EventSourced>: Sendable {
  let version: Version<State>
  /// The number of events of all entries up to the version.
  let eventCount: Int
  /// The events of the replayed entries.
  var tally = EventTally()
  /// Earlier states that the replay has passed, oldest first.
  var moments: [LayerMoment] = []
}

package struct ReplayStart<State: EventSourced>: Sendable {
  let revision: Revision
  let state: State
  /// The number of events of all entries up to `revision`.
  let eventCount: Int

  package static var empty: ReplayStart { ReplayStart(revision: 0, state: State(), eventCount: 0) }
}
