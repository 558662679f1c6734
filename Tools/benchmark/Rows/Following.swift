import CatalogModel
import Foundation

/// Measures the delay until another process sees an entry, and what a follower costs a writer with many callers.
func follow(_ bench: Workbench) async throws {
  let url = bench.path("follow.journal")
  let journal = try CatalogJournal.create(at: url, options: JournalOptions(layers: .manual))
  let follower = try FollowProbe(url)
  let count = bench.isQuick ? 200 : 1_000
  let tails = try await slowestDelays(bench, count) { sample in
    try await journal.commit { try $0.addSample(sample) }
    let acknowledged = FollowProbe.now()
    return max(try follower.next() - acknowledged, 0)
  }
  bench.add(
    "until another process sees an acknowledged entry, 99th percentile of \(count)", "s", tails, atMost: 0.02)
  try journal.close()

  // The follower applies all entries, so on a machine with few cores it competes for the processor.
  let operations = bench.isQuick ? 12_800 : 64_000
  let items = Sample.attributes(count: operations, seed: bench.seed)
  func run(isFollowed: Bool) async throws -> Double {
    try await bench.temporary { url in
      let journal = try CatalogJournal.create(at: url)
      let follower = isFollowed ? try FollowProbe(url, until: operations) : nil
      let seconds = try await commit(.threads(64), to: [journal], count: operations) {
        try $0.addSample(items[$1])
      }
      // The follower reports the last entry after it has seen all.
      _ = try follower?.next()
      try journal.close()
      return seconds
    }
  }
  var race = Race(bench, "durable commits, 64 callers, with a follower", operations: operations)
  race.add("followed") { try await run(isFollowed: true) }
  race.add("without a follower") { try await run(isFollowed: false) }
  try await race.report(.rate("commits"), .against(1, atLeast: 0.9))
}

/// Commits entries, and returns the 99th percentile of their delays in each round.
/// - Parameter delay: commits an item, and returns the seconds until another process or node sees it.
private func slowestDelays(
  _ bench: Workbench, _ count: Int, _ delay: ([String: FieldValue]) async throws -> Double
) async throws -> [Double] {
  var random = SeededGenerator(seed: bench.seed)
  var tails: [Double] = []
  for round in 1...bench.rounds {
    bench.show("following a journal: round \(round) of \(bench.rounds)")
    var delays: [Double] = []
    for _ in 0..<count {
      let sample = Sample(&random).attributes
      // A random pause, so that commits come at any moment between two looks of the follower.
      try await Task.sleep(for: .microseconds(Int.random(in: 1_000...20_000, using: &random)))
      delays.append(try await delay(sample))
    }
    tails.append(delays.sorted()[count * 99 / 100])
  }
  return tails
}

/// Measures the delay until another node of a shared journal sees an entry.
func sharedFollow(_ bench: Workbench) async throws {
  let nodes = try makeNodes(2, bench).map(openNode)
  let count = bench.isQuick ? 200 : 1_000
  let tails = try await slowestDelays(bench, count) { sample in
    let revision = try await nodes[0].commit { try $0.addSample(sample) }.revision
    return timed { while nodes[1].head.revision < revision { usleep(100) } }
  }
  for node in nodes { try node.close() }
  bench.add(
    "until another node sees an acknowledged entry, 99th percentile of \(count)", "s", tails, atMost: 0.05)
}
