import CatalogModel
import Foundation
import JournalMaintenance

/// Measures a replay of many entries from revision 0, against a LevelDB iterator over the same entries.
func replay(_ bench: Workbench) async throws {
  let entries = bench.largeSize
  try await replay(bench, "\(entries) entries", try bench.journal(entries: entries), entries)
}

/// Measures a replay in which the second half of the entries updates random items of the first half.
func replayOfUpdates(_ bench: Workbench) async throws {
  let entries = bench.largeSize
  var random = SeededGenerator(seed: bench.seed)
  let url = try bench.journal(items: entries / 2, perEntry: 1) { journal in
    try journal.update(entries / 2) { _ in .random(in: 1...entries / 2, using: &random) }
  }
  try await replay(bench, "\(entries) entries, half of them updates", url, entries)
}

private func replay(_ bench: Workbench, _ what: String, _ url: URL, _ entries: Int) async throws {
  let copy = bench.path("entries")
  try FileManager.default.copyItem(at: url.appending(path: "entries"), to: copy)
  let scan = try LevelDBPeer(at: copy, isNew: false)
  // Reopened, because LevelDB still holds the newest entries in memory after writing.
  let journal = try CatalogJournal.open(at: url)
  // Waits for merges that are left from writing and would take a processor.
  journal.waitForLayers()
  var byteCount = 0
  var race = Race(bench, "replay", operations: entries)
  race.add("Journal") { try version(entries) { try journal.version(replayedTo: $0) } }
  race.add("LevelDB iterator, checksums") {
    var count = 0
    byteCount = 0
    let seconds = try timed {
      try unsafe scan.forEachEntry {
        count += 1
        byteCount += $0.count + $1.count
      }
    }
    guard count == entries else { throw PeerFailure("LevelDB sees \(count) entries of \(entries)") }
    return seconds
  }
  try await race.report(
    "replay of \(what), of \(byteCount / entries) B each, from revision 0", .rate("entries"),
    .against(1, atLeast: 0.4))
}

private func version(
  _ revision: Revision, _ work: (RevisionSelector) throws -> Version<Catalog>
) throws -> Double {
  // Kept, so that the measured time does not include releasing the state.
  var version: Version<Catalog>?
  let seconds = try timed { version = try work(.revision(revision)) }
  guard let version, version.revision == revision else { throw PeerFailure("no state of \(revision)") }
  return seconds
}

/// Measures making the state as of a random revision of a long history in which all items are updated in turn, against
/// a full replay. Repeats this after a snapshot was taken and dropped.
func asOf(_ bench: Workbench) async throws {
  let items = bench.isQuick ? 5_000 : 50_000
  let entries = items * 20
  let url = try bench.journal(items: items, perEntry: 1) { journal in
    bench.show("writing a journal of \(entries) entries")
    try journal.update(entries - items) { $0 % items + 1 }
  }
  let copy = bench.path("dropped.journal")
  try FileManager.default.copyItem(at: url, to: copy)
  let journal = try CatalogJournal.open(at: url)
  let dropped = try CatalogJournal.open(at: copy)
  // With this update, the snapshot is between two layers.
  try dropped.update(1) { _ in 1 }
  try dropped.dropSnapshot(at: dropped.takeSnapshot().revision)
  let statistics = try journal.statistics()
  var random = SeededGenerator(seed: bench.seed)
  func pastStates(of journal: CatalogJournal) throws -> Double {
    try (0..<10).reduce(0) { sum, _ in
      let revision = Int.random(in: 1..<entries, using: &random)
      return try sum + version(revision) { try journal.version(asOf: $0) } / 10
    }
  }
  var race = Race(bench, "as of")
  race.add("Journal") { try pastStates(of: journal) }
  race.add("full replay") { try version(entries - 1) { try journal.version(replayedTo: $0) } }
  race.add("after a drop") { try pastStates(of: dropped) }
  let (layers, log) = (statistics.layerByteCount / 1_000_000, statistics.logByteCount / 1_000_000)
  try await race.report(
    "state as of a random revision of \(entries), \(statistics.layerCount) layers of \(layers) MB, a log of \(log) MB",
    .speed, .against(1, atLeast: 100))
  try await race.report(
    "the same after a snapshot was taken and dropped", .speed, ours: 2, .against(0, atLeast: 0.8))
}

/// Measures reading 20 changes of an item at random points of a very long history, against a shorter one.
func historyPart(_ bench: Workbench) async throws {
  // The long history has most of its entries in LevelDB's tables.
  let counts = [bench.isQuick ? 500_000 : 1_000_000, 100_000]
  let (passes, limit) = (200, 20)
  var random = SeededGenerator(seed: bench.seed)
  var race = Race(
    bench, "\(limit) of \(counts[0]) changes of an item, as of a random revision", operations: passes)
  for count in counts {
    let url = try bench.journal(items: 1) { journal in
      bench.show("writing \(count) changes of one item")
      try journal.update(count) { _ in 1 }
    }
    let journal = try CatalogJournal.open(at: url)
    race.add("of \(count) changes") {
      let points = (0..<passes).map { _ in Int.random(in: limit...count, using: &random) }
      var found = 0
      let seconds = try timed {
        for point in points {
          found += try journal.history(of: .item(1), asOf: .revision(point), limit: limit).count
        }
      }
      guard found == passes * limit else { throw PeerFailure("\(found) changes were found") }
      return seconds
    }
  }
  try await race.report(.duration, .against(1, atMost: 2))
}
