import Foundation
import Journaling
import Locks
import LogbookModel
import PostgresLog
import TestSupport
import Testing

/// Connections that are cut just before the server commits, or just after.
@Suite(.serialized, .enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct OutcomeTests: SharedLogbook {
  /// The end of a message that runs a statement has the statement's name, after the empty name of a portal.
  private func message(_ statement: String) -> String { "\0\(statement)\0" }

  /// In a turn, an append and its commit are two statements of one round trip. Otherwise, an append is one statement.
  @Test(arguments: [false, true], [false, true])
  func aCommitWhoseConnectionIsCutIsInTheLogOnce(_ isInTurn: Bool, _ isStored: Bool) throws {
    try withNearAndFar { pair in
      let revision = isInTurn ? 4 : 3
      // A sequence also counts what is rolled back.
      try pair.sql(
        """
        CREATE SEQUENCE tried;
        CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN PERFORM nextval('tried'); RETURN NULL; END $$;
        CREATE TRIGGER note AFTER INSERT ON journal_entries FOR EACH ROW WHEN (NEW.revision = \(revision))
          EXECUTE FUNCTION note();
        """)
      let text = message(isInTurn ? "commit" : "append")
      var runs = 0
      let commit = try pair.far.commit(by: "cut") { draft in
        runs += 1
        // A body that loses runs again in a turn.
        if isInTurn, runs == 1 { try pair.near.commit(by: "near") { try $0.write(2, "near") } }
        if runs == (isInTurn ? 2 : 1) {
          if isStored { pair.proxy.cut(beforeAnswerTo: text) } else { pair.proxy.cut(before: text) }
        }
        try draft.write(3, "cut")
      }
      #expect(!pair.proxy.isWaitingToCut)
      #expect(commit.revision == revision && runs == (isInTurn ? 2 : 1))
      #expect(try pair.revisions(by: "cut") == [revision])
      #expect(pair.near.head == pair.far.head)
      // The server rolled the first attempt back only if it had got the append without its commit.
      let tried = try pair.sql("SELECT last_value FROM tried WHERE is_called")
      #expect(tried == (isInTurn && !isStored ? "2\n" : "1\n"))
    }
  }

  /// A commit that connects again ends the wait for new entries, which used to be reported as that of a closed journal.
  @Test func aNodeWhoseConnectionIsReplacedDoesNotSayThatItsJournalIsClosed() throws {
    try withProxy { proxy, through, server, folder in
      try share(at: through, in: folder)
      let notices = Lock<[String]>([])
      let options = JournalOptions { notice in notices.withLock { $0.append(notice.description) } }
      let node = try nodes(1, at: through, in: folder, options: Self.trying(for: .zero, options))[0]
      try node.commit { try $0.write(2, "second") }
      // The listener.
      try ask(atMost: 3000) {
        try server.sql(
          "SELECT count(*) > 1 FROM pg_stat_activity WHERE datname = '\(database(at: through))'") == "t\n"
      }
      let lost = #expect(throws: JournalError.self) {
        try node.commit { draft in
          proxy.cut(before: message("append"))
          // The next connections are refused.
          proxy.redirect(to: 1)
          try draft.write(2, "third")
        }
      }
      #expect(lost?.code == .outcomeUnknown, "\(String(describing: lost))")
      ask(atMost: 3000) { notices.withLock { $0.contains { $0.contains("can't be followed") } } }
      let found = notices.withLock { $0 }
      #expect(found.contains { $0.contains("can't be followed") }, "\(found)")
      #expect(
        !found.contains { $0.contains("has been closed") }, "\(found)")
      try node.close()
    }
  }

  @Test func aCommitThatIsStoredWhileItsServerGetsOutOfReachIsUnknownAndFoundLater() throws {
    try withNearAndFar { pair in
      let text = message("append")
      let lost = #expect(throws: JournalError.self) {
        try pair.far.commit(by: "lost") { draft in
          pair.proxy.cut(beforeAnswerTo: text)
          // The next connections are refused.
          pair.proxy.redirect(to: 1)
          try draft.write(2, "lost")
        }
      }
      #expect(lost?.code == .outcomeUnknown && lost?.revision == 3, "\(String(describing: lost))")
      #expect(pair.far.head.revision == 2)
      #expect(try pair.revisions(by: "lost") == [3])
      pair.proxy.redirect(to: pair.server.port)
      try pair.far.catchUp()
      #expect(pair.far.head == pair.near.head)
      #expect(try pair.far.commit(by: "next") { try $0.write(2, "next") }.revision == 4)
      #expect(try pair.revisions(by: "lost") == [3])
    }
  }
}
