import CatalogModel
import Foundation

enum Question: Sendable {
  case equal(count: Int)
  case first(price: Double)
  case scan(note: String)
}

/// Measures queries over many items, against SQLite with the same indexes. All five attributes of each row are read.
func queries(_ bench: Workbench) async throws {
  let size = bench.largeSize
  let (_, journal) = try bench.openJournal(items: size, .manual)
  let state = journal.state
  bench.show("building the indexes of \(size) items")
  try state.buildIndexes(of: Sample.self)
  bench.show("writing a table of \(size) items")
  let items = try state.items(Sample.self).map { (id: $0.id.number, sample: try $0.value) }
  let table = try SQLiteItems(items, indexes: ["count", "price"], at: bench.path("items.sqlite"))

  func ask(_ question: Question, _ rows: inout Int) throws {
    let samples = state.items(Sample.self)
    let answer =
      switch question {
      case .equal(let count): try samples.filter(\.count == count)
      case .first(let price): try samples.filter(\.price >= price).sorted(by: \.price).prefix(20)
      case .scan(let note): try samples.filter(\.note >= note)
      }
    for item in answer where item.item.attributes.count == Sample.attributeCount { rows += 1 }
  }
  func race(
    _ work: String, _ count: Int, atLeast wanted: Double, _ make: (inout SeededGenerator) -> Question
  ) async throws {
    // The contestants must find the same number of rows.
    var expected: Int?
    func contestant(_ ask: @escaping (Question, inout Int) throws -> Void) -> () async throws -> Double {
      var random = SeededGenerator(seed: bench.seed)
      let questions = (0..<count).map { _ in make(&random) }
      return {
        var rows = 0
        let seconds = try timed { for question in questions { try ask(question, &rows) } }
        guard expected ?? rows == rows else {
          throw PeerFailure("one found \(rows) rows, the other \(expected ?? 0)")
        }
        expected = rows
        return seconds
      }
    }
    var race = Race(bench, work, operations: count, rounds: 5)
    race.add("Journal", contestant(ask))
    race.add("SQLite, prepared", contestant(table.ask))
    try await race.report(.rate("queries"), .against(1, atLeast: wanted))
  }
  try await race("items of \(size) of one value, by an index", 20_000, atLeast: 0.5) {
    .equal(count: .random(in: 0...1_000_000, using: &$0))
  }
  try await race("first 20 of \(size) in order from a value on, by an index", 5_000, atLeast: 0.5) {
    .first(price: .random(in: 0...999, using: &$0))
  }
  // Of a thousand items, one to three have a note that is not below one of these texts.
  try await race("items of \(size) from a text on, without an index", 3, atLeast: 1) {
    .scan(note: ["zz", "zy", "zx"].randomElement(using: &$0) ?? "zz")
  }
}
