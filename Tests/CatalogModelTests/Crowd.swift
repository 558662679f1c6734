import CBOR
import CatalogModel
import Foundation
import JournalMaintenance
import Journaling
import Locks
import Synchronization
import TestSupport

/// Threads and tasks that write to one journal, read it, and take and drop its snapshots, with checks of every state
/// that any of them sees.
///
/// The first entry makes the category, a counter, an item for each writer and the ground: items that any writer
/// changes. Each later entry is one turn of one writer: it counts up, notes its turn, changes an item of the ground
/// and replaces the item that its previous turn added. So a state shows its own revision.
final class Crowd: Sendable {
  static let writerCount = 64
  /// The writers that are tasks; the others are threads.
  static let taskCount = 32
  static let readerCount = 4
  static let turnCount = 8
  static let commitCount = 1 + writerCount * turnCount

  private static let counter: Catalog.Item.ID = 1
  private static let groundCount = 300
  private static let ground = ((writerCount + 2)...(writerCount + 1 + groundCount)).map {
    Catalog.Item.ID($0)
  }
  private static func place(of writer: Int) -> Catalog.Item.ID { EntityID(writer + 2) }

  let journal: CatalogJournal
  private let seed: UInt64
  private let found = Lock<[String]>([])
  private let writing = Atomic<Int>(writerCount)

  var problems: [String] { found.withLock { $0 } }
  var isComplete: Bool { journal.head.revision == Self.commitCount }

  init(_ journal: CatalogJournal, seed: UInt64) throws {
    self.journal = journal
    self.seed = seed
    try journal.commit { draft in
      let category = try draft.addCategory(name: "crowd", color: nil)
      _ = try draft.addItem(kind: "counter", category: category, attributes: ["turns": .integer(0)])
      for _ in 0..<Self.writerCount { _ = try draft.addItem(kind: "writer", category: category) }
      for _ in Self.ground { _ = try draft.addItem(kind: "ground", category: category) }
    }
  }

  // MARK: Writing

  func write(_ writer: Int) {
    defer { writing.subtract(1, ordering: .releasing) }
    reporting("writer \(writer)") {
      var random = SeededGenerator(seed: seed &+ UInt64(writer))
      for turn in 1...Self.turnCount {
        let touched = Self.ground.randomElement(using: &random)!
        let commit = try journal.commit(by: "\(writer)", note: "\(turn)") {
          try Self.take(turn, of: writer, touching: touched, in: &$0)
        }
        checkIsSeen(writer, turn, commit.revision)
      }
    }
  }

  func writeAsTask(_ writer: Int) async {
    defer { writing.subtract(1, ordering: .releasing) }
    do {
      var random = SeededGenerator(seed: seed &+ UInt64(writer))
      for turn in 1...Self.turnCount {
        let touched = Self.ground.randomElement(using: &random)!
        let commit = try await journal.commit(by: "\(writer)", note: "\(turn)") {
          try Self.take(turn, of: writer, touching: touched, in: &$0)
        }
        checkIsSeen(writer, turn, commit.revision)
      }
    } catch {
      report("writer \(writer): \(error)")
    }
  }

  private static func take(
    _ turn: Int, of writer: Int, touching touched: Catalog.Item.ID, in draft: inout Draft<Catalog>
  ) throws {
    let place = place(of: writer)
    let turns = draft.state.integer("turns", of: counter)
    try draft.updateItem(counter, set: ["turns": .integer(Int64(turns + 1))])
    try draft.updateItem(touched, set: ["touched": .integer(Int64(turns))])
    let passing = try draft.addItem(kind: "passing", category: 1)
    let before = draft.state.integer("passing", of: place)
    if before != 0 { try draft.deleteItem(EntityID(before)) }
    try draft.updateItem(
      place, set: ["turn": .integer(Int64(turn)), "passing": .integer(Int64(passing.number))])
  }

  /// Checks that a writer sees its own commit as soon as `commit` has returned.
  private func checkIsSeen(_ writer: Int, _ turn: Int, _ revision: Revision) {
    let version = journal.version
    if version.revision < revision { report("entry \(revision) is committed but not visible") }
    let seen = version.state.integer("turn", of: Self.place(of: writer))
    if seen != turn { report("writer \(writer) sees turn \(seen) instead of \(turn)") }
  }

  // MARK: Snapshots

