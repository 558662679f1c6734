import CatalogModel
import Foundation
import JournalMaintenance

private final class Openings {
  var memory: [Double] = []
  private let bench: Workbench
  private var random: SeededGenerator

  init(_ bench: Workbench) {
    self.bench = bench
    random = SeededGenerator(seed: bench.seed)
  }

  func item(_ url: URL, of count: Int) throws -> Double {
    try open(url) { ["item", "\(Int.random(in: 1...count, using: &random))"] }
  }

  func prices(_ url: URL) throws -> Double {
    try open(url) { ["prices", "\(Double.random(in: 0...900, using: &random))"] }
  }

  private func open(_ url: URL, _ question: () -> [String]) throws -> Double {
    // The time of a new process varies, so this is the median of five.
    let probes = try (0..<5).map { _ in try OpeningProbe.run(url, question()) }
    memory += probes.map(\.memory)
    return Spread(probes.map(\.seconds)).median
  }

  func reportMemory() { bench.add("peak memory of that process", "B", memory, atMost: Double(64 << 20)) }
}

/// Measures opening a large journal, against a small one. The newest revision of both is in a layer.
func opening(_ bench: Workbench) async throws {
  let openings = Openings(bench)
  var race = Race(bench, "opening and first item of \(bench.largeSize)")
  for size in bench.sizes {
    let url = try bench.journal(items: size, .manual) { try $0.takeSnapshot() }
    race.add("\(size) items") { try openings.item(url, of: size) }
  }
  try await race.report(.duration, .against(1, atMost: 2))
  openings.reportMemory()
}

/// Measures opening a journal and a first query by an index, which is read from the layers.
func openingOfIndex(_ bench: Workbench) async throws {
  let openings = Openings(bench)
  var race = Race(bench, "opening and first 20 of \(bench.largeSize) in order, by an index")
  for size in bench.sizes {
    let url = try bench.journal(items: size, isIndexed: true)
    race.add("\(size) items") { try openings.prices(url) }
  }
  try await race.report(.duration, .against(1, atMost: 3))
}

/// Makes a journal whose process was killed just before a layer was due, the worst moment for the next opening.
private func killedJournal(
  _ bench: Workbench, items: Int, perEntry: Int, updates: Int, updatesPerEntry: Int
) throws -> URL {
  let (writing, journal) = try bench.openJournal(items: items, perEntry: perEntry)
  bench.show("writing \(updates) updates of \(items) items")
  var random = SeededGenerator(seed: bench.seed)
  func update(_ count: Int, perEntry: Int = 1) throws {
    try journal.update(count, perEntry: perEntry) { _ in .random(in: 1...items, using: &random) }
  }
  try update(updates, perEntry: updatesPerEntry)
  // Writes until a layer was just written, and then until just before the next one is due.
  journal.waitForLayers()
  let known = try journal.statistics().newestCheckpoint
  while try journal.statistics().newestCheckpoint == known {
    try update(16)
    journal.waitForLayers()
  }
  let since = try journal.head.revision - journal.statistics().newestCheckpoint
  try update(LayerPolicy.automatic.eventCount - since - 1)
  // A killed process would leave the files as they are now.
  let url = bench.path("killed.journal")
  try FileManager.default.copyItem(at: writing, to: url)
  try journal.close()
  return url
}

private func statistics(_ url: URL) throws -> JournalStatistics {
  let journal = try CatalogJournal.open(at: url, mode: .readOnly)
  defer { try? journal.close() }
  return try journal.statistics()
}

/// Measures opening the journal of a killed process, against a small one that was closed.
func openingAfterKill(_ bench: Workbench) async throws {
  let items = bench.largeSize
  let url = try killedJournal(
    bench, items: items, perEntry: 1_000, updates: items * 6 / 10, updatesPerEntry: 100)
  let small = try bench.journal(items: 10_000)
  let found = try statistics(url)
  let (openings, others) = (Openings(bench), Openings(bench))
  var race = Race(bench, "opening after a kill")
  race.add("Journal") { try openings.item(url, of: items) }
  race.add("10000 items, closed") { try others.item(small, of: 10_000) }
  try await race.report(
    "opening and first item of \(items), killed before the next layer: "
      + "\(found.replayedEventCount) events replayed over \(found.layerCount) layers", .duration,
    .against(1, atMost: 3))
  openings.reportMemory()
  let times = String(format: "%.1f", found.writeAmplification)
  bench.add(
    "bytes of all its layers, written \(times) times, against its log", "B", [Double(found.layerByteCount)],
    atMost: Double(found.logByteCount))
}

