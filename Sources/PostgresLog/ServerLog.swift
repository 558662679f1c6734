import Journaling
import Locks
import SHA256
import SharedJournals

/// An open log in PostgreSQL.
///
/// 1. An append is one statement, which raises the journal's newest revision and stores the entries, if these follow
///    the newest entry. So no revision is skipped or assigned twice, even if other clients append.
/// 2. The log has a connection for statements, one that listens (made by the first wait for entries), and one for
///    images (made when the first is added). Images have their own because a transaction that has the turn may end
///    without a commit.
/// 3. After the connection was lost, every call fails, and the log must be opened again.
///
/// Safe to use from any thread.
final class ServerLog: SharedLog {
  /// The connection for statements.
  let connection: Connection
  let storage: PostgresStorage
  let durability: Durability
  /// The mark and the settings that committing statements demand of the session.
  let session: Connection.Parameter
  private let id: JournalID
  let journal: Connection.Parameter
  private let calls = OpenCalls()
  /// Locked while a transaction waits for the turn or for its commit.
  private let turn = Lock(Turn())
  /// Created by the first wait for entries.
  private let listener = Lock<Listener?>(nil)
  /// Created by the first image that is added.
  private let images = Lock<Connection?>(nil)

  private struct Turn: Sendable {
    /// Whether an open transaction has the turn.
    var isReserved = false
    var newest: Revision = 0
    /// The first entries that the node lacked when it got the turn; nil if it lacked none, or after they were read.
    var entries: Rows?
    /// Whether appends notify listeners, which the role may not be allowed to do.
    var notifies = true
  }

  /// - Throws: ``JournalError`` with code `damaged` if the server has no log of the journal, or if its tables contradict
  ///   each other.
  init(
    _ connection: Connection, _ storage: PostgresStorage, of journal: JournalID, _ settings: ServerSettings
  ) throws {
    self.connection = connection
    self.storage = storage
    durability = settings.durability
    session = settings.session(of: connection)
    id = journal
    self.journal = .uuid(journal.bytes)
    try Self.checkNewest(of: journal, connection)
  }

