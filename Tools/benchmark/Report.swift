import Foundation

struct Report {
  /// The lines that ``environment(of:flushSeconds:rounds:seed:)`` returns.
  let environment: [String]
  var remarks: [String] = []
  private var cells = [["row", "work", "journal", "peer", "", "ratio", "(rounds)", "wanted", ""]]
  private var missed: [String] = []

  init(environment: [String]) { self.environment = environment }

  /// Adds a line about a figure of the journal.
  /// - Parameter unit: `s`, `B`, or a rate such as `commits/s`.
  mutating func add(
    _ row: String, _ work: String, _ unit: String, _ figure: Double, _ comparisons: [Comparison]
  ) {
    for (index, comparison) in comparisons.enumerated() {
      let own = index == 0 ? [row, work, display(figure, unit)] : ["", "", ""]
      cells.append(own + comparison.cells(unit))
    }
    if comparisons.contains(where: \.isMissed) { missed.append(row) }
  }

  var text: String {
    let widths = cells[0].indices.map { column in cells.map { $0[column].count }.max() ?? 0 }
    let table = cells.map { row in
      row.indices.map { column in
        let padding = String(repeating: " ", count: widths[column] - row[column].count)
        return [2, 4, 5].contains(column) ? padding + row[column] : row[column] + padding
      }.joined(separator: "  ").replacing(#/ +$/#, with: "")
    }
    let verdict = missed.isEmpty ? "All goals are reached." : "Missed: \(missed.joined(separator: ", "))."
    return (environment + [""] + table + [""] + remarks + [verdict]).joined(separator: "\n")
  }
}

extension Workbench {
  func add(_ work: String, _ unit: String, _ figures: [Double], atMost limit: Double) {
    let allowance = Comparison(
      peer: display(limit, unit), figure: limit, ratio: Spread(figures.map { $0 / limit }), atMost: 1)
    add(work, unit, Spread(figures).median, [allowance])
  }
}

struct Comparison {
  let peer: String
  /// The figure of the peer, in the unit of the line.
  let figure: Double
  /// The ratios of all rounds.
  let ratio: Spread
  /// The limits of the wanted ratio; both are nil if the comparison is only for information.
  var atLeast: Double?
  var atMost: Double?

  fileprivate var isMissed: Bool {
    ratio.median < atLeast ?? -.infinity || ratio.median > atMost ?? .infinity
  }

  fileprivate func cells(_ unit: String) -> [String] {
    func text(_ ratio: Double) -> String { String(format: ratio < 9.995 ? "%.2f" : "%.1f", ratio) }
    let wanted = atLeast.map { "at least \(text($0))" } ?? atMost.map { "at most \(text($0))" } ?? ""
    return [
      peer, display(figure, unit), text(ratio.median), "(\(text(ratio.lowest)) to \(text(ratio.highest)))",
      wanted, wanted.isEmpty ? "" : isMissed ? "missed" : "ok",
    ]
  }
}

private func display(_ figure: Double, _ unit: String) -> String {
  switch unit {
  case "s" where figure < 1e-3: String(format: "%.1f µs", figure * 1e6)
  case "s" where figure < 1: String(format: "%.2f ms", figure * 1e3)
  case "s": String(format: "%.2f s", figure)
  case "B": String(format: "%.1f MiB", figure / Double(1 << 20))
  default: "\(Int(figure.rounded()).formatted(.number.locale(Locale(identifier: "en_US")))) \(unit)"
  }
}

/// The machine, the folder, the software and the settings of a run, a line each.
/// - Parameter flushSeconds: the median time of flushing a small write.
func environment(of folder: URL, flushSeconds: Double, rounds: Int, seed: UInt64) -> [String] {
  let information = ProcessInfo.processInfo
  let processor = processorName() ?? "processor of unknown name"
  let memory = (Double(information.physicalMemory) / Double(1 << 30) * 10).rounded() / 10
  let system = said("uname", ["-sr"]) ?? information.operatingSystemVersionString
  let fileSystem = said("df", ["--output=fstype", folder.path])?.components(separatedBy: "\n").last ?? "?"
  let flush = String(format: "%.0f µs", flushSeconds * 1e6)
  let swift = said("swift", ["--version"])?.firstMatch(of: /Swift version [^ ]+/).map { String($0.output) }
  #if DEBUG
    let build = "debug (the figures mean nothing)"
  #else
    let build = "release"
  #endif
  return [
    "machine   \(processor), \(information.activeProcessorCount) cores, \(memory) GiB; \(system)",
    "folder    \(folder.deletingLastPathComponent().path) on \(fileSystem); a flush takes \(flush)",
    "software  \(swift ?? "Swift of unknown version"), \(build) build; \(PeerFailure.versions)",
    "run       \(Date.now.formatted(.iso8601)), \(rounds) rounds, seed \(seed)",
  ]
}

/// The output of a program; nil if it fails.
private func said(_ program: String, _ arguments: [String]) -> String? {
  guard let text = try? output(of: program, arguments) else { return nil }
  return String(decoding: text, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
}

private func processorName() -> String? {
  let lines = try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8).split(separator: "\n")
  let name = lines?.first { $0.hasPrefix("model name") }?.split(separator: ":").last
  return name?.trimmingCharacters(in: .whitespaces)
}
