import CatalogModel
import Files
import Foundation
import JournalMaintenance
import LevelDB
import Locks
import Synchronization
import TestSupport
import Testing

@testable import Journaling

/// A state outlives the layer that backs it and the journal that it came from, and many threads can read it at once.
struct SnapshotLifeTests {
  /// What happens to a journal whose state is still held, before the file is found damaged.
  enum Fate: CaseIterable {
    case closed, released, dropped, openedAgain, moved, closedToWriters
  }

  @Test(arguments: Fate.allCases) func aStateOutlivesItsJournal(_ fate: Fate) throws {
    try withLateGarden { garden, late in
      let state = garden.journal.state
      let expected = try #require(garden.states.last)
      var url = late.url
      switch fate {
      case .closed: try garden.journal.close()
      case .released: try garden.release()
      case .dropped:
        try garden.journal.dropSnapshot(at: late.revision)
        try FileManager.default.removeItem(at: late.url)
      case .openedAgain:
        // The journal is written further, and LevelDB changes its files.
        try garden.reopen(options: .readingLate)
        try garden.grow(20)
        try garden.journal.takeSnapshot()
      case .moved:
        try garden.journal.close()
        let elsewhere = garden.url.deletingLastPathComponent().appending(path: "Elsewhere.journal")
        try FileManager.default.moveItem(at: garden.url, to: elsewhere)
        url = elsewhere.appending(path: "snapshots/\(url.lastPathComponent)")
      case .closedToWriters:
        try garden.journal.close()
        for path in ["", "entries", "snapshots"] {
          try FileManager.default.setAttributes(
            [.posixPermissions: 0o500], ofItemAtPath: garden.url.appending(path: path).path)
        }
      }
      if fate != .dropped { try ruin(url) }
      #expect(state.json == expected)
      #expect(state.problems() == [])
      for path in ["", "entries", "snapshots"] where fate == .closedToWriters {
        try FileManager.default.setAttributes(
          [.posixPermissions: 0o700], ofItemAtPath: garden.url.appending(path: path).path)
      }
    }
  }

  @Test func aStateBackedByASmallLayerReadsNoFile() throws {
    try withGarden { garden in
      try garden.journal.takeSnapshot()
      try garden.reopen()
      let state = garden.journal.state
      try FileManager.default.removeItem(at: garden.url)
      #expect(state.json == garden.states.last)
      try? garden.journal.close()
      #expect(state.problems() == [])
    }
  }

