import Journaling
import Locks
import SHA256

/// An open log in PostgreSQL.
///
/// 1. An append is one statement. It raises the journal's newest revision, provided that the entries follow it, and
///    stores the entries. So no revision is skipped or assigned twice, even if other clients append.
/// 2. The log has one connection for statements and, from the first wait for entries on, another one that listens. From
///    the first image on, a third one stores images: a transaction that has the turn may end without a commit.
/// 3. If the connection is lost, every call fails, and the log must be opened again.
///
/// Safe to use from any thread.
final class ServerLog: EntryLog {
  /// The connection for statements, which it runs one after the other.
  let connection: Connection
  private let storage: PostgresStorage
  private let access: LogAccess
  let durability: Durability
  /// What statements that commit demand of the session.
  let session: Connection.Parameter
  private let id: JournalID
  /// The same as the server stores it.
  let journal: [UInt8]
  /// The channel of notifications.
  private let channel: String
  /// The revision that the first entry follows: 0, unless the history was pruned.
  private let start: Revision
  /// The newest revision when the log was opened.
  private let shown: NewestRevision
  private let calls = OpenCalls()
  private let isWriting = Lock(false)
  /// Held while a transaction waits for the turn, or for its commit.
  let turn = Lock(Turn())
  /// The first entries that the node lacked when it got the turn, until they are read. At least one.
  let reserved = Lock<Rows?>(nil)
  /// Whether the server notifies listeners of new entries.
  private let notifies = Lock(true)
  /// Created by the first wait for entries.
  private let listener = Lock<Listener?>(nil)
  /// Created by the first image that is added.
  private let images = Lock<Connection?>(nil)

  struct Turn: Sendable {
    /// Whether an open transaction has it.
    var isReserved = false
    /// The newest entry that is known to be stored.
    var newest: Revision = 0
  }

  /// - Throws: ``JournalError`` with code `damaged` if the server has no log of the journal, or if its tables contradict
  ///   each other.
  init(
    _ connection: Connection, _ storage: PostgresStorage, _ access: LogAccess, of journal: JournalID,
    after start: Revision, _ settings: ServerSettings
  ) throws {
    self.connection = connection
    self.storage = storage
    self.start = start
    self.access = access
    durability = settings.durability
    session = settings.session(of: connection)
    id = journal
    self.journal = journal.bytes
    channel = Self.channel(journal.bytes)
    shown = NewestRevision(try Self.newestInBoth(of: journal, after: start, connection))
  }

  /// The newest revision, provided that the journal's row and its entries agree about it.
  private static func newestInBoth(
    of journal: JournalID, after start: Revision, _ connection: Connection
  ) throws -> Revision {
    let rows: Rows
    do throws(ServerFailure) {
      rows = try connection.run(Schema.newestInBoth, [.uuid(journal.bytes)], within: ServerAddress.patience)
    } catch {
      guard error.state == "42P01" else { throw error }
      throw JournalError(
        .damaged,
        "this role does not find the tables of journals in the server's database; check its search_path and its USAGE "
          + "on the schema, or whether they were dropped: \(error.message)\(connection.reason)")
    }
    guard rows.count == 1 else {
      throw JournalError(
        .damaged,
        "the server's database has no log of the journal \(journal), or row-level security hides it from this role\(connection.reason)",
        revision: 1)
    }
    let (newest, stored) = (rows.integer(0, 0), rows.isNull(0, 1) ? start : rows.integer(0, 1))
    guard newest >= stored else {
      throw JournalError(
        .damaged,
        "on the server, journal_logs ends with entry \(newest), and journal_entries with entry \(stored): one was "
          + "restored without the other. Nothing was written. If the entries are the right ones, have an administrator "
          + "run UPDATE journal_logs SET revision = \(stored) WHERE journal = '\(journal)'",
        revision: newest + 1)
    }
    guard newest == stored else {
      throw JournalError(
        .damaged,
        "on the server, journal_logs ends with entry \(newest), and this role sees no entry after \(stored) in "
          + "journal_entries: row-level security hides rows, or they are missing\(connection.reason)",
        revision: stored + 1)
    }
    return newest
  }

  deinit { close() }

