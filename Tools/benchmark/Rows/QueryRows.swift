import CatalogModel
import Foundation

/// The sample's items as values.
struct Sample: CatalogItem {
  static let kind = SampleData.kind
  static let indexes = [Index(\Sample.count), Index(\.price)]

  var name: String
  var note: String
  var count: Int
  var price: Double
  var seen: Date
}

/// Queries over many items, against SQLite with the same indexes: the same rows, with all five attributes of each read.
func queryRows(_ bench: Workbench) async throws -> [ReportRow] {
  var rows = try await indexRows(bench)
  if bench.rows.contains(.queryOpening) { rows.append(try await queryOpeningRow(bench)) }
  return rows
}

private func indexRows(_ bench: Workbench) async throws -> [ReportRow] {
  guard !bench.rows.isDisjoint(with: [.queryEqual, .queryFirst, .queryScan]) else { return [] }
  let subject = try QuerySubject(bench, itemCount: bench.isQuick ? 100_000 : 1_000_000)
  defer { subject.discard(bench) }
  let size = "of \(subject.itemCount)"
  var rows: [ReportRow] = []
  for (name, work, operations, wanted, ask) in [
    (RowName.queryEqual, "items \(size) of one value, by an index", 20_000, 0.5, QuerySubject.Question.equal),
    (.queryFirst, "first 20 \(size) in order from a value on, by an index", 5_000, 0.5, .first),
    (.queryScan, "items \(size) from a text on, without an index", 3, 0.3, .scan),
  ] where bench.rows.contains(name) {
    let race = Race(
      work: work, operations: operations, roundLimit: 5,
      contestants: [
        Contestant(name: "Journal") { try subject.ask(ask, $0) },
        Contestant(name: "SQLite, prepared") { try subject.askSQLite(ask, $0) },
      ])
    let results = try await race.run(on: bench)
    rows.append(ReportRow(name, work, unit: "queries", of: results, against: [(1, .atLeast(wanted))]))
  }
  return rows
}

/// Opening and the first query by an index, which is read from the layers, in a large journal and in a small one; each
/// time in a separate process.
private func queryOpeningRow(_ bench: Workbench) async throws -> ReportRow {
  let sizes = bench.isQuick ? [100_000, 10_000] : [1_000_000, 10_000]
  let journals = try sizes.map { size in
    let url = bench.newPath("query-opening.journal")
    bench.progress.show("writing a journal of \(size) items")
    let journal = try CatalogJournal.create(at: url)
    // Declares the indexes, so that all layers get them.
    journal.state.buildIndexes(of: Sample.self)
    try journal.addItems(size, perEntry: 1_000, seed: bench.seed)
    journal.waitForLayers()
    try journal.close()
    return url
  }
  defer { for url in journals { bench.discard(url) } }
  var random = SeededGenerator(seed: bench.seed)
  let work = "opening and first 20 of \(sizes[0]) in order, by an index"
  let race = Race(
    work: work, operations: 1,
    contestants: zip(sizes, journals).map { size, url in
      Contestant(name: "\(size) items") { _ in
        let probes = try (0..<5).map { _ in
          try OpeningProbe.run(on: url, .prices(from: .random(in: 0...900, using: &random)))
        }
        return Spread(probes.map(\.seconds)).median
      }
    })
  let results = try await race.run(on: bench)
  let small = Comparison(
    peer: results.names[1], figure: results.spread(of: 1), ratio: results.speed(of: 1, against: 0),
    wanted: .atMost(3))
  return ReportRow(
    .queryOpening, "\(work) (times as long)", .seconds, results.spread(of: 0), against: [small])
}

/// A journal of items, and a table of the same items.
private final class QuerySubject {
  enum Question { case equal, first, scan }

  let itemCount: Int
  private let url: URL
  private let folder: URL
  private let journal: CatalogJournal
  private let state: Catalog
  private let peer: SQLiteItems
  private let seed: UInt64
  /// How many rows each question has. The journal and SQLite must find the same number.
  private var rowCounts: [Question: Int] = [:]

  init(_ bench: Workbench, itemCount: Int) throws {
    self.itemCount = itemCount
    seed = bench.seed
    url = bench.newPath("query.journal")
    folder = try bench.newFolder("query-peer")
    journal = try CatalogJournal.create(at: url, options: JournalOptions(layers: .manual))
    bench.progress.show("writing a journal of \(itemCount) items")
    try journal.addItems(itemCount, perEntry: 1_000, seed: bench.seed)
    state = journal.state
    bench.progress.show("building the indexes of \(itemCount) items")
    state.buildIndexes(of: Sample.self)
    bench.progress.show("writing a table of \(itemCount) items")
    let items = try state.items(Sample.self).map { (id: $0.id.number, sample: try $0.value) }
    peer = try SQLiteItems(items, in: folder)
  }

  func ask(_ question: Question, _ operations: Int) throws -> Double {
    var random = SeededGenerator(seed: seed)
    var (rows, seen) = (0, 0)
    let samples = state.items(Sample.self)
    let seconds = timed {
      for _ in 0..<operations {
        let answer =
          switch question {
          case .equal: samples.filter(\.count == anyCount(&random))
          case .first: samples.filter(\.price >= anyPrice(&random)).sorted(by: \.price).prefix(20)
          case .scan: samples.filter(\.note >= anyNote(&random))
          }
        for item in answer {
          rows += 1
          seen += item.item.attributes.count
        }
      }
    }
    try check(question, rows, operations)
    return seconds
  }

  func askSQLite(_ question: Question, _ operations: Int) throws -> Double {
    var random = SeededGenerator(seed: seed)
    var rows = 0
    let seconds = try timed {
      for _ in 0..<operations {
        switch question {
        case .equal: try peer.read(count: anyCount(&random), &rows)
        case .first: try peer.readFirst(from: anyPrice(&random), &rows)
        case .scan: try peer.scan(from: anyNote(&random), &rows)
        }
      }
    }
    try check(question, rows, operations)
    return seconds
  }

  private func anyCount(_ random: inout SeededGenerator) -> Int { .random(in: 0...1_000_000, using: &random) }
  private func anyPrice(_ random: inout SeededGenerator) -> Double { .random(in: 0...999, using: &random) }
  /// A text such that the notes of one to three items in a thousand are not below it.
  private func anyNote(_ random: inout SeededGenerator) -> String {
    ["zz", "zy", "zx"].randomElement(using: &random) ?? "zz"
  }

  private func check(_ question: Question, _ rows: Int, _ operations: Int) throws {
    guard rowCounts[question, default: rows] == rows else {
      throw PeerFailure(description: "One found \(rows) rows, the other \(rowCounts[question] ?? 0).")
    }
    rowCounts[question] = rows
  }

  func discard(_ bench: Workbench) {
    try? journal.close()
    bench.discard(url)
    bench.discard(folder)
  }
}
