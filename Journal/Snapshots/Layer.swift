import Foundation
import KeyedArchiving
import Locks
import Synchronization

/// What changed between two revisions: in memory until its file is written, then in the file; and if that can't be
/// read, rebuilt from the log. Whatever it is in, it says the same. All states that it is below share it.
///
/// Safe to use from any thread.
final class Layer: Sendable {
  /// Makes the contents of a layer anew, from the layers below and the log.
  typealias Rebuild = @Sendable (Layer) throws(JournalError) -> LayerFile

  let name: LayerName
  let start: LayerCheckpoint
  let top: LayerCheckpoint
  /// The digest of the entry that it goes up to.
  let entryDigest: ContentDigest
  private let faults: ReadFaults
  private let rebuild: Rebuild

  // The first of these that is there counts. A reference that was set stays.
  private let rebuilt = AtomicLazyReference<LayerFile>()
  private let file = AtomicLazyReference<LayerFile>()
  private let memory: Lock<Memory?>
  private let hasBeenTakenBack = Atomic<Bool>(false)
  /// What is known of the file, once there is one.
  private let knownFacts: Lock<SnapshotFacts?>
  /// Held while the contents are rebuilt: all readers want the same.
  private let rebuilding = NSLock()
  /// When rebuilding failed last. It is not tried again at once, as each reader would take as long as the first.
  private let failedAt = Lock<ContinuousClock.Instant?>(nil)

  private static let retryInterval = Duration.seconds(1)

  /// What a layer without a file is: all that changed, for states at the top, and the states at its checkpoints, from
  /// which the file is written.
  private struct Memory: Sendable {
    let contents: MemoryLayer
    let moments: [LayerMoment]
  }

  /// A layer in memory.
  /// - Parameter moments: what its states had above `start`, in the order of time, at least one.
  init(
    _ moments: [LayerMoment], top: LayerMoment, from start: LayerCheckpoint, entryDigest: ContentDigest,
    faults: ReadFaults, rebuild: @escaping Rebuild
  ) {
    name = LayerName(from: start.revision, to: top.checkpoint.revision)
    self.start = start
    self.top = top.checkpoint
    self.entryDigest = entryDigest
    self.faults = faults
    self.rebuild = rebuild
    let contents = MemoryLayer(top.parts, at: top.checkpoint, after: start)
    memory = Lock(Memory(contents: contents, moments: moments + [top]))
    knownFacts = Lock(nil)
  }

  /// A layer in a file.
  init(
    _ name: LayerName, _ facts: SnapshotFacts, _ file: LayerFile, faults: ReadFaults,
    rebuild: @escaping Rebuild
  ) {
    self.name = name
    start = facts.start
    top = facts.top
    entryDigest = facts.entryDigest
    self.faults = faults
    self.rebuild = rebuild
    memory = Lock(nil)
    knownFacts = Lock(facts)
    _ = self.file.storeIfNil(file)
  }

  /// Where its states can be opened: as long as it has no file, at its top alone.
  var checkpoints: [LayerCheckpoint] { facts?.checkpoints ?? [top] }
  var eventCount: Int { top.eventCount - start.eventCount }
  /// Whether somebody asked for it: a whole state.
  var isWhole: Bool { name.from == nil }
  /// What is known of its file; nil as long as there is none.
  var facts: SnapshotFacts? { knownFacts.withLock { $0 } }
  /// Whether it is in memory and has no file yet. Asked in each commit.
  var isPending: Bool { file.load() == nil }
  /// Whether the file failed, and something else has taken its place.
  var isRebuilt: Bool { rebuilt.load() != nil }

  /// The newest checkpoint not after a revision.
  func checkpoint(atOrBefore revision: Revision) -> LayerCheckpoint? {
    if top.revision <= revision { return top }
    let checkpoints = checkpoints
    let end = checkpoints.partitioningIndex { $0.revision > revision }
    return end > 0 ? checkpoints[end - 1] : nil
  }

  /// Reads from the file from now on, and gives the memory back.
  func use(_ written: LayerFile, _ facts: SnapshotFacts) {
    // In this order: states at all of its checkpoints are in the file only.
    _ = file.storeIfNil(written)
    knownFacts.withLock { $0 = facts }
    memory.withLock { $0 = nil }
  }

  /// What the file of a layer in memory is written from, and its checkpoints.
  var parts: (sources: [any LayerSource], checkpoints: [LayerCheckpoint]) {
    guard let moments = memory.withLock({ $0?.moments }) else { return ([contents], checkpoints) }
    var sources: [any LayerSource] = []
    var before: LayerMoment?
    for moment in moments {
      sources.append(moment.layer(after: before, start: start))
      before = moment
    }
    return (sources, moments.map(\.checkpoint))
  }

  /// Whether nothing of it was written to the log, and other entries may have its revisions.
  var isTakenBack: Bool { hasBeenTakenBack.load(ordering: .acquiring) }
  func takeBack() { hasBeenTakenBack.store(true, ordering: .releasing) }

  // MARK: Reading

  var contents: any LayerContents {
    if let rebuilt = rebuilt.load() { return rebuilt }
    if let file = file.load() { return file }
    if let memory = memory.withLock({ $0?.contents }) { return memory }
    // Between the two looks it was written.
    return file.load() ?? EmptyLayer.shared
  }

  /// What `body` gives; nil, and noted as a fault, when neither the file nor the log can be read.
  func read<Result>(_ body: (any LayerContents) throws(ArchiveError) -> Result) -> Result? {
    let contents = contents
    do throws(ArchiveError) { return try body(contents) } catch {
      guard let replacement = replacement(of: contents, because: error) else { return nil }
      do throws(ArchiveError) { return try body(replacement) } catch {
        faults.note(JournalError(.io, "a rebuilt layer can't be read: \(error.message)"))
        return nil
      }
    }
  }

  /// What takes the place of contents that failed; nil, and noted as a fault, when there is nothing left.
  func replacement(of failed: any LayerContents, because error: ArchiveError) -> (any LayerContents)? {
    rebuilding.lock()
    defer { rebuilding.unlock() }
    if let rebuilt = rebuilt.load() { return rebuilt === failed ? nil : rebuilt }
    if let failedAt = failedAt.withLock({ $0 }), failedAt.duration(to: .now) < Self.retryInterval {
      return nil
    }
    faults.found(error, in: self)
    do throws(JournalError) {
      return rebuilt.storeIfNil(try rebuild(self))
    } catch {
      failedAt.withLock { $0 = .now }
      faults.note(error)
      return nil
    }
  }
}

/// Knows nothing.
private final class EmptyLayer: LayerContents {
  static let shared = EmptyLayer()

  func versions(_ kind: Int) -> VersionCursor { { () throws(ArchiveError) in nil } }
  func row(_ kind: Int, _ version: EntityVersion) -> EntityRow? { nil }
  func lines(_ index: Int) -> LineCursor { { () throws(ArchiveError) in nil } }
  func texts(_ list: Int) -> [String] { [] }
  func version(_ kind: Int, _ number: Int, asOf revision: Revision) -> EntityVersion? { nil }
  func line(_ index: Int, _ key: IndexKey, asOf revision: Revision) -> Bool? { nil }
  func newestVersions(_ kind: Int, from number: Int, asOf revision: Revision) -> VersionCursor {
    versions(kind)
  }
  func newestLines(_ index: Int, from key: IndexKey, asOf revision: Revision) -> LineCursor { lines(index) }
}
