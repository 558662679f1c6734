import CatalogModel
import Files
import Foundation
import JournalMaintenance
import Locks
import Synchronization
import TestSupport
import Testing

@testable import Journaling

/// Layers are written, merged and thinned automatically. Whatever happens to them, every state equals the replayed one.
struct LayerTests {
  @Test(arguments: [false, true]) func everyStateEqualsTheReplayedOneWhileLayersAreWrittenAndMerged(
    _ isLate: Bool
  ) throws {
    try withLayeredGarden(isLate: isLate) { garden, options in
      var held: [(Catalog, String)] = []
      for _ in 0..<4 {
        try garden.grow(25)
        held.append((garden.journal.state, try #require(garden.states.last)))
        garden.journal.waitForLayers()
      }
      // The work is random, so the layers are merged sooner or later.
      while try garden.journal.statistics().writeAmplification <= 1, garden.states.count < 1000 {
        try garden.grow(25)
        garden.journal.waitForLayers()
      }
      try garden.expectEveryRevision()
      for (state, json) in held { #expect(state.json == json) }
      let statistics = try garden.journal.statistics()
      #expect(statistics.layerCount > 0 && statistics.writeAmplification > 1)
      try garden.reopen(options: options)
      #expect(garden.journal.state.json == garden.states.last)
      #expect(garden.journal.health.layerProblems.map(\.description) == [])
      try garden.expectEveryRevision()
      for (state, json) in held { #expect(state.json == json) }
      #expect(try garden.journal.verify(.deep).problems.map(\.description) == [])
    }
  }

  @Test func openingReplaysFewEventsWhereverTheProcessEnded() throws {
    var random = SeededGenerator()
    try withLayeredGarden { garden, options in
      for round in 0..<6 {
        try garden.grow(Int.random(in: 1...20, using: &random))
        garden.journal.waitForLayers()
        // What is on disk now is what a process leaves that is killed.
        let copy = garden.url.deletingLastPathComponent().appending(path: "Killed\(round).journal")
        try FileManager.default.copyItem(at: garden.url, to: copy)
        let killed = try CatalogJournal.open(at: copy, mode: .readOnly, options: options)
        let events = try killed.replayed(through: killed.head.revision).eventCount
        let start: ReplayStart<Catalog> = killed.chain.start(atOrBefore: killed.head.revision)
        // An entry has up to four events, and the last layer but one may just have been frozen.
        #expect(events - start.eventCount < options.layers.eventCount + 4)
        #expect(killed.state.json == garden.states.last)
        try killed.close()
      }
    }
  }

  /// The process can end before, during and after each operation on a file of a layer, while commits continue.
  @Test func openingReplaysFewEventsWhenTheProcessEndsWhileALayerIsWrittenOrMerged() throws {
    try withLayeredGarden { garden, options in
      // Until the first layer is written, everything before it would be replayed.
      garden.journal.waitForLayers()
      var options = options
      let (isNext, goesOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let isWatched = Atomic<Bool>(true)
      options.fileHook = { operation in
        if isWatched.load(ordering: .acquiring), operation.path.contains("/snapshots") {
          isNext.signal()
          goesOn.wait()
        }
        return .proceed
      }
      try garden.reopen(options: options)
      let copy = garden.url.deletingLastPathComponent().appending(path: "Killed.journal")
      var (looks, unfinished, most) = (0, 0, 0)
      while looks < 200 {
        guard isNext.wait(timeout: .now() + .milliseconds(20)) == .success else {
          let isWriting = garden.journal.keeper?.progress.withLock { $0.schedule.isWriting }
          if isWriting == false { try garden.grow(1) }
          continue
        }
        // What is on disk now is what a process leaves that is killed.
        try FileManager.default.copyItem(at: garden.url, to: copy)
        goesOn.signal()
        let killed = try CatalogJournal.open(at: copy, mode: .readOnly)
        #expect(killed.state.json == garden.states.last)
        most = max(most, try killed.statistics().replayedEventCount)
        looks += 1
        if looks % 3 == 0 { try garden.grow(1) }
        let names = try FileManager.default.contentsOfDirectory(
          atPath: copy.appending(path: "snapshots").path)
        if try names.count > killed.snapshotFileNames().count { unfinished += 1 }
        try killed.close()
        try FileManager.default.removeItem(at: copy)
      }
      isWatched.store(false, ordering: .releasing)
      goesOn.signal()
      garden.journal.waitForLayers()
      #expect(unfinished > 50)
      // There is an entry of up to four events for every three file operations, so a layer becomes due while another
      // is being written.
      #expect(most >= options.layers.eventCount && most <= 12 * options.layers.eventCount, "\(most)")
    }
  }

  /// Layers that no earlier session has merged used to stay until the next one was written.
  @Test func aSessionWithoutCommitsMergesTheLayersOfEarlierOnes() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Idle.journal")
      var unmerged = JournalOptions(layers: .often(2))
      unmerged.layers.fanout = 1_000
      unmerged.layers.logShare = 1_000
      let writer = try CatalogJournal.create(at: url, options: unmerged)
      for _ in 0..<100 {
        try writer.commit { draft in for _ in 0..<4 { _ = try draft.addItem(kind: "tool") } }
        writer.waitForLayers()
      }
      #expect(try writer.statistics().layerCount == 100)
      try writer.close()
      let created = Lock<[String]>([])
      var options = JournalOptions(layers: .often(2))
      options.fileHook = { operation in
        if operation.kind == .create, let name = operation.path.split(separator: "/").last,
          name.hasSuffix(".plist.new")
        {
          created.withLock { $0.append(String(name)) }
        }
        return .proceed
      }
      let idle = try CatalogJournal.open(at: url, options: options)
      idle.waitForLayers()
      #expect(try idle.statistics().layerCount <= 12)
      // Few at a time, so that a session that ends soon has merged some of them.
      #expect(created.withLock { $0.first } == "0000000000000000-0000000000000008.plist.new")
      #expect(idle.state.itemCount == 400)
      #expect(try idle.verify(.deep).isSound)
      try idle.close()
    }
  }

  @Test(arguments: [ENOSPC, EMFILE]) func closingSucceedsIfAnOverdueLayerCanNotBeWritten(_ code: Int32) throws
  {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Short.journal")
      try CatalogJournal.create(at: url).close()
      let failures = Atomic<Int>(0)
      var options = JournalOptions(layers: .often(8))
      options.fileHook = { operation in
        guard operation.kind == .create, operation.path.hasSuffix(".plist.new") else { return .proceed }
        failures.add(1, ordering: .relaxed)
        return .fail(code)
      }
      for _ in 1...40 {
        let journal = try CatalogJournal.open(at: url, options: options)
        try journal.commit { _ = try $0.addItem(kind: "tool") }
        try journal.close()
      }
      let failureCount = failures.load(ordering: .relaxed)
      #expect(failureCount >= 20)
      // As soon as one can be written, openings replay few events again.
      try CatalogJournal.open(at: url, options: JournalOptions(layers: .often(8))).close()
      let reader = try CatalogJournal.open(at: url, mode: .readOnly)
      #expect(reader.state.itemCount == 40)
      #expect(try reader.statistics().replayedEventCount < 16)
      #expect(try reader.verify(.deep).isSound)
    }
  }

  /// If commits come faster than layers can be written, they wait, so that the next opening does not take long.
  /// Additions are replayed faster, so there may be more of them.
  @Test func commitsThatComeFasterThanLayersWaitForThem() throws {
    try withLayeredGarden { garden, options in
      var options = options
      let goesOn = DispatchSemaphore(value: 0)
      let isHeld = Atomic<Bool>(true)
      options.fileHook = { operation in
        if operation.kind == .create, operation.path.hasSuffix(".plist.new"),
          isHeld.load(ordering: .acquiring)
        {
          goesOn.wait()
          isHeld.store(false, ordering: .releasing)
        }
        return .proceed
      }
      let bound = 384
      options.layers.backlogCount = bound / 4
      options.layers.additionsPerEvent = 4
      // Otherwise commits would continue while this test has no time to look.
      options.layers.stallTimeout = 600
      let waits = Lock(0)
      options.log = { if $0.message.hasPrefix("a commit waited ") { waits.withLock { $0 += 1 } } }
      try garden.reopen(options: options)
      let journal = garden.journal
      let before = journal.head.revision
      let hasCommitted = DispatchSemaphore(value: 0)
      let committed = Atomic<Int>(0)
      Thread.detachNewThread {
        for _ in 0..<2 * bound {
          _ = try? journal.commit { _ = try $0.addItem(kind: "fast") }
          committed.add(1, ordering: .relaxed)
        }
        hasCommitted.signal()
      }
      // The writer gets as far as the bound, and no further.
      var count = -1
      let end = Date() + 300
      // On a busy machine a commit can take long, too.
      while count != committed.load(ordering: .relaxed) || count <= bound / 4, Date() < end {
        count = committed.load(ordering: .relaxed)
        Thread.sleep(forTimeInterval: 0.5)
      }
      #expect(count > bound / 4 && count <= bound)
      Thread.sleep(forTimeInterval: 1)
      goesOn.signal()
      hasCommitted.wait()
      #expect(waits.withLock { $0 } > 0, "no notice says why a commit took long")
      #expect(journal.head.revision == before + 2 * bound)
      journal.waitForLayers()
      #expect(try journal.verify(.deep).problems.map(\.description) == [])
    }
  }

  @Test func layersStayInUseWhenTheSnapshotBelowThemIsDropped() throws {
    try withGarden { garden in
      try garden.reopen(options: JournalOptions(layers: .manual))
      try garden.grow(30)
      let snapshot = try garden.journal.takeSnapshot()
      let options = JournalOptions(layers: .often(12))
      try garden.reopen(options: options)
      try garden.grow(20)
      garden.journal.waitForLayers()
      try garden.journal.dropSnapshot(at: snapshot.revision)
      try garden.grow(20)
      garden.journal.waitForLayers()
      try garden.reopen(options: options)
      #expect(try garden.journal.statistics().replayedEventCount < 12 + 4)
      #expect(try garden.journal.snapshots().isEmpty)
      try garden.expectEveryRevision()
      #expect(try garden.journal.verify(.deep).problems.map(\.description) == [])
    }
  }

  /// A replay over layers reads the entities ahead that its events change. There are both few and many entries here.
  @Test(arguments: [1, 10]) func aReplayThatReadsAheadGivesTheSameStates(eventsPerEntry: Int) throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Ahead.journal")
      let journal = try CatalogJournal.create(at: url, options: JournalOptions(layers: .often(500)))
      let count = 3_000
      try journal.commit { draft in
        for _ in 0..<count { _ = try draft.addItem(kind: "one", attributes: ["turn": .integer(0)]) }
      }
      journal.waitForLayers()
      try journal.close()
      var random = SeededGenerator()
      var digests: [Revision: ContentDigest] = [:]
      let changed = try CatalogJournal.open(at: url, options: JournalOptions(layers: .manual))
      for turn in 1...1_200 / eventsPerEntry {
        try changed.commit { draft in
          for _ in 0..<eventsPerEntry {
            let item = Catalog.Item.ID(.random(in: 1...count, using: &random))
            switch Int.random(in: 0..<4, using: &random) {
            case 0: _ = try draft.addItem(kind: "two")
            case 1 where draft.state.item(item) != nil: try draft.deleteItem(item)
            case _ where draft.state.item(item) != nil:
              try draft.updateItem(item, set: ["turn": .integer(Int64(turn))])
            default: _ = try draft.addItem(kind: "three")
            }
          }
        }
        if turn % 37 == 0 { digests[changed.head.revision] = StateDigest.digest(of: changed.state) }
      }
      digests[changed.head.revision] = StateDigest.digest(of: changed.state)
      try changed.close()
      func expectStates(isDamaged: Bool) throws {
        let opened = try CatalogJournal.open(at: url, mode: .readOnly)
        #expect(try opened.statistics().replayedEventCount >= 1_000)
        for (revision, digest) in digests {
          let state = try opened.state(asOf: .revision(revision))
          #expect(StateDigest.digest(of: state) == digest, "revision \(revision)")
        }
        #expect(opened.health.layerProblems.isEmpty != isDamaged)
        try opened.close()
      }
      try expectStates(isDamaged: false)
      // The thread that reads ahead meets the damage first.
      let layers = url.appending(path: "snapshots")
      let names = try FileManager.default.contentsOfDirectory(atPath: layers.path)
      let name = try #require(names.first { $0.hasSuffix(".plist") })
      var bytes = try Data(contentsOf: layers.appending(path: name))
      for start in stride(from: 50_000, to: bytes.count, by: 50_000) { bytes[start] ^= 1 }
      try bytes.write(to: layers.appending(path: name))
      try expectStates(isDamaged: true)
    }
  }