  @Test func aSnapshotIsTakenThoughAnotherFileCanNotBeRemoved() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Stray.journal")
      var options = JournalOptions(layers: .manual)
      options.fileHook = { operation in
        operation.kind == .remove && operation.path.hasSuffix("-0000000000000002.plist")
          ? .fail(EIO) : .proceed
      }
      let journal = try CatalogJournal.create(at: url, options: options)
      try journal.commit { _ = try $0.addItem(kind: "one") }
      try journal.takeSnapshot()
      // As a crash leaves it.
      let stray = url.appending(path: "snapshots/0000000000000001-0000000000000002.plist")
      try Data([1]).write(to: stray)
      try journal.commit { _ = try $0.addItem(kind: "one") }
      #expect(try journal.takeSnapshot().revision == 2)
      #expect(FileManager.default.fileExists(atPath: stray.path) && journal.health.layerProblems.count == 1)
      try journal.close()
    }
  }

  @Test func readersThatMeetTheSameDamageAtOnceGetTheSameRightAnswer() throws {
    try withTemporaryFolder { folder in
      let garden = try Garden(folder)
      let late = try garden.makeLate()
      let state = garden.journal.state
      let expected = state.highestItem
      let names = try garden.journal.version(replayedTo: .head()).state
      try ruin(late.url)
      let wrong = Lock<[Int]>([])
      // More readers than any pool has threads, because rebuilding the state needs one too.
      DispatchQueue.concurrentPerform(iterations: 600) { reader in
        let number = 1 + reader * 7 % expected
        if state.item(EntityID(number))?.record != names.item(EntityID(number))?.record {
          wrong.withLock { $0.append(number) }
        }
      }
      #expect(wrong.withLock { $0 } == [])
      #expect(garden.journal.health.layerProblems.count == 1)

      // The next opening finds the same damage.
      try garden.reopen(options: .readingLate)
      #expect(garden.journal.health.layerProblems.count == 1)
      try garden.journal.close()
    }
  }

  @Test func tasksThatMeetTheSameDamageAtOnceGetTheSameRightAnswer() async throws {
    try await withTemporaryFolder { folder in
      let garden = try Garden(folder)
      let late = try garden.makeLate()
      let state = garden.journal.state
      let names = try garden.journal.version(replayedTo: .head()).state
      try ruin(late.url)
      let wrong = await withTaskGroup(of: Bool.self) { group in
        for reader in 0..<200 {
          group.addTask {
            let number = 1 + reader * 7 % names.highestItem
            return state.item(EntityID(number))?.record != names.item(EntityID(number))?.record
          }
        }
        return await group.reduce(into: 0) { if $1 { $0 += 1 } }
      }
      #expect(wrong == 0)
      try garden.journal.close()
    }
  }

  @Test func damageFoundInTheMiddleOfAnIterationDoesNotChangeWhatItGives() throws {
    try withLateGarden { garden, late in
      let expected = try garden.journal.version(replayedTo: .head()).state
      let state = garden.journal.state
      let whole = try Data(contentsOf: late.url)
      var found: [EntityRecord] = []
      for item in state.items {
        if found.count == expected.itemCount / 3 { try ruin(late.url) }
        found.append(item.record)
      }
      #expect(found == expected.items.map(\.record))
      #expect(garden.journal.health.layerProblems.map(\.revision) == [late.revision])
      try whole.write(to: late.url)

      // The same holds for a state with later changes above the layer.
      try garden.reopen(options: .readingLate)
      try garden.journal.commit { draft in
        for item in stride(from: 2, to: draft.state.highestItem, by: 3)
        where draft.state.item(EntityID(item)) != nil { try draft.deleteItem(EntityID(item)) }
        _ = try draft.addItem(kind: "late")
      }
      found = []
      for item in garden.journal.state.items {
        if found.count == garden.journal.state.itemCount / 3 { try ruin(late.url) }
        found.append(item.record)
      }
      let replayed = try garden.journal.version(replayedTo: .head()).state
      #expect(found == replayed.items.map(\.record))
      #expect(garden.journal.state.problems() == [])
    }
  }

  /// Reading a state used to end the process if both its layer and the log had disappeared, after more than a second
  /// under a lock.
  @Test(.timeLimit(.minutes(60))) func aStateThatCanNoLongerBeReadReportsItAndIsNotUsed() throws {
    try withLateGarden { garden, late in
      let journal = garden.journal
      let state = journal.state
      #expect(state.failure == nil)
      try FileHandle(forUpdating: late.url).truncate(atOffset: 0)
      journal.chain.use(nil)
      let entries = garden.url.appending(path: "entries")
      let away = garden.url.deletingLastPathComponent().appending(path: "away")
      try FileManager.default.moveItem(at: entries, to: away)
      var found = 0
      for number in 1...state.highestItem where state.item(EntityID(number)) != nil { found += 1 }
      #expect(found < state.itemCount)
      // No question ends the process or takes forever.
      #expect(state.items.reduce(0) { count, _ in count + 1 } <= state.itemCount)
      _ = state.problems()
      _ = state.json
      #expect(state.failure?.code == .io && journal.state.failure?.code == .io)
      let revision = journal.head.revision
      let commit = #expect(throws: JournalError.self) {
        try journal.commit { _ = try $0.addItem(kind: "late") }
      }
      #expect(commit?.code == .io)
      #expect(journal.head.revision == revision)
      journal.chain.use(journal.log)
      let past = #expect(throws: JournalError.self) { try journal.state(asOf: .revision(revision - 1)) }
      #expect(past?.code == .io)
      let taken = #expect(throws: JournalError.self) { try journal.takeSnapshot() }
      #expect(taken?.code == .io)
      let copy = garden.url.deletingLastPathComponent().appending(path: "Copy.journal")
      let derived: [() throws -> Void] = [
        { _ = try journal.diff(from: .revision(1), to: .head()) },
        { _ = try journal.entity(.item(1), asOf: .head()) },
        { _ = try journal.history(of: .item(1)) },
        { _ = try journal.revision(at: .tag("never")) },
        { _ = try journal.bisect { $0.state.itemCount > 3 } },
        { _ = try journal.planRestore(of: .everything, asOf: .revision(1)) },
        { _ = try journal.planRevert(of: revision) },
        { try journal.commit(expecting: [.entity(.item(1), at: 0)]) { _ = try $0.addItem(kind: "late") } },
        { try journal.copyState(to: copy) },
      ]
      for (index, derive) in derived.enumerated() {
        let error = #expect(throws: JournalError.self, "\(index)") { try derive() }
        #expect(error?.code == .io, "\(index)")
      }
      #expect(!FileManager.default.fileExists(atPath: copy.path))
      #expect(try !journal.verify().isSound)
      // When the log is back in its place, the next opening has the whole history.
      try FileManager.default.moveItem(at: away, to: entries)
      try garden.reopen()
      #expect(garden.journal.state.json == garden.states.last)
      #expect(garden.journal.state.failure == nil)
      try garden.grow(2)
    }
  }

  /// A loop over the items of a query, and a list made of a table, used to end the process.
  @Test func whatCanNoLongerBeReadEndsNoLoop() throws {
    try withLateGarden { garden, late in
      let journal = garden.journal
      let state = journal.state
      // In the middle of the file, which opening does not read.
      let seeds = try state.items(Seed.self).filter(\.weight >= 6_000).filter(\.weight < 6_020)
        .sorted(by: .descending(\.weight))
      #expect(seeds.count == 20)
      for layer in journal.chain.layers { layer.freePages() }
      try FileHandle(forUpdating: late.url).truncate(atOffset: 0)
      journal.chain.use(nil)
      let entries = garden.url.appending(path: "entries")
      let away = garden.url.deletingLastPathComponent().appending(path: "away")
      try FileManager.default.moveItem(at: entries, to: away)
      #expect(seeds.map(\.id).count == 20)
      #expect(throws: DecodingError.self) { try seeds.values }
      let items = try #require(state.parts).tables[Int(EntityKind.item.rawValue)]
      #expect(items.map(\.number).count < items.count)
      #expect(state.failure?.code == .io)
    }
  }

  @Test func aCommitThatMeetsDamageSucceeds() throws {
    try withLateGarden { garden, late in
      try ruin(late.url)
      try garden.grow(20)
      #expect(garden.journal.state.json == garden.states.last)
      #expect(try garden.journal.version(replayedTo: .head()).state.json == garden.states.last)
      // The next snapshot, which is written from that state, has all of it.
      try garden.journal.takeSnapshot()
      try garden.journal.dropSnapshot(at: late.revision)
      garden.journal.waitForLayers()
      #expect(try garden.journal.snapshots().count == 1)
      #expect(try garden.journal.verify(.deep).isSound)
    }
  }

  @Test func aJournalIsClosedWhileReadersMeetDamage() throws {
    try withLateGarden { garden, late in
      let whole = try Data(contentsOf: late.url)
      let expected = try #require(garden.states.last)
      for _ in 0..<6 {
        let journal = garden.journal
        let state = journal.state
        try ruin(late.url)
        let wrong = Atomic<Int>(0)
        DispatchQueue.concurrentPerform(iterations: 4) { reader in
          if reader == 0 {
            try? journal.close()
          } else if state.json != expected {
            wrong.add(1, ordering: .relaxed)
          }
        }
        #expect(wrong.load(ordering: .relaxed) == 0)
        try whole.write(to: late.url)
        try garden.open(options: .readingLate)
      }
    }
  }

  @Test func closingCancelsASnapshotThatIsBeingTaken() throws {
    try withGarden { garden in
      try garden.plant(20_000)
      // So all three snapshots are large, whichever of them is the first.
      try garden.grow(3)
      let writes = Atomic<Int>(0)
      let begun = DispatchSemaphore(value: 0)
      let closing = DispatchSemaphore(value: 0)
      let isClosed = Atomic<Bool>(false)
      let late = Atomic<Int>(0)
      var options = JournalOptions(layers: .manual)
      options.fileHook = { operation in
        if isClosed.load(ordering: .acquiring) { late.add(1, ordering: .relaxed) }
        if operation.kind == .write, operation.path.contains("/snapshots/"),
          writes.add(1, ordering: .relaxed).newValue == 2
        {
          begun.signal()
          closing.wait()
        }
        return .proceed
      }
      try garden.reopen(options: options)
      let journal = garden.journal
      let taken = Lock<[Result<Snapshot, any Error>]>([])
      let threads = DispatchGroup()
      for back in 0..<3 {
        threads.enter()
        Thread.detachNewThread {
          let result = Result { try journal.takeSnapshot(asOf: .head(back: back)) }
          taken.withLock { $0.append(result) }
          threads.leave()
        }
      }
      begun.wait()
      Thread.detachNewThread {
        // The first file waits in the middle until closing has begun, however long that takes on a busy machine.
        while journal.keeper?.isOpen == true { Thread.sleep(forTimeInterval: 0.001) }
        closing.signal()
      }
      try journal.close()
      isClosed.store(true, ordering: .releasing)
      threads.wait()
      #expect(late.load(ordering: .relaxed) == 0)
      // The file has a hundred pieces. Only the one that was being written when closing began, and perhaps one more,
      // are written.
      #expect(writes.load(ordering: .relaxed) <= 4)
      for result in taken.withLock({ $0 }) {
        let error = #expect(throws: JournalError.self) { try result.get() }
        #expect(error?.code == .closed)
      }
      try garden.open()
      #expect(try garden.journal.snapshots().isEmpty)
      #expect(try garden.journal.verify(.deep).isSound)
    }
  }

  @Test func droppingASnapshotWhileOthersReadItIsNoProblem() throws {
    try withGarden { garden in
      let journal = garden.journal
      let isDone = Atomic<Bool>(false)
      let wrong = Lock<[String]>([])
      let states = garden.states
      let turns = Lock([0, 0, 0])
      Threads.forEach(below: 3, width: 3) { thread in
        do {
          if thread == 0 {
            // Until both readers have read at least once in the meantime.
            while turns.withLock({ $0[0] < 20 || $0.contains(0) }), !isDone.load(ordering: .acquiring) {
              let turn = turns.withLock { turns in
                turns[0] += 1
                return turns[0]
              }
              let snapshot = try journal.takeSnapshot(asOf: .revision(1 + turn % 20))
              try journal.dropSnapshot(at: snapshot.revision)
            }
            isDone.store(true, ordering: .releasing)
          } else {
            while !isDone.load(ordering: .acquiring) {
              if thread == 1, try journal.state(asOf: .revision(30)).json != states[30] {
                wrong.withLock { $0.append("the state of revision 30") }
              }
              if thread == 2 {
                let problems = try journal.verify(.deep).problems
                wrong.withLock { $0 += problems.map(\.description) }
              }
              turns.withLock { $0[thread] += 1 }
            }
          }
        } catch {
          wrong.withLock { $0.append("\(error)") }
          isDone.store(true, ordering: .releasing)
        }
      }
      #expect(wrong.withLock { $0 } == [])
      #expect(journal.health.layerProblems.map(\.description) == [])
    }
  }

  /// Calls `body` with a journal whose newest state is backed by a layer of several pages, most of them unread.
  private func withLateGarden(_ body: (Garden, LateLayer) throws -> Void) throws {
    try withGarden { garden in try body(garden, try garden.makeLate()) }
  }
}

/// The layer that backs a state, which was written with a snapshot of the same revision.
private struct LateLayer {
  let revision: Revision
  let url: URL
}

extension Garden {
  /// Opens the journal again from a layer of several pages.
  fileprivate func makeLate() throws -> LateLayer {
    try plant(12_000)
    let snapshot = try journal.takeSnapshot()
    let layer = LateLayer(revision: snapshot.revision, url: try newestLayer())
    try reopen(options: .readingLate)
    try #require(try Data(contentsOf: layer.url).count > 4 * LayerFooter.pageByteCount)
    return layer
  }
}

/// What ``Garden/plant(_:)`` adds.
private struct Seed: CatalogItem {
  static let kind = "seed"
  var name: String
  var weight: Int
}

extension Catalog {
  fileprivate var highestItem: Int { parts?.tables[Int(EntityKind.item.rawValue)].highest ?? 0 }
}

/// Writes zeros over a file that may be open.
private func ruin(_ url: URL) throws {
  let count = try Data(contentsOf: url).count
  let handle = try FileHandle(forUpdating: url)
  try handle.write(contentsOf: Data(count: count))
  try handle.close()
}
