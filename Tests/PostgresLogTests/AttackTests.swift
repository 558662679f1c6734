import Foundation
import Journaling
import LogbookModel
import PostgresLog
import TestSupport
import Testing

/// Everything at once: three nodes of 16 writers each, a primary with a synchronous standby, and all that can happen to
/// them.
@Suite(
  .serialized,
  .enabled(if: PostgresServer.isInstalled && Mount.isPossible, "it needs PostgreSQL and the superuser"))
struct AttackTests {
  @Test func aBankStaysConsistentOnAllNodesWhateverFails() throws {
    var random = SeededGenerator()
    try withTemporaryFolder { folder in
      try Cluster.withDisks(megabytes: TestLength.size(300, long: 1500)) { disks in
        let cluster = try Cluster(on: disks)
        defer { cluster.stop() }
        let nodes = (0..<3).map { BankProcess($0, in: folder) }
        try share(nodes.map(\.url), at: cluster.address)
        for node in nodes { try node.start(seed: random.next()) }
        defer { for node in nodes { node.kill() } }
        try waitForCommits(of: nodes)

        let end = Date() + Double(TestLength.size(0, long: 600))
        repeat {
          for fault in Fault.allCases.shuffled(using: &random) {
            try fault.happen(to: cluster, nodes, &random)
            try waitForCommits(of: nodes)
            for node in nodes {
              #expect(node.isRunning, "node \(node.number) has ended by itself after \(fault)")
            }
          }
        } while Date() < end
        for node in nodes { try node.finish() }
        try check(nodes)
      }
    }
  }

  /// What can go wrong.
  private enum Fault: CaseIterable {
    case nodeIsKilled, nodeIsPaused, primaryIsPaused, standbyIsPaused, connectionsAreCut, primaryCrashes,
      failover
    case diskIsFull

    func happen(to cluster: Cluster, _ nodes: [BankProcess], _ random: inout SeededGenerator) throws {
      let node = nodes[Int.random(in: 0..<3, using: &random)]
      switch self {
      case .nodeIsKilled:
        node.kill()
        usleep(UInt32.random(in: 0..<500_000, using: &random))
        try node.start(seed: random.next())
      case .nodeIsPaused:
        // Now and then longer than a server waits for the node that has the turn.
        node.signal(SIGSTOP)
        usleep(UInt32.random(in: 100_000..<(random.chance(1, in: 3) ? 7_000_000 : 1_000_000), using: &random))
        node.signal(SIGCONT)
      case .primaryIsPaused:
        try cluster.pause(cluster.primary, UInt32.random(in: 100_000..<2_000_000, using: &random))
      case .standbyIsPaused:
        try cluster.pause(cluster.standby, UInt32.random(in: 100_000..<2_000_000, using: &random))
      case .connectionsAreCut:
        for _ in 0..<10 {
          cluster.cut(after: Int.random(in: 1..<20_000, using: &random))
          usleep(UInt32.random(in: 1000..<100_000, using: &random))
        }
        cluster.stopCutting()
      case .primaryCrashes: try cluster.crash()
      case .failover: try cluster.failOver()
      case .diskIsFull: try cluster.fillDisk(UInt32.random(in: 500_000..<2_000_000, using: &random))
      }
    }
  }

  private func share(_ urls: [URL], at address: String) throws {
    let journal = try Journal<Logbook>.create(at: urls[0])
    try journal.commit(by: "bank", note: "0") { try Bank.open(in: &$0) }
    try journal.close()
    try Journal<Logbook>.share(at: urls[0], on: address)
    for url in urls.dropFirst() { try Journal<Logbook>.join(address, at: url) }
  }

  /// Waits until some more commits were acknowledged.
  private func waitForCommits(of nodes: [BankProcess]) throws {
    let goal = nodes.reduce(0) { $0 + $1.outputByteCount } + 2000
    for _ in 0..<1200 where nodes.reduce(0, { $0 + $1.outputByteCount }) < goal { usleep(100_000) }
    try #require(nodes.reduce(0) { $0 + $1.outputByteCount } >= goal, "nothing was committed for two minutes")
  }

  /// Checks that all nodes have the same history, in which each turn occurs once, and that every entry keeps the rules
  /// of the bank.
  private func check(_ nodes: [BankProcess]) throws {
    let journals = try nodes.map {
      try Journal<Logbook>.open(at: $0.url, options: JournalOptions().sharingThroughPostgres())
    }
    defer { for journal in journals { try? journal.close() } }
    for journal in journals { try journal.catchUp() }
    let head = journals[0].head
    for journal in journals {
      #expect(journal.head == head)
      let found = try journal.verify(deep: true)
      #expect(found.isSound && found.entryCount == head.revision, "\(found.problems)")
    }

    var replayed = Logbook()
    var revisions: [BankProcess.Turn: Revision] = [:]
    let entries = journals[0].entries()
    while let entry = try entries.next() {
      for event in entry.events { try replayed.apply(event, at: entry.revision) }
      let balances = Bank.balances(in: replayed)
      #expect(balances.reduce(0, +) == Bank.accountCount * Bank.balance, "at entry \(entry.revision)")
      #expect(balances.allSatisfy { $0 >= 0 }, "at entry \(entry.revision)")
      let words = entry.note.split(separator: " ").compactMap { Int($0) }
      let turn = BankProcess.Turn(author: entry.author, turn: words[0])
      #expect(revisions.updateValue(entry.revision, forKey: turn) == nil, "\(turn) is there twice")
      if words.count == 3 {
        let event = try #require(entry.events.first { $0.entity == .page(words[1]) })
        #expect(event.previous == words[2], "entry \(entry.revision) expected \(words[2])")
      }
    }
    for journal in journals {
      for account in 1...Bank.accountCount {
        #expect(journal.state.record(of: .page(account)) == replayed.record(of: .page(account)))
        #expect(journal.state.revision(of: .page(account)) == replayed.revision(of: .page(account)))
      }
    }
    try check(revisions, against: nodes)
  }

  /// Checks that the log has each acknowledged commit and no failed one. If the outcome of a commit is unknown, or a kill
  /// interrupted it, the log may have it or not.
  private func check(_ revisions: [BankProcess.Turn: Revision], against nodes: [BankProcess]) throws {
    var rest = Set(revisions.keys)
    var counts: [String: Int] = [:]
    for node in nodes {
      let told = try node.told()
      for (turn, outcome) in told.outcomes {
        counts[outcome.name, default: 0] += 1
        rest.remove(turn)
        switch outcome {
        case .done(let revision):
          #expect(revisions[turn] == revision, "\(turn) was acknowledged as \(revision)")
        case .failed: #expect(revisions[turn] == nil, "\(turn) has failed")
        case .unknown: break
        }
      }
      rest.subtract(told.interrupted)
    }
    rest.remove(BankProcess.Turn(author: "bank", turn: 0))
    #expect(rest.isEmpty, "no writer made \(rest.prefix(5))")
    #expect(counts["done", default: 0] > 100)
    print("the bank has \(revisions.count) entries; commits: \(counts)")
  }
}
