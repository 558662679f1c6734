import Files
import LevelDB

/// The contents of LevelDB's files at one moment: its tables, and the entries of its logs.
///
/// If the writer removes a file before this view has opened it, the file is missing here. `hasChanged` of the database
/// then shows that a new view will find the entries elsewhere.
struct LevelDBView: Sendable {
  /// The tables; if the log has no writer, all its entries.
  let database: Database
  /// The entries of LevelDB's logs that are in no table, in order.
  private var logged: [[UInt8]] = []
  private var firstLogged: Revision
  /// The journal's identity, if that is still in LevelDB's first log.
  private var loggedJournal: [UInt8]?
  /// The newest entry, acknowledged or not.
  private(set) var newest: Revision

  /// The number of attempts to take a view of a changing folder. The folder changes each time that LevelDB has filled a
  /// buffer, which takes far longer than an attempt.
  private static var attemptCount: Int { 100 }

  /// A view of a log without a writer, with the checks of an opening for writing.
  init(unused place: LogPlace, _ options: Database.Options) throws(JournalError) {
    (database, newest) = try Database.ofLog(in: place, .readOnly, options: options)
    firstLogged = newest + 1
  }

  /// A view of a log that may have a writer.
  /// - Throws: ``JournalError`` with code `damaged` if one of the entries up to `revision` is missing, and no writer
  ///   has moved it.
  init(_ place: LogPlace, _ options: Database.Options, through revision: Revision) throws(JournalError) {
    for attempt in 1... {
      let folder = try place.entries()
      let database: Database
      do throws(DatabaseError) {
        database = try Database(in: folder, access: .inUse, options: options)
      } catch {
        // An erasure may have replaced the folder in the meantime.
        if attempt < Self.attemptCount, try place.entries().status().identity != folder.status().identity {
          continue
        }
        throw JournalError(error, revision: 1)
      }
      do {
        self = try LevelDBView(inUse: database, place, through: revision)
        return
      } catch {
        if attempt < Self.attemptCount, database.hasChanged { continue }
        throw JournalError(ofLevelDB: error, revision: 1)
      }
    }
    fatalError("unreachable")
  }

  private init(inUse database: Database, _ place: LogPlace, through revision: Revision) throws {
    self.database = database
    newest = try database.newestRevisionInTables(from: place.format.head.revision + 1)
    firstLogged = newest + 1
    try readLogs()
    guard newest >= revision else { throw JournalError.missingEntries(newest + 1...revision) }
    try place.checkJournal(try loggedJournal ?? database.value(for: LogKey.journal))
  }

  /// Adds the new entries of LevelDB's logs. Entries after a gap are ignored: the missing ones were moved to a table,
  /// which a new view finds.
  mutating func readLogs() throws(DatabaseError) {
    try database.readLogs { key, value in
      guard let revision = unsafe LogKey.revision(key.span.bytes) else {
        if key == LogKey.journal { loggedJournal = value }
        return
      }
      if logged.isEmpty, revision <= newest { firstLogged = revision }
      guard revision == firstLogged + logged.count else { return }
      logged.append(value)
      newest = max(newest, revision)
    }
  }

  /// The newest entry to be shown while a process has the journal open for writing: the acknowledged one or, after an
  /// erasure or a pruning has replaced the log, the newest entry that records such a change.
  ///
  /// Only entries that record an erasure or a pruning have no events. They are durable, and HEAD will name them.
  func newestShown(acknowledged: Revision) -> Revision {
    guard newest > acknowledged else { return acknowledged }
    var shown = acknowledged
    var next = acknowledged + 1
    // An entry that can't be read was not acknowledged.
    try? unsafe read(next...newest, newestFirst: false, next: &next) { revision, bytes throws(JournalError) in
      if try unsafe EntryDecoder(bytes, revision: revision).events().remaining == 0 { shown = revision }
      return true
    }
    return shown
  }

  /// The bytes of an entry in LevelDB's logs; nil if it is in none.
  private func logged(_ revision: Revision) -> [UInt8]? {
    revision >= firstLogged && revision - firstLogged < logged.count ? logged[revision - firstLogged] : nil
  }

  /// Calls `body` with each entry of a range, in order or in reverse, until `body` returns false.
  /// - Parameter next: set to the entry that would come next, even if this call throws.
  /// - Throws: `DatabaseError`, or what `body` throws.
  func read(
    _ range: ClosedRange<Revision>, newestFirst: Bool, next: inout Revision,
    _ body: (Revision, UnsafeRawBufferPointer) throws(JournalError) -> Bool
  ) throws {
    let stored = range.lowerBound..<min(max(firstLogged, range.lowerBound), range.upperBound + 1)
    let logged = max(firstLogged, range.lowerBound)..<max(firstLogged, range.upperBound + 1)
    if newestFirst {
      guard try unsafe readLogged(logged, newestFirst: true, next: &next, body) else { return }
    }
    if !stored.isEmpty {
      let goesOn = try unsafe database.readEntries(
        ClosedRange(stored), newestFirst: newestFirst, next: &next, body)
      if !goesOn { return }
    }
    if !newestFirst { _ = try unsafe readLogged(logged, newestFirst: false, next: &next, body) }
  }

  private func readLogged(
    _ range: Range<Revision>, newestFirst: Bool, next: inout Revision,
    _ body: (Revision, UnsafeRawBufferPointer) throws(JournalError) -> Bool
  ) throws(JournalError) -> Bool {
    func pass(_ revision: Revision, _ bytes: UnsafeRawBufferPointer) throws(JournalError) -> Bool {
      next = newestFirst ? revision - 1 : revision + 1
      return try unsafe body(revision, bytes)
    }
    return try unsafe range.readEach(newestFirst: newestFirst, { logged($0) }, pass)
  }
}
