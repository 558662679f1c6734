import Foundation

extension Report {
  /// The report for people.
  func text() -> String {
    var lines = environment.lines
    lines.append("")
    let header = ["row", "work", "journal", "peer", "", "ratio", "(rounds)", "wanted", ""]
    var cells = [header]
    for row in rows {
      for (index, comparison) in row.comparisons.enumerated() {
        let own = index == 0 ? [row.name.rawValue, row.work, row.unit.text(row.ours.median)] : ["", "", ""]
        cells.append(own + comparison.cells(unit: row.unit))
      }
    }
    lines += Self.aligned(cells, rightAligned: [2, 4, 5])
    let missed = rows.filter(\.isMissed).map(\.name.rawValue)
    lines.append("")
    lines.append(
      missed.isEmpty ? "All wanted figures are reached." : "Missed: \(missed.joined(separator: ", ")).")
    return lines.joined(separator: "\n")
  }

  private static func aligned(_ rows: [[String]], rightAligned: Set<Int>) -> [String] {
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      let line = row.indices.map { column in
        let padding = String(repeating: " ", count: widths[column] - row[column].count)
        return rightAligned.contains(column) ? padding + row[column] : row[column] + padding
      }
      let text = line.joined(separator: "  ")
      return String(
        text.prefix(upTo: text.lastIndex { $0 != " " }.map(text.index(after:)) ?? text.startIndex))
    }
  }
}

extension Comparison {
  fileprivate func cells(unit: ReportRow.Unit) -> [String] {
    let range = "(\(Self.text(ratio.lowest)) to \(Self.text(ratio.highest)))"
    let limit =
      switch wanted {
      case .atLeast(let limit): "at least \(Self.text(limit))"
      case .atMost(let limit): "at most \(Self.text(limit))"
      case nil: ""
      }
    let verdict = wanted == nil ? "" : isMissed ? "missed" : "ok"
    return [peer, unit.text(figure.median), Self.text(ratio.median), range, limit, verdict]
  }

  private static func text(_ ratio: Double) -> String {
    String(format: ratio < 9.995 ? "%.2f" : "%.1f", ratio)
  }
}

extension ReportRow.Unit {
  /// A figure in this unit, for people.
  func text(_ figure: Double) -> String {
    switch self {
    case .perSecond(let what):
      return "\(Self.grouped(figure)) \(what)/s"
    case .seconds:
      if figure < 1e-3 { return String(format: "%.1f µs", figure * 1e6) }
      if figure < 1 { return String(format: "%.2f ms", figure * 1e3) }
      return String(format: "%.2f s", figure)
    case .bytes:
      return String(format: "%.1f MiB", figure / Double(1 << 20))
    }
  }

  private static func grouped(_ number: Double) -> String {
    var digits = String(Int(number.rounded()))
    var index = digits.count - 3
    while index > 0 {
      digits.insert(",", at: digits.index(digits.startIndex, offsetBy: index))
      index -= 3
    }
    return digits
  }
}
