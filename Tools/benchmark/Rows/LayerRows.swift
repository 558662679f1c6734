import CatalogModel
import Foundation

/// The cost of writing layers, and the time of opening a journal whose process was killed.
func layerRows(_ bench: Workbench) async throws -> [ReportRow] {
  var rows: [ReportRow] = []
  if !bench.rows.isDisjoint(with: [.openingKilled, .openingKilledMemory, .layerBytes]) {
    rows += try await openingKilledRows(bench)
  }
  if bench.rows.contains(.openingBacklog) { rows.append(try await openingBacklogRow(bench)) }
  if bench.rows.contains(.layerWrite) { rows.append(try await layerWriteRow(bench)) }
  return rows
}

// MARK: Opening at the worst moment

/// Opens a journal that was updated until just before the next layer was due and whose process was killed, and a small
/// journal that was closed.
private func openingKilledRows(_ bench: Workbench) async throws -> [ReportRow] {
  let itemCount = bench.isQuick ? 100_000 : 1_000_000
  let url = bench.newPath("killed.journal")
  let small = bench.newPath("closed.journal")
  defer { for url in [url, small] { bench.discard(url) } }
  try KilledJournal(
    itemCount: itemCount, itemsPerEntry: 1_000, updateCount: itemCount * 6 / 10, updatesPerEntry: 100
  )
  .make(at: url, bench)
  let closing = try CatalogJournal.create(at: small)
  try closing.addItems(10_000, perEntry: 1_000, seed: bench.seed)
  closing.waitForLayers()
  try closing.close()

  let opened = try CatalogJournal.open(at: url, mode: .readOnly)
  let statistics = try opened.statistics()
  try opened.close()
  var random = SeededGenerator(seed: bench.seed)
  var memory: [Double] = []
  func open(_ url: URL, _ count: Int) throws -> Double {
    // The time of a new process varies with whatever else is running, so this is the median of several.
    let probes = try (0..<5).map { _ in
      try OpeningProbe.run(on: url, .item(.random(in: 1...count, using: &random)))
    }
    if count == itemCount { memory += probes.map { Double($0.residentByteCount) } }
    return Spread(probes.map(\.seconds)).median
  }
  let race = Race(
    work: "opening after a kill", operations: 1,
    contestants: [
      Contestant(name: "Journal") { _ in try open(url, itemCount) },
      Contestant(name: "10000 items, closed") { _ in try open(small, 10_000) },
    ])
  let results = try await race.run(on: bench)
  let limit = Double(64 << 20)
  let share = Double(statistics.layerByteCount) / Double(statistics.logByteCount)
  return [
    ReportRow(
      .openingKilled,
      "opening and first item of \(itemCount), killed before the next layer: "
        + "\(statistics.replayedEventCount) events replayed over \(statistics.layerCount) layers (times as long)",
      .seconds, results.spread(of: 0),
      against: [
        Comparison(
          peer: results.names[1], figure: results.spread(of: 1), ratio: results.speed(of: 1, against: 0),
          wanted: .atMost(3))
      ]),
    ReportRow(
      .openingKilledMemory, "highest resident memory of that process", .bytes, Spread(memory),
      against: [
        Comparison(
          peer: "64 MiB", figure: Spread([limit]), ratio: Spread(memory.map { $0 / limit }),
          wanted: .atMost(1))
      ]),
    ReportRow(
      .layerBytes, "bytes of all its layers, written \(oneDigit(statistics.writeAmplification)) times",
      .bytes, Spread([Double(statistics.layerByteCount)]),
      against: [
        Comparison(
          peer: "bytes of its log", figure: Spread([Double(statistics.logByteCount)]), ratio: Spread([share]),
          wanted: .atMost(1))
      ]),
  ]
}

private func oneDigit(_ number: Double) -> String { String(format: "%.1f", number) }

