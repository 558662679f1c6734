import CatalogModel
import Foundation
import JournalMaintenance
import Journaling
import TestSupport
import Testing

/// Many threads and tasks at once on one journal. Under the thread sanitizer, these tests also find data races.
@Suite struct StressTests {
  @Test(.timeLimit(.minutes(60)))
  func heldStatesStayWhatTheyWereWhileManyThreadsAndTasksCommit() async throws {
    try await withCrowd(hasSnapshots: false)
  }

  @Test(.timeLimit(.minutes(60)))
  func heldStatesStayWhatTheyWereWhileSnapshotsAreTakenDroppedAndThinned() async throws {
    try await withCrowd(hasSnapshots: true)
  }

  private func withCrowd(hasSnapshots: Bool) async throws {
    let seed = SeededGenerator().seed
    try await withTemporaryFolder { folder in
      let url = URL(filePath: folder.path("Crowd.journal"))
      var options = JournalOptions(layers: .manual)
      if hasSnapshots {
        options.layers = .often(100)
        // Files are read page by page while they are dropped, and their pages are freed all the time.
        options.layers.memoryByteCount = 0
        options.cacheByteCount = 32 << 10
      }
      let crowd = try Crowd(CatalogJournal.create(at: url, options: options), seed: seed)
      let follower = Task { try await crowd.follow() }
      await withTaskGroup(of: Void.self) { group in
        for writer in 0..<Crowd.taskCount { group.addTask { await crowd.writeAsTask(writer) } }
        group.addTask {
          await onThreads(Crowd.writerCount - Crowd.taskCount) { crowd.write(Crowd.taskCount + $0) }
        }
        group.addTask { await onThreads(Crowd.readerCount) { crowd.read($0) } }
        if hasSnapshots {
          group.addTask { await onThreads(2) { crowd.tendSnapshots($0) } }
          group.addTask { await onThreads(1) { _ in crowd.verify() } }
        }
      }
      // After a fault, the entries that the follower waits for never come.
      if !crowd.isComplete { follower.cancel() }
      try await follower.value

      #expect(crowd.problems == [])
      #expect(crowd.journal.head.revision == Crowd.commitCount)
      #expect(try crowd.journal.verify(.deep).problems.map(\.description) == [])
      #expect(crowd.journal.health.layerProblems.map(\.description) == [])
      let (head, text) = (crowd.journal.head, crowd.journal.state.json)
      try crowd.journal.close()
      let opened = try CatalogJournal.open(at: url, options: options)
      #expect(opened.head == head)
      #expect(opened.state.json == text)
      try opened.close()
    }
  }

  @Test(.timeLimit(.minutes(60)))
  func aJournalIsClosedWhileOthersReadAndCommit() async throws {
    for _ in 0..<8 {
      try await withTemporaryFolder { folder in
        let url = URL(filePath: folder.path("Crowd.journal"))
        var options = JournalOptions()
        options.layers = .often(5)
        let journal = try CatalogJournal.create(at: url, options: options)
        let committed = await onThreads(8) { thread in
          var newest = 0
          do {
            while true {
              if thread == 0, newest >= 20 { try journal.close() }
              newest = try journal.commit { try $0.addItem(kind: "book") }.revision
              _ = try journal.state(asOf: .revision(newest))
            }
          } catch let error as JournalError where error.code == .closed {
            return newest
          } catch {
            return -1
          }
        }
        #expect(!committed.contains(-1))
        let opened = try CatalogJournal.open(at: url)
        // Exactly the acknowledged commits are found.
        #expect(opened.head.revision == committed.max())
        #expect(opened.state.itemCount == opened.head.revision)
        #expect(try opened.verify(.deep).isSound)
        try opened.close()
      }
    }
  }
}

/// Runs `body` on `count` separate threads, because a pool has no more threads than cores.
/// - Returns: what each returned.
@discardableResult
private func onThreads<Result: Sendable>(
  _ count: Int, _ body: @escaping @Sendable (Int) -> Result
) async -> [Result] {
  await withTaskGroup(of: (Int, Result).self) { group in
    for index in 0..<count {
      group.addTask {
        await withCheckedContinuation { continuation in
          Thread.detachNewThread { continuation.resume(returning: (index, body(index))) }
        }
      }
    }
    return await group.reduce(into: [Int: Result]()) { $0[$1.0] = $1.1 }.sorted { $0.key < $1.key }.map(
      \.value)
  }
}

extension LayerPolicy {
  /// A policy that writes a layer after every `eventCount` events.
  static func often(_ eventCount: Int) -> LayerPolicy {
    var policy = LayerPolicy.automatic
    policy.eventCount = eventCount
    policy.additionsPerEvent = 1
    return policy
  }
}
