import CatalogModel
import Dispatch
import Files
import Foundation
import Locks
import Synchronization
import TestSupport
import Testing

@testable import Journaling

/// Commits may come faster than layers are written and merged. Opening and past states stay fast all the same.
struct LayerPaceTests {
  /// With a busy writer, layers used not to be merged, because merging waited until there was nothing to write.
  @Test func layersStayFewWhileCommitsComeWithoutAPause() throws {
    try withTemporaryFolder { folder in
      var options = JournalOptions(snapshots: .often(8))
      let writtenCount = Atomic<Int>(0)
      options.fileHook = { operation in
        // A drive that is slower than the commits.
        if operation.kind == .create, operation.path.contains("/snapshots/") {
          if operation.path.hasSuffix(".plist.new") { writtenCount.add(1, ordering: .relaxed) }
          Thread.sleep(forTimeInterval: 0.002)
        }
        return .proceed
      }
      let journal = try CatalogJournal.create(
        at: folder.url.appending(path: "Busy.journal"), options: options)
      var most = 0
      var count = 0
      // On a busy machine the changes become fewer and larger layers, so it takes more commits until enough of them
      // are written.
      while count < 4_000 || writtenCount.load(ordering: .relaxed) < 100, count < 400_000 {
        try journal.commit { _ = try $0.addItem(kind: "one") }
        count += 1
        // Without a pause, the low-priority thread that writes files would hardly ever run there.
        if count > 4_000 { Thread.sleep(forTimeInterval: 0.001) }
        if count % 50 == 0 { most = max(most, try journal.statistics().layerCount) }
      }
      // As many as an idle journal may have, and those that are written while one large merge is in progress. Without
      // merges, all that were written would be there.
      #expect(most > 2)
      #expect(most <= 40)
      let statistics = try journal.statistics()
      // Without any merge, it would be 1.
      #expect(statistics.writeAmplification > 1)
      journal.waitForLayers()
      let problems = try journal.verify(deep: true).problems.map(\.description)
      #expect(problems == [], "\(problems)")
      try journal.close()
    }
  }

  /// Layers that were written during the writing of a large file used to be merged only after it. During ten million
  /// updates, there were 160.
  @Test func layersStayFewWhileALargeFileIsWritten() throws {
    try withTemporaryFolder { folder in
      let duringPiece = Lock<(@Sendable () -> Void)?>(nil)
      let writtenCount = Atomic<Int>(0)
      var options = JournalOptions(snapshots: .often(8))
      options.fileHook = { operation in
        guard operation.path.hasSuffix(".plist.new") else { return .proceed }
        let isLayer = operation.path.split(separator: "/").last?.contains("-") == true
        if operation.kind == .create, isLayer { writtenCount.add(1, ordering: .relaxed) }
        if operation.kind == .write, !isLayer { duringPiece.withLock { $0 }?() }
        return .proceed
      }
      let journal = try CatalogJournal.create(
        at: folder.url.appending(path: "Busy.journal"), options: options)
      for entry in 0..<20 {
        try journal.commit { draft in
          for turn in 0..<1_000 {
            let note = String(repeating: "\(entry * 1_000 + turn) ", count: 100)
            _ = try draft.addItem(kind: "one", attributes: ["note": .string(note)])
          }
        }
      }
      journal.waitForLayers()
      let most = Atomic<Int>(0)
      let failure = Lock<(any Error)?>(nil)
      duringPiece.withLock {
        $0 = {
          do {
            try journal.commit { draft in for _ in 0..<8 { _ = try draft.addItem(kind: "two") } }
            most.max(try journal.statistics().layerCount, ordering: .relaxed)
          } catch {
            failure.withLock { $0 = error }
          }
          Thread.sleep(forTimeInterval: 0.01)
        }
      }
      writtenCount.store(0, ordering: .relaxed)
      // On a busy machine, fewer layers are written during one snapshot.
      while writtenCount.load(ordering: .relaxed) < 60 {
        try journal.takeSnapshot()
        if let failure = failure.withLock({ $0 }) { throw failure }
      }
      #expect(most.load(ordering: .relaxed) > 2)
      #expect(most.load(ordering: .relaxed) <= 24)
      duringPiece.withLock { $0 = nil }
      journal.waitForLayers()
      let problems = try journal.verify(deep: true).problems.map(\.description)
      #expect(problems == [], "\(problems)")
      try journal.close()
    }
  }

  /// What was committed while layers waited to be written became one layer with one checkpoint, at its end.
  @Test func checkpointsStayCloseWhileLayersWaitToBeWritten() throws {
    try withGarden { garden in
      let goesOn = DispatchSemaphore(value: 0)
      let isHeld = Atomic<Bool>(true)
      var options = JournalOptions(snapshots: .often(8))
      options.snapshots.pastShare = 100
      options.fileHook = { operation in
        if operation.kind == .create, operation.path.hasSuffix(".plist.new"),
          isHeld.exchange(false, ordering: .acquiringAndReleasing)
        {
          goesOn.wait()
        }
        return .proceed
      }
      try garden.reopen(options: options)
      try garden.grow(120)
      let held = (garden.journal.state, try #require(garden.states.last))
      goesOn.signal()
      garden.journal.waitForLayers()
      let revisions = garden.journal.chain.layers.flatMap(\.checkpoints).map(\.revision)
      // The first checkpoint is what the journal had before. Each later one follows after at most 8 events.
      #expect(try #require(revisions.last) > 100)
      for (before, after) in zip(revisions, revisions.dropFirst()) {
        #expect(after > before && after - before <= 8)
      }
      try garden.expectEveryRevision()
      #expect(held.0.json == held.1)
      try garden.reopen(options: options)
      try garden.expectEveryRevision()
      #expect(try garden.journal.verify(deep: true).problems.map(\.description) == [])
    }
  }

  /// Each checkpoint of a layer in memory is a source of its file. A merge used to look at all sources for each entity, so
  /// the time grew with the square of the backlog.
  @Test func aBacklogOfManyCheckpointsIsWrittenInTimeThatGrowsWithItsEvents() throws {
    func secondsPerEvent(checkpointCount: Int) throws -> Double {
      try withTemporaryFolder { folder in
        let mayWrite = DispatchSemaphore(value: 0)
        let isHeld = Atomic<Bool>(true)
        var options = JournalOptions(snapshots: .often(8))
        options.fileHook = { operation in
          if operation.kind == .create, operation.path.hasSuffix(".plist.new"),
            isHeld.exchange(false, ordering: .acquiringAndReleasing)
          {
            mayWrite.wait()
          }
          return .proceed
        }
        let journal = try CatalogJournal.create(
          at: folder.url.appending(path: "Backlog.journal"), options: options)
        for _ in 0..<checkpointCount {
          try journal.commit { draft in for _ in 0..<8 { _ = try draft.addItem(kind: "one") } }
        }
        let clock = ContinuousClock()
        let start = clock.now
        mayWrite.signal()
        journal.waitForLayers()
        let seconds = (clock.now - start) / .seconds(1)
        #expect(journal.chain.layers.reduce(0) { $0 + $1.checkpoints.count } == checkpointCount)
        try journal.close()
        return seconds / Double(8 * checkpointCount)
      }
    }
    // Other tests can slow one of the two measurements.
    var ratio = Double.infinity
    for _ in 0..<3 where ratio >= 3 {
      let few = try secondsPerEvent(checkpointCount: 400)
      ratio = min(ratio, try secondsPerEvent(checkpointCount: 3_200) / few)
    }
    // It was 5.5.
    #expect(ratio < 3, "an event took \(ratio) times as long")
  }
}
