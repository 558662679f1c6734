/// The goal of a ratio.
enum Wanted {
  case atLeast(Double)
  case atMost(Double)

  func isReached(by ratio: Double) -> Bool {
    switch self {
    case .atLeast(let limit): ratio >= limit
    case .atMost(let limit): ratio <= limit
    }
  }
}

/// The journal compared with one peer.
struct Comparison {
  let peer: String
  /// The peer's figure, in the row's unit.
  let figure: Spread
  /// The ratio of the two, round by round.
  let ratio: Spread
  /// Nil if it is shown for information only.
  var wanted: Wanted?

  var isMissed: Bool {
    guard let wanted else { return false }
    return !wanted.isReached(by: ratio.median)
  }
}

/// One line of the report.
struct ReportRow {
  /// What the figures of a row count.
  enum Unit {
    /// A number per second; the ratio is the journal's rate over the peer's.
    case perSecond(String)
    /// The seconds of one operation; the row's title says which ratio is shown.
    case seconds
    /// Memory; the ratio is the journal's over the peer's.
    case bytes
  }

  let name: RowName
  /// The work and its sizes, for people.
  let work: String
  let unit: Unit
  /// The journal's figure.
  let ours: Spread
  let comparisons: [Comparison]

  var isMissed: Bool { comparisons.contains(where: \.isMissed) }

  /// A row of rates from a race: contestant `ours` against some of the others.
  init(
    _ name: RowName, _ work: String, unit: String, of results: Race.Results, ours: Int = 0,
    against peers: [(index: Int, wanted: Wanted?)]
  ) {
    self.name = name
    self.work = work
    self.unit = .perSecond(unit)
    self.ours = results.spread(of: ours).reciprocal
    comparisons = peers.map { peer in
      Comparison(
        peer: results.names[peer.index], figure: results.spread(of: peer.index).reciprocal,
        ratio: results.speed(of: ours, against: peer.index), wanted: peer.wanted)
    }
  }

  /// A row of times or sizes.
  init(_ name: RowName, _ work: String, _ unit: Unit, _ ours: Spread, against comparisons: [Comparison]) {
    self.name = name
    self.work = work
    self.unit = unit
    self.ours = ours
    self.comparisons = comparisons
  }
}
