import Foundation
import Locks
import PropertyLists

/// All layers of a journal, including snapshots: each is a layer from revision 0. A replay to a revision starts from
/// the newest checkpoint at or before it that the layers reach without a gap or, if there is none, from the empty state
/// of revision 0.
///
/// 1. A layer is not trusted: it is used only if it has a record, its entry is in the log, its schema is the model's,
///    and everything read from it has the checksums of the record.
/// 2. A damaged layer is noted and not used again. A layer that is temporarily unreadable is tried again by the next
///    opening, and nothing is marked or removed.
/// 3. If a layer fails while states are backed by it, its contents are rebuilt from the layers below and the log. So a
///    reader gets the right answer, late.
///
/// Safe to use from any thread.
final class LayerChain<State: EventSourced>: Sendable {
  let footers: LayerFooters
  let faults: ReadFaults
  /// Nil for a model without parts, which has no layers and no snapshots.
  let shape: StateShape?
  private let folder: JournalFolder
  private let format: JournalFormat
  private let options: JournalOptions
  /// The open log; nil after the journal was closed.
  private let log: Lock<(any EntryLog)?>
  private let findings: Findings
  private let pageBudget: PageBudget
  /// In the order of their ends. Until the journal is closed, each layer refers back to this object, which rebuilds it.
  private let known = Lock<[Layer]>([])
  private let lineage = Lock(LayerLineage())
  /// The newest erasure that the log or the record of a layer has shown; 0 if none has.
  private let knownErasure = Lock<Revision>(0)
  private let isClosed = Lock(false)

  /// The problems that layers report.
  final class Findings: Sendable {
    struct Found: Sendable {
      var errors: [JournalError] = []
      var damaged: Set<LayerName> = []
      /// Temporarily unreadable layers.
      var unreadable: Set<LayerName> = []
    }
    let found = Lock(Found())
    private let options: JournalOptions

    init(_ options: JournalOptions) { self.options = options }

    /// - Parameter message: what the error means for the journal.
    func note(_ error: JournalError, of name: LayerName?, _ message: String) {
      let isNew = found.withLock { found in
        if let name {
          if error.code == .damaged {
            guard found.damaged.insert(name).inserted else { return false }
          } else {
            found.unreadable.insert(name)
          }
        }
        if found.errors.contains(where: { $0.description == error.description }) { return false }
        found.errors.append(error)
        return true
      }
      if isNew { options.note(.warning, message, cause: error) }
    }
  }

  init(_ folder: JournalFolder, format: JournalFormat, log: any EntryLog, options: JournalOptions) {
    self.folder = folder
    footers = LayerFooters(folder: folder)
    self.format = format
    self.options = options
    self.log = Lock(log)
    let findings = Findings(options)
    self.findings = findings
    faults = ReadFaults { error, name in findings.note(error, of: name, Self.unused(name)) }
    shape = StateShape(State.self)
    pageBudget = PageBudget(limit: options.cacheByteCount)
  }

  /// Replaces the open log by another opening of it.
  func use(_ log: (any EntryLog)?) { self.log.withLock { $0 = log } }

  /// Ends the use of the log. States that are held stay usable.
  func close() {
    use(nil)
    isClosed.withLock { $0 = true }
    known.withLock { $0 = [] }
  }

  // MARK: Layers

  /// The problems found so far, in order.
  var problems: [JournalError] { findings.found.withLock { $0.errors } }
  var damaged: Set<LayerName> { findings.found.withLock { $0.damaged } }
  var unreadable: Set<LayerName> { findings.found.withLock { $0.unreadable } }

  private static func unused(_ name: LayerName?) -> String { "a \(name?.noun ?? "layer") is not used" }

  /// - Parameter message: what the error means for the journal; by default, that the layer is not used.
  func note(_ error: JournalError, of name: LayerName? = nil, _ message: String? = nil) {
    findings.note(error, of: name, message ?? Self.unused(name))
  }

  /// All layers that can be used, in the order of their ends.
  var layers: [Layer] { known.withLock { $0 } }

