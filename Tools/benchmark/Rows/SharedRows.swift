import CatalogModel
import Foundation
import PostgresLog

/// Journals whose log is in PostgreSQL, against rows that libpq inserts and copies.
func sharedRows(_ bench: Workbench) async throws -> [ReportRow] {
  guard let address = bench.postgres else { return [] }
  // Each row drops the tables first, so a database that has some already is refused.
  guard try psql("SELECT to_regclass('journal_logs') IS NULL", at: address) == "t" else {
    throw PeerFailure(
      description:
        "The database has tables of journals, which the benchmark would delete. Name an empty database.")
  }
  defer { try? dropTables(at: address) }
  var rows: [ReportRow] = []
  for name in [RowName.shared1, .shared1Async, .shared3, .shared3Async] where bench.rows.contains(name) {
    let nodes = name == .shared1 || name == .shared1Async ? 1 : 3
    let callers = name == .shared1 || name == .shared3 ? "callers" : "tasks"
    let subject = SharedSubject(bench, address, nodes: nodes, asTasks: callers == "tasks")
    let race = Race(
      work: "commits of \(nodes) nodes", operations: bench.isQuick ? 6_400 : 25_600,
      contestants: [
        Contestant(name: "Journal") { try await subject.run($0) },
        Contestant(name: "libpq, the same rows and batches") { try subject.insert($0) },
      ])
    let results = try await race.run(on: bench)
    let who = (nodes == 1 ? "1 node" : "\(nodes) nodes") + " with 64 \(callers) in all"
    rows.append(
      ReportRow(
        name, "durable commits, \(who), \(subject.batch) a batch", unit: "commits", of: results,
        against: [(1, .atLeast(0.7))]))
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
    "DROP TABLE IF EXISTS journal_logs, journal_entries, journal_images, journal_image_pieces, peer_entries",
    at: address)
}

/// Runs SQL and returns the result as text.
@discardableResult
private func psql(_ text: String, at address: String) throws -> String {
  let bytes = try output(of: "psql", ["-XAtq", "-v", "ON_ERROR_STOP=1", "-d", address, "-c", text])
  return String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
}

private func open(_ url: URL) throws -> CatalogJournal {
  try CatalogJournal.open(at: url, options: JournalOptions().sharingThroughPostgres())
}

/// Nodes in a race of commits. The rows of their latest run stay in the database, where the peer finds them.
private final class SharedSubject {
  private let bench: Workbench
  private let address: String
  private let nodes: Int
  private let asTasks: Bool
  /// How many entries an append of the latest run had, on average.
  private(set) var batch = 1

  init(_ bench: Workbench, _ address: String, nodes: Int, asTasks: Bool) {
    (self.bench, self.address, self.nodes, self.asTasks) = (bench, address, nodes, asTasks)
  }

  func run(_ count: Int) async throws -> Double {
    let urls = try makeNodes(nodes, bench, address)
    defer { for url in urls { bench.discard(url) } }
    let journals = try urls.map { try open($0) }
    let items = SampleData.attributes(count: count, seed: bench.seed)
    let seconds =
      if asTasks {
        try await timedTasks(64) { [nodes] caller in
          for index in stride(from: caller, to: count, by: 64) {
            try await journals[caller % nodes].commit {
              try $0.addItem(kind: SampleData.kind, attributes: items[index])
            }
          }
        }
      } else {
        try timedThreads(64) { [nodes] caller in
          for index in stride(from: caller, to: count, by: 64) {
            try journals[caller % nodes].commit {
              try $0.addItem(kind: SampleData.kind, attributes: items[index])
            }
          }
        }
      }
    for journal in journals { try journal.catchUp() }
    guard journals.allSatisfy({ $0.head == journals[0].head && $0.head.revision == count }) else {
      throw PeerFailure(description: "The nodes do not have the same \(count) entries.")
    }
    for journal in journals { try journal.close() }
    return seconds
  }

  func insert(_ count: Int) throws -> Double {
    let (batches, seconds) = try PostgresPeer.insert(at: address)
    batch = count / max(1, batches)
    return seconds
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