  /// Throws unless the journal's row and its entries agree about the newest revision.
  private static func checkNewest(of journal: JournalID, _ connection: Connection) throws {
    let rows: Rows
    do throws(ServerFailure) {
      rows = try connection.run(Schema.newestInBoth, [.uuid(journal.bytes)])
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
    let (newest, stored) = (rows.integer(0, 0), rows.isNull(0, 1) ? 0 : rows.integer(0, 1))
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
  }

  deinit { close() }

  /// The error of calls after ``close()``. A node that gets this error connects again.
  private static var closed: JournalError { JournalError(.closed, "the connection was replaced") }

  /// Calls `body`. Throws `closed` if the log is closed.
  /// - Parameter endsTurn: whether to give the turn back if `body` throws. An error of the server ends the transaction,
  ///   and with it the turn.
  private func using<Result>(
    endsTurn: Bool = true, _ body: (Connection) throws -> Result
  ) throws(JournalError) -> Result {
    guard calls.enter() else { throw Self.closed }
    defer { calls.leave() }
    do throws(JournalError) { return try connection.translating(body) } catch {
      // A failed statement has ended the transaction.
      if endsTurn { giveTurnBack() }
      throw error
    }
  }

  // MARK: Reading

  func read(
    _ range: ClosedRange<Revision>,
    _ body: (Revision, UnsafeRawBufferPointer) throws(JournalError) -> Bool
  ) throws(JournalError) {
    // The error may be the caller's, to end the reading, so the turn is kept.
    try using(endsTurn: false) { connection in
      var rest = range
      var received = takeReserved(rest)
      // Entries are requested as small ones until a large one arrives. A single entry may have any size.
      var areSmall = rest.count > 1 || received != nil
      var ahead: Connection.Answer?
      var isFirst = true
      // Closing the log ends this loop, because closing waits for this call.
      while !calls.isClosed {
        let rows = try connection.retrying { () throws(ServerFailure) -> Rows in
          if let received { return received }
          let sent = ahead
          // After a failure, the piece is requested again.
          ahead = nil
          let answer = if let sent { sent } else { try ask(for: rest, areSmall: areSmall) }
          return try connection.rows(of: answer, within: Self.readingPatience)
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
        let isLast = reached >= rest.upperBound
        if !isLast { rest = (reached + 1)...rest.upperBound }
        // The next piece is requested now, so that the server works on it while the caller uses this one. The second
        // piece is not, because many callers do not need it.
        ahead = isLast || isFirst ? nil : try ask(for: rest, areSmall: areSmall)
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
      throw Self.closed
    }
  }

  /// The first entries of a range, if they arrived with the turn; otherwise nil. They are returned only once.
  private func takeReserved(_ range: ClosedRange<Revision>) -> Rows? {
    turn.withLock { turn in
      defer { turn.entries = nil }
      guard let found = turn.entries, found.integer(0, 0) == range.lowerBound,
        found.integer(found.count - 1, 0) <= range.upperBound
      else { return nil }
      return found
    }
  }

  /// Requests the first piece of a range.
  private func ask(
    for range: ClosedRange<Revision>, areSmall: Bool
  ) throws(ServerFailure) -> Connection.Answer {
    let last = min(range.upperBound, range.lowerBound + Schema.pieceCount - 1)
    return try connection.send(
      areSmall ? Schema.smallPiece : Schema.largePiece,
      [journal, .integer(range.lowerBound), .integer(last)], within: Self.readingPatience)
  }

  func newestRevision(
    after revision: Revision, waitingAtMost time: Duration
  ) throws(JournalError) -> Revision {
    try using { connection in
      if time <= .zero { return try connection.newest(of: journal) }
      let listener = try listener.withLock { listener in
        if listener == nil { listener = try Listener(storage.server, id) }
        return listener
      }
      // The log may have been closed before the listener could be interrupted.
      guard let listener, !calls.isClosed else { throw Self.closed }
      do {
        return try listener.newest(after: revision, waitingAtMost: time) { turn.withLock { $0.newest } }
      } catch {
        throw calls.isClosed ? Self.closed : error
      }
    }
  }

  func digest(of revision: Revision) throws(JournalError) -> ContentDigest? {
    try using { connection in
      let rows = try connection.run(Schema.digest, [journal, .integer(revision)])
      return rows.count == 1 ? ContentDigest(bytes: rows.bytes(0, 0)) : nil
    }
  }

  // MARK: Appending

  func append(
    _ entries: [SealedEntry], after revision: Revision, meanwhile: () -> Void
  ) throws(AppendFailure) {
    guard calls.enter() else { throw .refused(Self.closed) }
    defer { calls.leave() }
    guard let last = entries.last else { return }
    let isStored: Bool
    do {
      isStored = try connection.confirming { () throws(ServerFailure) in
        try store(entries, after: revision, through: last.revision, meanwhile)
      }
    } catch let failure as ServerFailure where failure.kind == .lost {
      throw .unknown(failure.journalError)
    } catch {
      throw .refused(reason(of: error))
    }
    if !isStored { throw reasonForNothing(entries, after: revision) }
  }

  /// Why the server has refused an append.
  private func reason(of failure: any Error) -> JournalError {
    do throws(JournalError) {
      try connection.translating { connection -> Never in
        switch (failure as? ServerFailure)?.state {
        case "22012":
          throw JournalError(
            .unsafeSettings,
            "the server's table journal_entries did not take the entries: a trigger may drop them. Nothing was written; "
              + "have an administrator look at the table's triggers")
        // An entry of this revision exists already.
        case "23505": try Self.checkNewest(of: id, connection)
        default: break
        }
        throw failure
      }
    } catch { return error }
  }

  /// Why an append has changed nothing.
  private func reasonForNothing(_ entries: [SealedEntry], after revision: Revision) -> AppendFailure {
    do throws(ServerFailure) {
      let newest = try connection.newest(of: journal)
      guard newest == revision else { return .conflict(newest: newest) }
      if revision > 0, let digest = try? entries.first?.previousDigest() {
        let rows = try connection.run(Schema.digest, [journal, .integer(revision)])
        guard rows.count == 1, rows.bytes(0, 0) == digest.bytes else { return .conflict(newest: newest) }
      }
    } catch { return .refused(error.journalError) }
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
      journal, .integer(revision), .integer(last), .integers(entries.map(\.revision)),
      .manyBytes(entries.map(\.digest.bytes)), .manyBytes(entries.map(\.bytes)),
      .text(Schema.channel(of: id)),
      .bytes(digest?.bytes ?? []), session,
    ]
    let byteCount = entries.reduce(0) { $0 + $1.bytes.count }
    return try turn.withLock { turn throws(ServerFailure) in
      let wasReserved = turn.isReserved
      turn.isReserved = false
      func append(meanwhile: () -> Void = {}) throws(ServerFailure) -> Rows {
        try connection.run(
          turn.notifies ? Schema.append : Schema.quietAppend, values, within: Self.writingPatience,
          meanwhile: meanwhile)
      }
      let rows: Rows
      do throws(ServerFailure) {
        rows =
          wasReserved ? try appendInTurn(values, byteCount, turn.notifies) : try append(meanwhile: meanwhile)
      } catch {
        if wasReserved, error.kind == .refused { connection.rollBack() }
        if !(wasReserved && error.isTransient) {
          // If the role may not use `pg_notify`, the append is repeated without it. Listeners poll anyway.
          guard turn.notifies, error.state == "42501" else { throw error }
          turn.notifies = false
        }
        // If this node had the turn, the turn has ended with the transaction: another node may append first.
        rows = try append()
      }
      if rows.count == 1 { turn.newest = last }
      return rows.count == 1
    }
  }

  /// Appends and commits in the transaction that has the turn.
  private func appendInTurn(
    _ values: [Connection.Parameter], _ byteCount: Int, _ notifies: Bool
  ) throws(ServerFailure) -> Rows {
    if byteCount > Self.largeByteCount {
      // Enough time for a network that transfers 256 KiB per second.
      try connection.run(Schema.idleLimit(milliseconds: 5000 + byteCount / 256))
    }
    return try connection.runAll(
      [(notifies ? Schema.append : Schema.quietAppend, values), (Schema.commit, [])],
      within: Self.writingPatience)[0]
  }

  /// The bytes that arrive within the default time limit of a turn.
  private static var largeByteCount: Int { 256 << 10 }
  /// The time limit of a read, which may wait for the server's disk.
  private static var readingPatience: Duration { .seconds(60) }
  /// The time limit of a commit, which waits for earlier commits, for two flushes and for the network between
  /// two servers.
  static var writingPatience: Duration { .seconds(30) }

  /// Commits an update that changes nothing. A standby confirms the server's log in order, so everything that was
  /// committed before is confirmed too.
  func confirm() throws(JournalError) {
    try using { connection in
      _ = try connection.confirming { () throws(ServerFailure) in
        try connection.run(Schema.touch, [journal, session], within: Self.writingPatience)
      }
    }
  }

  // MARK: The turn

  /// Locks the journal's row, and reads entries in the same round trip. Waiting nodes get the lock in the order of
  /// their requests.
  func reserve(after revision: Revision) throws(JournalError) -> Revision {
    try using { connection in
      try turn.withLock { turn in
        if turn.isReserved { return turn.newest }
        let rows = try connection.retrying { () throws(ServerFailure) -> [Rows] in
          try lockAndRead(after: revision)
        }
        turn.isReserved = true
        turn.newest = rows[1].integer(0, 0)
        if rows[2].count > 0 { turn.entries = rows[2] }
        return turn.newest
      }
    }
  }

  private func lockAndRead(after revision: Revision) throws(ServerFailure) -> [Rows] {
    do throws(ServerFailure) {
      let (first, last) = (revision + 1, revision + Schema.pieceCount)
      let rows = try connection.runAll(
        [
          (Schema.begin, []), (Schema.lock, [journal]),
          (Schema.smallPiece, [journal, .integer(first), .integer(last)]),
        ], within: Self.writingPatience)
      guard rows[1].count == 1 else {
        throw ServerFailure(
          .refused, state: "42501",
          "this role can't lock the journal's row in journal_logs: row-level security hides it, or it is missing"
        )
      }
      return rows
    } catch {
      connection.rollBack()
      throw error
    }
  }

  func release() { _ = try? using { _ in giveTurnBack() } }

  /// Ends the transaction that has the turn.
  private func giveTurnBack() {
    turn.withLock { turn in
      guard turn.isReserved else { return }
      turn.isReserved = false
      connection.rollBack()
    }
  }

  // MARK: Images

  func hasImage(_ blob: Blob) throws(JournalError) -> Bool {
    try using { connection in try hasImage(blob, connection) }
  }

  private func hasImage(_ blob: Blob, _ connection: Connection) throws -> Bool {
    try connection.run(Schema.hasImage, [journal, .bytes(blob.digest.bytes)]).count == 1
  }

  /// Uses a separate connection, in which each statement is a transaction.
  func addImage(_ blob: Blob, _ piece: () throws(JournalError) -> [UInt8]) throws(JournalError) {
    guard calls.enter() else { throw Self.closed }
    defer { calls.leave() }
    try images.withLock { images throws(JournalError) in
      do throws(JournalError) {
        let connection: Connection
        if let images { connection = images } else { connection = try storage.connect(isFirst: false).0 }
        images = connection
        try connection.translating { connection in
          try connection.confirming { try addImage(blob, piece, connection) }
        }
      } catch {
        images = nil
        throw error
      }
    }
  }

  private func addImage(
    _ blob: Blob, _ piece: () throws(JournalError) -> [UInt8], _ connection: Connection
  ) throws {
    if try hasImage(blob, connection) { return }
    let digest = Connection.Parameter.bytes(blob.digest.bytes)
    var number = 0
    while true {
      let bytes = try piece()
      if bytes.isEmpty { break }
      try connection.run(
        Schema.addPiece, [journal, digest, .integer(number), .bytes(bytes)], within: Self.writingPatience)
      number += 1
    }
    try connection.run(
      Schema.addImage, [journal, digest, .integer(blob.byteCount)], within: Self.writingPatience)
  }

  func readImage(
    _ blob: Blob, _ body: ([UInt8]) throws(JournalError) -> Void
  ) throws(JournalError) -> Bool {
    try using { connection in
      guard try hasImage(blob, connection) else { return false }
      var byteCount = 0
      var number = 0
      while byteCount < blob.byteCount {
        let rows = try connection.run(
          Schema.imagePiece, [journal, .bytes(blob.digest.bytes), .integer(number)],
          within: Self.writingPatience)
        guard rows.count == 1 else { return false }
        let bytes = rows.bytes(0, 0)
        try body(bytes)
        byteCount += bytes.count
        number += 1
      }
      return true
    }
  }

  // MARK: Closing

  func close() {
    guard calls.close() else { return }
    listener.withLock { $0?.end() }
    // If the server is paused, a call in progress would wait until its time limit.
    if !calls.isIdle { connection.interrupt() }
    calls.wait()
  }
}

extension Connection {
  /// The newest revision of a journal; -1 if there is no such journal.
  func newest(of journal: Parameter) throws(ServerFailure) -> Revision {
    let rows = try run(Schema.newest, [journal])
    return rows.count == 1 ? rows.integer(0, 0) : -1
  }
}