  /// The error of calls after ``close()``, which a node calls to connect again.
  private static var closed: JournalError { JournalError(.closed, "the connection was replaced") }

  /// In a message and in the server's memory, an entry takes several times its size.
  var limits: LogLimits { LogLimits(appendByteCount: 128 << 20, spareByteCount: 0) }
  var hasTornTail: Bool { false }

  /// Nil, because a server can't detect that it has lost an entry.
  func acknowledged() throws(JournalError) -> LogMark? { try entering { nil } }

  // MARK: Reading

  func read(
    _ range: ClosedRange<Revision>, newestFirst: Bool,
    _ body: (Revision, UnsafeRawBufferPointer) throws(JournalError) -> Bool
  ) throws(JournalError) {
    guard calls.enter() else { throw Self.closed }
    defer { calls.leave() }
    let last = access == .read ? min(range.upperBound, shown.revision) : range.upperBound
    guard range.lowerBound <= last else { return }
    var rest = range.lowerBound...last
    var received = newestFirst ? nil : takeReserved(rest)
    // If only one entry is requested, it may have any size. Otherwise, entries are assumed to be small until one is
    // not.
    var areSmall = rest.count > 1 || received != nil
    var ahead: Connection.Answer?
    var isFirst = true
    while true {
      // Closing waits for this call.
      if calls.isClosed { throw Self.closed }
      let rows = try JournalError.translating {
        if let received { return received }
        return try connection.retrying { () throws(ServerFailure) -> Rows in
          let sent = ahead
          // After a failure, the piece is requested again.
          ahead = nil
          let answer =
            if let sent { sent } else { try ask(for: rest, newestFirst, areSmall: areSmall) }
          return try connection.rows(of: answer, within: Self.readingPatience)
        }
      }
      received = nil
      guard rows.count > 0 else { return }
      let large = areSmall ? (0..<rows.count).first { rows.isNull($0, 1) } : nil
      areSmall = large == nil && (areSmall || rows.count == Schema.pieceCount)
      let count = large ?? rows.count
      if count == 0 {
        ahead = nil
        continue
      }
      let reached = rows.integer(count - 1, 0)
      let isLast = newestFirst ? reached <= rest.lowerBound : reached >= rest.upperBound
      if !isLast { rest = newestFirst ? rest.lowerBound...(reached - 1) : (reached + 1)...rest.upperBound }
      // The server works on the next piece while the caller uses this one. There is no request ahead after the first
      // piece, because many callers need no second one.
      ahead =
        isLast || isFirst
        ? nil : try JournalError.translating { try ask(for: rest, newestFirst, areSmall: areSmall) }
      isFirst = false
      // `body` may use the connection too.
      for row in 0..<count {
        let revision = rows.integer(row, 0)
        let goesOn = try unsafe rows.withBytes(row, 1) { bytes throws(JournalError) in
          try unsafe body(revision, bytes)
        }
        guard goesOn else { return }
      }
      if isLast { return }
    }
  }

  /// The first entries of a range, if they arrived with the turn.
  private func takeReserved(_ range: ClosedRange<Revision>) -> Rows? {
    reserved.withLock { rows in
      defer { rows = nil }
      guard let found = rows, found.integer(0, 0) == range.lowerBound,
        found.integer(found.count - 1, 0) <= range.upperBound
      else { return nil }
      return found
    }
  }

  /// Asks the server for the first piece of a range.
  private func ask(
    for range: ClosedRange<Revision>, _ newestFirst: Bool, areSmall: Bool
  ) throws(ServerFailure) -> Connection.Answer {
    let (first, last) =
      newestFirst
      ? (max(range.lowerBound, range.upperBound - Schema.pieceCount + 1), range.upperBound)
      : (range.lowerBound, min(range.upperBound, range.lowerBound + Schema.pieceCount - 1))
    let statement =
      areSmall
      ? (newestFirst ? Schema.smallPieceBackwards : Schema.smallPiece)
      : (newestFirst ? Schema.largePieceBackwards : Schema.largePiece)
    return try connection.send(
      statement, [.uuid(journal), .integer(first), .integer(last)], within: Self.readingPatience)
  }

