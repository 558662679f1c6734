/// A participant of a race.
struct Contestant {
  /// Its name in the report.
  let name: String
  /// Does the work once, with this number of operations, and returns the seconds that it took. Preparation and cleanup
  /// are not included: making folders, opening, closing, checking.
  let run: (_ operations: Int) async throws -> Double
}

/// The same work, done by all contestants in turns, round after round.
///
/// A warm-up comes first and is not counted. The order is reversed from round to round, and the file system finishes
/// its writes before each turn, so that no contestant always pays for the one before it.
struct Race {
  let work: String
  /// Operations in each turn, the same for all.
  let operations: Int
  /// The maximum number of rounds, for work that moves gigabytes.
  var roundLimit = Int.max
  /// The journal first.
  let contestants: [Contestant]

  /// Returns the seconds per operation of each contestant in each round.
  func run(on bench: Workbench) async throws -> Results {
    var seconds = contestants.map { _ in [Double]() }
    let rounds = min(bench.rounds, roundLimit)
    for round in 0...rounds {
      let order = Array(contestants.indices)
      for index in round.isMultiple(of: 2) ? order : order.reversed() {
        let contestant = contestants[index]
        let label = round == 0 ? "warm-up" : "round \(round) of \(rounds)"
        bench.progress.show("\(work): \(contestant.name), \(label)")
        try FilesPeer.settle(bench.folder)
        let taken = try await contestant.run(operations)
        if round > 0 { seconds[index].append(taken / Double(operations)) }
      }
    }
    return Results(names: contestants.map(\.name), seconds: seconds)
  }

  /// The results of a race.
  struct Results {
    let names: [String]
    /// Seconds per operation: of each contestant, in each round.
    let seconds: [[Double]]

    func spread(of index: Int) -> Spread { Spread(seconds[index]) }

    /// How many times as fast the first contestant is as the second, round by round.
    func speed(of index: Int, against other: Int) -> Spread {
      Spread(zip(seconds[index], seconds[other]).map { $1 / $0 })
    }
  }
}

/// A median, with the lowest and the highest value.
struct Spread: Encodable {
  let median: Double
  let lowest: Double
  let highest: Double

  /// - Parameter values: at least one.
  init(_ values: [Double]) {
    let sorted = values.sorted()
    let middle = sorted.count / 2
    median = sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    lowest = sorted[0]
    highest = sorted[sorted.count - 1]
  }

  private init(median: Double, lowest: Double, highest: Double) {
    self.median = median
    self.lowest = lowest
    self.highest = highest
  }

  /// Converts seconds per operation to operations per second, and vice versa.
  var reciprocal: Spread { Spread(median: 1 / median, lowest: 1 / highest, highest: 1 / lowest) }
}
