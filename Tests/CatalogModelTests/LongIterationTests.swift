import CatalogModel
import Foundation
import JournalMaintenance
import Locks
import TestSupport
import Testing

@testable import Journaling

/// Long iterations over a state decode on two threads. They give what lookups give, in order.
@Suite(.disabled(if: TestLength.isUnderSanitizer)) struct LongIterationTests {
  /// Far more than are read ahead.
  private let count = 12_000

  @Test func itemsComeInOrderAndAreThoseOfLookups() throws {
    try withLargeJournal { journal in
      let state = journal.state
      let expected = lookedUp(state)
      #expect(Array(state.items) == expected)
      #expect(expected.count == state.itemCount && expected.count < count)
      // What changed since the newest layer hides what is below.
      try journal.commit { draft in
        try draft.deleteItem(3_002)
        try draft.updateItem(3_003, set: ["late": true])
        _ = try draft.addItem(kind: "late")
      }
      #expect(Array(journal.state.items) == lookedUp(journal.state))
      #expect(Array(state.items) == expected)
      let past = try journal.state(asOf: .revision(journal.head.revision / 2))
      #expect(Array(past.items) == lookedUp(past))
    }
  }

  /// Fewer of them are decoded at a time. All large items after small ones were decoded at once, because the size of the
  /// first items decided how many.
  @Test func largeItemsComeInOrderTooAndFewAreReadAhead() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Large.journal")
      let journal = try CatalogJournal.create(at: url, options: JournalOptions(layers: .often(100)))
      let large = 1_101...1_400
      for part in 0..<28 {
        try journal.commit { draft in
          for number in part * 100 + 1...part * 100 + 100 {
            let text = String(repeating: "\(number) ", count: large.contains(number) ? 20_000 : 1)
            _ = try draft.addItem(kind: "a", attributes: ["text": .string(text)])
          }
        }
        journal.waitForLayers()
      }
      try journal.close()

      // The bytes of the pages show what was read.
      var options = JournalOptions(layers: .manual, cacheByteCount: .max)
      options.layers.memoryByteCount = 0
      let opened = try CatalogJournal.open(at: url, mode: .readOnly, options: options)
      let state = opened.state
      func pageByteCount() -> Int { opened.chain.layers.reduce(0) { $0 + $1.pageByteCount } }
      let start = pageByteCount()
      var found: [Catalog.Item] = []
      var (returnedByteCount, most) = (0, 0)
      for item in state.items {
        found.append(item)
        if large.contains(item.id.number) { returnedByteCount += 100_000 }
        most = max(most, pageByteCount() - start - returnedByteCount)
      }
      #expect(pageByteCount() - start > 28_000_000, "the layers lack large items")
      // Some parts of 1 MiB, and a page or two of each large item.
      #expect(most < 20 << 20)
      #expect(found.map(\.id.number) == Array(1...2_800))
      #expect(found.allSatisfy { $0 == state.item($0.id) })
      try opened.close()
    }
  }

  @Test func iterationsOnManyThreadsAreIndependent() throws {
    try withLargeJournal { journal in
      let state = journal.state
      let expected = lookedUp(state)
      let right = Lock(0)
      Threads.forEach(below: 3, width: 3) { _ in
        if Array(state.items) == expected { right.withLock { $0 += 1 } }
      }
      #expect(right.withLock { $0 } == 3)
      // Two at once on one thread.
      #expect(zip(state.items, state.items).allSatisfy { $0 == $1 })
    }
  }

  @Test func aJournalThatIsClosedDuringAnIterationIsReadToTheEnd() throws {
    try withLargeJournal { journal in
      let state = journal.state
      let expected = lookedUp(state)
      var items = state.items.makeIterator()
      var found: [Catalog.Item] = []
      while found.count < 1_100, let item = items.next() { found.append(item) }
      try journal.close()
      while let item = items.next() { found.append(item) }
      #expect(found == expected)
    }
  }

  /// The layer is rebuilt from the log when its file fails.
  @Test func aFileThatFailsDuringAnIterationCostsTimeOnly() throws {
    try withLargeJournal { journal in
      let expected = lookedUp(try journal.state(asOf: .revision(journal.head.revision)))
      let url = journal.url
      try journal.close()
      var options = JournalOptions(layers: .manual)
      options.layers.memoryByteCount = 0
      let opened = try CatalogJournal.open(at: url, mode: .readOnly, options: options)
      let state = opened.state
      var items = state.items.makeIterator()
      var found: [Catalog.Item] = []
      while found.count < 1_100, let item = items.next() { found.append(item) }
      let folder = url.appending(path: "snapshots")
      for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
      where name.hasSuffix(".plist") {
        let handle = try FileHandle(forUpdating: folder.appending(path: name))
        let byteCount = Int(try handle.seekToEnd())
        try handle.seek(toOffset: 0)
        try handle.write(contentsOf: Data(count: byteCount))
        try handle.close()
      }
      while let item = items.next() { found.append(item) }
      #expect(found == expected)
      #expect(state.failure == nil && !opened.health.layerProblems.isEmpty)
      try opened.close()
    }
  }

  @Test(.timeLimit(.minutes(60)), .enabled(if: ProcessInfo.processInfo.activeProcessorCount > 1))
  func anIterationThatIsGivenUpLeavesNothingBehind() throws {
    final class Held: Sendable {}
    // Other tests may be using the second thread.
    while true {
      var held: Held? = Held()
      weak let watched = held
      let numbers = Lock(0)
      var ahead = ReadAhead {
        numbers.withLock { number in
          defer { number += 1 }
          return number
        }
      } _: { [held] number in
        (number, held)
      }
      held = nil
      if ahead == nil { continue }
      for number in 0..<100 { #expect(ahead?.next()?.0 == number) }
      #expect(watched != nil)
      ahead = nil
      while watched != nil { Thread.sleep(forTimeInterval: 0.001) }
      // It is ahead by a constant.
      #expect(numbers.withLock { $0 } < 110)
      return
    }
  }

  private func lookedUp(_ state: Catalog) -> [Catalog.Item] {
    (1...count + 1).compactMap { state.item(EntityID($0)) }
  }

  /// A journal with items in several layers, some updated and some deleted.
  private func withLargeJournal(_ body: (CatalogJournal) throws -> Void) throws {
    try withTemporaryFolder { folder in
      var options = JournalOptions(layers: .often(500))
      // So that no layers are merged.
      options.layers.fanout = 1_000
      options.layers.logShare = 1_000
      let journal = try CatalogJournal.create(
        at: folder.url.appending(path: "Large.journal"), options: options)
      for part in 0..<12 {
        try journal.commit { draft in
          for number in 0..<count / 12 {
            let name = part * count / 12 + number
            // Large enough that layers are read in pages, and that an iteration that has just begun has not read all.
            let text = String(repeating: "\(name) ", count: 60)
            _ = try draft.addItem(
              kind: "a", attributes: ["number": .integer(Int64(name)), "text": .string(text)])
          }
        }
        try journal.commit { draft in
          for number in stride(from: part + 1, through: (part + 1) * count / 12, by: 37) {
            guard draft.state.item(EntityID(number)) != nil else { continue }
            if number % 5 == 0 {
              try draft.deleteItem(EntityID(number))
            } else {
              try draft.updateItem(EntityID(number), set: ["part": .integer(Int64(part))])
            }
          }
        }
        journal.waitForLayers()
      }
      #expect(try journal.statistics().layerCount >= 12)
      try body(journal)
      try? journal.close()
    }
  }
}
