import CatalogModel
import Foundation

/// Replay and history, which read the log. They share a large journal, because writing it takes long.
func logRows(_ bench: Workbench) async throws -> [ReportRow] {
  var rows: [ReportRow] = []
  if bench.rows.contains(.historyPart) { rows.append(try await historyPartRow(bench)) }
  let entries = bench.isQuick ? 100_000 : 1_000_000
  if bench.rows.contains(.replayUpdates) {
    let log = try await SampleLog(bench, entries: entries, .additionsAndUpdates)
    defer { log.discard(bench) }
    rows.append(try await replayRow(bench, .replayUpdates, "\(entries) entries, half of them updates", log))
  }
  guard !bench.rows.isDisjoint(with: [.replay, .history]) else { return rows }
  let large = try await SampleLog(bench, entries: entries)
  defer { large.discard(bench) }
  if bench.rows.contains(.replay) {
    rows.append(try await replayRow(bench, .replay, "\(entries) entries", large))
  }
  if bench.rows.contains(.history) { rows.append(try await historyRow(bench, large)) }
  return rows
}

/// A replay from revision 0, against an iteration over the same entries.
private func replayRow(
  _ bench: Workbench, _ name: RowName, _ what: String, _ log: SampleLog
) async throws -> ReportRow {
  let scan = try LevelDBScan(log.copyOfEntries)
  var byteCount = 0
  let race = Race(
    work: "replay", operations: log.entries,
    contestants: [
      Contestant(name: "Journal") { try log.replay(to: $0) },
      Contestant(name: "LevelDB iterator, checksums") { _ in
        let result = try scan.run()
        guard result.count == log.entries else {
          throw PeerFailure(description: "LevelDB sees \(result.count) entries of \(log.entries).")
        }
        byteCount = result.byteCount
        return result.seconds
      },
    ])
  let results = try await race.run(on: bench)
  return ReportRow(
    name, "replay of \(what), of \(byteCount / log.entries) B each, from revision 0",
    unit: "entries", of: results, against: [(1, .atLeast(0.4))])
}

/// The history of an entity in a large journal, against a small one.
private func historyRow(_ bench: Workbench, _ large: SampleLog) async throws -> ReportRow {
  let small = try await SampleLog(bench, entries: 10_000)
  defer { small.discard(bench) }
  var random = SeededGenerator(seed: bench.seed)
  let passes = bench.isQuick ? 3 : 10
  let race = Race(
    work: "history", operations: passes * SampleLog.trackedCount,
    contestants: [
      Contestant(name: "Journal") { _ in try large.histories(passes, &random) },
      Contestant(name: "in \(small.entries) entries") { _ in try small.histories(passes, &random) },
    ])
  let results = try await race.run(on: bench)
  let comparison = Comparison(
    peer: "in \(small.entries) entries", figure: results.spread(of: 1),
    ratio: results.speed(of: 1, against: 0), wanted: .atMost(2))
  return ReportRow(
    .history, "history of \(SampleLog.historyLength) events, in \(large.entries) entries (times as long)",
    .seconds, results.spread(of: 0), against: [comparison])
}

/// Some changes of an item at random points of its very long history, against a shorter one.
private func historyPartRow(_ bench: Workbench) async throws -> ReportRow {
  // Both are so long that LevelDB has most entries in tables.
  let counts = [bench.isQuick ? 500_000 : 1_000_000, 100_000]
  let journals = try counts.map { count in
    let url = bench.newPath("counter.journal")
    bench.progress.show("writing \(count) changes of one item")
    let writing = try CatalogJournal.create(at: url)
    try writing.addItems(1, perEntry: 1, seed: bench.seed)
    try writing.fill(count) { draft, index in
      try draft.updateItem(1, set: ["count": .integer(Int64(1_000_001 + index))])
    }
    writing.waitForLayers()
    try writing.close()
    return (url, try CatalogJournal.open(at: url))
  }
  defer {
    for (url, journal) in journals {
      try? journal.close()
      bench.discard(url)
    }
  }
  var random = SeededGenerator(seed: bench.seed)
  let (passes, limit) = (200, 20)
  func parts(_ journal: CatalogJournal) throws -> Double {
    let newest = journal.head.revision
    let points = (0..<passes).map { _ in
      RevisionSelector.revision(.random(in: limit...newest, using: &random))
    }
    var count = 0
    let seconds = try timed {
      for point in points { count += try journal.history(of: .item(1), asOf: point, limit: limit).count }
    }
    guard count == passes * limit else { throw PeerFailure(description: "\(count) changes were found.") }
    return seconds
  }
  let race = Race(
    work: "part of a history", operations: passes,
    contestants: [
      Contestant(name: "Journal") { _ in try parts(journals[0].1) },
      Contestant(name: "of \(counts[1]) changes") { _ in try parts(journals[1].1) },
    ])
  let results = try await race.run(on: bench)
  return ReportRow(
    .historyPart, "\(limit) of \(counts[0]) changes of an item, as of a random revision (times as long)",
    .seconds, results.spread(of: 0),
    against: [
      Comparison(
        peer: results.names[1], figure: results.spread(of: 1), ratio: results.speed(of: 1, against: 0),
        wanted: .atMost(2))
    ])
}
