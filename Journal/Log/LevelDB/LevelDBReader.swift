import Dispatch
import Files
import Foundation
import LevelDB
import Locks

/// The log in LevelDB for readers, with or without a writer in another process.
///
/// 1. It changes nothing on disk, and takes no lock that a writer needs.
/// 2. It shows the entries up to the newest one that HEAD has named or that records an erasure or a pruning. If no
///    process had the journal open for writing when this reader was opened, it also shows the entries after that one,
///    because the next writer will find them. It flushes them first, because a killed writer may have left them in the
///    system's memory only: a power loss would then remove what a reader has seen or copied. If they can't be flushed,
///    they are not shown.
/// 3. Entries never change, so it does not matter in which file an entry is found. If a file is missing because the
///    writer has moved its entries to another, a new view of the folder is taken (``LevelDBView``).
/// 4. It polls HEAD to learn of new entries. While HEAD does not change, nothing else is read.
///
/// Safe to use from any thread.
final class LevelDBReader: EntryLog {
  /// The pause between two reads of HEAD while a thread waits for entries: the short one while entries arrive, the long
  /// one when none has arrived for a second. Entries that arrive during a pause are read and applied together, which
  /// takes less of the processor from the writer.
  private static var shortPause: Duration { .milliseconds(2) }
  private static var longPause: Duration { .milliseconds(15) }

  private struct State: Sendable {
    var view: LevelDBView
    /// The newest entry that is shown.
    var newest: Revision
    /// The mark of HEAD when `newest` was set.
    var mark: LogMark
    var lastChange = ContinuousClock.now
    /// When a waiting thread has last read HEAD.
    var lastRead = ContinuousClock.now

    /// When a waiting thread reads HEAD again.
    var nextRead: ContinuousClock.Instant {
      lastRead + (lastRead - lastChange > .seconds(1) ? LevelDBReader.longPause : LevelDBReader.shortPause)
    }
  }

  private let place: LogPlace
  private let options: Database.Options
  private let access: LogAccess
  private let state: Lock<State>
  /// Held while the view is replaced or extended.
  private let viewLock = Lock(())
  /// The file HEAD, open so that a follower needs no descriptor while nothing is new; nil once the log is closed.
  private let head: Lock<HeadFile.OpenFile?>
  private let calls = OpenCalls()
  private let isClosing = TimedSemaphore(value: 0)

  let hasTornTail: Bool
  let limits: LogLimits

  /// Opens the log of a journal.
  /// - Throws: ``JournalError`` with code `damaged` if an entry up to the newest acknowledged one is missing, or if the
  ///   log is another journal's.
  /// - Complexity: O(n) in the number of tables, and in the bytes of LevelDB's log, which its write buffer bounds.
  init(_ access: LogAccess, in place: LogPlace, options: Database.Options) throws(JournalError) {
    self.place = place
    self.access = access
    self.options = options
    limits = LevelDBLog.limits(options)
    // HEAD is read first, so that the files have the entry that it names.
    let head = try HeadFile.OpenFile(place.folder)
    let mark = try head.mark(id: place.journal)
    self.head = Lock(head)
    let (view, newest) = try Self.firstView(in: place, options, through: mark)
    hasTornTail = view.database.hasTornTail
    state = Lock(State(view: view, newest: newest, mark: mark))
  }

  /// A view of the log, and the newest entry to be shown.
  private static func firstView(
    in place: LogPlace, _ options: Database.Options, through mark: LogMark
  ) throws(JournalError) -> (LevelDBView, Revision) {
    // If a writer opens or closes the log in the meantime, another attempt is needed. Three are more than enough.
    for _ in 0..<3 {
      if try FolderLock.isHeld(place.folder) { break }
      let names = try place.entries().names()
      do throws(JournalError) {
        let view = try LevelDBView(unused: place, options)
        let areDurable = view.newest <= mark.revision ? true : try flushEntries(in: place)
        if try !FolderLock.isHeld(place.folder), !view.database.hasChanged {
          return (view, areDurable ? view.newest : view.newestShown(acknowledged: mark.revision))
        }
      } catch {
        // An opening for writing changes the names of files, so without one the error is real.
        if try !FolderLock.isHeld(place.folder), try place.entries().names() == names { throw error }
      }
    }
    let view = try LevelDBView(place, options, through: mark.revision)
    return (view, view.newestShown(acknowledged: mark.revision))
  }

  /// Makes the entries after the mark of HEAD durable. Only logs are flushed: tables are durable before a file names
  /// them.
  /// - Returns: false if the logs can't be flushed.
  /// - Throws: ``JournalError`` with code `outOfResources`: after a power loss, acknowledged entries can follow HEAD,
  ///   and a shortage must not hide them.
  private static func flushEntries(in place: LogPlace) throws(JournalError) -> Bool {
    do throws(JournalError) {
      let entries = try place.entries()
      for name in try entries.names() where name.hasSuffix(".log") {
        try entries.file(name, .reading).flush()
      }
      // This makes the name of a new log durable.
      try entries.flush()
      return true
    } catch {
      if error.code == .outOfResources { throw error }
      place.options.note(
        .warning,
        "the entries after the newest acknowledged one are not shown, because they could not be flushed",
        cause: error)
      return false
    }
  }

  func acknowledged() throws(JournalError) -> LogMark? {
    try using { () throws(JournalError) in
      let mark = try readHead()
      // If the entry of the mark is not shown, the mark says nothing about the entries that are.
      return state.withLock { mark.revision > $0.newest ? $0.mark : mark }
    }
  }

