import Foundation
import Journaling
import LogbookModel
import SharedJournals
import TestSupport
import Testing

@testable import PostgresLog

/// Tables that lose, hide or drop what is stored in them, or that are not those of journals.
@Suite(.serialized, .enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct TableTests: SharedLogbook {
  /// Calls `body` with a server, a database with a shared journal of one entry, and the folder with its node, which is
  /// closed.
  private func withShared(
    _ body: (PostgresServer, _ address: String, TemporaryFolder) throws -> Void
  ) throws {
    let server = try PostgresServer.shared.get()
    let address = try server.makeDatabase()
    try withTemporaryFolder { folder in
      try share(at: address, in: folder)
      try body(server, address, folder)
    }
  }

  private func error(of body: () throws -> Void) -> JournalError? {
    #expect(throws: JournalError.self, performing: body)
  }

  /// Such a table used to be accepted. A crash of the server emptied it, and so lost every acknowledged commit.
  @Test func aTableThatACrashEmptiesIsRefusedUnlessItIsAccepted() throws {
    try withShared { server, address, folder in
      try server.sql("ALTER TABLE journal_entries SET UNLOGGED", at: address)
      let url = folder.url.appending(path: "Node0.journal")
      let journal = try Journal<Logbook>.open(at: url, options: Self.options)
      let found = error { try journal.commit { try $0.write(2, "second") } }
      #expect(found?.code == .unsafeSettings, "\(String(describing: found))")
      #expect(found?.message.contains("the table journal_entries is unlogged") == true)
      try journal.close()
      let accepting = JournalOptions().sharingThroughPostgres(acceptsUnsafeSettings: true)
      let careless = try Journal<Logbook>.open(at: url, options: accepting)
      #expect(try careless.commit { try $0.write(2, "second") }.revision == 2)
      try careless.close()
      try server.sql("ALTER TABLE journal_entries SET LOGGED", at: address)
      let careful = try Journal<Logbook>.open(at: url, options: Self.options)
      #expect(try careful.commit { try $0.write(3, "third") }.revision == 3)
      try careful.close()
    }
  }

  /// The server used to acknowledge such entries, because the journal's row had moved.
  @Test(arguments: [false, true])
  func entriesThatATriggerDropsAreRefusedAndNothingOfThemIsWritten(_ isInTurn: Bool) throws {
    try withNearAndFar { pair in
      let revision = isInTurn ? 4 : 3
      try pair.sql(
        """
        CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
        CREATE TRIGGER forget BEFORE INSERT ON journal_entries FOR EACH ROW WHEN (NEW.revision = \(revision))
          EXECUTE FUNCTION forget();
        """)
      var runs = 0
      let found = error {
        try pair.far.commit(by: "far") { draft in
          runs += 1
          // A body that loses runs again in a turn.
          if isInTurn, runs == 1 { try pair.near.commit(by: "near") { try $0.write(2, "near") } }
          try draft.write(3, "far")
        }
      }
      #expect(runs == (isInTurn ? 2 : 1))
      #expect(found?.code == .unsafeSettings, "\(String(describing: found))")
      #expect(found?.message.contains("a trigger may drop them") == true)
      #expect(try pair.sql("SELECT revision FROM journal_logs") == "\(revision - 1)\n")
      #expect(try pair.sql("SELECT max(revision) FROM journal_entries") == "\(revision - 1)\n")
      try pair.sql("DROP TRIGGER forget ON journal_entries")
      #expect(try pair.near.commit { try $0.write(4, "near") }.revision == revision)
      try pair.far.catchUp()
      #expect(try pair.far.commit { try $0.write(5, "far") }.revision == revision + 1)
    }
  }

  /// Without its key, a table takes a revision twice. In a table with other columns, statements used to fail one by one,
  /// after the journal's row had been stored.
  @Test(arguments: [
    "CREATE TABLE journal_logs (number bigint PRIMARY KEY, message text)",
    "CREATE TABLE journal_entries (journal text, revision bigint, digest bytea, bytes bytea, PRIMARY KEY "
      + "(journal, revision))",
    "CREATE TABLE journal_entries (journal uuid, revision bigint, digest bytea, bytes bytea)",
    "CREATE TABLE journal_images (journal uuid, digest bytea, PRIMARY KEY (journal, digest))",
  ])
  func aTableThatCanNotStoreJournalsIsRefusedAndNoOtherIsCreated(_ definition: String) throws {
    let server = try PostgresServer.shared.get()
    let address = try server.makeDatabase()
    try server.sql(definition, at: address)
    try withTemporaryFolder { folder in
      let found = error { try share(at: address, in: folder) }
      #expect(found?.code == .alreadyExists, "\(String(describing: found))")
      #expect(found?.message.contains("the database has another table journal_") == true)
    }
    #expect(
      try server.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'", at: address) == "1\n")
  }

  // MARK: Tables that contradict each other

  /// As after a partial restore. Sharing again used to fail because the first entry existed already, and left a row that
  /// said that there are none.
  @Test func aJournalWhoseRowIsLostIsSharedAgainAndNoEntryIsLost() throws {
    try withShared { server, address, folder in
      let journals = try nodes(2, at: address, in: folder)
      try journals[0].close()
      try journals[1].commit { try $0.write(2, "second") }
      try journals[1].close()
      try server.sql("DELETE FROM journal_logs", at: address)
      // This one has not seen the newest entry.
      let url = folder.url.appending(path: "Node0.journal")
      try Journal<Logbook>.unshare(at: url, isForced: true)
      try Journal<Logbook>.share(at: url, on: address)
      #expect(try server.sql("SELECT revision FROM journal_logs", at: address) == "2\n")
      let journal = try Journal<Logbook>.open(at: url, options: Self.options)
      try journal.catchUp()
      #expect(journal.head.revision == 2)
      #expect(try journal.commit { try $0.write(3, "third") }.revision == 3)
      try journal.close()
    }
  }

  /// With a lower revision, `join` used to make a node with a part of the history, and commits failed with the name of a
  /// key. With a higher one, nodes looked as if they were behind.
  @Test(arguments: [1, 5])
  func aRowThatContradictsTheEntriesIsReportedWithBothRevisions(_ revision: Revision) throws {
    try withShared { server, address, folder in
      let journal = try nodes(1, at: address, in: folder)[0]
      for number in 2...3 { try journal.commit { try $0.write(number, "\(number)") } }
      try journal.close()
      try server.sql("UPDATE journal_logs SET revision = \(revision)", at: address)
      let url = folder.url.appending(path: "Node0.journal")
      let node = try Journal<Logbook>.open(at: url, options: Self.options)
      let ofCommit = error { try node.commit { try $0.write(4, "4") } }
      try node.close()
      let other = folder.url.appending(path: "Other.journal")
      let ofJoin = error { try Journal<Logbook>.join(address, at: other) }
      #expect(!FileManager.default.fileExists(atPath: other.path))
      try Journal<Logbook>.unshare(at: url, isForced: true)
      let ofShare = error { try Journal<Logbook>.share(at: url, on: address) }
      for found in [ofCommit, ofJoin, ofShare] {
        #expect(found?.code == .damaged, "\(String(describing: found))")
        #expect(found?.message.contains("journal_logs ends with entry \(revision)") == true)
      }
      guard revision < 3 else { return }
      let repair = try #require(ofShare?.message.firstMatch(of: /UPDATE journal_logs .*'/)).output
      try server.sql(String(repair), at: address)
      try Journal<Logbook>.share(at: url, on: address)
      #expect(try Journal<Logbook>.join(address, at: other).revision == 3)
    }
  }

  @Test func aCommitWhoseRevisionTheTableHasAlreadyNamesTheContradiction() throws {
    try withShared { server, address, folder in
      let journal = try nodes(1, at: address, in: folder)[0]
      try journal.commit { try $0.write(2, "second") }
      try server.sql(
        "INSERT INTO journal_entries SELECT journal, 3, digest, bytes FROM journal_entries WHERE revision = 2",
        at: address)
      let found = error { try journal.commit { try $0.write(3, "third") } }
      #expect(found?.code == .damaged, "\(String(describing: found))")
      #expect(
        found?.message.contains("journal_logs ends with entry 2, and journal_entries with entry 3") == true)
      try server.sql("DELETE FROM journal_entries WHERE revision = 3", at: address)
      #expect(try journal.commit { try $0.write(3, "third") }.revision == 3)
      try journal.close()
    }
  }

  // MARK: What a role sees

  /// Hidden entries used to look like another history, and a row that the role may not change like the commits of other
  /// nodes.
  @Test func rowsThatAreHiddenFromARoleAreReportedAsThat() throws {
    try withShared { server, address, folder in
      let (name, own) = try makeRole(on: server, for: address)
      try server.sql(
        """
        GRANT SELECT, INSERT, UPDATE ON journal_logs TO \(name);
        GRANT SELECT, INSERT ON journal_entries, journal_images, journal_image_pieces TO \(name);
        ALTER TABLE journal_entries ENABLE ROW LEVEL SECURITY;
        """, at: address)
      let url = folder.url.appending(path: "Own.journal")
      let ofJoin = error { try Journal<Logbook>.join(own, at: url) }
      #expect(ofJoin?.code == .damaged, "\(String(describing: ofJoin))")
      #expect(ofJoin?.message.contains("row-level security hides rows, or they are missing") == true)

      try server.sql(
        """
        CREATE POLICY entries ON journal_entries USING (true);
        ALTER TABLE journal_logs ENABLE ROW LEVEL SECURITY;
        CREATE POLICY reading ON journal_logs FOR SELECT USING (true);
        """, at: address)
      try Journal<Logbook>.join(own, at: url)
      let journal = try Journal<Logbook>.open(at: url, options: Self.options)
      let ofCommit = error { try journal.commit { try $0.write(2, "second") } }
      #expect(ofCommit?.code == .permission, "\(String(describing: ofCommit))")
      #expect(ofCommit?.message.contains("row-level security or a trigger prevents it") == true)
      try server.sql("CREATE POLICY writing ON journal_logs FOR UPDATE USING (true)", at: address)
      #expect(try journal.commit { try $0.write(2, "second") }.revision == 2)
      try journal.close()
    }
  }

  @Test func aRoleThatDoesNotFindTheTablesIsToldToCheckItsSearchPath() throws {
    try withShared { server, address, folder in
      let (name, own) = try makeRole(on: server, for: address)
      try server.sql("GRANT SELECT ON ALL TABLES IN SCHEMA public TO \(name)", at: address)
      let url = folder.url.appending(path: "Own.journal")
      try Journal<Logbook>.join(own, at: url)
      try server.sql("ALTER ROLE \(name) SET search_path = nowhere")
      let journal = try Journal<Logbook>.open(at: url, options: Self.options)
      let ofCommit = error { try journal.commit { try $0.write(2, "second") } }
      try journal.close()
      let ofJoin = error { try Journal<Logbook>.join(own, at: folder.url.appending(path: "Other.journal")) }
      #expect(ofCommit?.code == .damaged && ofJoin?.code == .notFound)
      for found in [ofCommit, ofJoin] {
        #expect(found?.message.contains("search_path and its USAGE on the schema") == true)
      }
    }
  }

  /// The command in an error, which an administrator can run.
  private func remedy(in error: JournalError?) throws -> String {
    let message = error?.message ?? ""
    return String(try #require(message.firstMatch(of: /; run (.*)$/), "\(message)").output.1)
  }

  /// The database is named `DB`, and the role `APP`.
  @Test(arguments: [
    "ALTER ROLE APP SET search_path = ''", "ALTER ROLE APP SET search_path = nowhere, \"$user\"",
    "ALTER DATABASE DB SET search_path = ''", "ALTER ROLE APP IN DATABASE DB SET search_path = pg_catalog",
    "REVOKE USAGE ON SCHEMA public FROM PUBLIC", "ALTER TABLE journal_logs ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE journal_entries ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE journal_logs ENABLE ROW LEVEL SECURITY; ALTER TABLE journal_images ENABLE ROW LEVEL SECURITY;"
      + "CREATE POLICY reading ON journal_logs FOR SELECT USING (true)",
  ])
  func whatHidesTheTablesIsNamedWithTheCommandThatHelps(_ obstacle: String) throws {
    try withShared { server, address, folder in
      let (name, own) = try makeRole(on: server, for: address)
      try server.sql(
        """
        GRANT SELECT, INSERT, UPDATE ON journal_logs TO \(name);
        GRANT SELECT, INSERT ON journal_entries, journal_images, journal_image_pieces TO \(name);
        \(obstacle.replacing("APP", with: name).replacing("DB", with: database(at: address)))
        """, at: address)
      let url = folder.url.appending(path: "Own.journal")
      func use() throws {
        if !FileManager.default.fileExists(atPath: url.path) { try Journal<Logbook>.join(own, at: url) }
        let journal = try Journal<Logbook>.open(at: url, options: Self.options)
        defer { try? journal.close() }
        try journal.commit { try $0.write(2, "second") }
      }
      let found = error(of: use)
      try server.sql(try remedy(in: found), at: address)
      try use()
    }
  }

  /// A schema that comes first and lacks the tables matters to none of this.
  @Test func withoutASchemaForTheTablesSharingSaysHowToNameOne() throws {
    let server = try PostgresServer.shared.get()
    let address = try server.makeDatabase()
    try withTemporaryFolder { folder in
      try server.sql("ALTER DATABASE \(database(at: address)) SET search_path = ''")
      let found = error { try share(at: address, in: folder) }
      #expect(found?.code == .notFound, "\(String(describing: found))")
      try server.sql(try remedy(in: found))
      let url = folder.url.appending(path: "Node0.journal")
      try Journal<Logbook>.share(at: url, on: address)
      try server.sql(
        "CREATE SCHEMA first; ALTER ROLE journal IN DATABASE \(database(at: address)) SET search_path = first, public",
        at: address)
      defer { _ = try? server.sql("ALTER ROLE journal IN DATABASE \(database(at: address)) RESET ALL") }
      let journals = try nodes(2, at: address, in: folder)
      try journals[1].commit { try $0.write(2, "second") }
      for journal in journals { try journal.close() }
      #expect(
        try server.sql("SELECT count(*) FROM pg_class WHERE relname = 'journal_logs'", at: address) == "1\n")
    }
  }

  /// Each of them would matter to statements that rely on the server's defaults.
  @Test func theSettingsOfARoleChangeNothing() throws {
    try withShared { server, address, folder in
      let (name, own) = try makeRole(on: server, for: address)
      try server.sql(
        """
        GRANT SELECT, INSERT, UPDATE ON journal_logs TO \(name);
        GRANT SELECT, INSERT ON journal_entries, journal_images, journal_image_pieces TO \(name);
        ALTER TABLE journal_entries ENABLE ROW LEVEL SECURITY;
        CREATE POLICY everything ON journal_entries USING (true);
        DO $$ DECLARE setting record; BEGIN
          FOR setting IN SELECT known.name, wanted.value FROM (VALUES
            ('statement_timeout', '200'), ('lock_timeout', '1'), ('idle_in_transaction_session_timeout', '1'),
            ('idle_session_timeout', '200'), ('transaction_timeout', '200'), ('synchronous_commit', 'local'),
            ('default_transaction_isolation', 'serializable'), ('default_transaction_deferrable', 'on'),
            ('client_min_messages', 'error'), ('client_encoding', 'LATIN1'), ('datestyle', 'German'),
            ('intervalstyle', 'iso_8601'), ('timezone', 'Asia/Kathmandu'), ('bytea_output', 'escape'),
            ('standard_conforming_strings', 'off'), ('backslash_quote', 'off'), ('array_nulls', 'off'),
            ('row_security', 'off'), ('exit_on_error', 'on'), ('extra_float_digits', '-15'),
            ('quote_all_identifiers', 'on'), ('transform_null_equals', 'on'), ('enable_indexscan', 'off'),
            ('plan_cache_mode', 'force_custom_plan'), ('force_parallel_mode', 'on'), ('debug_parallel_query', 'on'))
            AS wanted (name, value) JOIN pg_settings AS known ON lower(known.name) = wanted.name
          LOOP EXECUTE format('ALTER ROLE \(name) SET %I = %L', setting.name, setting.value); END LOOP;
        END $$
        """, at: address)
      let url = folder.url.appending(path: "Own.journal")
      try Journal<Logbook>.join(own, at: url)
      let journal = try Journal<Logbook>.open(at: url, options: Self.options)
      let near = try nodes(1, at: address, in: folder)[0]
      let bytes = Data((0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
      let image = try journal.blobs.add(bytes)
      var runs = 0
      try journal.commit { draft in
        runs += 1
        if runs == 1 { try near.commit { try $0.write(3, "near") } }
        try draft.write(2, "zwölf", blob: image)
      }
      try near.catchUp()
      #expect(runs == 2 && near.head == journal.head && near.head.revision == 3)
      #expect(try near.blobs.data(of: image) == bytes)
      for node in [near, journal] { try node.close() }
    }
  }

  /// The reason used to be that a SELECT can't be executed.
  @Test func aDatabaseThatAllowsOnlyReadingIsRefusedWithTheSettingThatSaysSo() throws {
    try withShared { server, address, folder in
      let setting = "ALTER DATABASE \(database(at: address)) SET default_transaction_read_only"
      try server.sql("\(setting) = on")
      let url = folder.url.appending(path: "Node0.journal")
      let journal = try Journal<Logbook>.open(at: url, options: Self.options)
      let ofCommit = error { try journal.commit { try $0.write(2, "second") } }
      let ofJoin = error {
        try Journal<Logbook>.join(address, at: folder.url.appending(path: "Other.journal"))
      }
      for found in [ofCommit, ofJoin] {
        #expect(found?.code == .unreachable, "\(String(describing: found))")
        #expect(found?.message.contains("default_transaction_read_only is on") == true)
      }
      try server.sql("\(setting) = off")
      #expect(try journal.commit { try $0.write(2, "second") }.revision == 2)
      try journal.close()
    }
  }

  /// A pooler that pools transactions gives a node a session in which another node has prepared its statements, or one
  /// that lacks them.
  @Test func aSessionThatChangesIsReportedAsThatOfAPooler() throws {
    let connection = try ServerAddress(PostgresServer.shared.get().address).connect()
    let (taken, forgotten) = (
      Connection.Statement(name: "taken", text: "SELECT 1"),
      Connection.Statement(name: "forgotten", text: "SELECT 1")
    )
    try connection.run(forgotten)
    try connection.run("DEALLOCATE ALL")
    try connection.run("PREPARE taken AS SELECT 2")
    for (statement, state) in [(taken, "42P05"), (forgotten, "26000")] {
      let failure = #expect(throws: ServerFailure.self) { try connection.run(statement) }
      #expect(failure?.state == state)
      #expect(failure?.journalError.message.contains("let the pooler pool sessions") == true)
    }
  }
}
