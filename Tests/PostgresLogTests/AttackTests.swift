import Foundation
import JournalMaintenance
import Journaling
import LogbookModel
import PostgresLog
import SharedJournals
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
        let problems = try problems(of: nodes, at: cluster.address, in: folder)
        #expect(problems.isEmpty, "\(problems.prefix(20))")
      }
    }
  }

  /// The control: if acknowledged commits are lost, the test notices, and so do the nodes.
  @Test func acknowledgedCommitsThatAStandbyLacksAreFoundLost() throws {
    var random = SeededGenerator()
    try withTemporaryFolder { folder in
      try Cluster.withDisks(megabytes: 300) { disks in
        let cluster = try Cluster(on: disks)
        defer { cluster.stop() }
        let nodes = (0..<2).map { BankProcess($0, in: folder) }
        try share(nodes.map(\.url), at: cluster.address)
        for node in nodes { try node.start(seed: random.next()) }
        defer { for node in nodes { node.kill() } }
        try waitForCommits(of: nodes)
        try cluster.betray { try waitForCommits(of: nodes) }
        for node in nodes { node.kill() }
        let problems = try problems(of: nodes, at: cluster.address, in: folder)
        let expected = [
          "was acknowledged as", "node 0: the shared log ends with", "node 1 has another history",
        ]
        for text in expected {
          #expect(problems.contains { $0.contains(text) }, "\(text): \(problems.prefix(20))")
        }
      }
    }
  }

  /// What can go wrong.
  private enum Fault: CaseIterable {
    case nodeIsKilled, nodeIsPaused, primaryIsPaused, standbyIsPaused, connectionsAreCut, packetsAreLost
    case primaryCrashes, failover, diskIsFull

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
      case .packetsAreLost: try cluster.loseNetwork(UInt32.random(in: 100_000..<3_000_000, using: &random))
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

  /// Finds what contradicts the promise: all nodes have the history of the server, in which each turn occurs once, every
  /// entry keeps the rules of the bank, and the outcomes that the nodes were told are true.
  private func problems(of nodes: [BankProcess], at address: String, in folder: TemporaryFolder) throws
    -> [String]
  {
    var problems: [String] = []
    func require(_ isTrue: Bool, _ problem: @autoclosure () -> String) {
      if !isTrue { problems.append(problem()) }
    }
    // A node without a past has what the server has.
    let url = folder.url.appending(path: "Witness-\(UUID().uuidString).journal")
    let head = try Journal<Logbook>.join(address, at: url)
    let witness = try Journal<Logbook>.open(at: url, mode: .readOnly)
    defer { try? witness.close() }

    var replayed = Logbook()
    var revisions: [BankProcess.Turn: Revision] = [:]
    let entries = witness.entries()
    while let entry = try entries.next() {
      for event in entry.events { try replayed.apply(event, at: entry.revision) }
      let balances = Bank.balances(in: replayed)
      require(balances.reduce(0, +) == Bank.accountCount * Bank.balance, "the sum at entry \(entry.revision)")
      require(balances.allSatisfy { $0 >= 0 }, "a negative balance at entry \(entry.revision)")
      let words = entry.note.split(separator: " ").compactMap { Int($0) }
      let turn = BankProcess.Turn(author: entry.author, turn: words[0])
      require(revisions.updateValue(entry.revision, forKey: turn) == nil, "\(turn) is there twice")
      if words.count == 3 {
        let event = try #require(entry.events.first { $0.entity == .page(words[1]) })
        require(event.previous == words[2], "entry \(entry.revision) expected \(words[2])")
      }
    }

    for node in nodes {
      let journal = try Journal<Logbook>.open(
        at: node.url, options: JournalOptions().sharingThroughPostgres())
      defer { try? journal.close() }
      do { try journal.catchUp() } catch { require(false, "node \(node.number): \(error)") }
      require(journal.head == head, "node \(node.number) has another history")
      let found = try journal.verify(.deep)
      require(
        found.isSound && found.entryCount == journal.head.revision, "node \(node.number): \(found.problems)")
      for account in 1...Bank.accountCount {
        let isSame =
          journal.state.record(of: .page(account)) == replayed.record(of: .page(account))
          && journal.state.revision(of: .page(account)) == replayed.revision(of: .page(account))
        require(isSame, "node \(node.number) has another account \(account)")
      }
    }
    return try problems + self.problems(of: revisions, toldBy: nodes)
  }

  /// Finds acknowledged commits that the log lacks, and failed ones that it has. If the outcome of a commit is unknown, or
  /// a kill interrupted it, the log may have it or not.
  private func problems(
    of revisions: [BankProcess.Turn: Revision], toldBy nodes: [BankProcess]
  ) throws -> [String] {
    var problems: [String] = []
    var rest = Set(revisions.keys)
    var counts: [String: Int] = [:]
    for node in nodes {
      let told = try node.told()
      for (turn, outcome) in told.outcomes {
        counts[outcome.name, default: 0] += 1
        rest.remove(turn)
        switch outcome {
        case .done(let revision):
          if revisions[turn] != revision { problems.append("\(turn) was acknowledged as \(revision)") }
        case .failed:
          if revisions[turn] != nil { problems.append("\(turn) has failed") }
        case .unknown: break
        }
      }
      rest.subtract(told.interrupted)
    }
    rest.remove(BankProcess.Turn(author: "bank", turn: 0))
    if !rest.isEmpty { problems.append("no writer made \(rest.prefix(5))") }
    if counts["done", default: 0] <= 100 {
      problems.append("only a few commits were acknowledged: \(counts)")
    }
    print("the bank has \(revisions.count) entries; commits: \(counts)")
    return problems
  }
}
