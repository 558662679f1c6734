import CatalogModel
import Dispatch
import Foundation
import Synchronization

/// The time of the slowest commits while a snapshot is written and while none is written.
func commitTailRows(_ bench: Workbench) async throws -> [ReportRow] {
  guard bench.rows.contains(.commitTail) else { return [] }
  let itemCount = 200_000
  let url = bench.newPath("tail.journal")
  defer { bench.discard(url) }
  bench.progress.show("writing a journal of \(itemCount) items")
  let journal = try CatalogJournal.create(at: url, options: JournalOptions(layers: .manual))
  defer { try? journal.close() }
  try journal.addItems(itemCount, perEntry: 1_000, seed: bench.seed)
  try journal.takeSnapshot()

  // Enough commits for some snapshots to be written meanwhile, and for a hundredth of the commits to be many.
  let count = bench.operations(lasting: bench.isQuick ? 1 : 3, in: 2_000...40_000)
  let items = SampleData.attributes(count: count, seed: bench.seed)
  func slowest() throws -> Double {
    var latencies: [Double] = []
    latencies.reserveCapacity(count)
    for attributes in items {
      latencies.append(
        try timed { try journal.commit { try $0.addItem(kind: SampleData.kind, attributes: attributes) } })
    }
    latencies.sort()
    return latencies[count * 99 / 100]
  }
  var snapshotCount = 0
  let race = Race(
    work: "commits while a snapshot is written", operations: 1,
    contestants: [
      Contestant(name: "Journal") { _ in
        let snapshots = SnapshotLoop(of: journal)
        defer { snapshotCount += snapshots.end() }
        return try slowest()
      },
      Contestant(name: "without") { _ in try slowest() },
    ])
  let results = try await race.run(on: bench)
  guard snapshotCount > 0 else { throw PeerFailure(description: "No snapshot was written meanwhile.") }
  let comparison = Comparison(
    peer: "without", figure: results.spread(of: 1), ratio: results.speed(of: 1, against: 0),
    wanted: .atMost(1.5))
  return [
    ReportRow(
      .commitTail, "99th percentile of \(count) commits, a snapshot being written (times as long)", .seconds,
      results.spread(of: 0), against: [comparison])
  ]
}

/// Writes snapshots one after the other, on a separate thread.
private final class SnapshotLoop: Sendable {
  private let isEnding = Atomic(false)
  private let count = Atomic(0)
  private let done = DispatchGroup()

  init(of journal: CatalogJournal) {
    done.enter()
    Thread.detachNewThread {
      while !self.isEnding.load(ordering: .relaxed) {
        guard (try? journal.takeSnapshot()) != nil else { break }
        self.count.add(1, ordering: .relaxed)
      }
      self.done.leave()
    }
  }

  /// Waits for the snapshot that is being written, and returns how many were written.
  func end() -> Int {
    isEnding.store(true, ordering: .relaxed)
    done.wait()
    return count.load(ordering: .relaxed)
  }
}
