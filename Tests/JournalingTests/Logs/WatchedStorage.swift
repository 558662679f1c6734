import InMemoryJournals
import Journaling
import Locks

/// A log, by default in memory, that counts what is appended and read, whose appends can be made to wait or fail, and whose entries can be
/// altered, missing or unreadable.
final class WatchedStorage: LogStorage {
  /// How many bytes an append may have.
  let byteLimit: Int
  /// The byte counts of the entries of each append.
  let appends = Lock<[[Int]]>([])
  /// How many entries were read.
  let reads = Lock(0)
  /// Called before each append, unless `failure` is set.
  let beforeAppend = Lock<(@Sendable () -> Void)?>(nil)
  /// The failure of every append, nil if appends succeed.
  let failure = Lock<AppendFailure?>(nil)
  /// Makes the failure of one append, after this many successful ones. Then appends succeed again.
  let failureAfter = Lock<(count: Int, @Sendable () -> AppendFailure)?>(nil)
  /// An entry that readers do not get.
  let missing = Lock<Revision?>(nil)
  /// An entry at which reading fails.
  let unreadable = Lock<Revision?>(nil)
  /// Makes the bytes of an entry that a reader gets, nil for those that were appended.
  let altered = Lock<(@Sendable (Revision) -> [UInt8]?)?>(nil)
  private let watched: any LogStorage

  init(_ watched: any LogStorage = MemoryStorage(), byteLimit: Int = 1 << 30) {
    self.watched = watched
    self.byteLimit = byteLimit
  }

  var isTransient: Bool { watched.isTransient }

  func create(in place: LogPlace) throws(JournalError) { try watched.create(in: place) }

  func open(_ access: LogAccess, in place: LogPlace) throws(JournalError) -> any EntryLog {
    WatchedLog(log: try watched.open(access, in: place), storage: self)
  }
}

private struct WatchedLog: EntryLog {
  let log: any EntryLog
  let storage: WatchedStorage

  var limits: LogLimits { LogLimits(appendByteCount: storage.byteLimit, spareByteCount: 0) }
  var hasTornTail: Bool { log.hasTornTail }
  func acknowledged() throws(JournalError) -> LogMark? { try log.acknowledged() }
  func beginWriting() throws(JournalError) { try log.beginWriting() }
  func byteCount() throws(JournalError) -> Int { try log.byteCount() }
  func close() throws(JournalError) { try log.close() }

  func read(
    _ range: ClosedRange<Revision>, newestFirst: Bool,
    _ body: (Revision, UnsafeRawBufferPointer) throws(JournalError) -> Bool
  ) throws(JournalError) {
    let altered = storage.altered.withLock { $0 }
    try unsafe log.read(range, newestFirst: newestFirst) { revision, bytes throws(JournalError) in
      storage.reads.withLock { $0 += 1 }
      if storage.missing.withLock({ $0 == revision }) { return true }
      if storage.unreadable.withLock({ $0 == revision }) {
        throw JournalError(.damaged, "the entry is altered", revision: revision)
      }
      guard let found = altered?(revision) else { return try unsafe body(revision, bytes) }
      return try unsafe found.span.bytes.withUnsafeBytes { bytes throws(JournalError) in
        try unsafe body(revision, bytes)
      }
    }
  }

  func newestRevision(after revision: Revision, waitingAtMost time: Duration) throws(JournalError) -> Revision
  {
    try log.newestRevision(after: revision, waitingAtMost: time)
  }

  func append(_ entries: [SealedEntry], after revision: Revision) throws(AppendFailure) {
    if let failure = storage.failure.withLock({ $0 }) { throw failure }
    let fail = storage.failureAfter.withLock { $0 }
    if let (count, fail) = fail, storage.appends.withLock({ $0.count }) == count {
      let failure = fail()
      storage.failureAfter.withLock { $0 = nil }
      throw failure
    }
    storage.beforeAppend.withLock { $0 }?()
    storage.appends.withLock { $0.append(entries.map(\.bytes.count)) }
    try log.append(entries, after: revision)
  }
}