  /// How many layers have no file, apart from the one that is being written.
  func pendingCount(except name: LayerName? = nil) -> Int {
    // Each commit asks for this, so no layer is copied or retained.
    known.withLock { known in
      var count = 0
      for index in known.indices where known[index].isPending && (name == nil || known[index].name != name) {
        count += 1
      }
      return count
    }
  }

  /// How much the layers have that have no file.
  func pendingBacklog() -> Backlog {
    known.withLock { known in
      var backlog = Backlog()
      for index in known.indices where known[index].isPending { backlog += known[index].backlog }
      return backlog
    }
  }

  /// The oldest pending layer whose entries are all durable.
  func pending(through revision: Revision) -> Layer? {
    layers.first { $0.isPending && $0.top.revision <= revision }
  }

  func hasPending(through revision: Revision) -> Bool { pending(through: revision) != nil }

  func add(_ layer: Layer) {
    pageBudget.add(layer)
    known.withLock { known in
      // Layers refer to the chain, so those of a closed one would keep it in memory.
      if isClosed.withLock({ $0 }) { return }
      known.removeAll { $0.name == layer.name }
      known.append(layer)
      known.sort { $0.name < $1.name }
    }
    findings.found.withLock { _ = $0.damaged.remove(layer.name) }
  }

  /// Removes the layers in memory that reach beyond a revision, whose entries were withdrawn.
  func withdraw(to revision: Revision) {
    let taken = layers.filter { $0.footer == nil && $0.top.revision > revision }
    for layer in taken { layer.withdraw() }
    remove(taken.map(\.name))
  }

  func remove(_ names: [LayerName]) {
    known.withLock { known in known.removeAll { names.contains($0.name) } }
    findings.found.withLock { $0.damaged.subtract(names) }
  }

  /// The newest erasure that is known; 0 if there is none.
  var newestErasure: Revision { knownErasure.withLock { $0 } }

  /// Notes an entry that records an erasure; 0 if there is none.
  func noteErasure(at revision: Revision) {
    // What a pruning removed with its entry says nothing about the layers that are made since.
    guard revision > format.head.revision else { return }
    knownErasure.withLock { $0 = max($0, revision) }
  }

  /// Forgets layers from before the newest erasure, which have what was erased.
  /// - Returns: whether there were any.
  private func removeOutdated() -> Bool {
    let outdated = layers.filter(isOutdated)
    remove(outdated.map(\.name))
    for layer in outdated { noteOutdated(layer) }
    return !outdated.isEmpty
  }

  private func isOutdated(_ layer: Layer) -> Bool {
    layer.footer.map { $0.newestErasure < newestErasure } ?? false
  }

  private func noteOutdated(_ layer: Layer) {
    note(
      JournalError(
        .damaged, "the \(layer.name.noun) is from before an erasure and has what was erased; remove the file",
        revision: layer.top.revision, path: folder.path(of: layer.name)), of: layer.name)
  }

