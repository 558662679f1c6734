import Foundation
import Journaling
import Locks
import LogbookModel
import SharedJournals
import TestSupport
import Testing

@testable import PostgresLog

/// What the roles of nodes may do, and where their passwords are.
@Suite(.serialized, .enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct RoleTests: SharedLogbook {
  @Test func aRoleThatMayOnlyReadFollowsAndItsCommitsAreRefused() throws {
    let server = try PostgresServer.shared.get()
    let address = try server.makeDatabase()
    try withTemporaryFolder { folder in
      try share(at: address, in: folder)
      let (name, own) = try makeRole(on: server, for: address)
      try server.sql("GRANT SELECT ON ALL TABLES IN SCHEMA public TO \(name)", at: address)
      let url = folder.url.appending(path: "Reader.journal")
      try Journal<Logbook>.join(own, at: url)
      let reader = try Journal<Logbook>.open(at: url, options: Self.options)
      let writer = try Journal<Logbook>.open(
        at: folder.url.appending(path: "Node0.journal"), options: Self.options)
      let revision = try writer.commit { try $0.write(2, "second") }.revision
      try reader.catchUp()
      #expect(reader.head.revision == revision)
      let error = #expect(throws: JournalError.self) { try reader.commit { try $0.write(3, "third") } }
      #expect(error?.code == .permission)
      try reader.catchUp()
      try reader.close()
      try writer.close()
    }
  }

  /// The grants are those of Documentation/Shared.md.
  @Test func aRoleWithTheDocumentedGrantsCommitsAndAddsImagesAndDeletesNothing() throws {
    let page = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Documentation/Shared.md").standardizedFileURL
    let text = try String(contentsOf: page, encoding: .utf8)
    let grants = try #require(text.firstMatch(of: /CREATE ROLE app LOGIN;\n((?:GRANT [^\n]*;\n)+)/)).output.1
    let server = try PostgresServer.shared.get()
    let address = try server.makeDatabase()
    try withTemporaryFolder { folder in
      try share(at: address, in: folder)
      let (name, own) = try makeRole(on: server, for: address)
      try server.sql(
        "REVOKE CREATE ON SCHEMA public FROM PUBLIC;\n"
          + String(grants).replacing(" TO app;", with: " TO \(name);"), at: address)
      let url = folder.url.appending(path: "Writer.journal")
      try Journal<Logbook>.join(own, at: url)
      let writer = try Journal<Logbook>.open(at: url, options: Self.options)
      let owner = try nodes(1, at: address, in: folder)[0]
      let bytes = Data((0..<2_500_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
      let image = try writer.blobs.add(bytes)
      try writer.commit { try $0.write(2, "image", blob: image) }
      // A body that loses takes the turn.
      var runs = 0
      try writer.commit { draft in
        runs += 1
        if runs == 1 { try owner.commit { try $0.write(3, "owner") } }
        try draft.write(4, "writer")
      }
      #expect(runs == 2)
      try owner.catchUp()
      #expect(owner.head == writer.head && owner.head.revision == 4)
      #expect(try owner.blobs.data(of: image) == bytes)

      let tables = ["journal_logs", "journal_entries", "journal_images", "journal_image_pieces"]
      var refused = tables.flatMap { ["DELETE FROM \($0)", "TRUNCATE \($0)", "DROP TABLE \($0)"] }
      refused += tables.dropFirst().map { "UPDATE \($0) SET journal = journal" }
      refused.append("CREATE TABLE other (number bigint)")
      for statement in refused {
        let error = #expect(throws: PostgresFailure.self) { try server.sql(statement, at: own) }
        let reason = error?.description ?? ""
        #expect(reason.contains("permission denied") || reason.contains("must be owner"), "\(reason)")
      }
      try writer.close()
      try owner.close()
    }
  }

  /// An administrator makes the tables, and no node ever connects as their owner.
  @Test func aRoleThatOwnsNoTableSharesAJournal() throws {
    let page = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Documentation/Shared.md").standardizedFileURL
    let text = try String(contentsOf: page, encoding: .utf8)
    let tables = try #require(text.firstMatch(of: /```sql\n(CREATE TABLE [^`]*)```/)).output.1
    #expect(tables == Schema.tables.map { $0.definition + ";\n" }.joined())
    let grants = try #require(text.firstMatch(of: /CREATE ROLE app LOGIN;\n((?:GRANT [^\n]*;\n)+)/)).output.1
    let server = try PostgresServer.shared.get()
    let address = try server.makeDatabase()
    try withTemporaryFolder { folder in
      let (name, own) = try makeRole(on: server, for: address)
      try server.sql(
        "REVOKE CREATE ON SCHEMA public FROM PUBLIC;\n\(tables)"
          + String(grants).replacing(" TO app;", with: " TO \(name);"), at: address)
      try share(at: own, in: folder)
      let journals = try nodes(2, at: own, in: folder)
      let revision = try journals[1].commit { try $0.write(2, "second") }.revision
      try journals[0].catchUp()
      #expect(journals[0].head.revision == revision)
      for journal in journals { try journal.close() }
    }
  }

  /// Neither a file of the journal nor a notice contains the password.
  @Test func thePasswordIsInNoFileOfAJournalAndInNoNotice() throws {
    let secret = "s3cret-\(UUID().uuidString)"
    let server = try PostgresServer()
    _ = try server.requireTLS()
    try server.sql("CREATE ROLE app LOGIN PASSWORD '\(secret)'; GRANT CREATE ON SCHEMA public TO app")
    try server.stop()
    try server.start()
    let address = server.address(database: "postgres", user: "app") + "&sslmode=require"
    try withTemporaryFolder { folder in
      try "*:*:*:*:\(secret)\n".write(
        to: folder.url.appending(path: "pass"), atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o600], ofItemAtPath: folder.path("pass"))
      // The control: without the password, the server refuses the connection.
      let error = #expect(throws: JournalError.self) {
        try Journal<Logbook>.join("\(address)&passfile=/dev/null", at: folder.url.appending(path: "Other"))
      }
      #expect(error?.description.contains("password") == true)
      let with = "\(address)&passfile=\(folder.path("pass"))"
      try share(at: with, in: folder)
      let notices = Lock<[String]>([])
      var options = JournalOptions { notice in notices.withLock { $0.append(notice.description) } }
      options = options.sharingThroughPostgres()
      let url = folder.url.appending(path: "Node0.journal")
      let journal = try Journal<Logbook>.open(at: url, options: options)
      try journal.commit { try $0.write(1, "second") }
      // After this, the node can't connect again.
      try server.sql("ALTER ROLE app PASSWORD 'other'")
      try server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'")
      func isNoted(_ text: String) -> Bool { notices.withLock { $0.contains { $0.contains(text) } } }
      for _ in 0..<6000 where !isNoted("can't be followed") { usleep(10_000) }
      let refused = #expect(throws: JournalError.self) { try journal.commit { try $0.write(1, "third") } }
      #expect(refused?.code == .unreachable, "\(String(describing: refused))")
      let problem = try #require(try journal.sharing()?.problem)
      for text in [refused?.description ?? "", problem.description] {
        #expect(text.contains("password authentication failed") && !text.contains(secret))
      }
      #expect(isNoted("can't be followed") && isNoted("password authentication failed"))
      try journal.close()
      for name in try FileManager.default.subpathsOfDirectory(atPath: url.path) {
        guard let bytes = try? Data(contentsOf: url.appending(path: name)) else { continue }
        #expect(bytes.range(of: Data(secret.utf8)) == nil, "\(name)")
      }
      #expect(notices.withLock { $0 }.allSatisfy { !$0.contains(secret) })
    }
    try server.stop()
  }
}
