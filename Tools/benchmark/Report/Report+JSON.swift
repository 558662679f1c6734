import Foundation

extension Report {
  /// The report for machines: one object.
  func json() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }
}

extension Report: Encodable {
  private enum Key: String, CodingKey { case environment, rows }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(environment, forKey: .environment)
    try container.encode(rows, forKey: .rows)
  }
}

extension ReportRow: Encodable {
  private enum Key: String, CodingKey { case row, work, unit, journal, comparisons }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(name, forKey: .row)
    try container.encode(work, forKey: .work)
    switch unit {
    case .perSecond(let what): try container.encode("\(what)/s", forKey: .unit)
    case .bytes: try container.encode("B", forKey: .unit)
    case .seconds: try container.encode("s", forKey: .unit)
    }
    try container.encode(ours, forKey: .journal)
    try container.encode(comparisons, forKey: .comparisons)
  }
}

extension Comparison: Encodable {
  private enum Key: String, CodingKey { case peer, figure, ratio, atLeast, atMost, verdict }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(peer, forKey: .peer)
    try container.encode(figure, forKey: .figure)
    try container.encode(ratio, forKey: .ratio)
    switch wanted {
    case .atLeast(let limit): try container.encode(limit, forKey: .atLeast)
    case .atMost(let limit): try container.encode(limit, forKey: .atMost)
    case nil: break
    }
    if wanted != nil { try container.encode(isMissed ? "missed" : "ok", forKey: .verdict) }
  }
}
