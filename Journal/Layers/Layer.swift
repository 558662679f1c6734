import Foundation
import Locks
import PropertyLists
import Synchronization

/// The changes between two revisions: in memory until the file is written, then in the file; if the file can't be read,
/// rebuilt from the log. The contents are always the same. All states above it share it.
///
/// Safe to use from any thread.
final class Layer: Sendable {
  /// Rebuilds the contents of a layer from the layers below and the log.
  typealias Rebuild = @Sendable (Layer) throws(JournalError) -> LayerFile

  let name: LayerName
  let start: LayerCheckpoint
  let top: LayerCheckpoint
  /// The entries whose changes it has, as people read it.
  var revisions: String { "\(start.revision + 1) to \(top.revision)" }
  /// The digest of its newest entry.
  let entryDigest: ContentDigest
  /// What it adds to the backlog as long as there is no file.
  let backlog: Backlog
  private let faults: ReadFaults
  private let rebuild: Rebuild

  private let current: Lock<Current>
  private let hasFile: Atomic<Bool>
  private let wasWithdrawn = Atomic<Bool>(false)
  /// The footer of the file, once it is written.
  private let knownFooter: Lock<LayerFooter?>
  /// Held while the contents are rebuilt, so that it happens once for all readers.
  private let rebuilding = NSLock()
  /// When rebuilding last failed. It is not retried at once, because each reader would take as long as the first.
  private let failedAt = Lock<ContinuousClock.Instant?>(nil)

  private static let retryInterval = Duration.seconds(1)

  private struct Current: Sendable {
    /// What readers use. As long as there is no file, all changes, for states at the top.
    var contents: any LayerContents
    /// The states at its checkpoints, from which the file is written; empty once there is one.
    var moments: [LayerMoment] = []
    /// The declared indexes that its file has.
    var indexes: [IndexDefinition] = []
    var isRebuilt = false
  }

  /// A layer in memory.
  /// - Parameters:
  ///   - moments: the changes of its states above `start`, in the order of time, at least one.
  ///   - backlog: how much they are.
  init(
    _ moments: [LayerMoment], top: LayerMoment, _ backlog: Backlog, from start: LayerCheckpoint,
    entryDigest: ContentDigest, faults: ReadFaults, rebuild: @escaping Rebuild
  ) {
    name = LayerName(from: start.revision, to: top.checkpoint.revision)
    self.start = start
    self.top = top.checkpoint
    self.entryDigest = entryDigest
    self.backlog = backlog
    self.faults = faults
    self.rebuild = rebuild
    let contents = Memtable(top.parts, at: top.checkpoint, after: start)
    current = Lock(Current(contents: contents, moments: moments + [top]))
    hasFile = Atomic(false)
    knownFooter = Lock(nil)
  }

  /// A layer in a file.
  init(
    _ name: LayerName, _ footer: LayerFooter, _ file: LayerFile, faults: ReadFaults,
    rebuild: @escaping Rebuild
  ) {
    self.name = name
    start = footer.start
    top = footer.top
    entryDigest = footer.entryDigest
    backlog = Backlog()
    self.faults = faults
    self.rebuild = rebuild
    current = Lock(Current(contents: file, indexes: file.definitions))
    hasFile = Atomic(true)
    knownFooter = Lock(footer)
  }

  /// Where its states can be opened; without a file, only at its top.
  var checkpoints: [LayerCheckpoint] { footer?.checkpoints ?? [top] }
  var eventCount: Int { top.eventCount - start.eventCount }
  /// Whether it is a requested snapshot: a whole state.
  var isWhole: Bool { name.from == nil }
  /// The footer of its file; nil as long as there is none.
  var footer: LayerFooter? { knownFooter.withLock { $0 } }
  /// Whether it is in memory and has no file yet. Called in each commit.
  var isPending: Bool { !hasFile.load(ordering: .acquiring) }
  /// Whether the file failed and its contents were rebuilt in memory. The keeper then writes the file again.
  var isRebuilt: Bool { current.withLock { $0.isRebuilt } }

