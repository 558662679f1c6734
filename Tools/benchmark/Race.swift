import CatalogModel
import Dispatch
import Foundation
import Locks

/// The same work, done by all contestants in turns, round after round.
///
/// The first round is a warm-up and is not counted. The order is reversed from round to round, and the file system
/// finishes its writes before each turn, so that no contestant pays for the writes of another one.
struct Race {
  private struct Contestant {
    let name: String
    let run: () async throws -> Double
    /// Seconds per operation in each round.
    var seconds: [Double] = []
  }

  private let bench: Workbench
  private let work: String
  private let operations: Int
  private let rounds: Int
  private var contestants: [Contestant] = []

  /// - Parameters:
  ///   - operations: the number of operations in each turn.
  ///   - limit: the greatest number of rounds, which is low for work that moves gigabytes.
  init(_ bench: Workbench, _ work: String, operations: Int = 1, rounds limit: Int = .max) {
    (self.bench, self.work, self.operations) = (bench, work, operations)
    rounds = min(bench.rounds, limit)
  }

  /// - Parameter run: does the work once and returns the seconds that it takes, without preparation and checks.
  mutating func add(_ name: String, _ run: @escaping () async throws -> Double) {
    contestants.append(Contestant(name: name, run: run))
  }

  private mutating func run() async throws {
    for round in 0...rounds {
      let order = Array(contestants.indices)
      for index in round.isMultiple(of: 2) ? order : order.reversed() {
        let turn = round == 0 ? "warm-up" : "round \(round) of \(rounds)"
        bench.show("\(work): \(contestants[index].name), \(turn)")
        try bench.settle()
        let taken = try await contestants[index].run()
        if round > 0 { contestants[index].seconds.append(taken / Double(operations)) }
      }
    }
  }

  mutating func report(_ figure: Figure, _ rivals: Rival...) async throws {
    let title = work
    try await report(title, figure, 0, rivals)
  }

  /// Adds a line to the report. The first call runs the race.
  /// - Parameters:
  ///   - title: evaluated after the race.
  ///   - ours: the contestant that is compared with the peers.
  mutating func report(
    _ title: @autoclosure () throws -> String, _ figure: Figure, ours: Int = 0, _ rivals: Rival...
  ) async throws {
    try await report(title(), figure, ours, rivals)
  }

  private mutating func report(
    _ title: @autoclosure () throws -> String, _ figure: Figure, _ ours: Int, _ rivals: [Rival]
  ) async throws {
    if contestants[ours].seconds.isEmpty { try await run() }
    func median(_ contestant: Contestant) -> Double {
      let seconds = Spread(contestant.seconds).median
      return if case .rate = figure { 1 / seconds } else { seconds }
    }
    let journal = contestants[ours]
    let comparisons = rivals.map { rival in
      let peer = contestants[rival.index]
      let ratios = zip(journal.seconds, peer.seconds).map { ours, other in
        if case .duration = figure { ours / other } else { other / ours }
      }
      return Comparison(
        peer: peer.name, figure: median(peer), ratio: Spread(ratios), atLeast: rival.atLeast,
        atMost: rival.atMost)
    }
    bench.add(try title() + figure.explanation, figure.unit, median(journal), comparisons)
  }

  /// A contestant to compare with, and the wanted ratio.
  struct Rival {
    let index: Int
    let atLeast, atMost: Double?

    static func against(_ index: Int, atLeast: Double? = nil, atMost: Double? = nil) -> Rival {
      Rival(index: index, atLeast: atLeast, atMost: atMost)
    }
  }

  /// The unit of a race's figures, and of its ratios.
  enum Figure {
    /// Operations per second, and the ratio of the rates.
    case rate(String)
    /// Seconds, and the ratio of the times.
    case duration
    /// Seconds, and how many times as fast the journal is.
    case speed

    fileprivate var unit: String { if case .rate(let what) = self { "\(what)/s" } else { "s" } }

    fileprivate var explanation: String {
      switch self {
      case .rate: ""
      case .duration: " (times as long)"
      case .speed: " (times as fast)"
      }
    }
  }
}

/// A median, with the lowest and the highest value.
struct Spread {
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
}

func timed(_ work: () throws -> Void) rethrows -> Double {
  try ContinuousClock().measure(work) / .seconds(1)
}

/// Calls `work` with each index below `count`, on `callers` threads. Returns the seconds from when all threads are
/// ready until the last one has finished.
/// - Throws: the first error of `work`, after all threads have finished.
func timedThreads(
  _ callers: Int, count: Int, _ work: @escaping @Sendable (_ index: Int) throws -> Void
) throws -> Double {
  let (ready, done, gate) = (DispatchGroup(), DispatchGroup(), DispatchSemaphore(value: 0))
  let failure = FirstFailure()
  for caller in 0..<callers {
    ready.enter()
    done.enter()
    Thread.detachNewThread {
      ready.leave()
      gate.wait()
      do {
        for index in stride(from: caller, to: count, by: callers) { try work(index) }
      } catch let error { failure.error.withLock { $0 = $0 ?? error } }
      done.leave()
    }
  }
  ready.wait()
  let seconds = timed {
    for _ in 0..<callers { gate.signal() }
    done.wait()
  }
  if let error = failure.error.withLock({ $0 }) { throw error }
  return seconds
}

private final class FirstFailure: Sendable {
  let error = Lock<(any Error)?>(nil)
}

enum Callers {
  case threads(Int)
  case tasks(Int)
  /// One thread that commits in a pipeline.
  case pipeline
}

/// Commits entries, divided among the callers, and returns the seconds until the last entry is durable.
/// - Parameter body: makes the events of an entry in a draft; it gets the entry's index, from 0.
func commit(
  _ callers: Callers, to journals: [CatalogJournal], count: Int,
  _ body: @escaping @Sendable (inout Draft<Catalog>, Int) throws -> Void
) async throws -> Double {
  switch callers {
  case .threads(let callers):
    return try timedThreads(callers, count: count) { index in
      try journals[index % callers % journals.count].commit { try body(&$0, index) }
    }
  case .tasks(let callers):
    return try await ContinuousClock().measure {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for caller in 0..<callers {
          let journal = journals[caller % journals.count]
          group.addTask {
            for index in stride(from: caller, to: count, by: callers) {
              try await journal.commit { try body(&$0, index) }
            }
          }
        }
        try await group.waitForAll()
      }
    } / .seconds(1)
  case .pipeline:
    return try timedThreads(1, count: 1) { _ in try journals[0].fill(count, body) }
  }
}
