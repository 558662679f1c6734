import CatalogModel
import Foundation
import PostgresLog

/// Measures durable commits of nodes whose log is in PostgreSQL, against libpq with the same rows and batches.
func shared(_ bench: Workbench, nodes: Int) async throws {
  let address = try database(bench)
  let count = bench.isQuick ? 6_400 : 25_600
  let items = Sample.attributes(count: count, seed: bench.seed)
  for (callers, who) in [(Callers.threads(64), "callers"), (.tasks(64), "tasks")] {
    var batches = 1
    var race = Race(bench, "commits of \(nodes) nodes", operations: count)
    race.add("Journal") {
      let urls = try makeNodes(nodes, bench)
      defer { for url in urls { try? FileManager.default.removeItem(at: url) } }
      let journals = try urls.map(openNode)
      let seconds = try await commit(callers, to: journals, count: count) { try $0.addSample(items[$1]) }
      for journal in journals { try journal.catchUp() }
      guard journals.allSatisfy({ $0.head == journals[0].head && $0.head.revision == count }) else {
        throw PeerFailure("the nodes do not have the same \(count) entries")
      }
      for journal in journals { try journal.close() }
      return seconds
    }
    race.add("libpq, the same rows and batches") {
      let peer = try PostgresPeer(address)
      batches = try peer.prepare()
      return try timed(peer.insert)
    }
    try await race.report(
      "durable commits, \(nodes) node\(nodes == 1 ? "" : "s") with 64 \(who) in all, \(count / batches) a batch",
      .rate("commits"), .against(1, atLeast: 0.7))
  }
}

/// Measures joining a shared journal, against reading its entries with COPY.
func sharedJoin(_ bench: Workbench) async throws {
  let address = try database(bench)
  let count = bench.largeSize
  let url = try makeNodes(1, bench, items: count)[0]
  let id = try CatalogJournal.open(at: url, mode: .readOnly).id
  var race = Race(bench, "joining, \(count) entries", operations: count)
  race.add("Journal") {
    try await bench.temporary { url in try timed { try CatalogJournal.join(address, id: id, at: url) } }
  }
  race.add("COPY TO, binary") { try timed { try PostgresPeer(address).copy() } }
  try await race.report(.rate("entries"), .against(1, atLeast: 0.5))
}

/// Makes a journal with a number of nodes, the only journal in the database. Returns the nodes' folders.
func makeNodes(_ count: Int, _ bench: Workbench, items: Int = 0) throws -> [URL] {
  let address = try database(bench)
  try dropTables(at: address)
  bench.atEnd { try? dropTables(at: address) }
  let (url, journal) = try bench.openJournal(items: items, perEntry: 1)
  let id = journal.id
  try journal.close()
  try CatalogJournal.share(at: url, on: address)
  return try [url]
    + (1..<count).map { number in
      let url = bench.path("node\(number).journal")
      try CatalogJournal.join(address, id: id, at: url)
      return url
    }
}

func openNode(_ url: URL) throws -> CatalogJournal {
  try CatalogJournal.open(at: url, options: JournalOptions().sharingThroughPostgres())
}

private func database(_ bench: Workbench) throws -> String {
  guard let address = bench.postgres else { throw PeerFailure("there is no database") }
  return address
}

private func dropTables(at address: String) throws {
  try psql(
    "DROP TABLE IF EXISTS journal_logs, journal_entries, journal_images, journal_image_pieces, peer_entries",
    at: address)
}

@discardableResult
func psql(_ text: String, at address: String) throws -> String {
  let bytes = try output(of: "psql", ["-XAtq", "-v", "ON_ERROR_STOP=1", "-d", address, "-c", text])
  return String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
}