  /// The declared indexes that its file has.
  var indexes: [IndexDefinition] { current.withLock { $0.indexes } }

  /// The newest checkpoint at or before a revision.
  func checkpoint(atOrBefore revision: Revision) -> LayerCheckpoint? {
    if top.revision <= revision { return top }
    let checkpoints = checkpoints
    let end = checkpoints.partitioningIndex { $0.revision > revision }
    return end > 0 ? checkpoints[end - 1] : nil
  }

  /// The oldest checkpoint at or after a revision.
  func checkpoint(atOrAfter revision: Revision) -> LayerCheckpoint? {
    guard top.revision >= revision else { return nil }
    let checkpoints = checkpoints
    return checkpoints[checkpoints.partitioningIndex { $0.revision >= revision }]
  }

  /// Reads from the file from now on, and frees the memory.
  func use(_ written: LayerFile, _ footer: LayerFooter) {
    // In this order, because only the file has the states at all of its checkpoints.
    replace { _ in Current(contents: written, indexes: written.definitions) }
    hasFile.store(true, ordering: .releasing)
    knownFooter.withLock { $0 = footer }
  }

  /// - Parameter change: returns what readers use next; nil to change nothing.
  private func replace(_ change: (Current) -> Current?) {
    // What is replaced is released without the lock, because it may take much memory.
    _ = current.withLock { current -> Current? in
      guard let next = change(current) else { return nil }
      defer { current = next }
      return current
    }
  }

  /// The sources of the file of a layer in memory, and its checkpoints.
  var parts: (sources: [any LayerSource], checkpoints: [LayerCheckpoint]) {
    let moments = current.withLock { $0.moments }
    if moments.isEmpty { return ([contents], checkpoints) }
    var sources: [any LayerSource] = []
    var before: LayerMoment?
    for moment in moments {
      sources.append(moment.layer(after: before, start: start))
      before = moment
    }
    return (sources, moments.map(\.checkpoint))
  }

  /// Whether its entries were withdrawn, so that other entries may have its revisions.
  var isWithdrawn: Bool { wasWithdrawn.load(ordering: .acquiring) }
  func withdraw() { wasWithdrawn.store(true, ordering: .releasing) }

  // MARK: Reading

  var contents: any LayerContents { current.withLock { $0.contents } }

  /// The result of `body`; nil, and noted as a fault, if neither the file nor the log can be read.
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

  /// The replacement of contents that failed; nil if there is none.
  /// - Parameter isForAnswer: whether the answer of a state needs it. Then it is noted as a fault if there is none.
  func replacement(
    of failed: any LayerContents, because error: ArchiveError, isForAnswer: Bool = true
  ) -> (any LayerContents)? {
    rebuilding.lock()
    defer { rebuilding.unlock() }
    let (known, isRebuilt) = current.withLock { ($0.contents, $0.isRebuilt) }
    if isRebuilt { return known === failed ? nil : known }
    if let failedAt = failedAt.withLock({ $0 }), failedAt.duration(to: .now) < Self.retryInterval {
      return nil
    }
    faults.found(error, in: self)
    do throws(JournalError) {
      let rebuilt = try rebuild(self)
      replace { Current(contents: rebuilt, indexes: $0.indexes, isRebuilt: true) }
      return rebuilt
    } catch {
      if isForAnswer {
        failedAt.withLock { $0 = .now }
        faults.note(error)
      }
      return nil
    }
  }

  // MARK: Memory

  /// How many bytes of its file's pages are in memory.
  var pageByteCount: Int { (contents as? LayerFile)?.pageByteCount ?? 0 }

  /// Frees the memory of the pages, as soon as no read in progress uses them: the next reads use the same file, opened
  /// once more. If it can't be opened, nothing changes.
  func freePages() {
    guard let file = contents as? LayerFile, let reopened = try? file.reopened(), reopened !== file else {
      return
    }
    replace { current in
      guard current.contents === file else { return nil }
      return Current(contents: reopened, indexes: current.indexes)
    }
    file.retire()
  }
}