  /// Takes and drops snapshots until all writers have finished.
  func tendSnapshots(_ tender: Int) {
    var random = SeededGenerator(seed: seed &+ 2_000 &+ UInt64(tender))
    reporting("tender \(tender)") {
      repeat {
        let revision = Revision.random(in: 1...journal.head.revision, using: &random)
        try journal.takeSnapshot(asOf: .revision(revision))
        guard let other = try journal.snapshots().randomElement(using: &random) else { continue }
        do {
          try journal.dropSnapshot(at: other.revision)
        } catch let error as JournalError where error.code == .notFound {
          // Another tender, or the journal itself, has dropped it first.
        }
      } while writing.load(ordering: .acquiring) > 0
    }
  }

  /// Verifies everything again and again until all writers have finished.
  func verify() {
    reporting("verifier") {
      repeat {
        let problems = try journal.verify(.deep).problems
        if !problems.isEmpty { report("verify: \(problems)") }
      } while writing.load(ordering: .acquiring) > 0
    }
  }

  // MARK: Reading

  private struct Held {
    let version: Version<Catalog>
    let text: String
  }

  /// Holds states and reads past ones until all writers have finished.
  func read(_ reader: Int) {
    var random = SeededGenerator(seed: seed &+ 1_000 &+ UInt64(reader))
    var held: [Held] = []
    reporting("reader \(reader)") {
      repeat {
        let version = journal.version
        check(version)
        let now = Held(version: version, text: version.state.json)
        if held.count < 16 { held.append(now) } else { held[.random(in: 0..<16, using: &random)] = now }
        let past = held.randomElement(using: &random)!
        let again = try travel(to: past, using: &random)
        // That state may be backed by a snapshot that is dropped later.
        held[.random(in: held.indices, using: &random)] = Held(version: again, text: past.text)
      } while writing.load(ordering: .acquiring) > 0
    }
    for held in held where held.version.state.json != held.text {
      report("the held state of revision \(held.version.revision) has changed")
    }
  }

  /// Reads every entry as it comes, up to the last.
  func follow() async throws {
    var previous: Entry?
    for try await entry in journal.newEntries(after: 0) {
      if entry.revision != (previous?.revision ?? 0) + 1
        || previous.map({ entry.previousDigest != $0.digest }) ?? false
      {
        report("entry \(entry.revision) does not follow \(previous?.revision ?? 0)")
      }
      previous = entry
      if entry.revision == Self.commitCount { break }
    }
  }

  private func check(_ version: Version<Catalog>) {
    let (revision, state) = (version.revision, version.state)
    let turns = state.integer("turns", of: Self.counter)
    let writers = (0..<Self.writerCount).map { state.integer("turn", of: Self.place(of: $0)) }
    let passing = state.items(ofKind: "passing").reduce(0) { count, _ in count + 1 }
    if turns != revision - 1 || writers.reduce(0, +) != turns || passing != writers.count(where: { $0 > 0 }) {
      report("the state of revision \(revision) has \(turns) turns and \(passing) passing items: \(writers)")
    }
  }

  private func travel(to held: Held, using random: inout SeededGenerator) throws -> Version<Catalog> {
    let revision = held.version.revision
    if held.version.state.json != held.text { report("the held state of revision \(revision) has changed") }
    let version = try journal.version(asOf: .revision(revision))
    if version.head != held.version.head || version.state.json != held.text {
      report("as of \(revision) is not what was held")
    }

    var previous: Entry?
    let entries = journal.entries(max(1, revision - 9)...revision)
    while let entry = try entries.next() {
      if let previous, entry.revision != previous.revision + 1 || entry.previousDigest != previous.digest {
        report("entry \(entry.revision) does not follow \(previous.revision)")
      }
      previous = entry
    }
    if previous?.digest != held.version.digest { report("entry \(revision) is not what was held") }

    let touched = Self.ground.randomElement(using: &random)!
    let changes = try journal.history(of: .item(touched)).map(\.revision)
    if changes != changes.sorted(by: >) || !changes.contains(held.version.state.revision(of: .item(touched)))
    {
      report("the history of item \(touched) is \(changes)")
    }
    return version
  }

  // MARK: Reporting

  private func reporting(_ who: String, _ body: () throws -> Void) {
    do { try body() } catch { report("\(who): \(error)") }
  }

  /// Not an expectation: a thread doesn't know to which test it belongs.
  private func report(_ problem: String) { found.withLock { $0.append(problem) } }
}

extension Catalog {
  fileprivate func integer(_ name: String, of item: Catalog.Item.ID) -> Int {
    if case .integer(let number)? = self.item(item)?[name] { Int(number) } else { 0 }
  }
}
