import CatalogModel
import Foundation
import PostgresLog

/// Journals whose log is in PostgreSQL, against rows that libpq inserts and copies.
func sharedRows(_ bench: Workbench) async throws -> [ReportRow] {
  guard let address = bench.postgres else { return [] }
  // Each row begins with empty tables, so none may be there that are somebody's.
  guard try psql("SELECT to_regclass('journal_logs') IS NULL", at: address) == "t" else {
    throw PeerFailure(
      description:
        "The database has tables of journals, which the benchmark would delete. Name an empty database.")
  }
  defer { try? dropTables(at: address) }
  var rows: [ReportRow] = []
  for (name, nodes) in [(RowName.shared1, 1), (.shared3, 3)] where bench.rows.contains(name) {
    let subject = SharedSubject(bench, address, nodes: nodes)
    let race = Race(
      work: "commits of \(nodes) nodes", operations: bench.isQuick ? 6_400 : 25_600,
      contestants: [
        Contestant(name: "Journal") { try subject.run($0) },
        Contestant(name: "libpq, the same rows and batches") { try subject.insert($0) },
      ])
    let results = try await race.run(on: bench)
    rows.append(
      ReportRow(
        name, "durable commits, \(nodes) nodes with 64 callers in all, \(subject.batch) a batch",
        unit: "commits",
        of: results, against: [(1, .atLeast(0.7))]))
  }
  if bench.rows.contains(.sharedJoin) { rows.append(try await sharedJoinRow(bench, address)) }
  if bench.rows.contains(.sharedFollow) { rows.append(try await sharedFollowRow(bench, address)) }
  return rows
}

/// Makes a journal with this many nodes. It is the only journal in the database.
private func makeNodes(_ count: Int, _ bench: Workbench, _ address: String, items: Int = 0) throws -> [URL] {
  try dropTables(at: address)
  let urls = (0..<count).map { bench.newPath("node\($0).journal") }
  let journal = try CatalogJournal.create(at: urls[0])
  if items > 0 { try journal.addItems(items, perEntry: 1, seed: bench.seed) }
  let id = journal.id
  try journal.close()
  try CatalogJournal.share(at: urls[0], on: address)
  for url in urls.dropFirst() { try CatalogJournal.join(address, id: id, at: url) }
  return urls
}

private func dropTables(at address: String) throws {
  try psql(
    "DROP TABLE IF EXISTS journal_logs, journal_entries, journal_images, journal_image_pieces", at: address)
}

/// Runs SQL and returns the result as text.
@discardableResult
private func psql(_ text: String, at address: String) throws -> String {
  let process = Process()
  process.executableURL = URL(filePath: "/usr/bin/env")
  process.arguments = ["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", address, "-c", text]
  let output = Pipe()
  process.standardOutput = output
  // Notices about missing tables go there.
  process.standardError = FileHandle.nullDevice
  try process.run()
  let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
  process.waitUntilExit()
  guard process.terminationStatus == 0 else { throw PeerFailure(description: "psql failed: \(text)") }
  return String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
}

private func open(_ url: URL) throws -> CatalogJournal {
  try CatalogJournal.open(at: url, options: JournalOptions().sharingThroughPostgres())
}

/// Nodes in a race of commits, and what they wrote when they last ran.
private final class SharedSubject {
  private let bench: Workbench
  private let address: String
  private let nodes: Int
  private var latest: WrittenEntries?
  /// How many entries an append of the latest run had, on the average.
  private(set) var batch = 1

  init(_ bench: Workbench, _ address: String, nodes: Int) {
    (self.bench, self.address, self.nodes) = (bench, address, nodes)
  }

  func run(_ count: Int) throws -> Double {
    let urls = try makeNodes(nodes, bench, address)
    defer { for url in urls { bench.discard(url) } }
    let journals = try urls.map { try open($0) }
    let items = SampleData.attributes(count: count, seed: bench.seed)
    let before = try appendCount()
    let seconds = try timedThreads(64) { [nodes] caller in
      for index in stride(from: caller, to: count, by: 64) {
        try journals[caller % nodes].commit {
          try $0.addItem(kind: SampleData.kind, attributes: items[index])
        }
      }
    }
    for journal in journals { try journal.catchUp() }
    guard journals.allSatisfy({ $0.head == journals[0].head && $0.head.revision == count }) else {
      throw PeerFailure(description: "The nodes do not have the same \(count) entries.")
    }
    for journal in journals { try journal.close() }
    batch = max(1, count / max(1, try appendCount() - before))
    latest = try WrittenEntries(ofJournalAt: urls[0])
    return seconds
  }

  /// How many batches the server has taken so far.
  private func appendCount() throws -> Int {
    // A session tells the others what it has counted when it ends, or after a second.
    Thread.sleep(forTimeInterval: 1.2)
    return Int(
      try psql(
        "SELECT coalesce(sum(n_tup_upd), 0) FROM pg_stat_user_tables WHERE relname = 'journal_logs'",
        at: address)
    ) ?? 0
  }

  func insert(_ count: Int) throws -> Double {
    guard let latest else { throw PeerFailure(description: "A peer ran before the journal had.") }
    return try PostgresPeer.insert(latest, count: count, batch: batch, at: address)
  }
}

private func sharedJoinRow(_ bench: Workbench, _ address: String) async throws -> ReportRow {
  let count = bench.isQuick ? 100_000 : 1_000_000
  let urls = try makeNodes(1, bench, address, items: count)
  defer { bench.discard(urls[0]) }
  let id = try CatalogJournal.open(at: urls[0], mode: .readOnly).id
  let race = Race(
    work: "joining", operations: count,
    contestants: [
      Contestant(name: "Journal") { _ in
        let url = bench.newPath("joined.journal")
        defer { bench.discard(url) }
        return try timed { try CatalogJournal.join(address, id: id, at: url) }
      },
      Contestant(name: "COPY TO, binary") { _ in try PostgresPeer.copy(at: address) },
    ])
  let results = try await race.run(on: bench)
  return ReportRow(
    .sharedJoin, "joining, \(count) entries", unit: "entries", of: results, against: [(1, .atLeast(0.5))])
}

private func sharedFollowRow(_ bench: Workbench, _ address: String) async throws -> ReportRow {
  let urls = try makeNodes(2, bench, address)
  defer { for url in urls { bench.discard(url) } }
  let (one, other) = (try open(urls[0]), try open(urls[1]))
  let count = bench.isQuick ? 200 : 1_000
  var tails: [Double] = []
  var random = SeededGenerator(seed: bench.seed)
  for _ in 1...bench.rounds {
    var delays: [Double] = []
    for _ in 0..<count {
      let attributes = SampleData.attributes(&random)
      try await Task.sleep(for: .microseconds(Int.random(in: 1_000...20_000, using: &random)))
      let revision = try await one.commit { try $0.addItem(kind: SampleData.kind, attributes: attributes) }
        .revision
      delays.append(timed { while other.head.revision < revision { usleep(100) } })
    }
    tails.append(delays.sorted()[count * 99 / 100])
  }
  try one.close()
  try other.close()
  let limit = 0.05
  return ReportRow(
    .sharedFollow, "until another node sees an acknowledged entry, 99th percentile of \(count)", .seconds,
    Spread(tails),
    against: [
      Comparison(
        peer: "50 ms", figure: Spread([limit]), ratio: Spread(tails.map { $0 / limit }), wanted: .atMost(1))
    ])
}
