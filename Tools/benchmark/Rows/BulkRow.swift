import CatalogModel
import Foundation

/// Entries of many events, as an import writes them: in a pipeline, and for comparison so that each commit waits for its
/// flush.
///
/// The thread that writes layers works longer on a short import than the import takes. A long one includes most of its
/// work.
func bulkRows(_ bench: Workbench) async throws -> [ReportRow] {
  var rows: [ReportRow] = []
  if bench.rows.contains(.bulk) {
    rows += try await bulkRows(bench, .bulk, entries: bench.isQuick ? 60 : 300)
  }
  if bench.rows.contains(.bulkLong) {
    rows += try await bulkRows(bench, .bulkLong, entries: bench.isQuick ? 300 : 1_000)
  }
  return rows
}

private func bulkRows(_ bench: Workbench, _ name: RowName, entries: Int) async throws -> [ReportRow] {
  let eventsPerEntry = 1_000
  var runs: UInt64 = 0
  var latest: WrittenEntries?

  func journal(_ events: Int, _ layers: LayerPolicy, inPipeline: Bool) throws -> Double {
    let url = bench.newPath("bulk.journal")
    defer { bench.discard(url) }
    let journal = try CatalogJournal.create(at: url, options: JournalOptions(layers: layers))
    runs += 1
    let items = SampleData.attributes(count: events, seed: bench.seed &+ runs &* 0x2_0001)
    @Sendable func add(_ start: Int, to draft: inout Draft<Catalog>) throws {
      for index in start..<start + eventsPerEntry {
        _ = try draft.addItem(kind: SampleData.kind, attributes: items[index])
      }
    }
    let starts = stride(from: 0, to: events, by: eventsPerEntry)
    let seconds = try timedThreads(1) { _ in
      if inPipeline {
        try journal.withPipeline { pipeline in
          for start in starts { try pipeline.commit { try add(start, to: &$0) } }
        }
      } else {
        for start in starts { try journal.commit { try add(start, to: &$0) } }
      }
    }
    try journal.close()
    latest = try WrittenEntries(ofJournalAt: url)
    return seconds
  }
  func levelDB(pieces: Int) throws -> Double {
    guard let latest else { throw PeerFailure(description: "A peer ran before the journal had.") }
    return try bench.inNewFolder {
      try LevelDBPeer.writeBatches(latest, count: latest.count, pieces: pieces, in: $0)
    }
  }

  let race = Race(
    work: "bulk", operations: entries * eventsPerEntry,
    contestants: [
      Contestant(name: "Journal, in a pipeline") { try journal($0, .automatic, inPipeline: true) },
      Contestant(name: "Journal, a flush awaited by each commit") {
        try journal($0, .automatic, inPipeline: false)
      },
      Contestant(name: "LevelDB batch, sync, a key an entry") { _ in try levelDB(pieces: 1) },
      Contestant(name: "LevelDB batch, sync, a key an event") { _ in try levelDB(pieces: eventsPerEntry) },
      Contestant(name: "Journal, in a pipeline, without layers") {
        try journal($0, .manual, inPipeline: true)
      },
    ])
  let results = try await race.run(on: bench)
  let size = (latest?.averageByteCount ?? 0) / 1_000
  let work = "1,000 events an entry of \(size) kB, \(entries) entries"
  return [
    ReportRow(
      name, work, unit: "events", of: results,
      against: [(2, nil), (3, name == .bulk ? .atLeast(0.8) : nil), (4, nil)]),
    ReportRow(
      name, "\(work), a flush awaited by each", unit: "events", of: results, ours: 1, against: [(3, nil)]),
  ]
}