  /// The version at a revision, replayed from the layers. If the replay shows that some are from before an erasure, it
  /// is made again without them.
  /// - Parameter momentLimit: how many moments are kept on the way. Without them, a layer of what was replayed would have
  ///   one checkpoint, and each state before it would be replayed anew.
  func version(
    through revision: Revision, _ replay: Replay<State>, momentLimit: Int = 0
  ) throws(JournalError) -> Replayed<State> {
    while true {
      var start = start(atOrBefore: revision)
      let count = revision - start.revision
      let step = momentLimit == 0 ? count : max(count / momentLimit, options.layers.eventCount)
      var replayed = EventTally()
      var moments: [LayerMoment] = []
      while true {
        // Pruned entries are replaced as a whole.
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

  /// Forgets all layers, because an erasure has replaced them.
  func removeErased() {
    remove(layers.map(\.name))
    lineage.withLock { $0 = LayerLineage() }
  }

  /// Finds the layers that have footers and opens those that can be used.
  /// - Parameter isInUse: whether another process may be writing the journal. It may remove layers in the meantime,
  ///     and write layers beyond `newest`, which are not problems.
  func load(
    through newest: Revision, in log: any EntryLog, isInUse: Bool = false
  ) throws(JournalError) {
    guard shape != nil, newest > 0 else { return }
    for _ in 0..<Self.loadLimit {
      let names = try footers.names()
      let known = layers.map(\.name)
      if isInUse { remove(known.filter { !names.contains($0) }) }
      var found: [Layer] = []
      for name in names where !isInUse || (name.to <= newest && !known.contains(name)) {
        do throws(JournalError) {
          if let layer = try load(name, through: newest, in: log) { found.append(layer) }
        } catch {
          if error.code == .closed { throw error }
          if isInUse, try footers.record(name) == nil { continue }
          note(error, of: name)
        }
      }
      noteErasure(at: found.compactMap { $0.footer?.newestErasure }.max() ?? 0)
      // No reader may see one that is outdated.
      for layer in found { if isOutdated(layer) { noteOutdated(layer) } else { add(layer) } }
      if !isInUse { return }
      // If layers were removed meanwhile, others have replaced them.
      if Set(try footers.names()).isSuperset(of: names) { return }
    }
  }

  /// How often layers are looked for while another process removes some.
  private static var loadLimit: Int { 10 }

  /// The layer of that name; nil if it has another schema, or no longer a record.
  private func load(
    _ name: LayerName, through newest: Revision, in log: any EntryLog
  ) throws(JournalError) -> Layer? {
    guard let record = try footers.record(name) else { return nil }
    if let problem = record.problem { throw problem }
    guard let footer = record.footer, footer.schema == State.schema else { return nil }
    let head = name.to <= newest ? try Replay<State>(log: log, format: format).head(at: name.to) : nil
    guard let head, head.digest == footer.entryDigest else {
      throw JournalError(
        .damaged, "the \(name.noun) belongs to another entry than the one in the log", revision: name.to,
        path: folder.path(of: name))
    }
    return try open(name, footer)
  }

  /// Opens the file of a layer.
  func open(_ name: LayerName, _ footer: LayerFooter) throws(JournalError) -> Layer {
    Layer(name, footer, try contents(name, footer), faults: faults) { (layer) throws(JournalError) in
      try self.rebuild(layer)
    }
  }

  func contents(_ name: LayerName, _ footer: LayerFooter) throws(JournalError) -> LayerFile {
    guard let shape, footer.start.tables.count == shape.kinds.count,
      footer.start.textCounts.count == shape.lists.count
    else {
      throw JournalError(
        .damaged, "the \(name.noun) can't be used: \(StateShape.advice)", revision: name.to,
        path: folder.path(of: name))
    }
    let pageBudget = pageBudget
    let file = try ChecksummedFile(
      name, in: folder.openSnapshots(), footer: footer, memoryByteCount: options.layers.memoryByteCount
    ) { pageBudget.note($0) }
    return try file.contents(shape)
  }

  /// Opens the file of a layer without making the layer.
  func file(_ name: LayerName, _ footer: LayerFooter) throws(JournalError) -> ChecksummedFile {
    try ChecksummedFile(name, in: folder.openSnapshots(), footer: footer)
  }

  /// Reads the whole file of a layer, and fails at the first page that is altered.
  func checkAllPages(_ name: LayerName, _ footer: LayerFooter) throws(JournalError) {
    try ChecksummedFile.checkAllPages(name, in: folder.openSnapshots(), footer: footer)
  }

  func path(of name: LayerName) -> String { folder.path(of: name) }

  // MARK: States

  /// The layers that reach the newest checkpoint at or before a revision without one of them.
  func stack(atOrBefore revision: Revision, without layer: Layer) -> LayerStack? {
    stack(of: layers.filter { $0 !== layer }, atOrBefore: revision)
  }

  /// The oldest checkpoint at or after a revision, nil if there is none.
  func checkpoint(atOrAfter revision: Revision) -> Revision? {
    layers.compactMap { $0.checkpoint(atOrAfter: revision)?.revision }.min()
  }

  /// The layers that reach the newest checkpoint at or before a revision, nil if there are none.
  func stack(atOrBefore revision: Revision) -> LayerStack? { stack(of: layers, atOrBefore: revision) }

  private func stack(of layers: [Layer], atOrBefore revision: Revision) -> LayerStack? {
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
    // Layers from before a pruning that were brought back can have earlier checkpoints, to which no entry can be applied.
    guard let reached, reached.revision >= format.head.revision else { return nil }
    return LayerStack(chosen.reversed(), at: reached, faults: faults, lineage: lineage.withLock { $0 })
  }

  /// The state to start from for a revision.
  func start(atOrBefore revision: Revision) -> ReplayStart<State> {
    guard let shape, let stack = stack(atOrBefore: revision) else { return .empty }
    do throws(ArchiveError) {
      if let lists = try stack.lists(shape), let state = State(parts: stack.parts(shape, lists)) {
        return ReplayStart(
          revision: stack.checkpoint.revision, state: state, eventCount: stack.checkpoint.eventCount)
      }
    } catch {
      // The texts were read already when the files were opened.
    }
    note(
      JournalError(
        .damaged, "the layer can't be used: \(StateShape.advice)", revision: stack.checkpoint.revision,
        path: folder.snapshots))
    return .empty
  }

  // MARK: Freezing

  /// The changes of a state above its layers; nil for a model without parts. O(1).
  func moment(_ version: Version<State>, eventCount: Int) -> LayerMoment? {
    guard shape != nil, let parts = version.state.parts, !parts.tables.isEmpty else { return nil }
    return LayerMoment(
      checkpoint: LayerCheckpoint(revision: version.revision, eventCount: eventCount, parts), parts: parts)
  }

  /// Freezes the changes of a state above its layers into a layer in memory.
  /// - Parameters:
  ///   - moment: the changes of the version.
  ///   - earlier: earlier moments since the layer below, which also become checkpoints.
  ///   - backlog: how much all of them are.
  /// - Returns: the same state, backed by that layer too; nil for a model without parts.
  func freeze(
    _ version: Version<State>, _ moment: LayerMoment, earlier: [LayerMoment], _ backlog: Backlog
  ) -> ReplayStart<State>? {
    guard let shape else { return nil }
    let base = LayerStack.backing(version.state)
    let checkpoint = moment.checkpoint
    let layer = Layer(
      earlier, top: moment, backlog, from: base?.checkpoint ?? .start(shape),
      entryDigest: version.digest,
      faults: faults
    ) { (layer) throws(JournalError) in
      try self.rebuild(layer)
    }
    add(layer)
    var stack = stack(atOrBefore: version.revision)
    if stack?.checkpoint.revision != version.revision {
      // The layers of the state were dropped or found damaged in the meantime; the state keeps using them.
      stack = LayerStack(
        [layer] + (base?.layers ?? []), at: checkpoint, faults: faults, lineage: lineage.withLock { $0 })
    }
    guard let stack,
      let state = version.state.replacing(parts: stack.parts(shape, moment.parts.lists.map(\.texts)))
    else {
      remove([layer.name])
      return nil
    }
    return ReplayStart(
      revision: checkpoint.revision, state: state, eventCount: checkpoint.eventCount)
  }

  /// The entry of a revision.
  func head(at revision: Revision) throws(JournalError) -> Head {
    try Replay<State>(log: openLog(), format: format).head(at: revision)
  }

  /// Returns when the log's own drive has an entry. In a shared journal, that can be later than the commit, and a layer
  /// must not be ahead of the log.
  func waitForEntry(_ revision: Revision) throws(JournalError) {
    guard try openLog().newestRevision(after: revision - 1, waitingAtMost: .seconds(1)) >= revision else {
      throw JournalError(.io, "this node's folder does not have the entry yet", revision: revision)
    }
  }

  /// About how many bytes the log takes.
  func logByteCount() throws(JournalError) -> Int { try openLog().byteCount() }

  private func openLog() throws(JournalError) -> any EntryLog {
    guard let log = log.withLock({ $0 }) else {
      throw JournalError.closed(path: folder.path)
    }
    return log
  }

  // MARK: Rebuilding

  /// What changed between a checkpoint that layers reach and a later one.
  func changes(after start: LayerCheckpoint, to top: LayerCheckpoint) throws(JournalError) -> Memtable {
    let replay = Replay<State>(log: try openLog(), format: format)
    let sources = try changes(replay, from: self.start(atOrBefore: start.revision), after: start, to: [top])
    guard let changes = sources.first else {
      throw JournalError(.wrongUse, "\(State.schema) has no layers: its model has no parts")
    }
    return changes
  }

  /// What changed between checkpoints.
  private func changes(
    _ replay: Replay<State>, from base: ReplayStart<State>, after start: LayerCheckpoint,
    to checkpoints: [LayerCheckpoint]
  ) throws(JournalError) -> [Memtable] {
    var state = base.state
    try replay.apply(base.revision + 1, through: start.revision, to: &state)
    // The layer may begin at a snapshot inside its range, and then must say what was removed from an index since. Only an
    // index with a base notes removals.
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

  /// Rebuilds the contents of a layer whose file failed while it was in use.
  private func rebuild(_ layer: Layer) throws(JournalError) -> LayerFile {
    if let log = log.withLock({ $0 }) {
      do throws(JournalError) {
        // If a read has failed already, nothing may be derived from layers.
        let start = faults.failure == nil ? start(atOrBefore: layer.start.revision) : .empty
        let contents = try rebuild(layer, in: log, from: start)
        if start.revision > 0 { try faults.check() }
        return contents
      } catch {
        // The journal may have been closed just now.
        if self.log.withLock({ $0 }) != nil { throw error }
      }
    }
    // Opens the log separately, which changes nothing on disk.
    let log = try options.logStorage.open(.read, in: LogPlace(folder, format, options: options))
    defer { try? log.close() }
    return try rebuild(layer, in: log, from: .empty)
  }

  private func rebuild(
    _ layer: Layer, in log: any EntryLog, from start: ReplayStart<State>
  ) throws(JournalError) -> LayerFile {
    let replay = Replay<State>(log: log, format: format)
    let head = try replay.head(at: layer.top.revision)
    // Another history may have replaced this one, for example from a backup.
    guard head.digest == layer.entryDigest, let shape else {
      throw JournalError(
        .damaged, "the \(layer.name.noun) belongs to another entry than the one in the log",
        revision: head.revision, path: folder.entries)
    }
    let sources = try changes(replay, from: start, after: layer.start, to: layer.checkpoints)
    let header = LayerHeader(
      journal: format.id, shape: shape, head: head, start: layer.start,
      checkpoints: layer.checkpoints)
    do {
      var bytes: [UInt8] = []
      _ = try unsafe LayerWriter.write(sources, header) { unsafe bytes.append(contentsOf: $0) }
      return try LayerFile(ArchiveBytes(bytes), revision: layer.top.revision, shape: shape)
    } catch {
      throw error as? JournalError
        ?? JournalError(.io, "a layer can't be rebuilt", revision: head.revision, cause: error)
    }
  }
}

/// The result of a replay.
struct Replayed<State: EventSourced>: Sendable {
  let version: Version<State>
  /// How many events the entries up to it have.
  let eventCount: Int
  /// The replayed ones among these events.
  var tally = EventTally()
  /// Earlier states since the layers.
  var moments: [LayerMoment] = []
}

/// Where a replay starts.
struct ReplayStart<State: EventSourced>: Sendable {
  let revision: Revision
  let state: State
  /// How many events the entries up to here have.
  let eventCount: Int

  /// The empty journal, from which everything can be replayed.
  static var empty: ReplayStart { ReplayStart(revision: 0, state: State(), eventCount: 0) }
}
