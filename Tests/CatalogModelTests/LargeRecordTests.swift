import CatalogModel
import Files
import Foundation
import JournalMaintenance
import Locks
import Synchronization
import TestSupport
import Testing

@testable import Journaling

/// The memory of changes is bounded by their bytes too: a few large records are put into layers as many small ones are.
@Suite struct LargeRecordTests {
  private static let recordByteCount = 100_000

  private var options: JournalOptions {
    var options = JournalOptions(layers: .automatic)
    options.layers.byteCount = 1 << 20
    options.layers.backlogByteCount = 4 << 20
    // On a busy machine, the thread that writes layers hardly runs.
    options.layers.stallTimeout = 600
    return options
  }

  private func text(_ number: Int) -> FieldValue {
    .string("\(number) " + String(repeating: "x", count: Self.recordByteCount))
  }

  /// 4,096 additions of 1 MB each used to stay in memory, and opening read them all.
  @Test func aFewLargeRecordsMakeALayerDue() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Large.journal")
      let journal = try CatalogJournal.create(at: url, options: options)
      var most = 0
      for number in 1...100 {
        try journal.commit { _ = try $0.addItem(kind: "note", attributes: ["text": text(number)]) }
        most = max(most, journal.state.changedByteCount)
      }
      journal.waitForLayers()
      // Bytes are counted after every eighth event. Two layers can wait for their files, and the next grows meanwhile.
      #expect(most <= (4 << 20) + 8 * Self.recordByteCount + (1 << 20), "\(most)")
      #expect(journal.state.changedByteCount <= (1 << 20) + 8 * Self.recordByteCount)
      // What is on disk now is what a process leaves that is killed.
      let copy = folder.url.appending(path: "Killed.journal")
      try FileManager.default.copyItem(at: url, to: copy)
      let killed = try CatalogJournal.open(at: copy, options: options)
      #expect(try killed.statistics().replayedEventCount <= 20)
      #expect(Array(killed.state.items) == Array(journal.state.items))
      try killed.close()
      try journal.close()
    }
  }

  /// Only the newest version of a record is in memory, so 500 updates of 1 MB made no layer, and opening read them all.
  @Test func updatesOfOneLargeRecordMakeALayerDueInOneSessionAndInMany() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Updated.journal")
      var journal = try CatalogJournal.create(at: url, options: options)
      let note = try journal.commit { try $0.addItem(kind: "note") }.value
      for isLong in [true, false] {
        for number in 1...100 {
          try journal.commit { try $0.updateItem(note, set: ["text": text(number)]) }
          if isLong { continue }
          try journal.close()
          journal = try CatalogJournal.open(at: url, options: options)
          // Closing writes a layer when 2 MiB are overdue.
          #expect(try journal.statistics().replayedEventCount <= 30)
        }
        journal.waitForLayers()
        let copy = folder.url.appending(path: "Killed \(isLong).journal")
        try FileManager.default.copyItem(at: url, to: copy)
        let killed = try CatalogJournal.open(at: copy, options: options)
        #expect(try killed.statistics().replayedEventCount <= 20)
        #expect(killed.state.item(note)?["text"] == text(100))
        try killed.close()
      }
      try journal.close()
    }
  }

  /// Opening freezes the updates that it has read, but the thread has no time to write them. Closing writes them, although
  /// they are a single record in memory.
  @Test func closingWritesUpdatesOfOneLargeRecordThatTheThreadDidNotWrite() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Interrupted.journal")
      let isClosing = Atomic<Bool>(false)
      var options = options
      options.fileHook = { operation in
        if operation.kind == .write, operation.path.contains(".plist"), !isClosing.load(ordering: .acquiring)
        {
          while !isClosing.load(ordering: .acquiring) { Thread.sleep(forTimeInterval: 0.001) }
          // Closing has cancelled the write by now.
          Thread.sleep(forTimeInterval: 0.05)
        }
        return .proceed
      }
      var journal = try CatalogJournal.create(at: url, options: options)
      let note = try journal.commit { try $0.addItem(kind: "note") }.value
      var most = 0
      for number in 1...50 {
        try journal.commit { try $0.updateItem(note, set: ["text": text(number)]) }
        isClosing.store(true, ordering: .releasing)
        try journal.close()
        isClosing.store(false, ordering: .releasing)
        journal = try CatalogJournal.open(at: url, options: options)
        most = max(most, try journal.statistics().replayedEventCount)
      }
      // 2 MiB are overdue.
      #expect(most >= 10 && most <= 22, "\(most)")
      isClosing.store(true, ordering: .releasing)
      try journal.close()
    }
  }

  /// What an opening replays counts: otherwise a process that is killed again and again would replay more each time.
  @Test func recordsThatAnOpeningReplaysCount() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Reopened.journal")
      try CatalogJournal.create(at: url, options: options).close()
      for number in 1...60 {
        let journal = try CatalogJournal.open(at: url, options: options)
        #expect(journal.state.changedByteCount <= (1 << 20) + 8 * Self.recordByteCount)
        try journal.commit { _ = try $0.addItem(kind: "note", attributes: ["text": text(number)]) }
        journal.waitForLayers()
        try journal.close()
      }
    }
  }

  /// Merged by their events, few large records would be rewritten with each new layer.
  @Test func largeRecordsAreWrittenOnceForEachSize() throws {
    func bytesPerByte(_ count: Int) throws -> Double {
      try withTemporaryFolder { folder in
        let written = Atomic<Int>(0)
        var options = options
        options.fileHook = { operation in
          if operation.kind == .write, operation.path.contains(".plist") {
            written.add(operation.bytes.count, ordering: .relaxed)
          }
          return .proceed
        }
        let journal = try CatalogJournal.create(
          at: folder.url.appending(path: "Merged.journal"), options: options)
        for number in 1...count {
          try journal.commit { _ = try $0.addItem(kind: "note", attributes: ["text": text(number)]) }
          journal.waitForLayers()
        }
        try journal.close()
        return Double(written.load(ordering: .relaxed)) / Double(count * Self.recordByteCount)
      }
    }
    let (few, many) = (try bytesPerByte(64), try bytesPerByte(512))
    // Eight times as many: three more times at the most, and not eight times as often.
    #expect(many <= few + 3, "\(few) \(many)")
  }

  /// Commits wait while large records come faster than layers are written.
  @Test func commitsOfLargeRecordsWaitForLayers() throws {
    try withTemporaryFolder { folder in
      let layers = HeldLayers()
      var options = options
      options.fileHook = { layers.hold($0) }
      let journal = try CatalogJournal.create(
        at: folder.url.appending(path: "Held.journal"), options: options)
      // 42 of these records are more than 4 MiB.
      let count = layers.commitsBeforeWaiting(120, atLeast: 42) { number in
        _ = try? journal.commit { _ = try $0.addItem(kind: "note", attributes: ["text": text(number)]) }
      }
      let bytes = count * Self.recordByteCount
      #expect(bytes > 4 << 20 && bytes <= (6 << 20) + 24 * Self.recordByteCount, "\(bytes)")
      #expect(journal.head.revision == 120)
      journal.waitForLayers()
      #expect(try journal.verify(.deep).problems.map(\.description) == [])
      try journal.close()
    }
  }

  /// While two layers wait for their files, a state is kept for each few events. Each holds the versions of that time.
  @Test func versionsThatPastStatesHoldCount() throws {
    try withTemporaryFolder { folder in
      let layers = HeldLayers()
      var options = options
      options.layers.eventCount = 8
      options.fileHook = { layers.hold($0) }
      let journal = try CatalogJournal.create(
        at: folder.url.appending(path: "Held.journal"), options: options)
      let items = try journal.commit { draft in
        try (1...20).map { _ in try draft.addItem(kind: "note") }
      }.value
      // All together the items have two megabytes.
      let count = layers.commitsBeforeWaiting(200, atLeast: 30) { number in
        _ = try? journal.commit { try $0.updateItem(items[number % 20], set: ["text": text(number)]) }
      }
      #expect(count < 110, "\(count)")
      #expect(journal.head.revision == 201)
      journal.waitForLayers()
      #expect(try journal.verify(.deep).problems.map(\.description) == [])
      try journal.close()
    }
  }

  /// After a failure, the next attempt used to wait for 512 events, whatever their size.
  @Test func aLayerThatFailedIsTriedAgainAfterFewLargeRecords() throws {
    try withTemporaryFolder { folder in
      let isFailing = Atomic<Bool>(true)
      var options = options
      options.fileHook = { operation in
        let isLayer = operation.kind == .create && operation.path.hasSuffix(".plist.new")
        return isLayer && isFailing.exchange(false, ordering: .relaxed) ? .fail(EIO) : .proceed
      }
      let journal = try CatalogJournal.create(
        at: folder.url.appending(path: "Late.journal"), options: options)
      for number in 1...60 {
        try journal.commit { _ = try $0.addItem(kind: "note", attributes: ["text": text(number)]) }
        journal.waitForLayers()
      }
      let hasFailed = !isFailing.load(ordering: .relaxed)
      #expect(hasFailed)
      let newest = try journal.statistics().newestCheckpoint
      #expect(newest > 40, "\(newest) \(journal.health.layerProblems)")
      try journal.close()
    }
  }

  @Test func aFollowerOfLargeRecordsIsBackedByNewLayers() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Followed.journal")
      let journal = try CatalogJournal.create(at: url, options: options)
      let follower = try CatalogJournal.open(at: url, mode: .follow, options: options)
      var most = 0
      let million = FieldValue.string(String(repeating: "x", count: 1_000_000))
      for _ in 1...100 {
        try journal.commit { _ = try $0.addItem(kind: "note", attributes: ["text": million]) }
        try follower.catchUp()
        most = max(most, follower.state.changedByteCount)
      }
      #expect(most <= 66 << 20, "\(most)")
      #expect(Array(follower.state.items) == Array(journal.state.items))
      try follower.close()
      try journal.close()
    }
  }

  /// It used to replay everything again after each 64 MiB.
  @Test func aFollowerOfAWriterWithoutLayersReplaysNothingAgain() throws {
    try withTemporaryFolder(inMemory: true) { folder in
      let url = folder.url.appending(path: "Followed.journal")
      let journal = try CatalogJournal.create(at: url, options: JournalOptions(layers: .manual))
      let read = Atomic<Int>(0)
      var options = JournalOptions()
      options.readHook = { path, byteCount in
        if path.contains("/entries/") { read.add(byteCount, ordering: .relaxed) }
        return .proceed
      }
      let follower = try CatalogJournal.open(at: url, mode: .follow, options: options)
      let million = FieldValue.string(String(repeating: "x", count: 1_000_000))
      for _ in 1...220 {
        try journal.commit { _ = try $0.addItem(kind: "note", attributes: ["text": million]) }
        try follower.catchUp()
      }
      let share = Double(read.load(ordering: .relaxed)) / 220e6
      #expect(share < 2.5, "\(share)")
      try follower.close()
      try journal.close()
    }
  }
}