  func newestRevision(
    after revision: Revision, waitingAtMost time: Duration
  ) throws(JournalError) -> Revision {
    try entering {
      if access == .read {
        guard let newest = shown.wait(after: revision, atMost: time) else { throw Self.closed }
        return newest
      }
      if time <= .zero { return try Self.newest(of: journal, connection) }
      let listener = try listener.withLock { listener in
        if listener == nil { listener = try Listener(storage.server, journal) }
        return listener
      }
      // The log may have been closed before there was a listener to interrupt.
      guard let listener, !calls.isClosed else { throw Self.closed }
      do {
        return try listener.newest(after: revision, waitingAtMost: time) { turn.withLock { $0.newest } }
      } catch {
        throw calls.isClosed ? Self.closed : error
      }
    }
  }

  static func newest(of journal: [UInt8], _ connection: Connection) throws(ServerFailure) -> Revision {
    let rows = try connection.run(Schema.newest, [.uuid(journal)], within: ServerAddress.patience)
    return rows.count == 1 ? rows.integer(0, 0) : -1
  }

  func byteCount() throws(JournalError) -> Int {
    try entering {
      try connection.run(Schema.byteCount, [.uuid(journal)], within: Self.readingPatience).integer(0, 0)
    }
  }

  // MARK: Appending

  func beginWriting() throws(JournalError) {
    try entering {
      guard access == .write else { throw JournalError.logIsReadOnly() }
      isWriting.withLock { $0 = true }
    }
  }

  func append(
    _ entries: [SealedEntry], after revision: Revision, meanwhile: () -> Void
  ) throws(AppendFailure) {
    guard calls.enter() else { throw .refused(Self.closed) }
    defer { calls.leave() }
    guard isWriting.withLock({ $0 }) else { throw .refused(.logIsReadOnly()) }
    guard let last = entries.last else { return }
    let warningCount = connection.warningCount
    let isStored: Bool
    do throws(ServerFailure) {
      isStored = try store(entries, after: revision, through: last.revision, meanwhile)
    } catch {
      switch error.kind {
      case .lost: throw .unknown(error.journalError)
      case .refused: throw .refused(reason(of: error))
      }
    }
    guard isStored else {
      let failure: AppendFailure
      do throws(ServerFailure) { failure = try reasonForNothing(entries, after: revision) } catch {
        failure = .refused(error.journalError)
      }
      throw failure
    }
    // If a server is told to stop waiting for the standby, it sends a warning and reports the commit as done.
    if connection.warningCount > warningCount {
      connection.interrupt()
      throw .unknown(JournalError(.unreachable, "the server did not wait for its standby"))
    }
  }

  /// Why the server has refused an append.
  private func reason(of failure: ServerFailure) -> JournalError {
    switch failure.state {
    case "22012":
      return JournalError(
        .unsafeSettings,
        "the server's table journal_entries did not take the entries: a trigger may drop them. Nothing was written; "
          + "have an administrator look at the table's triggers")
    case "23505":
      // An entry of this revision exists already.
      do throws(JournalError) {
        _ = try JournalError.translating { try Self.newestInBoth(of: id, after: start, connection) }
      } catch { return error }
    default: break
    }
    return connection.explained(failure).journalError
  }

  /// Why an append has changed nothing.
  private func reasonForNothing(
    _ entries: [SealedEntry], after revision: Revision
  ) throws(ServerFailure) -> AppendFailure {
    let newest = try Self.newest(of: journal, connection)
    guard newest == revision else { return .conflict(newest: newest) }
    if revision > start, let digest = try? entries.first?.previousDigest() {
      let rows = try connection.run(
        Schema.digest, [.uuid(journal), .integer(revision)], within: ServerAddress.patience)
      guard rows.count == 1, rows.bytes(0, 0) == digest.bytes else { return .conflict(newest: newest) }
    }
    return .refused(
      JournalError(
        .permission,
        "the server did not change this journal's row in journal_logs, although the entries follow its newest one: "
          + "row-level security or a trigger prevents it. Nothing was written\(connection.reason)"))
  }

