import Foundation
import JournalMaintenance
import Journaling
import Locks
import LogbookModel
import PostgresLog
import SharedJournals
import TestSupport
import Testing

/// What a node says about the standbys that its commits wait for.
@Suite(.serialized, .enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct StandbyTests: SharedLogbook {
  private let warning = "no synchronous standby is connected: commits wait until one is"

  private func status(_ url: URL) throws -> SharingStatus {
    let journal = try Journal<Logbook>.open(at: url, mode: .readOnly, options: Self.options)
    defer { try? journal.close() }
    return try #require(try journal.sharing())
  }

  /// Changes which standbys commits wait for.
  private func demand(_ names: String, on server: PostgresServer) throws {
    try server.sql("ALTER SYSTEM SET synchronous_standby_names = '\(names)'")
    try server.sql("SELECT pg_reload_conf()")
    try ask(atMost: 3000) { try server.sql("SHOW synchronous_standby_names") == "\(names)\n" }
  }

  /// A role without `pg_read_all_stats` sees how many standbys there are, and not their state.
  @Test func whetherItsStandbysAreConnectedIsReportedAsFarAsTheRoleMaySeeIt() throws {
    let (primary, standby) = try serverWithStandby()
    try withTemporaryFolder { folder in
      try share(at: primary.address, in: folder)
      let (name, own) = try makeRole(on: primary, for: primary.address)
      try primary.sql("GRANT SELECT ON ALL TABLES IN SCHEMA public TO \(name)")
      let urls = ["Node0.journal", "Reader.journal"].map { folder.url.appending(path: $0) }
      try Journal<Logbook>.join(own, at: urls[1])

      let settings = "fsync on, synchronous_commit on, standbys"
      #expect(try status(urls[0]).summary == "\(settings) FIRST 1 (standby), 1 connected")
      #expect(
        try status(urls[1]).summary == "\(settings) FIRST 1 (standby), whose state this role may not see")
      for url in urls { #expect(try status(url).warning == nil) }
      // A cautious administrator lets no role see the standbys.
      try primary.sql("REVOKE SELECT ON pg_stat_replication FROM PUBLIC", at: primary.address)
      #expect(
        try status(urls[1]).summary == "\(settings) FIRST 1 (standby), whose state this role may not see")
      #expect(try status(urls[1]).warning == nil)
      try primary.sql("GRANT SELECT ON pg_stat_replication TO PUBLIC", at: primary.address)
      for names in ["ANY 2 (standby, other)", "2 (standby, other)"] {
        try demand(names, on: primary)
        for url in urls {
          #expect(
            try status(url).warning == "commits wait for 2 synchronous standbys, and at most 1 is connected")
        }
      }
      try demand("standby", on: primary)
      for url in urls { #expect(try status(url).warning == nil) }

      try standby.stop()
      try waitForStandbys(0, of: primary)
      for url in urls {
        let status = try status(url)
        #expect(status.summary == "\(settings) standby, 0 connected" && status.warning == warning)
        #expect(status.problem == nil && status.newestRevision == 1 && status.missingCount == 0)
      }
      // Nothing waits without a standby.
      try demand("", on: primary)
      #expect(try status(urls[0]).warning == nil)
    }
    try primary.stop()
  }

  @Test func aServerWithoutItsStandbyIsNotedByNodesAndDiagnosesAndCanBeRead() throws {
    let (primary, standby) = try serverWithStandby()
    try withTemporaryFolder { folder in
      try share(at: primary.address, in: folder)
      try standby.stop()
      try waitForStandbys(0, of: primary)
      let url = folder.url.appending(path: "Node0.journal")
      let diagnosis = try Journal<Logbook>.diagnose(url, options: Self.options)
      #expect(diagnosis.isSound && diagnosis.problems.map(\.message) == [warning])
      #expect(diagnosis.sharing?.address == primary.address && diagnosis.sharing?.warning == warning)

      let notices = Lock<[String]>([])
      let options = JournalOptions { notice in
        if notice.level == .warning { notices.withLock { $0.append(notice.message) } }
      }
      let journal = try Journal<Logbook>.open(at: url, options: options.sharingThroughPostgres())
      for _ in 0..<6000 where notices.withLock({ $0.isEmpty }) { usleep(10_000) }
      #expect(notices.withLock { $0 } == [warning])
      try journal.catchUp()
      #expect(journal.state.pages.count == 1)
      try journal.close()
    }
    try primary.stop()
  }
}
