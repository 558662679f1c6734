import Journaling
import Locks
import SHA256

extension ServerLog: SharedLog {
  func digest(of revision: Revision) throws(JournalError) -> ContentDigest? {
    try using { connection in
      let rows = try connection.run(
        Schema.digest, [.uuid(journal), .integer(revision)], within: ServerAddress.patience)
      return rows.count == 1 ? ContentDigest(bytes: rows.bytes(0, 0)) : nil
    }
  }

  /// Locks the journal's row, and reads entries in the same round trip. Waiting nodes get the lock in the order of
  /// their requests.
  func reserve(after revision: Revision) throws(JournalError) -> Revision {
    try using { connection in
      try turn.withLock { turn in
        if turn.isReserved { return try Self.newest(of: journal, connection) }
        let rows = try connection.retrying { () throws(ServerFailure) -> [Rows] in
          try lockAndRead(after: revision, connection)
        }
        turn.isReserved = true
        turn.newest = rows[1].integer(0, 0)
        if rows[2].count > 0 { reserved.withLock { $0 = rows[2] } }
        return turn.newest
      }
    }
  }

  /// Begins a transaction that has the turn.
  private func lockAndRead(
    after revision: Revision, _ connection: Connection
  ) throws(ServerFailure) -> [Rows] {
    do throws(ServerFailure) {
      let (first, last) = (revision + 1, revision + Schema.pieceCount)
      let rows = try connection.runAll(
        [
          (Schema.begin, []), (Schema.lock, [.uuid(journal)]),
          (Schema.smallPiece, [.uuid(journal), .integer(first), .integer(last)]),
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

  /// Ends the transaction that has the turn, if there is one.
  func giveTurnBack() {
    turn.withLock { turn in
      guard turn.isReserved else { return }
      turn.isReserved = false
      connection.rollBack()
    }
  }

  /// Commits a change that changes nothing. That confirms everything committed before, because the standby confirms the
  /// server's log in order.
  func confirm() throws(JournalError) {
    try using { connection in
      let count = connection.warningCount
      try connection.run(Schema.touch, [.uuid(journal), session], within: Self.writingPatience)
      if connection.warningCount > count {
        throw ServerFailure(.lost, "the server did not wait for its standby")
      }
    }
  }

  func hasImage(_ blob: Blob) throws(JournalError) -> Bool {
    try using { connection in try Self.hasImage(blob, journal, connection) }
  }

  private static func hasImage(_ blob: Blob, _ journal: [UInt8], _ connection: Connection) throws -> Bool {
    try connection.run(
      Schema.hasImage, [.uuid(journal), .bytes(blob.digest.bytes)], within: ServerAddress.patience
    ).count == 1
  }

  func addImage(_ blob: Blob, _ piece: () throws(JournalError) -> [UInt8]) throws(JournalError) {
    try storingImages { connection in
      if try Self.hasImage(blob, journal, connection) { return }
      let digest = Connection.Parameter.bytes(blob.digest.bytes)
      var number = 0
      while true {
        let bytes = try piece()
        if bytes.isEmpty { break }
        try connection.run(
          Schema.addPiece, [.uuid(journal), digest, .integer(number), .bytes(bytes)],
          within: Self.writingPatience)
        number += 1
      }
      try connection.run(
        Schema.addImage, [.uuid(journal), digest, .integer(blob.byteCount)], within: Self.writingPatience)
    }
  }

  func readImage(
    _ blob: Blob, _ body: ([UInt8]) throws(JournalError) -> Void
  ) throws(JournalError) -> Bool {
    try using { connection in
      guard try Self.hasImage(blob, journal, connection) else { return false }
      var byteCount = 0
      var number = 0
      while byteCount < blob.byteCount {
        let rows = try connection.run(
          Schema.imagePiece, [.uuid(journal), .bytes(blob.digest.bytes), .integer(number)],
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
}
