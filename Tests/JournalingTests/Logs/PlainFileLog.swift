import Files
import Foundation
import Journaling
import Locks

/// A log in two files, written with `LogStorage`, `EntryLog` and `LogRemains` alone, to show that nothing else is needed.
///
/// `log` has 16 bytes that name the journal, and then for each entry its length, the complement of that, and its
/// checksum (FNV-1a), 8 bytes each and big-endian, and its bytes. `mark` has the newest revision and digest that were
/// acknowledged, and is replaced after each append.
struct PlainFileStorage: LogStorage {
  var isShared: Bool { false }
  var isTransient: Bool { false }
  var allowsFollowing: Bool { true }

  func create(in place: LogPlace) throws(JournalError) {
    let folder = try place.entries()
    try folder.write("log", place.journal.bytes)
    try PlainFileMark(revision: 0, digest: .zero).write(to: folder)
  }

  func open(_ access: LogAccess, in place: LogPlace) throws(JournalError) -> any EntryLog {
    try PlainFileLog(access, place)
  }

  func remains(in folder: JournalFolder) throws(JournalError) -> any LogRemains {
    try PlainFileRemains(folder)
  }
}

final class PlainFileLog: EntryLog {
  fileprivate struct State: Sendable {
    var file: FileBox
    /// The range of each entry's bytes, from revision 1 on.
    var entries: [Range<Int>] = []
    /// Where the next record goes.
    var end = 16
    var isWriting = false
    var failure: JournalError?
    var reads = 0
  }

  /// A class, so that several owners can share the file.
  fileprivate final class FileBox: Sendable {
    let file: Files.File<JournalError>
    init(_ file: consuming Files.File<JournalError>) { self.file = file }
  }

  private let place: LogPlace
  private let access: LogAccess
  private let folder: Files.Folder<JournalError>
  private let state: Lock<State>
  /// Guards no data. Threads wait on it for entries, for the end of reads, and for closing.
  private let change = NSCondition()
  private let isClosed = Lock(false)
  /// The mark at the opening, if the log was opened for reading. A later mark may be of an entry that is not visible.
  private let openingMark: PlainFileMark?
  let hasTornTail: Bool

  var limits: LogLimits { LogLimits(appendByteCount: 64 << 20, spareByteCount: 1 << 20) }

  init(_ access: LogAccess, _ place: LogPlace) throws(JournalError) {
    self.place = place
    self.access = access
    do throws(JournalError) {
      folder = try place.entries()
      let file = try folder.file("log", access == .write ? .updating : .reading)
      guard try Self.bytes(file, 0..<16) == place.journal.bytes else {
        throw JournalError(.damaged, "the log is another journal's", revision: 1, path: place.path)
      }
      if access == .write, try !folder.lock(exclusive: true) {
        throw JournalError(.locked, "the log is open for writing elsewhere", path: place.path)
      }
      openingMark = access == .read ? try PlainFileMark(in: folder) : nil
      state = Lock(State(file: FileBox(file)))
    } catch {
      if error.code == .notFound {
        throw JournalError(.damaged, "the log is missing", revision: 1, path: place.path)
      }
      throw error
    }
    let isTorn = try state.withLock { state throws(JournalError) in try Self.readOn(&state, place.path) }
    // If a follower finds the beginning of an entry, a write is in progress.
    hasTornTail = isTorn && access != .follow
  }

  deinit { try? close() }

  // MARK: Bytes

  /// Reads and checks the records that were appended since the last call.
  /// - Returns: whether the beginning of another record follows.
  fileprivate static func readOn(_ state: inout State, _ path: String) throws(JournalError) -> Bool {
    let size = try state.file.file.byteCount()
    while state.end < size {
      let revision = state.entries.count + 1
      let start = state.end + 24
      guard start <= size else { return true }
      let head = try bytes(state.file.file, state.end..<start)
      let numbers = (0..<3).map { number(head[$0 * 8..<$0 * 8 + 8]) }
      guard numbers[1] == ~numbers[0], let count = Int(exactly: numbers[0]) else {
        throw JournalError(.damaged, "the length of the entry is altered", revision: revision, path: path)
      }
      guard count <= size - start else { return true }
      guard try checksum(bytes(state.file.file, start..<start + count)) == numbers[2] else {
        throw JournalError(.damaged, "the entry is altered", revision: revision, path: path)
      }
      state.entries.append(start..<start + count)
      state.end = start + count
    }
    return false
  }

