import Foundation
import Locks
import PropertyLists

/// The changes between two revisions, in memory until their file is written. If the file can't be read, they
/// are rebuilt from the log. All states above the layer share it.
///
/// Safe to use from any thread.
final class Layer: Sendable {
  typealias Rebuild = @Sendable (Layer) throws(JournalError) -> LayerFile

  let name: LayerName
  let start: LayerCheckpoint
  let top: LayerCheckpoint
  let entryDigest: ContentDigest
  private let faults: ReadFaults
  private let rebuild: Rebuild
  private let current: Lock<Current>
  /// Held while the contents are rebuilt, so that it happens once for all readers.
  private let rebuilding = NSLock()

  private static let retryInterval = Duration.seconds(1)

  private struct Current: Sendable {
    /// What readers use. Until there is a file, it has the changes as of the top only.
    var contents: any LayerContents
    /// The states at its checkpoints, from which the file is written; empty once there is one.
    var moments: [LayerMoment] = []
    var footer: LayerFooter?
    var indexes: [IndexDefinition] = []
    var isRebuilt = false
    var isWithdrawn = false
    /// When rebuilding last failed. It is not retried at once, because each reader would take as long as the first.
    var failedAt: ContinuousClock.Instant?
  }

  /// A layer in memory.
  /// - Parameter moments: the changes of its earlier states above `start`, in the order of time.
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
    let contents = Memtable(top.parts, at: top.checkpoint, after: start)
    current = Lock(Current(contents: contents, moments: moments + [top]))
  }

  init(
    _ name: LayerName, _ footer: LayerFooter, _ file: LayerFile, faults: ReadFaults,
    rebuild: @escaping Rebuild
  ) {
    self.name = name
    start = footer.start
    top = footer.top
    entryDigest = footer.entryDigest
    self.faults = faults
    self.rebuild = rebuild
    current = Lock(Current(contents: file, footer: footer, indexes: file.definitions))
  }

  /// The entries whose changes it has, as people read it.
  var revisions: String { "\(start.revision + 1) to \(top.revision)" }
  /// Where its states can be opened; without a file, only at its top.
  var checkpoints: [LayerCheckpoint] { footer?.checkpoints ?? [top] }
  var eventCount: Int { top.eventCount - start.eventCount }
  /// Nil as long as there is no file.
  var footer: LayerFooter? { current.withLock { $0.footer } }
  /// The declared indexes that its file has.
  var indexes: [IndexDefinition] { current.withLock { $0.indexes } }
  /// Whether the file failed and its contents were rebuilt in memory. The keeper then writes the file again.
  var isRebuilt: Bool { current.withLock { $0.isRebuilt } }
  /// Whether its entries were withdrawn, so that other entries may have its revisions.
  var isWithdrawn: Bool { current.withLock { $0.isWithdrawn } }
  func withdraw() { current.withLock { $0.isWithdrawn = true } }

  func checkpoint(atOrBefore revision: Revision) -> LayerCheckpoint? {
    if top.revision <= revision { return top }
    let checkpoints = checkpoints
    let end = checkpoints.partitioningIndex { $0.revision > revision }
    return end > 0 ? checkpoints[end - 1] : nil
  }

  func checkpoint(atOrAfter revision: Revision) -> LayerCheckpoint? {
    guard top.revision >= revision else { return nil }
    let checkpoints = checkpoints
    return checkpoints[checkpoints.partitioningIndex { $0.revision >= revision }]
  }

  /// Reads from the file from now on, and frees the memory.
  func use(_ written: LayerFile, _ footer: LayerFooter) {
    replace { current in
      current.moments = []
      current.footer = footer
      current.indexes = written.definitions
      return written
    }
  }

  /// - Parameter change: returns what readers use next.
  private func replace(_ change: (inout Current) -> any LayerContents) {
    // What is replaced is released without the lock, because it may take much memory.
    _ = current.withLock { current -> (any LayerContents, [LayerMoment]) in
      let moments = current.moments
      let contents = change(&current)
      defer { current.contents = contents }
      return (current.contents, moments)
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

  // MARK: Reading

  var contents: any LayerContents { current.withLock { $0.contents } }

  /// The result of `body`; nil, and a read failure, if neither the file nor the log can be read.
  func read<Result>(_ body: (any LayerContents) throws(ArchiveError) -> Result) -> Result? {
    let contents = contents
    do throws(ArchiveError) { return try body(contents) } catch {
      guard let replacement = replacement(of: contents, because: error) else { return nil }
      do throws(ArchiveError) { return try body(replacement) } catch {
        faults.fail(JournalError(.io, "a rebuilt layer can't be read: \(error.message)"))
        return nil
      }
    }
  }

  /// The replacement of contents that failed; nil if there is none.
  /// - Parameter isForAnswer: whether the answer of a state needs it. Then it is a read failure if there is none.
  func replacement(
    of failed: any LayerContents, because error: ArchiveError, isForAnswer: Bool = true
  ) -> (any LayerContents)? {
    rebuilding.lock()
    defer { rebuilding.unlock() }
    let (known, isRebuilt, failedAt) = current.withLock { ($0.contents, $0.isRebuilt, $0.failedAt) }
    if isRebuilt { return known === failed ? nil : known }
    if let failedAt, failedAt.duration(to: .now) < Self.retryInterval { return nil }
    faults.report(error, in: self)
    do throws(JournalError) {
      let rebuilt = try rebuild(self)
      replace { current in
        current.isRebuilt = true
        return rebuilt
      }
      return rebuilt
    } catch {
      if isForAnswer {
        current.withLock { $0.failedAt = .now }
        faults.fail(error)
      }
      return nil
    }
  }

  /// Reads the whole layer from its file, and has it rebuilt if that fails. A failed rebuild is no read
  /// failure: readers may never need what can't be read, and the fault may pass.
  func readWhole(_ shape: StateShape?, isCancelled: () -> Bool) {
    let contents = contents
    do throws(ArchiveError) {
      let source = try contents.sequential()
      for kind in top.tables.indices {
        let next = try source.versions(kind)
        let row = source.rows(kind)
        while let version = try next() {
          if isCancelled() { return }
          _ = try row(version)
        }
      }
      for index in shape?.indexes.indices ?? 0..<0 {
        let next = try source.lines(index)
        while try next() != nil {}
      }
      for definition in indexes {
        let lines = try source.knownOrScannedLines(definition)
        for position in 0..<lines.count { _ = try lines.line(at: position) }
      }
    } catch {
      _ = replacement(of: contents, because: error, isForAnswer: false)
    }
  }
}
