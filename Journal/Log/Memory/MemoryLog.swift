import Locks

/// An opening of a log in memory.
///
/// Safe to use from any thread.
final class MemoryLog: EntryLog {
  private let entries: MemoryEntries
  private let access: LogAccess
  private let newest: NewestRevision
  private let calls = OpenCalls()
  private let isWriting = Lock(false)

  init(_ entries: MemoryEntries, _ access: LogAccess, of journal: JournalID) throws(JournalError) {
    self.entries = entries
    self.access = access
    newest = try entries.open(access, of: journal)
  }

  deinit { close() }

  /// The limit of an entry.
  var limits: LogLimits { LogLimits(appendByteCount: EntryCoding.byteLimit, spareByteCount: 0) }
  var hasTornTail: Bool { false }

  /// Nothing can be lost unless the process ends.
  func acknowledged() throws(JournalError) -> LogMark? {
    guard calls.enter() else { throw JournalError.closed() }
    calls.leave()
    return nil
  }

  func read(
    _ range: ClosedRange<Revision>, newestFirst: Bool,
    _ body: (Revision, UnsafeRawBufferPointer) throws(JournalError) -> Bool
  ) throws(JournalError) {
    guard calls.enter() else { throw JournalError.closed() }
    defer { calls.leave() }
    let last = newest.revision
    guard last > 0, range.overlaps(1...last) else { return }
    let revisions = range.clamped(to: 1...last)
    var revision = newestFirst ? revisions.upperBound : revisions.lowerBound
    while revisions.contains(revision), let bytes = entries.bytes(of: revision) {
      var failure: JournalError?
      let wantsMore = unsafe bytes.withUnsafeBytes { bytes in
        do throws(JournalError) { return try unsafe body(revision, bytes) } catch {
          failure = error
          return false
        }
      }
      if let failure { throw failure }
      guard wantsMore else { return }
      revision += newestFirst ? -1 : 1
    }
  }

  func newestRevision(
    after revision: Revision, waitingAtMost time: Duration
  ) throws(JournalError) -> Revision {
    guard let found = newest.wait(after: revision, atMost: time) else { throw JournalError.closed() }
    return found
  }

  func beginWriting() throws(JournalError) {
    guard calls.enter() else { throw JournalError.closed() }
    defer { calls.leave() }
    guard access == .write else { throw JournalError.logIsReadOnly() }
    isWriting.withLock { $0 = true }
  }

  func append(_ entries: [SealedEntry], after revision: Revision) throws(AppendFailure) {
    guard calls.enter() else { throw .refused(.closed()) }
    defer { calls.leave() }
    guard isWriting.withLock({ $0 }) else { throw .refused(.logIsReadOnly()) }
    try self.entries.append(entries, after: revision)
  }

  func byteCount() throws(JournalError) -> Int {
    guard calls.enter() else { throw JournalError.closed() }
    defer { calls.leave() }
    return entries.byteCount
  }

  func close() {
    guard calls.close() else { return }
    newest.close()
    calls.wait()
    entries.close(access, newest)
  }
}