  fileprivate static func bytes(
    _ file: borrowing Files.File<JournalError>, _ range: Range<Int>
  ) throws(JournalError) -> [UInt8] {
    var failure: JournalError?
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
      do throws(JournalError) {
        count = try unsafe file.read(into: UnsafeMutableRawBufferPointer(buffer), at: range.lowerBound)
      } catch { failure = error }
    }
    if let failure { throw failure }
    return bytes
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reduce(0) { $0 << 8 | UInt64($1) }
  }

  fileprivate static func bytes(of number: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
  }

  private static func checksum(_ bytes: [UInt8]) -> UInt64 {
    var sum: UInt64 = 0xcbf2_9ce4_8422_2325
    unsafe bytes.withUnsafeBytes { bytes in
      for index in 0..<bytes.count { sum = unsafe (sum ^ UInt64(bytes[index])) &* 0x100_0000_01b3 }
    }
    return sum
  }

  // MARK: Reading

  func acknowledged() throws(JournalError) -> LogMark? {
    try checkIsOpen()
    let mark = if let openingMark { openingMark } else { try PlainFileMark(in: folder) }
    return mark.logMark(path: folder.path(of: "mark"))
  }

  func read(
    _ range: ClosedRange<Revision>, newestFirst: Bool,
    _ body: (Revision, UnsafeRawBufferPointer) throws(JournalError) -> Bool
  ) throws(JournalError) {
    try enter()
    defer { leave() }
    let (file, entries) = state.withLock { ($0.file, $0.entries) }
    let revisions = entries.indices.map { $0 + 1 }.filter(range.contains)
    for revision in newestFirst ? revisions.reversed() : revisions {
      let bytes = try Self.bytes(file.file, entries[revision - 1])
      guard bytes.count == entries[revision - 1].count else {
        throw JournalError(.damaged, "the entry was cut", revision: revision, path: place.path)
      }
      var outcome = Result<Bool, JournalError>.success(false)
      unsafe bytes.withUnsafeBytes { bytes in
        do throws(JournalError) { outcome = .success(try unsafe body(revision, bytes)) } catch {
          outcome = .failure(error)
        }
      }
      guard try outcome.get() else { return }
    }
  }

  func newestRevision(
    after revision: Revision, waitingAtMost time: Duration
  ) throws(JournalError) -> Revision {
    let deadline = ContinuousClock.now + time
    change.lock()
    defer { change.unlock() }
    while true {
      try checkIsOpen()
      let newest = try state.withLock { state throws(JournalError) in
        if access == .follow { _ = try Self.readOn(&state, place.path) }
        return state.entries.count
      }
      if newest > revision || ContinuousClock.now >= deadline { return newest }
      // The writer may be another process, so look again now and then.
      _ = change.wait(until: Date(timeIntervalSinceNow: 0.005))
    }
  }

  func byteCount() throws(JournalError) -> Int {
    try checkIsOpen()
    return try state.withLock { state throws(JournalError) in try state.file.file.byteCount() }
  }

  // MARK: Writing

  func beginWriting() throws(JournalError) {
    try checkIsOpen()
    guard access == .write else {
      throw JournalError(.readOnly, "the log was not opened for writing", path: place.path)
    }
    try state.withLock { state throws(JournalError) in
      if hasTornTail {
        // A shorter entry would leave a part of the torn tail behind.
        try folder.write("log", Self.bytes(state.file.file, 0..<state.end))
        try folder.flush()
        state.file = FileBox(try folder.file("log", .updating))
      }
      state.isWriting = true
    }
  }

  func append(_ entries: [SealedEntry], after revision: Revision) throws(AppendFailure) {
    do throws(JournalError) { try enter() } catch { throw .refused(error) }
    defer { leave() }
    try state.withLock { state throws(AppendFailure) in
      guard state.isWriting else {
        throw .refused(JournalError(.readOnly, "the log was not opened for writing", path: place.path))
      }
      if let failure = state.failure { throw .refused(failure) }
      guard state.entries.count == revision else { throw .conflict(newest: state.entries.count) }
      var bytes: [UInt8] = []
      var ranges: [Range<Int>] = []
      for entry in entries {
        let count = UInt64(entry.bytes.count)
        bytes += Self.bytes(of: count) + Self.bytes(of: ~count) + Self.bytes(of: Self.checksum(entry.bytes))
        ranges.append(state.end + bytes.count..<state.end + bytes.count + entry.bytes.count)
        bytes += entry.bytes
      }
      do throws(JournalError) {
        try write(bytes, state)
        if let last = entries.last {
          try PlainFileMark(revision: last.revision, digest: last.digest).write(to: folder)
        }
      } catch {
        state.failure = JournalError(.poisoned, "an earlier append failed", path: place.path, cause: error)
        throw .unknown(error)
      }
      state.entries += ranges
      state.end += bytes.count
    }
    wake()
  }

  private func write(_ bytes: [UInt8], _ state: State) throws(JournalError) {
    var failure: JournalError?
    unsafe bytes.withUnsafeBytes { bytes in
      do throws(JournalError) { try unsafe state.file.file.write(bytes, at: state.end) } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    try state.file.file.flush()
  }

  // MARK: Closing

  func close() throws(JournalError) {
    if isClosed.withLock({ isClosed in
      defer { isClosed = true }
      return isClosed
    }) {
      return
    }
    change.lock()
    change.broadcast()
    while state.withLock({ $0.reads > 0 }) { change.wait() }
    change.unlock()
    if access == .write { folder.unlock() }
  }

  private func checkIsOpen() throws(JournalError) {
    if isClosed.withLock({ $0 }) { throw JournalError(.closed, "the log has been closed", path: place.path) }
  }

  private func enter() throws(JournalError) {
    state.withLock { $0.reads += 1 }
    do throws(JournalError) { try checkIsOpen() } catch {
      leave()
      throw error
    }
  }

  private func leave() {
    state.withLock { $0.reads -= 1 }
    wake()
  }

  private func wake() {
    change.lock()
    change.broadcast()
    change.unlock()
  }
}

