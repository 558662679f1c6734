import CatalogModel
import Foundation

/// Durable commits of 64 tasks into a journal of many items that was just opened: its state is in layers, of which little
/// has been read.
func reopenedRows(_ bench: Workbench) async throws -> [ReportRow] {
  guard !bench.rows.isDisjoint(with: [.commitReopened, .commitUpdate]) else { return [] }
  let sizes = [bench.isQuick ? 100_000 : 1_000_000, 10_000]
  let subjects = try sizes.map { try ReopenedSubject(bench, itemCount: $0) }
  defer { for subject in subjects { subject.discard(bench) } }
  let (large, small) = (subjects[0], subjects[1])
  let operations = bench.isQuick ? 2_048 : 25_600
  var rows: [ReportRow] = []
  if bench.rows.contains(.commitReopened) {
    let results = try await Race(
      work: "adding items after reopening", operations: operations,
      contestants: [
        Contestant(name: "Journal") { try await large.add($0) },
        Contestant(name: "\(small.itemCount) items") { try await small.add($0) },
      ]
    ).run(on: bench)
    rows.append(
      ReportRow(
        .commitReopened, "durable commits, 64 tasks, an item added to \(large.itemCount), just opened",
        unit: "commits", of: results, against: [(1, nil)]))
  }
  if bench.rows.contains(.commitUpdate) {
    let folder = try bench.newFolder("updates")
    defer { bench.discard(folder) }
    bench.progress.show("writing a table of \(large.itemCount) items")
    let peer = try SQLiteUpdates(itemCount: large.itemCount, in: folder)
    var seed = bench.seed
    let results = try await Race(
      work: "updating random items after reopening", operations: operations,
      contestants: [
        Contestant(name: "Journal") { try await large.update($0) },
        Contestant(name: "\(small.itemCount) items") { try await small.update($0) },
        Contestant(name: "SQLite, WAL, FULL, one connection") { count in
          seed += 1
          return try peer.run(count, callers: 64, seed: seed)
        },
      ]
    ).run(on: bench)
    rows.append(
      ReportRow(
        .commitUpdate,
        "durable commits, 64 tasks, an update of a random one of \(large.itemCount), just opened",
        unit: "commits", of: results, against: [(1, nil), (2, nil)]))
  }
  return rows
}

/// A journal of many items.
private final class ReopenedSubject {
  let itemCount: Int
  private let url: URL
  private var random: SeededGenerator
  private static let callers = 64

  init(_ bench: Workbench, itemCount: Int) throws {
    self.itemCount = itemCount
    url = bench.newPath("reopened.journal")
    random = SeededGenerator(seed: bench.seed)
    bench.progress.show("writing a journal of \(itemCount) items")
    let journal = try CatalogJournal.create(at: url)
    try journal.addItems(itemCount, perEntry: 1_000, seed: bench.seed)
    journal.waitForLayers()
    try journal.close()
  }

  /// Adds items, and returns the seconds.
  func add(_ count: Int) async throws -> Double {
    let items = (0..<count).map { _ in SampleData.attributes(&random) }
    return try await reopened { journal in
      try await timedTasks(Self.callers) { caller in
        for index in stride(from: caller, to: count, by: Self.callers) {
          try await journal.commit { try $0.addItem(kind: SampleData.kind, attributes: items[index]) }
        }
      }
    }
  }

  /// Updates random items, and returns the seconds.
  func update(_ count: Int) async throws -> Double {
    let items = (0..<count).map { _ in Int.random(in: 1...itemCount, using: &random) }
    let start = Int64.random(in: 1_000_001...1 << 40, using: &random)
    return try await reopened { journal in
      try await timedTasks(Self.callers) { caller in
        for index in stride(from: caller, to: count, by: Self.callers) {
          let value = FieldValue.integer(start + Int64(index))
          try await journal.commit { try $0.updateItem(EntityID(items[index]), set: ["count": value]) }
        }
      }
    }
  }

  private func reopened(_ body: (CatalogJournal) async throws -> Double) async throws -> Double {
    let journal = try CatalogJournal.open(at: url)
    defer { try? journal.close() }
    let seconds = try await body(journal)
    // The next round must not begin with the merges that this one left.
    journal.waitForLayers()
    return seconds
  }

  func discard(_ bench: Workbench) { bench.discard(url) }
}