  /// A search in a layer begins where an entity's number suggests. Here the changed entities lie close together at both
  /// ends, and one in the middle has most of the versions.
  @Test(.disabled(if: TestLength.isUnderSanitizer)) func anEntityIsFoundHoweverTheChangedOnesAreSpread()
    throws
  {
    try withTemporaryFolder { folder in
      var options = JournalOptions(layers: .often(40))
      options.layers.logShare = 1_000
      let url = folder.url.appending(path: "Uneven.journal")
      let journal = try CatalogJournal.create(at: url, options: options)
      let count = 4_000
      var turns = [Int?](repeating: 0, count: count + 2)
      turns[0] = nil
      turns[count + 1] = nil
      try journal.commit { draft in
        for _ in 0..<count { _ = try draft.addItem(kind: "one", attributes: ["turn": .integer(0)]) }
      }
      var random = SeededGenerator()
      var expected: [Revision: [Int?]] = [:]
      for turn in 1...400 {
        let numbers = [
          2_000, Int.random(in: 1...90, using: &random), Int.random(in: count - 90...count, using: &random),
        ]
        try journal.commit { draft in
          for number in numbers where turns[number] != nil {
            if number != 2_000, turn % 10 == 0 {
              try draft.deleteItem(EntityID(number))
              turns[number] = nil
            } else {
              try draft.updateItem(EntityID(number), set: ["turn": .integer(Int64(turn))])
              turns[number] = turn
            }
          }
        }
        if turn % 57 == 0 || turn == 400 { expected[journal.head.revision] = turns }
      }
      journal.waitForLayers()
      try journal.close()
      let opened = try CatalogJournal.open(at: url, options: options)
      #expect(opened.chain.layers.contains { $0.checkpoints.count > 4 })
      for (revision, turns) in expected {
        let state = try opened.state(asOf: .revision(revision))
        let found = (0..<count + 2).map { number in
          state.item(EntityID(number)).map { $0.attributes["turn"] }
        }
        #expect(found == turns.map { $0.map { .integer(Int64($0)) } }, "revision \(revision)")
      }
      try opened.close()
    }
  }

