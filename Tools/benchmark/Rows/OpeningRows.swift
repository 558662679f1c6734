import CatalogModel
import Foundation

/// The time and memory until an app that starts has its first item.
func openingRows(_ bench: Workbench) async throws -> [ReportRow] {
  var rows: [ReportRow] = []
  if !bench.rows.isDisjoint(with: [.opening, .openingMemory]) { rows += try await openingRow(bench) }
  if bench.rows.contains(.startUp) { rows += try await startUpRows(bench) }
  return rows
}

/// Opening with a snapshot of the newest revision, at three sizes, each time in a separate process.
private func openingRow(_ bench: Workbench) async throws -> [ReportRow] {
  let sizes = bench.isQuick ? [100_000, 10_000] : [1_000_000, 100_000, 10_000]
  let journals = try sizes.map { size in
    let url = bench.newPath("opening.journal")
    bench.progress.show("writing a journal of \(size) items")
    let journal = try CatalogJournal.create(at: url, options: JournalOptions(layers: .manual))
    try journal.addItems(size, perEntry: 1_000, seed: bench.seed)
    try journal.takeSnapshot()
    try journal.close()
    return url
  }
  defer { for url in journals { bench.discard(url) } }

  var random = SeededGenerator(seed: bench.seed)
  var memory: [Double] = []
  let race = Race(
    work: "opening", operations: 1,
    contestants: zip(sizes, journals).map { size, url in
      Contestant(name: "\(size) items") { _ in
        // The time of a new process varies with whatever else is running, so this is the median of several.
        let probes = try (0..<5).map { _ in
          try OpeningProbe.run(on: url, .item(.random(in: 1...size, using: &random)))
        }
        if size == sizes[0] { memory += probes.map { Double($0.residentByteCount) } }
        return Spread(probes.map(\.seconds)).median
      }
    })
  let results = try await race.run(on: bench)
  let comparisons = sizes.indices.dropFirst().map { index in
    Comparison(
      peer: results.names[index], figure: results.spread(of: index),
      ratio: results.speed(of: index, against: 0),
      wanted: sizes[index] == 10_000 ? .atMost(2) : nil)
  }
  let limit = Double(64 << 20)
  let allowance = Comparison(
    peer: "64 MiB", figure: Spread([limit]), ratio: Spread(memory.map { $0 / limit }), wanted: .atMost(1))
  return [
    ReportRow(
      .opening, "opening and first item of \(sizes[0]) (times as long)", .seconds, results.spread(of: 0),
      against: comparisons),
    ReportRow(
      .openingMemory, "highest resident memory of that process", .bytes, Spread(memory), against: [allowance]),
  ]
}

/// Opening journals of growing sizes after a kill at the worst moment, and by a replay of the whole log.
private func startUpRows(_ bench: Workbench) async throws -> [ReportRow] {
  var sizes = bench.isQuick ? [10_000, 30_000, 100_000] : [10_000, 30_000, 100_000, 300_000, 1_000_000]
  if bench.isLarge { sizes += [3_000_000, 10_000_000] }
  var rows: [ReportRow] = []
  for size in sizes { rows.append(try await startUpRow(bench, entries: size)) }
  return rows
}

private func startUpRow(_ bench: Workbench, entries: Int) async throws -> ReportRow {
  let url = bench.newPath("start-up.journal")
  defer { bench.discard(url) }
  let itemCount = entries / 2
  try KilledJournal(
    itemCount: itemCount, itemsPerEntry: 1, updateCount: entries - itemCount, updatesPerEntry: 1
  )
  .make(at: url, bench)
  let snapshots = url.appending(path: "snapshots")
  let away = url.deletingLastPathComponent().appending(path: "away")

  func replayedCount() throws -> Int {
    let journal = try CatalogJournal.open(at: url, mode: .readOnly)
    defer { try? journal.close() }
    return try journal.statistics().replayedEventCount
  }
  func withoutLayers<Value>(_ body: () throws -> Value) throws -> Value {
    try FileManager.default.moveItem(at: snapshots, to: away)
    defer { try? FileManager.default.moveItem(at: away, to: snapshots) }
    return try body()
  }
  let replayed = try replayedCount()
  guard try withoutLayers(replayedCount) >= entries else {
    throw PeerFailure(description: "The journal did not open as it should.")
  }

  var random = SeededGenerator(seed: bench.seed)
  func open() throws -> Double {
    try OpeningProbe.run(on: url, .item(.random(in: 1...itemCount, using: &random))).seconds
  }
  let race = Race(
    work: "start-up", operations: 1, roundLimit: entries > 1_000_000 ? 3 : 5,
    contestants: [
      Contestant(name: "Journal") { _ in
        // The time of a new process varies with whatever else is running, so this is the median of several.
        Spread(try (0..<5).map { _ in try open() }).median
      },
      Contestant(name: "replay") { _ in try withoutLayers(open) },
    ])
  let results = try await race.run(on: bench)
  let comparison = Comparison(
    peer: "without layers", figure: results.spread(of: 1), ratio: results.speed(of: 0, against: 1))
  return ReportRow(
    .startUp,
    "opening of \(entries) entries and an item, half of them updates, killed before the next layer: "
      + "\(replayed) events replayed (times faster)", .seconds, results.spread(of: 0), against: [comparison])
}
