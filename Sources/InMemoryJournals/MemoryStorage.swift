package import Journaling
import Locks

/// Stores one log in memory, as long as this object or one of its open logs exists.
///
/// One writer and any number of readers can have the log open at a time. Nothing is on disk.
///
/// Safe to use from any thread.
package final class MemoryStorage: LogStorage {
  private struct Contents: Sendable {
    var journal: JournalID?
    var entries: [[UInt8]] = []
    var byteCount = 0
    var hasWriter = false
    /// The values to raise when entries are appended, one for each open log that sees new entries.
    var listeners: [ObjectIdentifier: NewestRevision] = [:]
  }

  private let contents = Lock(Contents())

  package init() {}

  package var isTransient: Bool { true }

  package func create(in place: LogPlace) throws(JournalError) {
    try contents.withLock { contents throws(JournalError) in
      guard contents.journal == nil else {
        throw JournalError(.alreadyExists, "there is a log in this memory already; use another storage")
      }
      contents.journal = place.journal
    }
  }

  package func open(_ access: LogAccess, in place: LogPlace) throws(JournalError) -> any EntryLog {
    try contents.withLock { contents throws(JournalError) in
      guard let found = contents.journal else {
        throw JournalError(.damaged, "there is no log in this memory", revision: 1)
      }
      guard found == place.journal else {
        throw JournalError(.damaged, "the log in this memory belongs to another journal", revision: 1)
      }
      if access == .write {
        guard !contents.hasWriter else {
          throw JournalError(.locked, "the log in this memory is open for writing already; share that one")
        }
        contents.hasWriter = true
      }
      let newest = NewestRevision(contents.entries.count)
      if access != .read { contents.listeners[ObjectIdentifier(newest)] = newest }
      return MemoryLog(self, access, newest)
    }
  }

  fileprivate func close(_ access: LogAccess, _ newest: NewestRevision) {
    contents.withLock { contents in
      contents.listeners[ObjectIdentifier(newest)] = nil
      if access == .write { contents.hasWriter = false }
    }
  }

  fileprivate var byteCount: Int { contents.withLock { $0.byteCount } }

  fileprivate func bytes(of revision: Revision) -> [UInt8]? {
    contents.withLock { contents in
      contents.entries.indices.contains(revision - 1) ? contents.entries[revision - 1] : nil
    }
  }

  fileprivate func append(_ added: [SealedEntry], after revision: Revision) throws(AppendFailure) {
    let (newest, listeners) = try contents.withLock { contents throws(AppendFailure) in
      guard contents.entries.count == revision else { throw .conflict(newest: contents.entries.count) }
      for entry in added {
        contents.entries.append(entry.bytes)
        contents.byteCount += entry.bytes.count
      }
      return (contents.entries.count, contents.listeners)
    }
    for listener in listeners.values { listener.raise(to: newest) }
  }
}

/// An open log of a ``MemoryStorage``. Safe to use from any thread.
private final class MemoryLog: EntryLog {
  private let storage: MemoryStorage
  private let access: LogAccess
  /// The newest revision that this log has. New entries raise it, unless the log is open only for reading.
  private let newest: NewestRevision
  private let calls = OpenCalls()
  private let isWriting = Lock(false)

  init(_ storage: MemoryStorage, _ access: LogAccess, _ newest: NewestRevision) {
    self.storage = storage
    self.access = access
    self.newest = newest
  }

  deinit { close() }

  var limits: LogLimits { LogLimits(appendByteCount: 1 << 30, spareByteCount: 0) }
  var hasTornTail: Bool { false }

  private func enter() throws(JournalError) {
    guard calls.enter() else { throw JournalError.closed() }
  }

  /// Nil, because a log in memory loses entries only when the process ends.
  func acknowledged() throws(JournalError) -> LogMark? {
    try enter()
    calls.leave()
    return nil
  }

  func read(
    _ range: ClosedRange<Revision>, newestFirst: Bool,
    _ body: (Revision, UnsafeRawBufferPointer) throws(JournalError) -> Bool
  ) throws(JournalError) {
    try enter()
    defer { calls.leave() }
    let last = newest.revision
    guard last > 0, range.overlaps(1...last) else { return }
    try unsafe Range(range.clamped(to: 1...last)).readEach(
      newestFirst: newestFirst, { storage.bytes(of: $0) }, body)
  }

  func newestRevision(
    after revision: Revision, waitingAtMost time: Duration
  ) throws(JournalError) -> Revision {
    guard let found = newest.wait(after: revision, atMost: time) else { throw JournalError.closed() }
    return found
  }

  func beginWriting() throws(JournalError) {
    try enter()
    defer { calls.leave() }
    guard access == .write else { throw JournalError.logIsReadOnly() }
    isWriting.withLock { $0 = true }
  }

  func append(_ entries: [SealedEntry], after revision: Revision) throws(AppendFailure) {
    guard calls.enter() else { throw .refused(.closed()) }
    defer { calls.leave() }
    guard isWriting.withLock({ $0 }) else { throw .refused(.logIsReadOnly()) }
    try storage.append(entries, after: revision)
  }

  func byteCount() throws(JournalError) -> Int {
    try enter()
    defer { calls.leave() }
    return storage.byteCount
  }

  func close() {
    guard calls.close() else { return }
    newest.close()
    calls.wait()
    storage.close(access, newest)
  }
}