  /// - Returns: false if the entries do not follow the newest entry.
  private func store(
    _ entries: [SealedEntry], after revision: Revision, through last: Revision, _ meanwhile: () -> Void
  ) throws(ServerFailure) -> Bool {
    let digest = try? entries.first?.previousDigest()
    let values: [Connection.Parameter] = [
      .uuid(journal), .integer(revision), .integer(last), .integers(entries.map(\.revision)),
      .manyBytes(entries.map(\.digest.bytes)), .manyBytes(entries.map(\.bytes)), .text(channel),
      .bytes(digest?.bytes ?? []), .integer(digest == nil ? revision : start), session,
    ]
    let byteCount = entries.reduce(0) { $0 + $1.bytes.count }
    return try turn.withLock { turn throws(ServerFailure) in
      let wasReserved = turn.isReserved
      turn.isReserved = false
      func note(_ isStored: Bool) -> Bool {
        if isStored { turn.newest = last }
        return isStored
      }
      let notifies = notifies.withLock { $0 }
      let statement = notifies ? Schema.append : Schema.quietAppend
      do throws(ServerFailure) {
        if !wasReserved {
          return note(
            try connection.run(statement, values, within: Self.writingPatience, meanwhile: meanwhile).count
              == 1)
        }
        if byteCount > Self.largeByteCount {
          // Enough for 256 KiB a second.
          try connection.run(
            Schema.idleLimit(milliseconds: 5000 + byteCount / 256), within: ServerAddress.patience)
        }
        let rows = try connection.runAll(
          [(statement, values), (Schema.commit, [])], within: Self.writingPatience)
        return note(rows[0].count == 1)
      } catch {
        if wasReserved, error.kind == .refused { connection.rollBack() }
        if wasReserved, error.isTransient {
          // The turn has ended with its transaction, so another node may be faster now.
          return note(try connection.run(statement, values, within: Self.writingPatience).count == 1)
        }
        // The engine does not have `pg_notify`, or the role may not use it. Listeners poll anyway.
        guard notifies, ["42883", "42501"].contains(error.state) else { throw error }
        self.notifies.withLock { $0 = false }
        return note(try connection.run(Schema.quietAppend, values, within: Self.writingPatience).count == 1)
      }
    }
  }

  static func channel(_ journal: [UInt8]) -> String { "journal_" + hex(journal) }

  static func hex(_ journal: [UInt8]) -> String {
    journal.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  /// Fewer bytes arrive while a turn lasts.
  private static var largeByteCount: Int { 256 << 10 }
  /// How long a read waits for the server's disk.
  private static var readingPatience: Duration { .seconds(60) }
  /// How long a commit waits for the commits before it, for two flushes and for the network between two servers.
  static var writingPatience: Duration { .seconds(30) }

  // MARK: Closing

  func close() {
    guard calls.close() else { return }
    shown.close()
    listener.withLock { $0?.end() }
    // A paused server would let a call wait for its time limit.
    if !calls.isIdle { connection.interrupt() }
    calls.wait()
  }

  /// Calls `body` with the connection, unless the log is closed.
  func using<Result>(_ body: (Connection) throws -> Result) throws(JournalError) -> Result {
    try entering { try body(connection) }
  }

  /// Calls `body` with the connection that stores images. Each of its statements is a transaction.
  func storingImages(_ body: (Connection) throws -> Void) throws(JournalError) {
    guard calls.enter() else { throw Self.closed }
    defer { calls.leave() }
    try images.withLock { images throws(JournalError) in
      do throws(JournalError) {
        try JournalError.translating {
          let connection = try images ?? storage.connect(.write, isFirst: false).0
          images = connection
          let count = connection.warningCount
          do { try body(connection) } catch let error as ServerFailure { throw connection.explained(error) }
          if connection.warningCount > count {
            throw ServerFailure(.lost, "the server did not wait for its standby")
          }
        }
      } catch {
        images = nil
        throw error
      }
    }
  }

  private func entering<Result>(_ body: () throws -> Result) throws(JournalError) -> Result {
    guard calls.enter() else { throw Self.closed }
    defer { calls.leave() }
    do throws(JournalError) {
      return try JournalError.translating {
        do { return try body() } catch let error as ServerFailure { throw connection.explained(error) }
      }
    } catch {
      // An error ends the transaction, and with it the turn.
      giveTurnBack()
      throw error
    }
  }
}
