import Dispatch
import Journaling
import Locks

/// The entries of a shared log that are not yet stored in a node's folder.
///
/// The shared log has made the entries durable, so no commit waits for the folder's drive: a thread stores the entries
/// with few flushes. Until then, reads find them in memory.
///
/// 1. Entries are added and stored in order and without gaps.
/// 2. A lack of resources only delays storing, while memory is below its limit. After any other failure nothing more is
///    stored, but entries in memory can still be read.
/// 3. Memory is bounded: adding waits for a slow drive.
///
/// Safe to use from any thread.
final class EntryBacklog: Sendable {
  private struct State: Sendable {
    var entries: [SealedEntry] = []
    var byteCount = 0
    var failure: JournalError?
    var isClosed = false
  }

  private let log: any EntryLog
  private let options: JournalOptions
  private let state = Lock(State())
  private let stored: NewestRevision
  /// Signaled when there is something to store, and by closing.
  private let work = DispatchSemaphore(value: 0)
  /// Signaled by a caller that waits until an entry is stored, and by closing.
  private let hurry = TimedSemaphore(value: 0)
  private let thread = DispatchGroup()

  /// The time for which entries wait for further ones, so that there are fewer flushes: flushes slow down a server on
  /// the same drive.
  private static var pause: DispatchTimeInterval { .milliseconds(10) }
  /// The maximum bytes in memory, unless a single append has more.
  private static let byteLimit = 16 << 20

  init(_ log: any EntryLog, options: JournalOptions) {
    self.log = log
    self.options = options
    stored = NewestRevision(0)
  }

  /// Starts the thread.
  /// - Parameter revision: the newest entry in the folder.
  /// - Returns: false if the system has no thread for it.
  func start(after revision: Revision) -> Bool {
    stored.raise(to: revision)
    thread.enter()
    let isStarted = Threads.start {
      self.storeAll()
      self.thread.leave()
    }
    if !isStarted { thread.leave() }
    return isStarted
  }

  var failure: JournalError? { state.withLock { $0.failure } }

  /// Adds entries that are durable in the shared log.
  func add(_ entries: [SealedEntry]) throws(JournalError) {
    let byteCount = entries.reduce(0) { $0 + $1.bytes.count }
    let isFirst = try state.withLock { state throws(JournalError) in
      if let failure = state.failure { throw failure }
      if state.isClosed { throw JournalError.closed() }
      defer {
        state.entries += entries
        state.byteCount += byteCount
      }
      return state.entries.isEmpty
    }
    if isFirst { work.signal() }
    while let first = state.withLock({ $0.byteCount > Self.byteLimit ? $0.entries.first : nil }) {
      try settle(through: first.revision)
    }
  }

  /// Waits until an entry is stored in the folder.
  private func settle(through revision: Revision) throws(JournalError) {
    hurry.signal()
    guard stored.wait(after: revision - 1, atMost: .seconds(3600)) != nil else {
      throw failure ?? JournalError.closed()
    }
  }

  /// Reads entries: the stored ones from the folder, and the others from memory.
  func read(
    _ range: ClosedRange<Revision>, newestFirst: Bool,
    _ body: (Revision, UnsafeRawBufferPointer) throws(JournalError) -> Bool
  ) throws(JournalError) {
    let waiting = state.withLock { $0.entries }
    guard let first = waiting.first?.revision, range.upperBound >= first else {
      return try unsafe log.read(range, newestFirst: newestFirst, body)
    }
    var goesOn = true
    func readMemory() throws(JournalError) {
      let start = max(range.lowerBound, first)
      let rest = start..<max(start, min(range.upperBound, first + waiting.count - 1) + 1)
      guard goesOn else { return }
      goesOn = try unsafe rest.readEach(newestFirst: newestFirst, { waiting[$0 - first].bytes }, body)
    }
    func readFolder() throws(JournalError) {
      guard range.lowerBound < first else { return }
      try unsafe log.read(range.lowerBound...first - 1, newestFirst: newestFirst) {
        revision, bytes throws(JournalError) in
        goesOn = try unsafe body(revision, bytes)
        return goesOn
      }
    }
    if newestFirst { try readMemory() } else { try readFolder() }
    guard goesOn else { return }
    if newestFirst { try readFolder() } else { try readMemory() }
  }

  private func storeAll() {
    var isShort = false
    while true {
      work.wait()
      if !state.withLock({ $0.isClosed }) { _ = hurry.wait(timeout: .now() + Self.pause) }
      let entries = state.withLock { $0.entries }
      if let first = entries.first, let last = entries.last {
        do throws(AppendFailure) { try log.append(entries, after: first.revision - 1) } catch {
          // At the limit, callers wait for this thread, and closing waits for those callers, so a shortage is a
          // failure.
          guard case .refused(let shortage) = error, shortage.code == .outOfResources,
            state.withLock({ !$0.isClosed && $0.byteCount <= Self.byteLimit })
          else { return fail(because: error.cause, entries) }
          if !isShort {
            options.note(
              .warning, "storing the entries of the shared log is paused by a shortage", cause: shortage)
          }
          isShort = true
          _ = hurry.wait(timeout: .now() + .milliseconds(100))
          work.signal()
          continue
        }
        isShort = false
        let hasMore = state.withLock { state in
          state.entries.removeFirst(entries.count)
          state.byteCount = state.entries.reduce(0) { $0 + $1.bytes.count }
          return !state.entries.isEmpty
        }
        stored.raise(to: last.revision)
        if hasMore { work.signal() }
      }
      if state.withLock({ $0.isClosed && $0.entries.isEmpty }) { return }
    }
  }

  private func fail(because error: JournalError, _ entries: [SealedEntry]) {
    let failure = JournalError(
      .poisoned,
      "this node's folder could not store entry \(entries.first?.revision ?? 0), which is in the shared log; close the "
        + "journal and open it again", cause: error)
    state.withLock { $0.failure = failure }
    stored.close()
    options.note(.error, "the journal takes no more commits until it is opened again", cause: failure)
  }

  /// Stores the entries that were added, and ends the thread.
  func close() {
    state.withLock { $0.isClosed = true }
    hurry.signal()
    work.signal()
    thread.wait()
    stored.close()
  }
}
