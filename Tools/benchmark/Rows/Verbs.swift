import CatalogModel
import Foundation

/// Measures verbs in a large journal, against a small one, including the start of the program.
func verbs(_ bench: Workbench) async throws {
  let journals = try bench.sizes.map { size in (size: size, url: try bench.journal(entries: size)) }
  var random = SeededGenerator(seed: bench.seed)
  func tracked() -> String { "item:\(Int.random(in: 1...Workbench.trackedCount, using: &random))" }

  /// - Parameter words: makes the verb and its arguments, except the journal, from the number of entries.
  func race(_ name: String, _ words: @escaping (Int) -> [String]) async throws {
    var race = Race(bench, "\(name), in \(bench.largeSize) entries")
    for (size, url) in journals {
      race.add("in \(size) entries") {
        let times = try (0..<5).map { _ in
          let words = words(size)
          return try timed {
            try output(of: ownProgram("journal"), [words[0], url.path] + words.dropFirst())
          }
        }
        return Spread(times).median
      }
    }
    try await race.report(.duration, .against(1, atMost: 2))
  }

  try await race("history") { _ in ["history", tracked()] }
  try await race("blame") { _ in ["blame", tracked()] }
  try await race("show") { _ in ["show", tracked()] }
  try await race("show as of a random revision") { entries in
    ["show", "\(tracked())@\(Int.random(in: 1_000...entries, using: &random))"]
  }
  try await race("find by number") { _ in ["find", tracked()] }
  try await race("log -n 20 of a kind") { _ in ["log", "-n", "20", "--kind", Sample.kind] }
  for distance in [1, 1_000] {
    try await race(distance == 1 ? "diff of neighbors" : "diff over 1,000 entries") { entries in
      let revision = Int.random(in: 1_000..<entries - distance, using: &random)
      return ["diff", "\(revision)", "\(revision + distance)", "--stat"]
    }
  }
}