  private func readHead() throws(JournalError) -> LogMark {
    let open = head.withLock { $0 }
    // The writer replaces the file if a copy has a hard link to it.
    let identity = try place.folder.root.status(of: HeadFile.name)?.identity
    if let open, try open.file.status().identity == identity { return try open.mark(id: place.journal) }
    let new = try HeadFile.OpenFile(place.folder)
    head.withLock { $0 = new }
    return try new.mark(id: place.journal)
  }

  func byteCount() throws(JournalError) -> Int {
    try using { () throws(JournalError) in try place.folder.byteCountOfEntries() }
  }

  // MARK: Reading

  func read(
    _ range: ClosedRange<Revision>, newestFirst: Bool,
    _ body: (Revision, UnsafeRawBufferPointer) throws(JournalError) -> Bool
  ) throws(JournalError) {
    try using { () throws(JournalError) in
      var (view, newest) = state.withLock { ($0.view, $0.newest) }
      guard range.lowerBound <= newest else { return }
      var rest = range.lowerBound...min(range.upperBound, newest)
      while true {
        var next = newestFirst ? rest.upperBound : rest.lowerBound
        do {
          return try unsafe view.read(rest, newestFirst: newestFirst, next: &next, body)
        } catch {
          guard (error as? DatabaseError)?.isOfMissingFile == true, view.database.hasChanged else {
            throw JournalError(ofLevelDB: error, revision: next)
          }
        }
        view = try anotherView(insteadOf: view)
        rest = newestFirst ? rest.lowerBound...next : next...rest.upperBound
      }
    }
  }

  /// Replaces a view that lacks a file by a new one, which has the entries in other files.
  private func anotherView(insteadOf old: LevelDBView) throws(JournalError) -> LevelDBView {
    try viewLock.withLock { _ throws(JournalError) in
      let (view, newest) = state.withLock { ($0.view, $0.newest) }
      if view.database !== old.database { return view }
      let found = try LevelDBView(place, options, through: newest)
      state.withLock { $0.view = found }
      return found
    }
  }

  // MARK: New entries

  func newestRevision(
    after revision: Revision, waitingAtMost time: Duration
  ) throws(JournalError) -> Revision {
    let deadline = ContinuousClock.now + time
    while true {
      if time > .zero { try pause(until: min(deadline, state.withLock { $0.nextRead })) }
      let found = try using { () throws(JournalError) in
        access == .follow ? try refresh() : state.withLock { $0.newest }
      }
      let now = ContinuousClock.now
      if time > .zero { state.withLock { $0.lastRead = now } }
      if found > revision || now >= deadline { return found }
    }
  }

  private func pause(until time: ContinuousClock.Instant) throws(JournalError) {
    let rest = time - .now
    guard rest > .zero, isClosing.wait(timeout: .now() + rest.timeInterval) == .success else { return }
    // Wakes other waiting threads.
    isClosing.signal()
    throw closed
  }

  /// Reads the newly acknowledged entries.
  /// - Returns: the newest entry to be shown.
  private func refresh() throws(JournalError) -> Revision {
    let newest = state.withLock { $0.newest }
    let mark = try readHead()
    guard mark.revision > newest else { return newest }
    return try viewLock.withLock { _ throws(JournalError) in
      let isRead: Bool? = try state.withLock { state throws(JournalError) in
        guard mark.revision > state.newest else { return nil }
        // The writer has written its manifest before this mark, so a change is visible.
        if state.view.database.hasChanged { return false }
        // The view is changed in place, because changing a copy would copy its list of entries.
        do throws(DatabaseError) { try state.view.readLogs() } catch { throw JournalError(error) }
        // If the entry of the mark is not there, LevelDB may have started another log.
        return state.view.newest >= mark.revision
      }
      guard let isRead else { return state.withLock { $0.newest } }
      let view = isRead ? nil : try LevelDBView(place, options, through: mark.revision)
      let shown = view?.newestShown(acknowledged: mark.revision) ?? mark.revision
      state.withLock { state in
        if let view { state.view = view }
        state.newest = shown
        state.mark = mark
        state.lastChange = .now
      }
      return shown
    }
  }

  // MARK: Writing

  func beginWriting() throws(JournalError) {
    try using { () throws(JournalError) in throw readOnly }
  }

  func append(_ entries: [SealedEntry], after revision: Revision) throws(AppendFailure) {
    throw .refused(readOnly)
  }

  private var readOnly: JournalError {
    .logIsReadOnly(path: place.path)
  }

  // MARK: Closing

  func close() throws(JournalError) {
    guard calls.close() else { return }
    isClosing.signal()
    calls.wait()
    // Without this, the files of the database would stay open as long as this log exists.
    state.withLock { $0.view.database }.close()
    head.withLock { $0 = nil }
  }

  private var closed: JournalError {
    .closed(path: place.folder.path)
  }

  private func using<Result>(
    _ body: () throws(JournalError) -> sending Result
  ) throws(JournalError) -> Result {
    guard calls.enter() else { throw closed }
    defer { calls.leave() }
    do throws(JournalError) { return try body() } catch {
      throw place.folder.explaining(error)
    }
  }
}

extension DatabaseError {
  fileprivate var isOfMissingFile: Bool { code == .damaged && osError == ENOENT }
}