/// Measures opening journals whose process was killed while commits waited for layers, in an import and in updates. No
/// opening has more to replay.
func openingWithBacklog(_ bench: Workbench) async throws {
  let items = bench.largeSize
  let updates = LayerPolicy.automatic.backlogCount
  let additions = updates * LayerPolicy.automatic.additionsPerEvent
  let openings = Openings(bench)
  var race = Race(bench, "opening with a full backlog")
  for isImport in [true, false] {
    let url = try bench.journal(items: items)
    let writing = try CatalogJournal.open(at: url, options: JournalOptions(layers: .manual))
    var random = SeededGenerator(seed: bench.seed)
    if isImport {
      try writing.addItems(additions, perEntry: 1_000, seed: bench.seed &+ 1)
    } else {
      try writing.update(updates, perEntry: 100) { _ in .random(in: 1...items, using: &random) }
    }
    try writing.close()
    race.add(isImport ? "\(additions) additions" : "\(updates) updates") { try openings.item(url, of: items) }
  }
  try await race.report(
    "opening and first item of \(items), killed with \(additions) additions in no layer", .duration,
    .against(1))
}

/// Measures opening the journals of killed processes, of growing sizes, with their layers and without.
func startUp(_ bench: Workbench) async throws {
  var sizes = bench.isQuick ? [10_000, 30_000, 100_000] : [10_000, 30_000, 100_000, 300_000, 1_000_000]
  if bench.isLarge { sizes += [3_000_000, 10_000_000] }
  for entries in sizes {
    let url = try killedJournal(
      bench, items: entries / 2, perEntry: 1, updates: entries - entries / 2, updatesPerEntry: 1)
    let replayed = try statistics(url).replayedEventCount
    let bare = bench.path("bare.journal")
    try FileManager.default.copyItem(at: url, to: bare)
    try FileManager.default.removeItem(at: bare.appending(path: "snapshots"))
    guard try statistics(bare).replayedEventCount >= entries else {
      throw PeerFailure("the journal without layers did not open as it should")
    }
    let openings = Openings(bench)
    var race = Race(bench, "start-up", rounds: entries > 1_000_000 ? 3 : 5)
    race.add("Journal") { try openings.item(url, of: entries / 2) }
    race.add("without layers") {
      try OpeningProbe.run(bare, ["item", "\(Int.random(in: 1...entries / 2))"]).seconds
    }
    try await race.report(
      "opening of \(entries) entries and an item, half of them updates, killed before the next layer: "
        + "\(replayed) events replayed", .speed, .against(1))
    for url in [url, bare] { try FileManager.default.removeItem(at: url) }
  }
}

/// Measures writing a layer of 10,000 updates over many items, against one over few.
func layerWrite(_ bench: Workbench) async throws {
  let count = 10_000
  var policy = LayerPolicy.automatic
  policy.eventCount = count
  // With these settings, no layers are merged.
  policy.fanout = 1_000
  policy.logShare = 1_000
  var race = Race(bench, "writing a layer of \(count) updates over \(bench.largeSize) items")
  for size in bench.sizes {
    let url = try bench.journal(items: size, .manual) { try $0.takeSnapshot() }
    let journal = try CatalogJournal.open(at: url, options: JournalOptions(layers: policy))
    var turn = 0
    func update(_ count: Int) throws {
      // The updates of an entry are of different items: two updates of one item would be one event.
      try journal.update(count, perEntry: 100) { index in (turn + index) * 7_919 % size + 1 }
      turn += count
    }
    race.add("over \(size) items") {
      try update(count - 100)
      let before = try journal.statistics().newestCheckpoint
      let seconds = try timed {
        // A layer is due after these 100 updates.
        try update(100)
        journal.waitForLayers()
      }
      guard try journal.statistics().newestCheckpoint > before else {
        throw PeerFailure("no layer was written")
      }
      return seconds
    }
  }
  try await race.report(.duration, .against(1, atMost: 2))
}
