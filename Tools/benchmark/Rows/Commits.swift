import CatalogModel
import Foundation

/// Measures durable commits of one event. A call returns after its entry is flushed; in a pipeline, after its body ran.
func commits(_ bench: Workbench, callers: Int) async throws {
  // A peer without group commit flushes for each operation, so the number of operations depends on the time of a flush.
  // With at least 16 operations a caller, groups form; with some ten thousand in all, layers are merged.
  let most = bench.isQuick ? 2_048 : callers == 64 ? 102_400 : 6_400
  let count = bench.operations(
    lasting: bench.isQuick ? 0.15 : callers == 64 ? 12 : 0.4, in: max(64, 16 * callers)...most)
  var runs: UInt64 = 0
  var latest: WrittenEntries?

  func journal(_ callers: Callers, _ count: Int) async throws -> Double {
    runs += 1
    let items = Sample.attributes(count: count, seed: bench.seed &+ runs &* 0x1_0001)
    return try await bench.temporary { url in
      let journal = try CatalogJournal.create(at: url)
      let seconds = try await commit(callers, to: [journal], count: count) { try $0.addSample(items[$1]) }
      try journal.close()
      // Released first, because the entries of two runs would take too much memory.
      latest = nil
      latest = try WrittenEntries(ofJournalAt: url)
      guard latest?.all.count == count else { throw PeerFailure("the journal lacks commits") }
      return seconds
    }
  }
  func entries() throws -> WrittenEntries {
    guard let latest else { throw PeerFailure("a peer ran before the journal had") }
    return latest
  }
  func sqlite(_ count: Int, connections: Int) async throws -> Double {
    try await bench.temporary {
      try entries().insert(count, at: $0, callers: callers, connections: connections)
    }
  }

  // Of the two ways to use SQLite, the faster one is raced. With a connection each, callers can wait for one another so
  // long that a race takes minutes.
  var (connections, how) = (1, "")
  if callers > 1 {
    bench.show("trying the two ways in which \(callers) callers can use SQLite")
    let few = 4 * callers
    _ = try await journal(.threads(callers), few)
    let one = try await sqlite(few, connections: 1)
    let isShared = try await one <= sqlite(few, connections: callers)
    (connections, how) = isShared ? (1, ", one connection") : (callers, ", a connection each")
  }

  let isOne = callers == 1
  let who = isOne ? "1 caller" : "\(callers) callers"
  var race = Race(bench, "durable commits, \(who)", operations: count)
  race.add("Journal") { try await journal(.threads(callers), count) }
  race.add("LevelDB Put, sync") { try await bench.temporary { try entries().put(at: $0, callers: callers) } }
  race.add("SQLite, WAL, FULL\(how)") { [connections] in try await sqlite(count, connections: connections) }
  race.add(isOne ? "Journal, in a pipeline" : "Journal, tasks") {
    try await journal(isOne ? .pipeline : .tasks(callers), count)
  }
  func size() throws -> String { "an event of \(try entries().averageByteCount) B" }
  try await race.report(
    "durable commits, \(who), \(try size())", .rate("commits"), .against(1, atLeast: isOne ? 0.95 : nil),
    .against(2, atLeast: isOne ? nil : 10))
  try await race.report(
    "durable commits, \(isOne ? "1 caller in a pipeline" : "\(callers) tasks"), \(try size())",
    .rate("commits"),
    ours: 3, .against(1), .against(2, atLeast: isOne ? nil : 20))
}