/// Opens journals whose process was killed while commits waited for layers: one during an import, the other during
/// updates. Opening never has more to replay.
private func openingBacklogRow(_ bench: Workbench) async throws -> ReportRow {
  let itemCount = bench.isQuick ? 100_000 : 1_000_000
  let policy = LayerPolicy.automatic
  let additionCount = policy.backlogCount * policy.additionsPerEvent
  let updateCount = policy.backlogCount
  var journals: [URL] = []
  defer { for url in journals { bench.discard(url) } }
  for isImport in [true, false] {
    let url = bench.newPath("backlog.journal")
    journals.append(url)
    bench.progress.show("writing a journal of \(itemCount) items")
    let before = try CatalogJournal.create(at: url)
    try before.addItems(itemCount, perEntry: 1_000, seed: bench.seed)
    before.waitForLayers()
    try before.close()
    let writing = try CatalogJournal.open(at: url, options: JournalOptions(layers: .manual))
    if isImport {
      try writing.addItems(additionCount, perEntry: 1_000, seed: bench.seed &+ 1)
    } else {
      var random = SeededGenerator(seed: bench.seed)
      try writing.fill(updateCount / 100) { draft, entry in
        for turn in 0..<100 {
          let item = Catalog.Item.ID(.random(in: 1...itemCount, using: &random))
          try draft.updateItem(item, set: ["count": .integer(Int64(2_000_000 + entry * 100 + turn))])
        }
      }
    }
    try writing.close()
  }
  var random = SeededGenerator(seed: bench.seed)
  func open(_ url: URL) throws -> Double {
    let probes = try (0..<3).map { _ in
      try OpeningProbe.run(on: url, .item(.random(in: 1...itemCount, using: &random)))
    }
    return Spread(probes.map(\.seconds)).median
  }
  let race = Race(
    work: "opening with a full backlog", operations: 1,
    contestants: [
      Contestant(name: "\(additionCount) additions") { _ in try open(journals[0]) },
      Contestant(name: "\(updateCount) updates") { _ in try open(journals[1]) },
    ])
  let results = try await race.run(on: bench)
  return ReportRow(
    .openingBacklog,
    "opening and first item of \(itemCount), killed with \(additionCount) additions in no layer (times as long)",
    .seconds, results.spread(of: 0),
    against: [
      Comparison(
        peer: results.names[1], figure: results.spread(of: 1), ratio: results.speed(of: 1, against: 0))
    ])
}

// MARK: Writing a layer

/// Writes a layer of 10,000 updates over many items and over few items.
private func layerWriteRow(_ bench: Workbench) async throws -> ReportRow {
  let sizes = [bench.isQuick ? 100_000 : 1_000_000, 10_000]
  let changeCount = 10_000
  let journals = try sizes.map { size in
    let url = bench.newPath("layer.journal")
    bench.progress.show("writing a journal of \(size) items")
    let writing = try CatalogJournal.create(at: url, options: JournalOptions(layers: .manual))
    try writing.addItems(size, perEntry: 1_000, seed: bench.seed)
    try writing.takeSnapshot()
    try writing.close()
    var policy = LayerPolicy.automatic
    policy.eventCount = changeCount
    // So that no layers are merged.
    policy.fanout = 1_000
    policy.logShare = 1_000
    return (size, url, try CatalogJournal.open(at: url, options: JournalOptions(layers: policy)))
  }
  defer {
    for (_, url, journal) in journals {
      try? journal.close()
      bench.discard(url)
    }
  }
  var turn = 0
  let race = Race(
    work: "writing a layer", operations: 1,
    contestants: journals.map { size, _, journal in
      Contestant(name: "over \(size) items") { _ in
        func update(_ draft: inout Draft<Catalog>) throws {
          turn += 1
          // No item occurs twice in an entry, because its two updates would be one event.
          let item = turn * 7_919 % size + 1
          try draft.updateItem(EntityID(item), set: ["count": .integer(Int64(1_000_000 + turn))])
        }
        try journal.fill(changeCount / 100 - 1) { draft, _ in for _ in 0..<100 { try update(&draft) } }
        let before = try journal.statistics().newestCheckpoint
        let seconds = try timed {
          // These updates make the layer due.
          try journal.fill(1) { draft, _ in for _ in 0..<100 { try update(&draft) } }
          journal.waitForLayers()
        }
        guard try journal.statistics().newestCheckpoint > before else {
          throw PeerFailure(description: "No layer was written.")
        }
        return seconds
      }
    })
  let results = try await race.run(on: bench)
  return ReportRow(
    .layerWrite, "writing a layer of \(changeCount) updates over \(sizes[0]) items (times as long)", .seconds,
    results.spread(of: 0),
    against: [
      Comparison(
        peer: results.names[1], figure: results.spread(of: 1),
        ratio: results.speed(of: 1, against: 0), wanted: .atMost(2))
    ])
}
