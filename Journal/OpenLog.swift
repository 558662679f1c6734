import Dispatch
import Foundation
import Locks
import Synchronization

/// The open log of a journal, and the objects that read and write its other files: layers, snapshots, the base of a
/// pruned history. An erasure or a pruning replaces the whole `OpenLog` with a new one.
final class OpenLog<State: EventSourced>: Sendable {
  /// The journal's folder, as it was when the log was opened.
  let folder: JournalFolder
  let format: JournalFormat
  let log: any EntryLog
  let chain: LayerChain
  /// Large entries, kept after a history of an entity has read them.
  let recentEntries = RecentEntries()
  let healthCheck: HealthCheck<State>
  /// Writes layers; nil unless the journal is open for writing.
  let keeper: LayerKeeper<State>?

  /// - Parameters:
  ///   - head: the newest entry of the log.
  ///   - keeper: writes layers above `chain`; nil unless the journal is open for writing.
  init(
    _ folder: JournalFolder, _ format: JournalFormat, _ log: any EntryLog, _ chain: LayerChain, head: Head,
    keeper: LayerKeeper<State>?, options: JournalOptions
  ) {
    self.folder = folder
    self.format = format
    self.log = log
    self.chain = chain
    self.keeper = keeper
    healthCheck = HealthCheck(
      Replay(log: log, format: format), in: folder, through: head, options: options)
  }

  /// Ends all use of the log's files, and waits for calls in progress.
  func close() throws(JournalError) {
    healthCheck.end()
    chain.close()
    try log.close()
  }
}

/// The log that a journal uses now, and the turn to replace it.
///
/// 1. The log and the published version are replaced together, with the write lock held.
/// 2. During a replacement, ``replacementCount`` is odd. Reads before and after a replacement can contradict each
///    other, so `Journal.settled(_:)` reads again if the count has changed.
/// 3. One erasure or pruning runs at a time: the one that has the turn. Closing cancels it and waits for the turn.
///
/// Safe to use from any thread.
final class CurrentLog<State: EventSourced>: Sendable {
  private let open: Lock<OpenLog<State>>
  private let count = Atomic<Int>(0)
  private let pauses = Atomic<Int>(0)
  private let turn = WriteLock(())
  private let closing = Atomic<Bool>(false)
  private let unknown = Atomic<Bool>(false)

  init(_ open: OpenLog<State>) { self.open = Lock(open) }

  var value: OpenLog<State> { open.withLock { $0 } }

  /// Raised by one when a replacement begins and when it ends, so it is odd during a replacement.
  var replacementCount: Int { count.load(ordering: .sequentiallyConsistent) }

  /// Whether the journal is being closed.
  var isClosing: Bool { closing.load(ordering: .sequentiallyConsistent) }

  /// Waits until no replacement is in progress.
  /// - Returns: ``replacementCount``, which is then even.
  func settledCount() -> Int {
    while true {
      let count = replacementCount
      if count.isMultiple(of: 2) { return count }
      usleep(500)
    }
  }

  /// Runs `body` while layers and snapshots can't be written, because the log is about to be replaced.
  func whilePaused<Result>(_ body: () throws -> Result) rethrows -> Result {
    pauses.add(1, ordering: .sequentiallyConsistent)
    defer { pauses.add(1, ordering: .sequentiallyConsistent) }
    return try body()
  }

  /// Raised by one when a pause begins and when it ends, so it is odd during a pause.
  var pauseCount: Int { pauses.load(ordering: .sequentiallyConsistent) }

  /// Replaces the log with the one that `body` returns; after an error, the old log stays. Needs the write lock.
  /// - Parameter publish: shows the version of the new log to readers.
  func replace<Result>(
    by body: (OpenLog<State>) throws -> (OpenLog<State>, Result), then publish: (Result) -> Void
  ) rethrows -> Result {
    count.add(1, ordering: .sequentiallyConsistent)
    defer { count.add(1, ordering: .sequentiallyConsistent) }
    let (new, result) = try body(value)
    open.withLock { $0 = new }
    publish(result)
    return result
  }

  /// Whether it is unknown which log the folder has, the old or the new one. If so, no layers must be written.
  var isOutcomeUnknown: Bool { unknown.load(ordering: .sequentiallyConsistent) }

  func noteUnknownOutcome() { unknown.store(true, ordering: .sequentiallyConsistent) }

  /// Waits for the turn to replace the log, and runs `body` with it.
  /// - Throws: ``JournalError`` with code `closed` if the journal is closing, `wrongUse` if the caller has the turn.
  func withTurn<Result>(_ body: () throws -> Result) throws -> Result {
    try checkHasNoTurn("can't erase or prune")
    return try turn.take { _ in
      try checkIsNotClosing()
      return try body()
    }
  }

  /// - Throws: ``JournalError`` with code `closed` if the journal is being closed.
  func checkIsNotClosing() throws(JournalError) {
    if isClosing { throw JournalError.closed(path: value.folder.path) }
  }

  /// Cancels the erasure or the pruning in progress, waits for its end, and refuses further ones.
  func close() throws {
    closing.store(true, ordering: .sequentiallyConsistent)
    try turn.take { _ in }
  }

  /// - Throws: ``JournalError`` with code `wrongUse` if the caller has the turn and would wait for itself.
  func checkHasNoTurn(_ what: String) throws(JournalError) {
    guard turn.isTakenByThisThread else { return }
    throw JournalError(.wrongUse, "what reports the progress of an erasure or a pruning \(what)")
  }
}

extension Journal {
  /// Reads what must come from one log: if an erasure or a pruning replaces the log meanwhile, `body` runs again.
  package func settled<Result>(_ body: () throws -> Result) throws -> Result {
    while true {
      let (pauses, count) = (current.pauseCount, current.settledCount())
      let result = Swift.Result { try body() }
      guard current.replacementCount == count else { continue }
      // `body` was writing a snapshot, which the pause before a replacement has cancelled.
      if case .failure(let error as JournalError) = result, error.code == .closed, !current.isClosing,
        !pauses.isMultiple(of: 2) || current.pauseCount != pauses
      {
        usleep(1000)
        continue
      }
      return try result.get()
    }
  }

  /// Makes a copy, which fails if the log is replaced meanwhile: it would have a part of each log.
  package func copying<Result>(
    _ observer: CopyObserver, _ body: (_ observer: CopyObserver) throws -> Result
  ) throws -> Result {
    let count = current.settledCount()
    func check() throws {
      if current.replacementCount != count { throw folder.logIsReplaced }
    }
    do {
      let result = try withoutActuallyEscaping(observer) { observer in
        try body { progress in
          try check()
          try observer(progress)
        }
      }
      try check()
      return result
    } catch {
      try check()
      throw error
    }
  }
}
