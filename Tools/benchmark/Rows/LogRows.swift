import CatalogModel
import Foundation

/// Replay and history, which read the log. They share a large journal, because writing it takes long.
func logRows(_ bench: Workbench) async throws -> [ReportRow] {
  guard !bench.rows.isDisjoint(with: [.replay, .history]) else { return [] }
  let large = try await SampleLog(bench, entries: bench.isQuick ? 100_000 : 1_000_000)
  defer { large.discard(bench) }
  var rows: [ReportRow] = []
  if bench.rows.contains(.replay) { rows.append(try await replayRow(bench, large)) }
  if bench.rows.contains(.history) { rows.append(try await historyRow(bench, large)) }
  return rows
}

/// A replay from revision 0, against an iteration over the same entries.
private func replayRow(_ bench: Workbench, _ log: SampleLog) async throws -> ReportRow {
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
    .replay, "replay of \(log.entries) entries of \(byteCount / log.entries) B from revision 0",
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
