import CatalogModel
import Foundation

/// Entries of many events, as an import writes them.
///
/// The thread that writes layers works longer on a short import than the import takes. A long one includes most of its
/// work.
func bulkRows(_ bench: Workbench) async throws -> [ReportRow] {
  var rows: [ReportRow] = []
  if bench.rows.contains(.bulk) {
    rows.append(try await bulkRow(bench, .bulk, entries: bench.isQuick ? 60 : 300))
  }
  if bench.rows.contains(.bulkLong) {
    rows.append(try await bulkRow(bench, .bulkLong, entries: bench.isQuick ? 300 : 1_000))
  }
  return rows
}

private func bulkRow(_ bench: Workbench, _ name: RowName, entries: Int) async throws -> ReportRow {
  let eventsPerEntry = 1_000
  var runs: UInt64 = 0
  var latest: WrittenEntries?

  func journal(_ events: Int, _ snapshots: SnapshotPolicy) throws -> Double {
    let url = bench.newPath("bulk.journal")
    defer { bench.discard(url) }
    let journal = try CatalogJournal.create(at: url, options: JournalOptions(snapshots: snapshots))
    runs += 1
    let items = SampleData.attributes(count: events, seed: bench.seed &+ runs &* 0x2_0001)
    let seconds = try timedThreads(1) { _ in
      for start in stride(from: 0, to: events, by: eventsPerEntry) {
        try journal.commit { draft in
          for index in start..<start + eventsPerEntry {
            _ = try draft.addItem(kind: SampleData.kind, attributes: items[index])
          }
        }
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
      Contestant(name: "Journal") { try journal($0, .automatic) },
      Contestant(name: "LevelDB batch, sync, a key an entry") { _ in try levelDB(pieces: 1) },
      Contestant(name: "LevelDB batch, sync, a key an event") { _ in try levelDB(pieces: eventsPerEntry) },
      Contestant(name: "Journal without snapshots") { try journal($0, .manual) },
    ])
  let results = try await race.run(on: bench)
  let size = (latest?.averageByteCount ?? 0) / 1_000
  return ReportRow(
    name, "1,000 events an entry of \(size) kB, \(entries) entries", unit: "events", of: results,
    against: [(1, nil), (2, name == .bulk ? .atLeast(0.8) : nil), (3, nil)])
}