/// Measures durable commits of 64 tasks into a journal of many items that was just opened, so that hardly any page of
/// its layers is in memory.
func commitsAfterOpening(_ bench: Workbench) async throws {
  let sizes = bench.sizes
  let urls = try sizes.map { try bench.journal(items: $0) }
  let count = bench.isQuick ? 2_048 : 25_600
  var random = SeededGenerator(seed: bench.seed)

  func reopened(
    _ url: URL, _ body: @escaping @Sendable (inout Draft<Catalog>, Int) throws -> Void
  ) async throws -> Double {
    let journal = try CatalogJournal.open(at: url)
    let seconds = try await commit(.tasks(64), to: [journal], count: count, body)
    // Waits for the merges of this round, which must not run in the next one.
    journal.waitForLayers()
    try journal.close()
    return seconds
  }
  func adding(_ url: URL) async throws -> Double {
    let items = Sample.attributes(count: count, seed: random.next())
    return try await reopened(url) { try $0.addSample(items[$1]) }
  }
  func updating(_ url: URL, of size: Int) async throws -> Double {
    let items = (0..<count).map { _ in Int.random(in: 1...size, using: &random) }
    let start = Int.random(in: 1_000_001...1 << 30, using: &random)
    return try await reopened(url) { try $0.setCount(items[$1], start + $1) }
  }

  var additions = Race(bench, "adding items after opening", operations: count)
  additions.add("Journal") { try await adding(urls[0]) }
  additions.add("\(sizes[1]) items") { try await adding(urls[1]) }
  try await additions.report(
    "durable commits, 64 tasks, an item added to \(sizes[0]), just opened", .rate("commits"), .against(1))

  bench.show("writing a table of \(sizes[0]) items")
  let samples = (1...sizes[0]).lazy.map { id in (id: id, sample: Sample(&random)) }
  let table = try SQLiteItems(samples, at: bench.path("items.sqlite"))
  var updates = Race(bench, "updating random items after opening", operations: count)
  updates.add("Journal") { try await updating(urls[0], of: sizes[0]) }
  updates.add("\(sizes[1]) items") { try await updating(urls[1], of: sizes[1]) }
  updates.add("SQLite, WAL, FULL, one connection") {
    let items = (0..<count).map { _ in Int.random(in: 1...sizes[0], using: &random) }
    return try timedThreads(64, count: count) { try table.update(items[$0], count: 1_000_001 + $0) }
  }
  try await updates.report(
    "durable commits, 64 tasks, an update of a random one of \(sizes[0]), just opened", .rate("commits"),
    .against(1), .against(2))
}

/// Measures the slowest commits while snapshots are written, against those while none is.
func commitTail(_ bench: Workbench) async throws {
  let (_, journal) = try bench.openJournal(items: 200_000, .manual)
  try journal.takeSnapshot()
  // Enough commits that several snapshots are written meanwhile, and that the slowest 1 % are many.
  let count = bench.operations(lasting: bench.isQuick ? 1 : 3, in: 2_000...40_000)
  let items = Sample.attributes(count: count, seed: bench.seed)
  func slowest() throws -> Double {
    let times = try items.map { item in try timed { try journal.commit { try $0.addSample(item) } } }
    return times.sorted()[count * 99 / 100]
  }
  var race = Race(bench, "commits while a snapshot is written")
  race.add("Journal") {
    try journal.takeSnapshot()
    let snapshots = Task.detached { while !Task.isCancelled { try journal.takeSnapshot() } }
    let seconds = try slowest()
    snapshots.cancel()
    try await snapshots.value
    return seconds
  }
  race.add("without") { try slowest() }
  try await race.report(
    "99th percentile of \(count) commits, a snapshot being written", .duration, .against(1, atMost: 1.5))
}

/// Measures commits of 1,000 events, as in an import: in a pipeline, and with a flush for each commit.
///
/// The layers of a short import are mostly written after it. The time of a long import includes most of that work.
func bulk(_ bench: Workbench, entries: Int, wanted: Double? = nil) async throws {
  let perEntry = 1_000
  var runs: UInt64 = 0
  var latest: WrittenEntries?
  func journal(_ callers: Callers) async throws -> Double {
    runs += 1
    let items = Sample.attributes(count: entries * perEntry, seed: bench.seed &+ runs &* 0x2_0001)
    return try await bench.temporary { url in
      let journal = try CatalogJournal.create(at: url)
      let seconds = try await commit(callers, to: [journal], count: entries) { draft, entry in
        for index in entry * perEntry..<(entry + 1) * perEntry { try draft.addSample(items[index]) }
      }
      try journal.close()
      latest = try WrittenEntries(ofJournalAt: url)
      return seconds
    }
  }
  func levelDB() async throws -> Double {
    guard let latest else { throw PeerFailure("a peer ran before the journal had") }
    return try await bench.temporary { url in
      let database = try LevelDBPeer(at: url)
      return try timedThreads(1, count: latest.all.count) {
        try database.write(latest.all[$0], pieces: perEntry)
      }
    }
  }
  var race = Race(bench, "bulk", operations: entries * perEntry)
  race.add("Journal, in a pipeline") { try await journal(.pipeline) }
  race.add("Journal, a flush awaited by each commit") { try await journal(.threads(1)) }
  race.add("LevelDB batch, sync, a key an event") { try await levelDB() }
  func work() -> String {
    "1,000 events an entry of \((latest?.averageByteCount ?? 0) / 1_000) kB, \(entries) entries"
  }
  try await race.report(work(), .rate("events"), .against(2, atLeast: wanted))
  try await race.report("\(work()), a flush awaited by each", .rate("events"), ours: 1, .against(2))
}
