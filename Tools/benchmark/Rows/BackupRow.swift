import CatalogModel
import Foundation

/// The time of updating a backup of a large journal and of a small one, which should depend on the new entries only.
func backupRows(_ bench: Workbench) async throws -> [ReportRow] {
  guard bench.rows.contains(.backup) else { return [] }
  let large = try await SampleLog(bench, entries: bench.isQuick ? 100_000 : 1_000_000)
  defer { large.discard(bench) }
  let small = try await SampleLog(bench, entries: 10_000)
  defer { small.discard(bench) }
  let newCount = 10
  func contestant(_ log: SampleLog) throws -> Contestant {
    let backup = bench.newPath("backup")
    _ = try log.backUp(to: backup, committing: 0)
    return Contestant(name: "in \(log.entries) entries") { _ in
      Spread(try (0..<5).map { _ in try log.backUp(to: backup, committing: newCount) }).median
    }
  }
  let race = Race(
    work: "backup", operations: 1, contestants: [try contestant(large), try contestant(small)])
  let results = try await race.run(on: bench)
  let comparison = Comparison(
    peer: results.names[1], figure: results.spread(of: 1), ratio: results.speed(of: 1, against: 0),
    wanted: .atMost(2))
  return [
    ReportRow(
      .backup, "backing up \(newCount) new entries of a journal with \(large.entries) (times as long)",
      .seconds, results.spread(of: 0), against: [comparison])
  ]
}
