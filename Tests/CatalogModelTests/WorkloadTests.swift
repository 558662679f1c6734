import CatalogModel
import Foundation
import JournalMaintenance
import TestSupport
import Testing

@testable import Journaling

/// Journals that have much of one thing: usually a small amount, and with `JOURNAL_BATTERY=long` as much as a large app
/// has, which takes hours on a small machine.
@Suite(.serialized, .disabled(if: TestLength.isUnderSanitizer)) struct WorkloadTests {
  @Test func manyUpdatesOfAFewItemsKeepOpeningFastAndStatesRight() throws {
    let itemCount = TestLength.size(5_000, long: 1_000_000)
    try Workload.run { load in
      try load.commit(itemCount, perEntry: 1_000) { draft, _, _ in try draft.addItem(kind: "book") }
      load.noteMemory()
      try load.commit(TestLength.size(20_000, long: 10_000_000), perEntry: 100) { draft, turn, random in
        // Only a thousandth of the items is updated.
        let item = Catalog.Item.ID(.random(in: 1...itemCount / 1_000, using: &random))
        try draft.updateItem(item, set: ["read": .integer(Int64(turn)), "note": .string("number \(turn)")])
      }
    }
  }

  @Test func itemsAddedAndDeletedInTurnKeepOpeningFastAndStatesRight() throws {
    try Workload.run { load in
      try load.commit(TestLength.size(10_000, long: 2_000_000), perEntry: 10) { draft, turn, _ in
        let item = try draft.addItem(kind: "ticket", attributes: ["seat": .integer(Int64(turn))])
        // A hundred items exist at a time.
        if item.number > 100 { try draft.deleteItem(EntityID(item.number - 100)) }
      }
    }
  }

  @Test func movingAndDeletingLargeCategoriesKeepsOpeningFastAndStatesRight() throws {
    let size = TestLength.size(2_000, long: 200_000)
    try Workload.run { load in
      try load.commit(3, perEntry: 3) { draft, turn, _ in try draft.addCategory(name: "shelf \(turn)") }
      try load.commit(3 * size, perEntry: 1_000) { draft, turn, _ in
        try draft.addItem(kind: "book", category: EntityID(1 + turn % 3))
      }
      load.noteMemory()
      for category in 1...2 {
        let items = Array(load.journal.state.items(in: EntityID(category)).map(\.id))
        try load.commit(items.count, perEntry: size) { draft, turn, _ in
          try draft.setCategory(ofItem: items[turn], to: 3)
        }
      }
      try load.commit(1, perEntry: 1) { draft, _, _ in try draft.deleteCategory(3) }
    }
  }

  @Test func manyKindsKeepOpeningFastAndStatesRight() throws {
    let kinds = TestLength.size(2_000, long: 100_000)
    try Workload.run { load in
      try load.commit(2 * kinds, perEntry: 100) { draft, turn, _ in
        try draft.addItem(kind: "kind \(turn % kinds)", attributes: ["turn": .integer(Int64(turn))])
      }
    }
  }

  /// Layers are written with pauses between commits, and must not fall behind, although they have whole records.
  @Test func smallUpdatesOfLargeItemsByOneCallerKeepOpeningFastAndStatesRight() throws {
    let itemCount = TestLength.size(1_000, long: 100_000)
    let note = String(repeating: "x", count: 2_000)
    // On a busy machine, commits wait for layers.
    try Workload.run(backlogCount: 4_096) { load in
      try load.commit(itemCount, perEntry: 100) { draft, _, _ in
        try draft.addItem(kind: "book", attributes: ["note": .string(note)])
      }
      load.noteMemory()
      load.replayLimit = 8_192
      try load.commit(TestLength.size(10_000, long: 1_000_000), perEntry: 1) { draft, turn, random in
        let item = Catalog.Item.ID(.random(in: 1...itemCount, using: &random))
        try draft.updateItem(item, set: ["read": .integer(Int64(turn))])
      }
    }
  }

  @Test func oneEntryOfManyEventsKeepsOpeningFastAndStatesRight() throws {
    let count = TestLength.size(20_000, long: 1_000_000)
    try Workload.run { load in
      try load.commit(count, perEntry: count) { draft, turn, _ in
        try draft.addItem(kind: "book", attributes: ["title": .string("title \(turn)")])
      }
      try load.commit(1, perEntry: 1) { draft, _, _ in try draft.updateItem(7, set: ["stars": .integer(5)]) }
    }
  }
}

