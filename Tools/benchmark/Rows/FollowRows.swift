import CatalogModel
import Foundation

/// The delay until another process sees an entry, and the cost of following without new entries.
func followRows(_ bench: Workbench) async throws -> [ReportRow] {
  guard bench.rows.contains(.follow) else { return [] }
  let url = bench.newPath("follow.journal")
  defer { bench.discard(url) }
  let journal = try CatalogJournal.create(at: url, options: JournalOptions(layers: .manual))
  defer { try? journal.close() }
  let follower = try FollowProbe(url)
  defer { follower.end() }

  var random = SeededGenerator(seed: bench.seed)
  let count = bench.isQuick ? 200 : 1_000
  var tails: [Double] = []
  var commits: [Double] = []
  for round in 1...bench.rounds {
    bench.progress.show("following a journal: round \(round) of \(bench.rounds)")
    var delays: [Double] = []
    for _ in 0..<count {
      let attributes = SampleData.attributes(&random)
      // So that commits come at any moment of the follower's pauses.
      try await Task.sleep(for: .microseconds(Int.random(in: 1_000...20_000, using: &random)))
      commits.append(
        try timed { try journal.commit { try $0.addItem(kind: SampleData.kind, attributes: attributes) } })
      let acknowledged = FollowProbe.now()
      delays.append(max(try follower.next() - acknowledged, 0))
    }
    tails.append(delays.sorted()[count * 99 / 100])
  }

  var idle: [Double] = []
  for _ in 1...3 {
    let before = try follower.processorSeconds()
    try await Task.sleep(for: .seconds(bench.isQuick ? 3 : 10))
    idle.append((try follower.processorSeconds() - before) / (bench.isQuick ? 3 : 10))
  }
  let limit = 0.02
  let allowance = Comparison(
    peer: "20 ms", figure: Spread([limit]), ratio: Spread(tails.map { $0 / limit }), wanted: .atMost(1))
  let commit = Comparison(
    peer: "the commit itself", figure: Spread(commits),
    ratio: Spread(tails.map { $0 / Spread(commits).median }))
  let share = Comparison(
    peer: "a hundredth", figure: Spread([0.01]), ratio: Spread(idle.map { $0 / 0.01 }), wanted: .atMost(1))
  return [
    ReportRow(
      .follow, "until another process sees an acknowledged entry, 99th percentile of \(count)", .seconds,
      Spread(tails), against: [allowance, commit]),
    ReportRow(
      .follow, "processor time in a second of following without entries", .seconds, Spread(idle),
      against: [share]),
    try await followedCommitRow(bench),
  ]
}

/// The effect of a follower on a writer with many callers. It reads and applies all entries, so on a machine with few
/// cores it competes for the processor.
private func followedCommitRow(_ bench: Workbench) async throws -> ReportRow {
  func run(_ count: Int, isFollowed: Bool) throws -> Double {
    let url = bench.newPath("followed.journal")
    defer { bench.discard(url) }
    let journal = try CatalogJournal.create(at: url)
    defer { try? journal.close() }
    let follower = isFollowed ? try FollowProbe(url, until: count) : nil
    defer { follower?.end() }
    let items = SampleData.attributes(count: count, seed: bench.seed)
    let seconds = try timedThreads(64) { caller in
      for index in stride(from: caller, to: count, by: 64) {
        try journal.commit { try $0.addItem(kind: SampleData.kind, attributes: items[index]) }
      }
    }
    // The follower reports only the last entry, so it has seen all of them.
    _ = try follower?.next()
    return seconds
  }
  let race = Race(
    work: "commits with a follower", operations: bench.isQuick ? 12_800 : 64_000,
    contestants: [
      Contestant(name: "followed") { try run($0, isFollowed: true) },
      Contestant(name: "without a follower") { try run($0, isFollowed: false) },
    ])
  let results = try await race.run(on: bench)
  return ReportRow(
    .follow, "durable commits, 64 callers, with a follower", unit: "commits", of: results,
    against: [(1, .atLeast(0.9))])
}
