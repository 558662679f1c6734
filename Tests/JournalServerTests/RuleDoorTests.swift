import CatalogModel
import ClubModel
import Foundation
import JournalMaintenance
import JournalServer
import PostgresLog
import TestSupport
import Testing

/// Random histories under rules that come in through every door: the library, HTTP, imports, and servers that are killed.
@Suite(.serialized) struct RuleDoorTests {
  /// Checks that each state after a revision keeps the rules, and that the acknowledged commits are there.
  private func check(
    _ journal: CatalogJournal, after revision: Revision, _ acknowledged: [KilledServer.Acknowledgement] = []
  ) throws {
    for commit in acknowledged {
      try #require(commit.revision <= journal.head.revision)
      #expect(try journal.entry(at: commit.revision).note == commit.note)
    }
    if revision < journal.head.revision {
      for point in revision + 1...journal.head.revision {
        let broken = Club(try journal.state(asOf: .revision(point))).broken()
        #expect(broken == [], "revision \(point)")
      }
    }
    #expect(Club(journal.state).broken() == [])
    #expect(try journal.verify(.deep).problems.map(\.description) == [])
  }

  @Test func noDoorIntoAJournalBreaksARule() throws {
    var walk = ClubWalk(SeededGenerator())
    var (kills, refusedImports, imports) = (0, 0, 0)
    for _ in 0..<TestLength.size(3, long: 100) {
      try withTemporaryFolder { folder in
        let url = folder.url.appending(path: "Club.journal")
        var options = JournalOptions()
        options.layers.eventCount = 20
        var journal = try CatalogJournal.create(at: url, options: options)
        try journal.declare(Team.self, Member.self)
        var door = try ImportDoor(folder.path("repository"))
        for turn in 0..<8 {
          var served: ServedJournal? = try ServedJournal(journal)
          for _ in 0..<40 {
            let problems =
              if let served, walk.random.chance(1, in: 2) {
                try walk.step(journal, through: HTTPDoor(served: served))
              } else {
                try walk.step(journal, through: journal)
              }
            #expect(problems == [])
          }
          served?.server.stop()
          served = nil
          let (club, newest) = (Club(journal.state), journal.head.revision)
          try journal.close()
          var acknowledged: [KilledServer.Acknowledgement] = []
          if turn % 2 == 0 {
            imports += 1
            if try door.step(url, club, &walk.random) { refusedImports += 1 }
          } else {
            let server = try KilledServer(url, in: folder)
            try server.commit(to: club, as: "\(turn)", threads: 3, seed: walk.random.next())
            acknowledged = server.kill(after: Int.random(in: 1..<20, using: &walk.random))
            kills += 1
          }
          journal = try CatalogJournal.open(at: url, options: options)
          try check(journal, after: newest, acknowledged)
        }
        let club = Club(journal.state)
        try journal.close()
        try club.forge(at: url, &walk.random)
        let forged = try CatalogJournal.open(at: url, options: options)
        #expect(
          try forged.verify(.deep).problems.contains { $0.message.contains("the state breaks a rule: item:") }
        )
        try forged.close()
      }
    }
    print("\(walk.counts), \(kills) kills, \(imports) imports, \(refusedImports) of them refused")
    for action in ["commit", "rejected", "undo", "undo in conflict", "redo", "revert", "restore"] {
      #expect(walk.counts[action, default: 0] > 0, "\(action): \(walk.counts)")
    }
  }

  /// Nodes of a shared journal do not see each other's commits in progress.
  @Test(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
  func nodesThatAreKilledWhileTheyCompeteBreakNoRule() throws {
    var random = SeededGenerator()
    let address = try PostgresServer.shared.get().makeDatabase()
    try withTemporaryFolder { folder in
      let urls = ["One", "Other"].map { folder.url.appending(path: "\($0).journal") }
      var journal = try CatalogJournal.create(at: urls[0])
      try journal.declare(Team.self, Member.self)
      var walk = ClubWalk(random)
      for _ in 0..<40 {
        let problems = try walk.step(journal, through: journal)
        #expect(problems == [])
      }
      var (club, newest) = (Club(journal.state), journal.head.revision)
      try journal.close()
      for arguments in [["share", urls[0].path, address], ["join", address, urls[1].path]] {
        #expect(try Programs.run(journalPath, arguments).succeeded)
      }
      var acknowledged: Set<Int> = []
      for round in 0..<TestLength.size(4, long: 200) {
        let servers = try urls.map { try KilledServer($0, in: folder) }
        for (node, server) in servers.enumerated() {
          try server.commit(to: club, as: "\(round)-\(node)", threads: 3, seed: random.next())
        }
        // One of them continues for a while after the other was killed.
        let order = random.chance(1, in: 2) ? servers : servers.reversed()
        let commits = order.flatMap { $0.kill(after: Int.random(in: 1..<20, using: &random)) }
        for commit in commits { #expect(acknowledged.insert(commit.revision).inserted) }
        var heads: [Head] = []
        for url in urls {
          journal = try CatalogJournal.open(at: url, options: JournalOptions().sharingThroughPostgres())
          try journal.catchUp()
          try check(journal, after: newest, commits)
          heads.append(journal.head)
          (club, newest) = (Club(journal.state), url == urls[0] ? newest : journal.head.revision)
          try journal.close()
        }
        #expect(heads[0] == heads[1])
      }
      print("\(acknowledged.count) acknowledged commits of \(newest)")
      #expect(try Programs.run(journalPath, ["unshare", urls[1].path]).succeeded)
      try club.forge(at: urls[1], &random)
      #expect(try !Programs.run(journalPath, ["verify", urls[1].path, "--deep"]).succeeded)
    }
  }
}