  /// Replaying an addition takes less time than replaying an update, so more of them fit between two layers.
  @Test func aLayerIsDueAfterFewUpdatesOrManyAdditions() throws {
    try withTemporaryFolder { folder in
      let options = JournalOptions(layers: .automatic)
      var journal = try CatalogJournal.create(at: folder.url.appending(path: "Due.journal"), options: options)
      func add(_ count: Int) throws {
        try journal.commit { draft in for _ in 0..<count { _ = try draft.addItem(kind: "one") } }
      }
      func checkpoint() throws -> Revision {
        journal.waitForLayers()
        return try journal.statistics().newestCheckpoint
      }
      for _ in 0..<4 { try add(1_000) }
      #expect(try checkpoint() == 0)
      try add(100)
      #expect(try checkpoint() == 5)
      // Each of them has a checkpoint, so past states are as fast as with more layers.
      #expect(journal.chain.layers.map { $0.checkpoints.map(\.revision) } == [[1, 2, 3, 4, 5]])
      func update(_ numbers: ClosedRange<Int>) throws {
        try journal.commit { draft in
          for number in numbers { try draft.updateItem(EntityID(number), set: ["turn": .bool(true)]) }
        }
      }
      try update(1...500)
      try add(80)
      #expect(try checkpoint() == 5)
      try update(501...502)
      #expect(try checkpoint() == 8)
      // The same holds for what an opening replays.
      func reopen() throws -> Revision {
        try journal.close()
        journal = try CatalogJournal.open(at: journal.url, options: options)
        return try checkpoint()
      }
      try add(4_000)
      #expect(try reopen() == 8)
      try add(100)
      #expect(try checkpoint() == 10)
      try add(4_000)
      try update(503...520)
      #expect(try reopen() == 12)
      try journal.close()
    }
  }