/// Writes to a journal, checks meanwhile what the next opening would find, and compares its states with their replay.
private final class Workload {
  let journal: CatalogJournal
  private let url: URL
  private var random = SeededGenerator()
  /// The events of the largest entry.
  private var largest = 0
  private var eventCount = 0
  private var memory: Int?
  /// How many events an opening may replay, apart from the largest entry. By default, all of them may be additions.
  var replayLimit = LayerPolicy.automatic.backlogCount * LayerPolicy.automatic.additionsPerEvent

  private let options: JournalOptions

  /// A small cache, because what the journal keeps of its files must not hide that other memory grows.
  private static func options(_ backlogCount: Int) -> JournalOptions {
    var options = JournalOptions(cacheByteCount: 64 << 20)
    // On a busy machine, the thread that writes layers hardly runs.
    options.layers.stallTimeout = 600
    options.layers.backlogCount = backlogCount
    return options
  }

  private init(_ url: URL, _ options: JournalOptions) throws {
    self.url = url
    self.options = options
    journal = try CatalogJournal.create(at: url, options: options)
  }

  /// - Parameter backlogCount: how many events may be in no file before commits wait.
  static func run(
    backlogCount: Int = LayerPolicy.automatic.backlogCount, _ body: (Workload) throws -> Void
  ) throws {
    try withTemporaryFolder { folder in
      let load = try Workload(folder.url.appending(path: "Load.journal"), options(backlogCount))
      try body(load)
      try load.finish()
    }
  }

  /// Calls `change` `count` times, in entries of `size` calls.
  func commit<Value>(
    _ count: Int, perEntry size: Int,
    _ change: (inout Draft<Catalog>, _ turn: Int, _ random: inout SeededGenerator) throws -> Value
  ) throws {
    let entryCount = (count + size - 1) / size
    for entry in 0..<entryCount {
      let before = eventCount
      try journal.commit { draft in
        for turn in entry * size..<min(count, (entry + 1) * size) { _ = try change(&draft, turn, &random) }
      }
      eventCount = before + (try journal.entry(at: journal.head.revision)).events.count
      largest = max(largest, eventCount - before)
      if (entry + 1) % max(1, entryCount / 8) == 0 { try look() }
    }
  }

  /// From now on, memory must not grow with the amount that is written.
  func noteMemory() {
    journal.waitForLayers()
    memory = residentByteCount
  }

  /// Checks what an opening finds now, between commits, as it would after a kill.
  private func look() throws {
    let found = try CatalogJournal.open(at: url, mode: .readOnly, options: options)
    let statistics = try found.statistics()
    #expect(found.head.revision == journal.head.revision)
    #expect(statistics.replayedEventCount <= replayLimit + largest)
    // Three layers of each size, and those that are being merged or have just been written.
    let sizes = (1...20).first { 512 << (2 * $0) > eventCount } ?? 20
    #expect(statistics.layerCount <= 4 * sizes + 8)
    try found.close()
    // Other tests in this process take memory too, except in a long run. A large entry is in memory as a whole.
    if TestLength.isLong, let memory, let now = residentByteCount {
      #expect(now < memory + 256 << 20 + largest << 10)
    }
  }

  /// Compares states at random revisions, and the newest, with the replay, before and after the journal is reopened.
  private func finish() throws {
    journal.waitForLayers()
    try look()
    let newest = journal.head.revision
    var revisions = (0..<TestLength.size(6, long: 40)).map { _ in Int.random(in: 1...newest, using: &random) }
    revisions.append(newest)
    var digests: [Revision: ContentDigest] = [:]
    let replay = Replay<Catalog>(log: journal.log, format: journal.format)
    var start = ReplayStart<Catalog>.empty
    for revision in Set(revisions).sorted() {
      let (version, replayed) = try replay.version(through: revision, from: start)
      start = ReplayStart(
        revision: revision, state: version.state, eventCount: start.eventCount + replayed.count)
      digests[revision] = StateDigest.digest(of: version.state)
      #expect(version.state.problems() == [])
    }
    #expect(start.eventCount == eventCount)
    let head = journal.head
    try expect(digests, of: journal)
    try journal.close()
    let opened = try CatalogJournal.open(at: url, options: options)
    #expect(opened.head == head)
    let policy = LayerPolicy.automatic
    #expect(try opened.statistics().replayedEventCount <= policy.eventCount * policy.additionsPerEvent)
    try expect(digests, of: opened)
    #expect(try opened.verify(.deep).problems.map(\.description) == [])
    try opened.close()
  }

  private func expect(_ digests: [Revision: ContentDigest], of journal: CatalogJournal) throws {
    for (revision, digest) in digests {
      let state = try journal.state(asOf: .revision(revision))
      #expect(StateDigest.digest(of: state) == digest, "revision \(revision)")
    }
  }
}
