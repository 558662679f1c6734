import Foundation
import Locks
import PropertyLists

/// The changes between two revisions, in memory until their file is written. If the file can't be read, they
/// are rebuilt from the log. All states above the layer share it.
///
/// Safe to use from any thread.
package final class Layer: Sendable {
  typealias Rebuild = @Sendable (Layer) throws(JournalError) -> LayerFile

  let name: LayerName
  let start: LayerCheckpoint
  let top: LayerCheckpoint
  let entryDigest: ContentDigest
  private let faults: ReadFaults
  private let rebuild: Rebuild
  private let current: Lock<Current>
  /// Held while the contents are rebuilt, so that this happens once for all readers.
  private let rebuilding = NSLock()

  private static let retryInterval = Duration.seconds(1)

  private struct Current: Sendable {
    /// The contents that readers use. Until there is a file, they have the changes as of the top only.
    var contents: any LayerContents
    /// The states at the layer's checkpoints, from which the file is written; empty once there is a file.
    var moments: [LayerMoment] = []
    var footer: LayerFooter?
    var indexes: [IndexDefinition] = []
    var isRebuilt = false
    var isWithdrawn = false
    /// When rebuilding last failed. It is not retried at once: each reader would then wait as long as the first.
    var failedAt: ContinuousClock.Instant?
  }

  /// Makes a layer in memory.
  /// - Parameter moments: the layer's states before `top`, each with its changes above `start`, in the order of time.
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

  /// The entries whose changes the layer has, as text: `101 to 200`.
  var revisions: String { "\(start.revision + 1) to \(top.revision)" }
  /// The checkpoints at which states can be opened; without a file, only the top.
  var checkpoints: [LayerCheckpoint] { footer?.checkpoints ?? [top] }
  var eventCount: Int { top.eventCount - start.eventCount }
  /// The footer of the file; nil as long as there is no file.
  package var footer: LayerFooter? { current.withLock { $0.footer } }
  /// The declared indexes that the file has.
  var indexes: [IndexDefinition] { current.withLock { $0.indexes } }
  /// Whether the file failed and its contents were rebuilt in memory. The keeper then writes the file again.
  var isRebuilt: Bool { current.withLock { $0.isRebuilt } }
  /// Whether the layer's entries were withdrawn, so that other entries may have their revisions.
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

  /// Makes readers use the file from now on, and frees the memory.
  func use(_ written: LayerFile, _ footer: LayerFooter) {
    replace { current in
      current.moments = []
      current.footer = footer
      current.indexes = written.definitions
      return written
    }
  }

  /// - Parameter change: returns the contents that readers use next.
  private func replace(_ change: (inout Current) -> any LayerContents) {
    // The old contents are released without the lock, because they may be large.
    _ = current.withLock { current -> (any LayerContents, [LayerMoment]) in
      let moments = current.moments
      let contents = change(&current)
      defer { current.contents = contents }
      return (current.contents, moments)
    }
  }

  /// The sources from which the layer's file is written, and its checkpoints.
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

  /// Returns the result of `body`. If neither the file nor the log can be read, records a read failure and returns nil.
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

  /// Returns rebuilt contents in place of failed ones; nil if they can't be rebuilt.
  /// - Parameter isForAnswer: whether an answer of a state needs the contents. If so, a failed rebuild is a read
  ///   failure.
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

  /// Reads the whole layer from its file, and has it rebuilt if that fails. A failed rebuild is no read failure:
  /// readers may never need the unreadable part, and the fault may pass.
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
        if let words = source.words(definition) { try words.readAll(isCancelled: isCancelled) }
        if definition.content != .values { continue }
        let lines = try source.knownOrScannedLines(definition)
        for position in 0..<lines.count { _ = try lines.line(at: position) }
      }
    } catch {
      _ = replacement(of: contents, because: error, isForAnswer: false)
    }
  }
}