/// The mark of what was acknowledged.
private struct PlainFileMark {
  let revision: Revision
  let digest: ContentDigest

  init(revision: Revision, digest: ContentDigest) {
    self.revision = revision
    self.digest = digest
  }

  init(in folder: Files.Folder<JournalError>) throws(JournalError) {
    let path = folder.path(of: "mark")
    var text = ""
    do throws(JournalError) {
      text = String(decoding: try folder.file("mark", .reading).contents(limit: 1 << 10), as: UTF8.self)
    } catch {
      guard error.code == .notFound else { throw error }
    }
    let words = text.split(separator: " ")
    guard words.count == 3, let revision = Revision(words[0]), let digest = ContentDigest(hex: words[1]),
      words[2] == "\(revision + 1)"
    else { throw JournalError(.damaged, "the mark is missing or altered", path: path) }
    (self.revision, self.digest) = (revision, digest)
  }

  func write(to folder: Files.Folder<JournalError>) throws(JournalError) {
    try folder.write("mark", Array("\(revision) \(digest) \(revision + 1)".utf8))
    try folder.flush()
  }

  /// Nothing is acknowledged of an empty log.
  func logMark(path: String) -> LogMark? {
    revision == 0 ? nil : LogMark(revision: revision, digest: digest, path: path)
  }
}

/// The whole entries before the first that is not. Without that one's length, the beginning of the next is not known.
private struct PlainFileRemains: LogRemains {
  let journal: JournalID?
  let problems: [JournalError]
  private let folder: Files.Folder<JournalError>
  /// The state of the file, nil if it is missing.
  private let state: PlainFileLog.State?

  init(_ folder: JournalFolder) throws(JournalError) {
    self.folder = try folder.openEntries()
    let file: PlainFileLog.FileBox
    do throws(JournalError) {
      file = PlainFileLog.FileBox(try self.folder.file("log", .reading))
    } catch {
      guard error.code == .notFound else { throw error }
      (journal, problems, state) = (nil, [error], nil)
      return
    }
    var state = PlainFileLog.State(file: file)
    journal = JournalID(bytes: try PlainFileLog.bytes(file.file, 0..<16))
    do throws(JournalError) {
      _ = try PlainFileLog.readOn(&state, self.folder.path)
      problems = []
    } catch {
      problems = [error]
    }
    self.state = state
  }

  func acknowledged(by journal: JournalID) throws(JournalError) -> LogMark? {
    try PlainFileMark(in: folder).logMark(path: folder.path(of: "mark"))
  }

  func candidates(_ revision: Revision) throws(JournalError) -> [[UInt8]] {
    guard let state, state.entries.indices.contains(revision - 1) else { return [] }
    return [try PlainFileLog.bytes(state.file.file, state.entries[revision - 1])]
  }

  func lastRevision() throws(JournalError) -> Revision { state?.entries.count ?? 0 }
}
