import CatalogModel
import Foundation

/// The cost of saving one small change in an app with many items: a commit, compared with writing all items again as a
/// keyed archive or as a property list, which is how apps used to save.
///
/// The commit is flushed when it returns. The files of the others are written as such apps wrote them, without a
/// flush: a power loss can destroy all of their contents.
func saveRows(_ bench: Workbench) async throws -> [ReportRow] {
  var rows: [ReportRow] = []
  for (name, count) in [(RowName.save10, 10), (.save1000, 1_000), (.save100000, 100_000)]
  where bench.rows.contains(name) {
    rows.append(try await saveRow(bench, name, count))
  }
  return rows
}

private func saveRow(_ bench: Workbench, _ name: RowName, _ count: Int) async throws -> ReportRow {
  let url = bench.newPath("save.journal")
  defer { bench.discard(url) }
  bench.progress.show("writing a journal of \(count) items")
  let journal = try CatalogJournal.create(at: url, options: JournalOptions(layers: .manual))
  defer { try? journal.close() }
  try journal.addItems(count, perEntry: 1_000, seed: bench.seed)
  let archived = journal.state.items.compactMap { ArchivedItem($0) }
  let dictionaries = journal.state.items.map { $0.attributes.compactMapValues(\.propertyList) }
  guard archived.count == count else { throw PeerFailure(description: "Not all items can be archived.") }

  var random = SeededGenerator(seed: bench.seed)
  let results = try await Race(
    work: "saving one change among \(count) items", operations: 1,
    // A round at 100,000 items takes Foundation's archiver half a minute.
    roundLimit: count > 10_000 ? 1 : Int.max,
    contestants: [
      Contestant(name: "Journal") { _ in
        let commits = 200
        let seconds = try timed {
          for _ in 0..<commits {
            let item = Int.random(in: 1...count, using: &random)
            let value = FieldValue.integer(.random(in: 0...1_000_000, using: &random))
            try journal.commit { try $0.updateItem(EntityID(item), set: ["count": value]) }
          }
        }
        return seconds / Double(commits)
      },
      Contestant(name: "NSKeyedArchiver, all items") { _ in
        let file = bench.newPath("items.archive")
        defer { bench.discard(file) }
        return try FoundationPeer.write(archived, to: file)
      },
      Contestant(name: "XML property list, all items") { _ in
        let file = bench.newPath("items.plist")
        defer { bench.discard(file) }
        return try timed {
          try PropertyListSerialization.data(fromPropertyList: dictionaries, format: .xml, options: 0)
            .write(to: file, options: .atomic)
        }
      },
    ]
  ).run(on: bench)
  return ReportRow(
    name, "saving one change among \(count) items (times as fast)", .seconds, results.spread(of: 0),
    against: (1...2).map { index in
      Comparison(
        peer: results.names[index], figure: results.spread(of: index),
        ratio: results.speed(of: 0, against: index),
        wanted: index == 1 && count == 100_000 ? .atLeast(1_000) : nil)
    })
}

extension FieldValue {
  /// The value as a property list has it.
  fileprivate var propertyList: Any? {
    switch self {
    case .bool(let bool): bool
    case .integer(let integer): integer
    case .double(let double): double
    case .string(let string): string
    case .date(let date): date
    case .data(let data): data
    default: nil
    }
  }
}