  @Test func withoutAPastOnlyLayersOfTheNewestStateAreKept() throws {
    try withGarden { garden in
      var options = JournalOptions(layers: .often(12))
      options.layers.fanout = 3
      options.layers.keepsPast = false
      try garden.reopen(options: options)
      try garden.grow(80)
      garden.journal.waitForLayers()
      for layer in garden.journal.chain.layers { #expect(layer.checkpoints.count == 1) }
      try garden.expectEveryRevision()
      try garden.reopen(options: options)
      #expect(try garden.journal.verify(.deep).problems.map(\.description) == [])
    }
  }

  @Test func oneEntityThatChangesAllTheTimeIsOneVersionForEachCheckpoint() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Hot.journal")
      let options = JournalOptions(layers: .often(50))
      let journal = try CatalogJournal.create(at: url, options: options)
      try journal.commit { draft in for _ in 0..<3 { _ = try draft.addItem(kind: "hot") } }
      for turn in 0..<1_000 {
        try journal.commit { try $0.updateItem(1, set: ["turn": .integer(Int64(turn))]) }
      }
      journal.waitForLayers()
      for revision in stride(from: 1, through: 1_001, by: 37) {
        let state = try journal.state(asOf: .revision(revision))
        #expect(state.item(1)?["turn"] == (revision > 1 ? .integer(Int64(revision - 2)) : nil))
        #expect(state.items.map(\.id) == [1, 2, 3])
      }
      #expect(try journal.statistics().layerByteCount < 100_000)
      try journal.close()
      let again = try CatalogJournal.open(at: url, options: options)
      #expect(try again.verify(.deep).problems.map(\.description) == [])
      try again.close()
    }
  }

  /// The log has only what an update changes. A layer has whole entities, but what did not change only once.
  @Test(.disabled(if: TestLength.isUnderSanitizer)) func versionsShareWhatDidNotChange() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Long.journal")
      let options = JournalOptions(layers: .often(4))
      let journal = try CatalogJournal.create(at: url, options: options)
      let longText = FieldValue.string(String(repeating: "a long text ", count: 1_000))
      let longList = FieldValue.array((0..<1_000).map { .integer(Int64($0)) })
      try journal.commit { draft in
        for kind in ["first", "second"] {
          _ = try draft.addItem(kind: kind, attributes: ["list": longList, "text": longText])
        }
      }
      let turns = 400
      for turn in 0..<turns {
        try journal.commit { draft in
          // Names before, between and behind the others come and go.
          try draft.updateItem(1, set: ["b \(turn % 3)": .integer(Int64(turn))], remove: ["z"])
          try draft.updateItem(2, set: ["t": .integer(Int64(turn)), "z": .bool(turn % 2 == 0)])
          if turn % 5 == 0 { try draft.updateItem(1, set: ["z": .null], remove: ["b \(turn % 3)"]) }
        }
        // Commits that are faster than the thread that writes layers would share checkpoints.
        journal.waitForLayers()
      }
      // At most a few versions in each layer have texts and lists of their own.
      let statistics = try journal.statistics()
      let checkpointCount = journal.chain.layers.reduce(0) { $0 + $1.checkpoints.count }
      #expect(checkpointCount > turns / 4)
      #expect(statistics.layerByteCount < checkpointCount * 2 * 12_000 / 5)
      for revision in stride(from: 1, through: turns + 1, by: 41) {
        let state = try journal.state(asOf: .revision(revision))
        #expect(try state.json == journal.replayed(through: revision).version.state.json)
        for item in state.items { #expect(item["text"] == longText && item["list"] == longList) }
      }
      #expect(try journal.verify(.deep).problems.map(\.description) == [])
      try journal.close()
    }
  }

  /// How much of the past fits depends on what changed, however large the entities are.
  @Test(.disabled(if: TestLength.isUnderSanitizer)) func smallChangesOfLargeEntitiesKeepAllTheirPastStates()
    throws
  {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Large.journal")
      let journal = try CatalogJournal.create(at: url, options: JournalOptions(layers: .often(16)))
      let count = 128
      try journal.commit { draft in
        for item in 1...count {
          let text = String(repeating: "the long text of item \(item) ", count: 500)
          _ = try draft.addItem(kind: "note", attributes: ["text": .string(text)])
        }
      }
      let turns = 160
      for turn in 0..<turns {
        try journal.commit { draft in
          for item in 0..<16 {
            let number = (turn * 16 + item) % count + 1
            try draft.updateItem(EntityID(number), set: ["turn": .integer(Int64(turn))])
          }
        }
        // Commits that are faster than the thread that writes layers would share checkpoints.
        journal.waitForLayers()
      }
      let statistics = try journal.statistics()
      #expect(journal.chain.layers.reduce(0) { $0 + $1.checkpoints.count } == turns + 1)
      #expect(statistics.layerByteCount < 2 * statistics.logByteCount)
      try journal.close()
    }
  }

  /// A sample of some entities misses the only one that changes, so layers would take any space.
  @Test func manyLargeVersionsOfOneEntityCountAmongTheBytesOfAMergedLayer() throws {
    try withTemporaryFolder { folder in
      var options = JournalOptions(layers: .often(4))
      options.layers.fanout = 1_000
      options.layers.logShare = 1_000
      let journal = try CatalogJournal.create(
        at: folder.url.appending(path: "Large.journal"), options: options)
      try journal.commit { draft in for _ in 1...40 { _ = try draft.addItem(kind: "note") } }
      var generator = SeededGenerator()
      for _ in 0..<100 {
        try journal.commit { draft in
          try draft.updateItem(2, set: ["text": .data(Data(generator.bytes(60_000)))])
        }
        journal.waitForLayers()
      }
      let layers = journal.chain.layers
      let sources = try layers.map { layer in try journal.chain.source(layer) }
      let all = layers.flatMap(\.checkpoints)
      let kept = try journal.chain.checkpoints(of: layers, sources, options.layers, share: 1 << 20) { false }
      #expect(all.count > 20 && kept.count < all.count)
      #expect(kept.last == all.last)
      try journal.close()
    }
  }

  // MARK: Damage

  /// What happens to the file of a layer.
  enum Damage: CaseIterable {
    case flipped, cut, emptied, deleted, swapped, foreign, unrecorded, recordFlipped
  }

  @Test(.disabled(if: TestLength.isUnderSanitizer), arguments: Damage.allCases, [false, true])
  func damageToAnyLayerCostsTimeOnly(
    _ damage: Damage, readingLate isLate: Bool
  ) throws {
    try withLayeredGarden(isLate: isLate) { garden, options in
      for _ in 0..<10 {
        try garden.grow(7)
        garden.journal.waitForLayers()
      }
      // A merge may just have left a single layer.
      while try garden.journal.statistics().layerCount < 2 {
        try garden.grow(7)
        garden.journal.waitForLayers()
      }
      try garden.journal.close()
      let folder = garden.url.appending(path: "snapshots")
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter {
        $0.hasSuffix(".plist")
      }.sorted()
      try #require(names.count > 1)
      for (index, name) in names.enumerated() {
        let file = folder.appending(path: name)
        let record = folder.appending(path: name.replacing(".plist", with: ".record"))
        let (whole, known) = (try Data(contentsOf: file), try Data(contentsOf: record))
        let other = try Data(contentsOf: folder.appending(path: names[(index + 1) % names.count]))
        switch damage {
        case .flipped:
          var bytes = whole
          bytes[whole.count / 2] ^= 4
          try bytes.write(to: file)
        case .cut: try whole.prefix(whole.count - 1).write(to: file)
        case .emptied: try Data().write(to: file)
        case .deleted: try FileManager.default.removeItem(at: file)
        case .swapped: try other.write(to: file)
        case .foreign: try Data(whole.reversed()).write(to: file)
        case .unrecorded: try FileManager.default.removeItem(at: record)
        case .recordFlipped:
          var bytes = known
          bytes[known.count / 2] ^= 4
          try bytes.write(to: record)
        }
        try garden.open(mode: .readOnly, options: options)
        #expect(garden.journal.state.json == garden.states.last)
        for revision in stride(from: 0, to: garden.states.count, by: 29) {
          #expect(try garden.journal.state(asOf: .revision(revision)).json == garden.states[revision])
        }
        // A crash can leave a file without a record, so this is no problem to report.
        let isSound = try garden.journal.verify().isSound
        #expect(isSound == (damage == .unrecorded))
        #expect(garden.journal.state.failure == nil)
        try garden.journal.close()
        try whole.write(to: file)
        try known.write(to: record)
      }
      // If a layer is missing, the journal writes a new one.
      try FileManager.default.removeItem(at: folder.appending(path: names[0]))
      try garden.open(options: options)
      try garden.grow(40)
      garden.journal.waitForLayers()
      try garden.reopen(options: options)
      #expect(garden.journal.health.layerProblems.map(\.description) == [])
      #expect(try garden.journal.verify(.deep).problems.map(\.description) == [])
      try garden.expectEveryRevision()
    }
  }

  /// Changes a file in its place, because an open journal would go on reading a replaced one.
  private func overwrite(_ file: URL, with bytes: Data) throws {
    let handle = try FileHandle(forUpdating: file)
    try handle.write(contentsOf: bytes)
    try handle.close()
  }

  private func overwriteWithZeros(_ file: URL) throws {
    try overwrite(file, with: Data(count: try Data(contentsOf: file).count))
  }

  /// Reading a state used to end the process if both its layers and the log had disappeared.
  @Test(.timeLimit(.minutes(60))) func aStateThatCanNoLongerBeReadReportsItAndIsNotUsed() throws {
    try withLayeredGarden(isLate: true) { garden, options in
      try garden.plant(4_000)
      garden.journal.waitForLayers()
      try garden.reopen(options: options)
      let journal = garden.journal
      let state = journal.state
      for name in try FileManager.default.contentsOfDirectory(
        atPath: garden.url.appending(path: "snapshots").path)
      where name.hasSuffix(".plist") {
        try overwriteWithZeros(garden.url.appending(path: "snapshots/\(name)"))
      }
      // The log is still there: the answers are right.
      #expect(state.json == garden.states.last)
      #expect(state.failure == nil)
      #expect(!journal.health.layerProblems.isEmpty)
    }
    try withLayeredGarden(isLate: true) { garden, options in
      try garden.plant(4_000)
      garden.journal.waitForLayers()
      try garden.reopen(options: options)
      let journal = garden.journal
      let state = journal.state
      let (items, problems) = (state.itemCount, journal.health.layerProblems.count)
      for name in try FileManager.default.contentsOfDirectory(
        atPath: garden.url.appending(path: "snapshots").path)
      where name.hasSuffix(".plist") {
        let file = garden.url.appending(path: "snapshots/\(name)")
        try FileHandle(forUpdating: file).truncate(atOffset: 0)
      }
      journal.chain.use(nil)
      try FileManager.default.removeItem(at: garden.url.appending(path: "entries"))
      #expect(state.items.reduce(0) { count, _ in count + 1 } <= items)
      for number in 1...items { _ = state.item(EntityID(number)) }
      #expect(state.failure?.code == .io)
      #expect(journal.state.failure != nil)
      #expect(journal.health.layerProblems.count > problems)
      let error = #expect(throws: JournalError.self) {
        try journal.commit { _ = try $0.addItem(kind: "late") }
      }
      #expect(error?.code == .io)
      #expect(throws: JournalError.self) { try journal.takeSnapshot() }
    }
  }

  /// If neither a layer nor the log could be read, the layers below it used to answer: with old values, and with items
  /// that were deleted. And a replay on such a state reported that the log was damaged.
  @Test func anOlderLayerNeverAnswersForOneThatCanNotBeRead() throws {
    try withTemporaryFolder { folder in
      let isFailing = Atomic<Bool>(false)
      var options = JournalOptions(layers: .often(12))
      options.layers.fanout = 100
      options.layers.logShare = 100
      options.layers.memoryByteCount = 0
      options.readHook = { _, _ in isFailing.load(ordering: .acquiring) ? .fail(EIO) : .proceed }
      let url = folder.url.appending(path: "Fault.journal")
      var journal = try CatalogJournal.create(at: url, options: options)
      let text = String(repeating: "early ", count: 1000)
      try journal.commit { draft in
        for _ in 0..<400 { _ = try draft.addItem(kind: "note", attributes: ["text": .string(text)]) }
      }
      journal.waitForLayers()
      try journal.commit { draft in
        for number in 1...400 {
          let text = String(repeating: "late \(number) ", count: 300)
          try draft.updateItem(EntityID(number), set: ["text": .string(text)])
        }
        try draft.deleteItem(207)
      }
      journal.waitForLayers()
      // Now the log is in tables, which are read on demand.
      try journal.close()
      journal = try CatalogJournal.open(at: url, options: options)
      // Updates of the first items, so that the pages of the others are not in memory.
      for stars in 1...3 {
        try journal.commit { try $0.updateItem(1, set: ["stars": .integer(Int64(stars))]) }
      }
      let last = try journal.commit { try $0.addItem(kind: "last") }.revision
      let state = journal.state
      let newest = try #require(journal.chain.layers.last)
      #expect(journal.chain.layers.count > 1 && newest.top.revision == 2)
      try overwriteWithZeros(url.appending(path: "snapshots/\(newest.name.fileName)"))
      isFailing.store(true, ordering: .releasing)
      func isLate(_ item: Catalog.Item) -> Bool {
        if case .string(let text)? = item.attributes["text"] { text.hasPrefix("late") } else { false }
      }
      for number in 1...400 {
        guard let item = state.item(EntityID(number)) else { continue }
        #expect(number != 207 && isLate(item), "item \(number)")
      }
      for item in state.items where item.kind == "note" { #expect(item.id != 207 && isLate(item)) }
      for item in state.items(ofKind: "note") { #expect(item.id != 207) }
      #expect(state.failure?.code == .io)
      let error = #expect(throws: JournalError.self) { try journal.state(asOf: .revision(last - 1)) }
      #expect(error?.code == .io, "\(String(describing: error))")
      try? journal.close()
    }
  }

  /// A merge that could read neither a layer nor the log used to stop all commits, although no reader had missed
  /// anything, and although the fault had passed.
  @Test func aFaultThatOnlyAMergeMeetsStopsNoCommit() throws {
    try withTemporaryFolder { folder in
      let isFailing = Atomic<Bool>(false)
      var options = JournalOptions(layers: .often(12))
      options.layers.fanout = 2
      options.layers.memoryByteCount = 0
      options.readHook = { _, _ in isFailing.load(ordering: .acquiring) ? .fail(EIO) : .proceed }
      let url = folder.url.appending(path: "Fault.journal")
      var journal = try CatalogJournal.create(at: url, options: options)
      // The log is so large that an opening makes a table of it, which is then read on demand.
      let text = FieldValue.string(String(repeating: "long ", count: 1000))
      try journal.commit { draft in
        for _ in 0..<400 { _ = try draft.addItem(kind: "early", attributes: ["text": text]) }
      }
      journal.waitForLayers()
      try journal.close()
      journal = try CatalogJournal.open(at: url, options: options)
      let layer = try #require(journal.chain.layers.first)
      let file = url.appending(path: "snapshots/\(layer.name.fileName)")
      let whole = try Data(contentsOf: file)
      var count = 400
      func grow(until holds: () -> Bool) throws {
        while !holds(), count < 4000 {
          // To add an item, a commit reads no layer.
          for _ in 0..<100 { try journal.commit { _ = try $0.addItem(kind: "late") } }
          count += 100
          journal.waitForLayers()
        }
        #expect(holds())
      }
      try overwriteWithZeros(file)
      isFailing.store(true, ordering: .releasing)
      try grow { journal.health.layerProblems.contains { $0.revision == layer.top.revision } }
      #expect(journal.chain.layers.contains { $0 === layer })
      try overwrite(file, with: whole)
      isFailing.store(false, ordering: .releasing)
      #expect(journal.state.failure == nil)
      try grow { !journal.chain.layers.contains { $0 === layer } }
      #expect(journal.state.itemCount == count && journal.state.problems() == [])
      #expect(try journal.verify(.deep).problems.map(\.description) == [])
      try journal.close()
    }
  }

  @Test func closingWaitsForNoMerge() throws {
    try withLayeredGarden { garden, options in
      var options = options
      let isMerging = DispatchSemaphore(value: 0)
      let goesOn = DispatchSemaphore(value: 0)
      let created = Lock<[LayerName]>([])
      options.fileHook = { operation in
        let path = operation.path.replacing(".new", with: "")
        if operation.kind == .create, path != operation.path,
          let name = LayerName(fileName: URL(filePath: path).lastPathComponent),
          created.withLock({
            $0.append(name)
            return $0.count == 3
          })
        {
          isMerging.signal()
          goesOn.wait()
        }
        return .proceed
      }
      try garden.reopen(options: options)
      try garden.grow(60)
      isMerging.wait()
      // Commits do not wait for the file that is being written.
      try garden.grow(60)
      let journal = garden.journal
      let closed = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        try? journal.close()
        closed.signal()
      }
      while journal.keeper?.isOpen == true { Thread.sleep(forTimeInterval: 0.001) }
      goesOn.signal()
      closed.wait()
      // After the piece that was being written, no other was begun. Then only what was in no file was written, and small
      // layers were merged once.
      let names = created.withLock { $0 }
      var end = names.prefix(3).compactMap(\.from).max() ?? 0
      for (index, name) in names.enumerated().dropFirst(3) {
        #expect(name.from ?? 0 >= end || index == names.count - 1, "\(names)")
        end = name.to
      }
      try garden.open(options: options)
      #expect(garden.journal.state.json == garden.states.last)
      #expect(try garden.journal.verify(.deep).problems.map(\.description) == [])
    }
  }

  @Test func aThousandStatesShareTheFilesOfTheirLayers() throws {
    try withLayeredGarden(isLate: true) { garden, _ in
      try garden.grow(60)
      garden.journal.waitForLayers()
      let before = try openFileCount(garden.url)
      var states: [Catalog] = []
      for turn in 0..<1_000 {
        let state = try garden.journal.state(asOf: .revision(turn % garden.states.count))
        _ = state.item(EntityID(turn % 50))
        states.append(state)
      }
      #expect(before > 0)
      #expect(try openFileCount(garden.url) <= before + 2)
      #expect(states[50].json == garden.states[50])
    }
  }

  /// How many descriptors this process has of files in a journal. Other tests run in it too.
  private func openFileCount(_ journal: URL) throws -> Int {
    let journal = journal.resolvingSymlinksInPath().path
    return try openFilePaths().count { $0.contains(journal) }
  }

  /// They were removed although the fault passes, and the next opening can use them again.
  @Test func layersAboveOneThatCanNotBeReadAtTheMomentStay() throws {
    try withGarden { garden in
      var options = JournalOptions(layers: .often(12))
      options.layers.fanout = 100
      try garden.reopen(options: options)
      garden.journal.waitForLayers()
      let snapshots = garden.url.appending(path: "snapshots")
      func names() throws -> [LayerName] {
        try FileManager.default.contentsOfDirectory(atPath: snapshots.path)
          .compactMap(LayerName.init(footerName:)).sorted()
      }
      while try names().count < 3 {
        try garden.grow(15)
        garden.journal.waitForLayers()
      }
      try garden.journal.close()
      let layers = try names()
      try #require(layers.count > 1)
      let lowest = layers[0].fileName
      var faulty = options
      faulty.readHook = { path, _ in path.hasSuffix(lowest) ? .fail(EIO) : .proceed }
      try garden.open(options: faulty)
      // Opening has replayed everything, so a layer of all that is due.
      garden.journal.waitForLayers()
      #expect(garden.journal.chain.faults.unreadable == [layers[0]])
      #expect(try names().count > layers.count && Set(names()).isSuperset(of: layers))
      try garden.reopen(options: options)
      #expect(garden.journal.health.layerProblems.map(\.description) == [])
      try garden.expectEveryRevision()
      #expect(try garden.journal.verify(.deep).problems.map(\.description) == [])
    }
  }

  /// A layer is only written after its entry is durable.
  @Test func aLayerOfAnEntryThatTheLogLacksIsEvidenceOfLostEntries() throws {
    try withLayeredGarden { garden, options in
      try garden.journal.close()
      func url(_ name: String) -> URL { garden.url.deletingLastPathComponent().appending(path: name) }
      try FileManager.default.copyItem(at: garden.url, to: url("Early.journal"))
      try garden.open(options: options)
      try garden.grow(40)
      garden.journal.waitForLayers()
      try garden.journal.close()
      func bringBack(_ name: String) throws {
        try? FileManager.default.removeItem(at: garden.url.appending(path: name))
        try FileManager.default.copyItem(
          at: url("Early.journal").appending(path: name), to: garden.url.appending(path: name))
      }
      try bringBack("entries")
      try bringBack("HEAD")
      let snapshots = garden.url.appending(path: "snapshots")
      let known = try #require(
        try FileManager.default.contentsOfDirectory(atPath: snapshots.path).compactMap {
          LayerName(footerName: $0)?.to
        }.max())
      try garden.open(mode: .readOnly, options: options)
      let newest = garden.journal.head.revision
      try #require(newest < known)
      let problem = try #require(try garden.journal.verify().problems.first { $0.isDamage })
      #expect(problem.revision == newest + 1 && problem.message.contains("of entry \(known)"), "\(problem)")
      try garden.journal.close()
      let diagnosis = try CatalogJournal.diagnose(garden.url)
      #expect(!diagnosis.isSound)
      #expect(diagnosis.checkedRevision == newest && diagnosis.lastRevision == known)
      for hasHead in [true, false] {
        if !hasHead { try FileManager.default.removeItem(at: garden.url.appending(path: "HEAD")) }
        let report = try CatalogJournal.salvage([garden.url], to: url("Saved \(hasHead).journal"))
        #expect(report.head.revision == newest && report.acknowledgedRevision == known)
        #expect(!report.isWhole && report.end?.revision == newest + 1)
      }
      // Without any evidence, it is not known whether entries are missing.
      try FileManager.default.removeItem(at: snapshots)
      var report = try CatalogJournal.salvage([garden.url], to: url("Unknown.journal"))
      #expect(!report.isWhole && report.end == nil && report.acknowledgedRevision == nil)
      try bringBack("HEAD")
      report = try CatalogJournal.salvage([garden.url], to: url("Whole.journal"))
      #expect(report.isWhole)
    }
  }

  /// Calls `body` with a journal that writes and merges layers all the time.
  private func withLayeredGarden(
    isLate: Bool = false, _ body: (Garden, JournalOptions) throws -> Void
  ) throws {
    try withGarden { garden in
      var options = JournalOptions(layers: .often(12))
      options.layers.fanout = 3
      if isLate { options.layers.memoryByteCount = 0 }
      try garden.reopen(options: options)
      try body(garden, options)
    }
  }
}

extension Garden {
  /// Compares the state of each revision with what it was.
  func expectEveryRevision(sourceLocation: SourceLocation = #_sourceLocation) throws {
    for (revision, json) in states.enumerated() where revision % 3 == 0 {
      let state = try journal.state(asOf: .revision(revision))
      #expect(state.json == json, "revision \(revision)", sourceLocation: sourceLocation)
    }
  }
}
