import Foundation
import Journaling
import Locks
import LogbookModel
import PostgresLog
import TestSupport
import Testing

/// How nodes learn of new entries if nothing notifies them.
@Suite(.serialized, .enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct NotificationTests: SharedLogbook {
  /// A role may not be allowed to notify. The other nodes then ask the server for new entries.
  @Test func nodesSeeEntriesWithoutNotifications() throws {
    let server = try PostgresServer.shared.get()
    let address = try server.makeDatabase()
    let (name, own) = try makeRole(on: server, for: address)
    try server.sql(
      "REVOKE EXECUTE ON FUNCTION pg_notify FROM PUBLIC; GRANT CREATE ON SCHEMA public TO \(name)",
      at: address)
    try withTemporaryFolder { folder in
      try share(at: own, in: folder)
      let nodes = try nodes(2, at: own, in: folder)
      for turn in 1...3 {
        let revision = try nodes[turn % 2].commit(by: "\(turn)") { try $0.write(turn, "\(turn)") }.revision
        for _ in 0..<6000 where nodes[(turn + 1) % 2].head.revision < revision { usleep(10_000) }
        #expect(nodes[(turn + 1) % 2].head.revision == revision)
      }
      for node in nodes { try node.close() }
    }
  }

  /// Anyone may notify. A node used to take an old number for a sign that the log had been replaced, and connected again.
  @Test func aNotificationOfAnOldEntryChangesNothing() throws {
    let server = try PostgresServer.shared.get()
    let address = try server.makeDatabase()
    try withTemporaryFolder { folder in
      try share(at: address, in: folder)
      let notices = Lock<[JournalNotice]>([])
      var options = Self.options
      // Other warnings may be about a slow drive.
      options.log = { notice in
        if notice.level == .error || notice.sharedLog != nil { notices.withLock { $0.append(notice) } }
      }
      let url = folder.url.appending(path: "Noted.journal")
      try Journal<Logbook>.join(address, at: url)
      let node = try Journal<Logbook>.open(at: url, options: options)
      let other = try nodes(1, at: address, in: folder)[0]
      for turn in 1...3 { try node.commit { try $0.write(turn, "\(turn)") } }
      // The node learns of this one only from the server.
      try other.commit { try $0.write(4, "4") }
      for _ in 0..<6000 where node.head.revision < 5 { usleep(10_000) }
      let channel = "'journal_' || replace(CAST(journal AS text), '-', '')"
      for _ in 1...20 {
        try server.sql("SELECT pg_notify(\(channel), '1') FROM journal_logs", at: address)
        usleep(10_000)
      }
      try other.commit { try $0.write(5, "5") }
      for _ in 0..<6000 where node.head.revision < 6 { usleep(10_000) }
      #expect(node.head.revision == 6)
      #expect(notices.withLock { $0 }.map(\.message) == [])
      for node in [node, other] { try node.close() }
      // A closed node used to connect again.
      let error = #expect(throws: JournalError.self) { try node.catchUp() }
      #expect(error?.code == .closed)
    }
  }
}
