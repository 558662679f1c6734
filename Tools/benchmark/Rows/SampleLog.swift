import CatalogModel
import Foundation
import Synchronization

/// A journal of many entries with an event each.
final class SampleLog {
  /// What the entries do.
  enum Work {
    /// They add items. Some of the items have a history of 20 events spread over the whole log.
    case additions
    /// The first half adds items, the second half updates random ones of them.
    case additionsAndUpdates
  }

  /// How many items have a history.
  static let trackedCount = 200
  /// How many events each of them has.
  static let historyLength = 20

  let entries: Int
  /// The folder for LevelDB alone, without the journal.
  let copyOfEntries: URL
  let url: URL
  private var journal: CatalogJournal

  /// Writes the journal, and opens it again. Otherwise LevelDB would still hold some entries in memory, and reading
  /// would be faster than in an app that has just been started.
  init(_ bench: Workbench, entries: Int, _ work: Work = .additions) async throws {
    self.entries = entries
    url = bench.newPath("log.journal")
    copyOfEntries = bench.newPath("entries")
    journal = try CatalogJournal.create(at: url)
    bench.progress.show("writing a journal of \(entries) entries")
    do {
      switch work {
      case .additions: try await add(bench)
      case .additionsAndUpdates: try addAndUpdate(bench)
      }
    } catch {
      try? journal.close()
      throw error
    }
    guard journal.head.revision == entries else {
      throw PeerFailure(description: "The journal ends at \(journal.head.revision), not at \(entries).")
    }
    try journal.close()
    try FileManager.default.copyItem(at: url.appending(path: "entries"), to: copyOfEntries)
    bench.progress.show("opening a journal of \(entries) entries")
    journal = try CatalogJournal.open(at: url)
    // Otherwise the merges that are left from writing would take a processor from what is measured.
    bench.progress.show("merging the layers of \(entries) entries")
    journal.waitForLayers()
  }

  /// Rebuilds the state at a revision, and returns the seconds.
  func replay(to revision: Revision) throws -> Double {
    // Held until the clock has stopped, so that releasing the state is not measured.
    var version: Version<Catalog>?
    let seconds = try timed { version = try journal.version(replayedTo: .revision(revision)) }
    guard let version, version.revision == revision else {
      throw PeerFailure(description: "The replay did not end at \(revision).")
    }
    return seconds
  }

  /// Reads the history of every tracked item this many times, in random order, and returns the seconds.
  func histories(_ passes: Int, _ random: inout SeededGenerator) throws -> Double {
    let order = (0..<passes).flatMap { _ in (1...Self.trackedCount).shuffled(using: &random) }
    var eventCount = 0
    let seconds = try timed {
      for number in order { eventCount += try journal.history(of: .item(number)).count }
    }
    guard eventCount == order.count * Self.historyLength else {
      throw PeerFailure(description: "\(order.count) histories have \(eventCount) events.")
    }
    return seconds
  }

  /// Commits some entries, and returns the seconds of updating a backup afterwards.
  func backUp(to url: URL, committing count: Int) throws -> Double {
    for _ in 0..<count { try journal.commit { try $0.addItem(kind: SampleData.kind) } }
    return try timed { try journal.backup(to: url) }
  }

  /// Closes the journal, so that other processes can open it.
  func close() throws { try journal.close() }

  func discard(_ bench: Workbench) {
    try? journal.close()
    bench.discard(url)
    bench.discard(copyOfEntries)
  }

  private func addAndUpdate(_ bench: Workbench) throws {
    let itemCount = entries / 2
    try journal.addItems(itemCount, perEntry: 1, seed: bench.seed)
    var random = SeededGenerator(seed: bench.seed)
    try journal.fill(entries - itemCount) { draft, index in
      let item = Int.random(in: 1...itemCount, using: &random)
      try draft.updateItem(EntityID(item), set: ["count": .integer(Int64(1_000_001 + index))])
    }
  }

  /// Adds the tracked items, and then others, and among them, evenly spread, updates of the tracked ones in turns. They are
  /// durable commits of many tasks at once.
  private func add(_ bench: Workbench) async throws {
    for attributes in SampleData.attributes(count: Self.trackedCount, seed: bench.seed) {
      try await journal.commit { try $0.addItem(kind: SampleData.kind, attributes: attributes) }
    }
    let count = entries - Self.trackedCount
    let updates = Self.trackedCount * (Self.historyLength - 1)
    let seed = bench.seed
    let journal = journal
    let counter = SharedCounter()
    // Many waiting commits form large groups, so few flushes are needed.
    _ = try await timedTasks(1_024) { _ in
      while let index = counter.next(below: count) {
        let ordinal = index * updates / count
        if (index + 1) * updates / count > ordinal {
          let item = ordinal % Self.trackedCount + 1
          try await journal.commit {
            try $0.updateItem(EntityID(item), set: ["count": .integer(Int64(ordinal))])
          }
        } else {
          var random = SeededGenerator(seed: seed &+ UInt64(index) &* 0x3_0001)
          let attributes = SampleData.attributes(&random)
          try await journal.commit { try $0.addItem(kind: SampleData.kind, attributes: attributes) }
        }
      }
    }
  }
}

/// Gives numbers to many tasks, each number once.
private final class SharedCounter: Sendable {
  private let value = Atomic(0)

  func next(below limit: Int) -> Int? {
    let number = value.wrappingAdd(1, ordering: .relaxed).oldValue
    return number < limit ? number : nil
  }
}
