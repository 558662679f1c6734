import CatalogModel
import Foundation

/// The program `journal`, which is built into the folder of this one.
/// - Throws: ``PeerFailure`` if it is not there.
func commandLineProgram() throws -> URL {
  let program = Bundle.main.executableURL?.deletingLastPathComponent().appending(path: "journal")
  guard let program, FileManager.default.isExecutableFile(atPath: program.path) else {
    throw PeerFailure(
      description: "Build journal too, with swift build -c release; the verbs are measured with it.")
  }
  return program
}

/// The time of verbs of the command line in a large journal and in a small one, including the start of the program.
func verbRows(_ bench: Workbench) async throws -> [ReportRow] {
  guard bench.rows.contains(.verbs) else { return [] }
  let program = try commandLineProgram()
  let large = try await SampleLog(bench, entries: bench.isQuick ? 100_000 : 1_000_000)
  defer { large.discard(bench) }
  let small = try await SampleLog(bench, entries: 10_000)
  defer { small.discard(bench) }
  try large.close()
  try small.close()

  var rows: [ReportRow] = []
  for question in questions {
    var random = SeededGenerator(seed: bench.seed)
    func contestant(_ log: SampleLog) -> Contestant {
      Contestant(name: "in \(log.entries) entries") { _ in
        let times = try (0..<5).map { _ in
          let words = question.words(log, &random)
          return try timed {
            try output(of: program, [words[0], log.url.path] + words.dropFirst(), codes: [0, 1])
          }
        }
        return Spread(times).median
      }
    }
    let race = Race(
      work: question.name, operations: 1, contestants: [contestant(large), contestant(small)])
    let results = try await race.run(on: bench)
    let comparison = Comparison(
      peer: results.names[1], figure: results.spread(of: 1), ratio: results.speed(of: 1, against: 0),
      wanted: question.wanted)
    rows.append(
      ReportRow(
        .verbs, "\(question.name), in \(large.entries) entries (times as long)", .seconds,
        results.spread(of: 0), against: [comparison]))
  }
  return rows
}

/// The arguments of a verb without the journal.
private struct Question {
  let name: String
  var wanted: Wanted? = .atMost(2)
  let words: (_ log: SampleLog, _ random: inout SeededGenerator) -> [String]
}

private func tracked(_ random: inout SeededGenerator) -> String {
  "item:\(Int.random(in: 1...SampleLog.trackedCount, using: &random))"
}

private var questions: [Question] {
  [
    Question(name: "history") { ["history", tracked(&$1)] },
    Question(name: "blame") { ["blame", tracked(&$1)] },
    Question(name: "show") { ["show", tracked(&$1)] },
    Question(name: "show as of a random revision") { log, random in
      ["show", "\(tracked(&random))@\(Int.random(in: 1_000...log.entries, using: &random))"]
    },
    Question(name: "find by number") { ["find", tracked(&$1)] },
    Question(name: "log -n 20 of a kind") { _, _ in ["log", "-n", "20", "--kind", SampleData.kind] },
    Question(name: "diff of neighbors") { log, random in
      let revision = Int.random(in: 1_000..<log.entries, using: &random)
      return ["diff", "\(revision)", "\(revision + 1)", "--stat"]
    },
    Question(name: "diff over 1,000 entries") { log, random in
      let revision = Int.random(in: 1_000..<log.entries - 1_000, using: &random)
      return ["diff", "\(revision)", "\(revision + 1_000)", "--stat"]
    },
    // The number of states that it reads is the logarithm of the number of entries.
    Question(name: "bisect", wanted: nil) { _, _ in ["bisect", "--where", "@name=nothing"] },
  ]
}
