import Files
import Foundation
import Journaling
import LevelDB
import Locks
import LogbookModel
import TestSupport

/// A run of a small journal with everything that changes the disk. The journal is created, and closed and opened again
/// and again. One thread or several commit and add blobs, while LevelDB begins new logs, writes tables and compacts
/// them, layers are written, merged and thinned, and snapshots are taken and dropped.
final class Scenario: Sendable {
  private struct Progress: Sendable {
    var tried: [String] = []
    var acknowledged: [Revision: String] = [:]
    /// The first error, at which the scenario stops, as an app would.
    var failure: JournalError?
    var codes: Set<JournalError.Code> = []
    var snapshotCodes: Set<JournalError.Code> = []
  }

  let url: URL
  private let options: JournalOptions
  private let recorder: Recorder?
  private let progress = Lock(Progress())

  init(_ url: URL, hook: FileHook?, recorder: Recorder? = nil, layers: LayerPolicy = .many) {
    self.url = url
    self.recorder = recorder
    options = Self.options(hook, layers: layers)
  }

  /// Options with LevelDB's smallest buffer, so that a few large pages make it begin a new log.
  static func options(_ hook: FileHook? = nil, layers: LayerPolicy = .many) -> JournalOptions {
    var options = JournalOptions()
    options.fileHook = hook
    options.database.writeBufferByteCount = 64 << 10
    options.layers = layers
    return options
  }

  /// The first error, or nil.
  var failure: JournalError? { progress.withLock { $0.failure } }
  /// The codes of the errors that commits threw.
  var commitFailures: Set<JournalError.Code> { progress.withLock { $0.codes } }
  /// The codes of the errors of requested snapshots. They do not stop the scenario.
  var snapshotFailures: Set<JournalError.Code> { progress.withLock { $0.snapshotCodes } }
  /// The newest revision whose commit returned.
  var acknowledged: Revision { progress.withLock { $0.acknowledged.keys.max() ?? 0 } }

  /// The notes that each revision may have afterwards: its own if it was acknowledged, otherwise any of the rest.
  var notes: [Set<String>] {
    progress.withLock { progress in
      let unknown = Set(progress.tried).subtracting(progress.acknowledged.values)
      return progress.tried.indices.map { index in
        progress.acknowledged[index + 1].map { [$0] } ?? unknown
      }
    }
  }

  /// Runs until the end or the first error, and always closes the journal.
  /// - Parameter afterFailure: called after a failure with the journal, which is still open.
  func run(afterFailure: (Journal<Logbook>) throws -> Void = { _ in }) throws {
    var blob: Blob?
    let sessions: [(Journal<Logbook>) throws -> Void] = [
      { [self] journal in
        try write(journal, page: 1, "first")
        let named = try journal.blobs.add(Data("a blob".utf8))
        takeSnapshot(journal)
        try write(journal, page: 2, "with a blob", blob: named)
        writeTogether(journal, threads: 4)
        blob = try journal.blobs.add(Data("a blob that nothing names yet".utf8))
      },
      { [self] journal in
        // The blob is named without being added again. Its name must still be made durable.
        try write(journal, page: 3, "with the blob of the last session", blob: blob)
        // All of these write one page, so the log grows and snapshots do not.
        for _ in 0..<6 { try write(journal, page: 10, "large", byteCount: 20_000) }
        takeSnapshot(journal, asOf: 2)
        try commit(journal, "deletes a page") { try $0.delete(.page(2)) }
        dropSnapshot(journal, at: 2)
      },
      { [self] journal in
        let named = try journal.blobs.add(Data("another blob".utf8))
        try write(journal, page: 4, "with another blob", blob: named)
        writeTogether(journal, threads: 2)
        for _ in 0..<4 { try write(journal, page: 11, "large too", byteCount: 20_000) }
        // Let layers be merged before the journal is closed.
        journal.waitForLayers()
      },
      { [self] journal in
        for turn in 0..<14 { try write(journal, page: 5, "fourth session, \(turn)") }
        journal.waitForLayers()
        takeSnapshot(journal)
      },
      { [self] journal in
        takeSnapshot(journal, asOf: 2)
        try write(journal, page: 5, "fifth session")
        let again = try journal.blobs.add(Data("a blob".utf8))
        try write(journal, page: 6, "with a blob that was there", blob: again)
      },
    ]
    for (index, session) in sessions.enumerated() {
      guard try run(session, isFirst: index == 0, afterFailure: afterFailure) else { return }
    }
  }

  private func run(
    _ session: (Journal<Logbook>) throws -> Void, isFirst: Bool,
    afterFailure: (Journal<Logbook>) throws -> Void
  ) throws -> Bool {
    let journal: Journal<Logbook>
    do {
      journal =
        isFirst
        ? try Journal<Logbook>.create(at: url, options: options)
        : try Journal<Logbook>.open(at: url, options: options)
    } catch {
      try note(error)
      return false
    }
    if isFirst { recorder?.didCreate() }
    do { try session(journal) } catch { try note(error) }
    if failure != nil { try afterFailure(journal) }
    do { try journal.close() } catch { try note(error) }
    return failure == nil
  }

  private func note(_ error: any Error) throws {
    guard let error = error as? JournalError else { throw error }
    progress.withLock { $0.failure = $0.failure ?? error }
  }

  private func writeTogether(_ journal: Journal<Logbook>, threads: Int) {
    DispatchQueue.concurrentPerform(iterations: threads) { thread in
      do {
        try write(journal, page: 100 + thread, "thread \(thread)")
      } catch {
        progress.withLock { $0.failure = $0.failure ?? (error as? JournalError) }
      }
    }
  }

  private func takeSnapshot(_ journal: Journal<Logbook>, asOf revision: Revision? = nil) {
    withSnapshots { try journal.takeSnapshot(asOf: revision.map { .revision($0) } ?? .head()) }
  }

  private func dropSnapshot(_ journal: Journal<Logbook>, at revision: Revision) {
    withSnapshots { try journal.dropSnapshot(at: revision) }
  }

  private func withSnapshots<Result>(_ body: () throws -> Result) {
    do { _ = try body() } catch {
      progress.withLock { _ = $0.snapshotCodes.insert((error as? JournalError)?.code ?? .wrongUse) }
    }
  }

  private func write(
    _ journal: Journal<Logbook>, page: Int, _ name: String, byteCount: Int = 0, blob: Blob? = nil
  ) throws {
    try commit(journal, name) { draft in
      try draft.write(page, "\(draft.revision)" + String(repeating: "x", count: byteCount), blob: blob)
    }
  }

  private func commit(
    _ journal: Journal<Logbook>, _ name: String, _ body: (inout Draft<Logbook>) throws -> Void
  ) throws {
    let note = progress.withLock { progress in
      let note = "\(progress.tried.count): \(name)"
      progress.tried.append(note)
      return note
    }
    do {
      let commit = try journal.commit(by: "scenario", note: note, body)
      recorder?.acknowledge(commit.revision)
      progress.withLock { $0.acknowledged[commit.revision] = note }
    } catch {
      if let error = error as? JournalError { progress.withLock { _ = $0.codes.insert(error.code) } }
      throw error
    }
  }
}
