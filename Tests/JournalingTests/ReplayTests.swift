import Dispatch
import Foundation
import JournalMaintenance
import Locks
import TestSupport
import Testing

@testable import Journaling

/// Long replays, in which one thread reads entries and another applies their events.
@Suite struct ReplayTests {
  /// Neither decoding on two threads nor passing on parts of a large entry changes the order of events.
  @Test func entriesOfAllSizesAreAppliedInOrder() throws {
    try withLedger(options: options()) { bank, _ in
      try fill(bank, entryCount: 700)
      let replayed = try bank.version(replayedTo: .head())
      #expect(replayed.head == bank.head)
      let (found, expected) = (replayed.state.accounts, bank.state.accounts)
      #expect(found.highest == expected.highest && expected.highest > 3_000)
      for number in 1...expected.highest { #expect(found[number] == expected[number], "account \(number)") }
      try bank.close()
    }
  }

  /// The error is that of the first fault, wherever the reader is by then, and whether the entry can't be decoded or its
  /// event is impossible.
  @Test func theFirstFaultOfALongReplayIsNamed() throws {
    let storage = WatchedStorage()
    try withLedger(options: options(storage)) { bank, _ in
      try fill(bank, entryCount: 700)
      var random = SeededGenerator()
      for _ in 0..<40 {
        let first = Int.random(in: 2...500, using: &random)
        let later = Int.random(in: 501...700, using: &random)
        let isImpossible = random.chance(1, in: 2)
        let repeated = try bank.log.read(1) { entry in entry.copyOfBytes }
        storage.altered.withLock {
          $0 = { revision in
            if revision == first { return isImpossible ? repeated : [0xFF] }
            return revision == later ? [0xFF] : nil
          }
        }
        let error = #expect(throws: JournalError.self) { try bank.version(replayedTo: .head()) }
        #expect(error?.code == .damaged)
        #expect(error?.revision == first, "\(first), impossible: \(isImpossible)")
        storage.altered.withLock { $0 = nil }
      }
      #expect(try bank.version(replayedTo: .head()).state.accounts.count == bank.state.accounts.count)
      try bank.close()
    }
  }

  /// A reader that was ended still passes on the rest of what it has read. Its thread must end nonetheless.
  @Test func aSenderNeverWaitsForAReceiverThatHasEnded() throws {
    let queue = BoundedQueue<Int>(capacity: 1)
    let isFull = DispatchSemaphore(value: 0)
    let isDone = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      queue.fill { () throws(JournalError) in
        try queue.send(1)
        isFull.signal()
        do throws(JournalError) { try queue.send(2) } catch { try queue.send(3) }
      }
      isDone.signal()
    }
    isFull.wait()
    queue.cancel()
    #expect(isDone.wait(timeout: .now() + 60) == .success)
  }

  private func options(_ storage: WatchedStorage = WatchedStorage()) -> JournalOptions {
    var options = JournalOptions(layers: .manual)
    options.logStorage = storage
    return options
  }

  /// Commits entries, among them some with many events and some with many bytes.
  private func fill(_ bank: Journal<Ledger>, entryCount: Int) throws {
    for entry in 1...entryCount {
      try bank.commit { draft in
        let eventCount = entry % 100 == 0 ? 600 : 1
        let size = entry % 70 == 0 ? 300_000 : entry % 3 == 0 ? 2_000 : 10
        for _ in 0..<eventCount {
          if entry % 5 == 1, entry > 5 {
            try draft.deposit(Int64(entry), on: entry / 5)
          } else {
            _ = try draft.open(owner: String(repeating: "x", count: eventCount == 1 ? size : 10))
          }
        }
      }
    }
  }
}
