import Foundation
import Journaling
import LogbookModel
import PostgresLog
import TestSupport
import Testing

/// What a node does while it connects.
@Suite(.serialized, .enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct ConnectingTests: SharedLogbook {
  /// libpq prints warnings until it is told otherwise. That used to happen after a server had sent those about its
  /// settings, or about a library that it was updated to.
  @Test func whatAServerWarnsOfWhileANodeConnectsIsNotPrinted() throws {
    let server = try PostgresServer.shared.get()
    let address = try server.makeDatabase()
    try withTemporaryFolder { folder in
      try share(at: address, in: folder)
      try server.sql("ALTER DATABASE \(database(at: address)) SET default_tablespace = 'nowhere'")
      // The control: this client prints it.
      #expect(try server.sql("SELECT 1", at: address).contains("nowhere"))

      let node = Process()
      let executable = try #require(Bundle.main.executableURL).resolvingSymlinksInPath()
      node.executableURL = executable.deletingLastPathComponent().appendingPathComponent("CrashChild")
      node.arguments = [folder.path("Node0.journal"), "1", "0", "1"]
      let (output, errors) = (URL(filePath: folder.path("output")), URL(filePath: folder.path("errors")))
      for url in [output, errors] { try Data().write(to: url) }
      node.standardOutput = try FileHandle(forWritingTo: output)
      node.standardError = try FileHandle(forWritingTo: errors)
      try node.run()
      func lineCount() throws -> Int { try Data(contentsOf: output).count { $0 == UInt8(ascii: "\n") } }
      // The first line says that the journal is open. Each of the others is a commit.
      for _ in 0..<12_000 where try lineCount() < 4 { usleep(10_000) }
      kill(node.processIdentifier, SIGKILL)
      node.waitUntilExit()
      #expect(try lineCount() >= 4)
      let text = try String(contentsOf: errors, encoding: .utf8)
      #expect(!text.contains("nowhere"), "\(text)")
    }
  }

  /// An opening that waited for a single answer of the server would take longer than the limit, and one that waited until
  /// the node is connected would take seconds.
  @Test func openingANodeTakesAsLongAsOpeningALocalJournal() throws {
    try withNearAndFar { pair in
      for turn in 1...300 { try pair.far.commit { try $0.write(turn % 50 + 1, "\(turn)") } }
      try pair.far.close()
      let local = pair.farURL.deletingLastPathComponent().appending(path: "Local.journal")
      try FileManager.default.copyItem(at: pair.farURL, to: local)
      try FileManager.default.removeItem(at: local.appending(path: "SHARED"))

      /// The shortest of some openings with a look at the state. Closing may wait for an attempt to connect.
      func time(_ url: URL) throws -> Duration {
        var best = Duration.seconds(60)
        for _ in 0..<3 {
          let start = ContinuousClock.now
          let journal = try Journal<Logbook>.open(at: url, options: Self.options)
          #expect(journal.state.pages.count == 50 && journal.head.revision == 302)
          best = min(best, ContinuousClock.now - start)
          try journal.close()
        }
        return best
      }
      let long = Duration.seconds(60)
      var (alone, slow, unreachable) = (long, long, long)
      var limit: Duration { alone * 3 + .milliseconds(150) }
      // Other work of the machine only makes openings longer.
      for round in 0..<10 where round == 0 || max(slow, unreachable) >= limit {
        alone = min(alone, try time(local))
        pair.proxy.delay(by: .milliseconds(100))
        slow = min(slow, try time(pair.farURL))
        pair.proxy.delay(by: .zero)
        try pair.proxy.setSilent(true)
        unreachable = min(unreachable, try time(pair.farURL))
        try pair.proxy.setSilent(false)
      }
      print("opening: \(alone) alone, \(slow) on a slow network, \(unreachable) without the server")
      for time in [slow, unreachable] { #expect(time < limit, "\(time), \(alone)") }
    }
  }
}