/// Holds the thread that writes layers before the first file.
private final class HeldLayers: Sendable {
  private let goesOn = DispatchSemaphore(value: 0)
  private let isHeld = Atomic<Bool>(true)

  func hold(_ operation: FileOperation) -> FileVerdict {
    if operation.kind == .create, operation.path.hasSuffix(".plist.new"), isHeld.load(ordering: .acquiring) {
      goesOn.wait()
      isHeld.store(false, ordering: .releasing)
    }
    return .proceed
  }

  func release() { goesOn.signal() }

  /// Commits on another thread until commits wait for layers. Then it releases these, and waits for the other commits.
  /// - Returns: how many commits were made before they waited.
  func commitsBeforeWaiting(
    _ total: Int, atLeast least: Int, _ commit: @escaping @Sendable (_ number: Int) -> Void
  ) -> Int {
    let committed = Atomic<Int>(0)
    let hasCommitted = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      for number in 1...total {
        commit(number)
        committed.add(1, ordering: .relaxed)
      }
      hasCommitted.signal()
    }
    var count = -1
    let end = Date() + 300
    while count != committed.load(ordering: .relaxed) || count < least, Date() < end {
      count = committed.load(ordering: .relaxed)
      Thread.sleep(forTimeInterval: 0.5)
    }
    release()
    hasCommitted.wait()
    return count
  }
}
