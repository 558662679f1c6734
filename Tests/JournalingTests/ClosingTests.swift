import Dispatch
import Files
import Foundation
import Journaling
import Locks
import TestSupport
import Testing

@Suite struct ClosingTests {
  /// The second call used to return at once, and opening after it threw `locked`.
  @Test func aSecondCallOfCloseWaitsForTheFirstAndHasItsOutcome() throws {
    let isClosing = Lock(false)
    let (hasBegun, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    var options = JournalOptions()
    options.fileHook = { operation in
      let isHeld = operation.kind == .sync && operation.path.hasSuffix("/HEAD")
      guard isHeld, isClosing.withLock({ $0 }) else { return .proceed }
      hasBegun.signal()
      mayEnd.wait()
      return .fail(EIO)
    }
    try withLedger(options: options) { journal, url in
      try journal.commit { _ = try $0.open(owner: "Ana") }
      isClosing.withLock { $0 = true }
      let outcomes = Lock<[JournalError.Code?]>([])
      let ended = DispatchGroup()
      func close() throws {
        ended.enter()
        let isStarted = Threads.start {
          let error = #expect(throws: JournalError.self) { try journal.close() }
          outcomes.withLock { $0.append(error?.code) }
          ended.leave()
        }
        try #require(isStarted)
      }
      try close()
      hasBegun.wait()
      try close()
      #expect(ended.wait(timeout: .now() + .milliseconds(300)) == .timedOut)
      #expect(outcomes.withLock { $0 } == [])
      mayEnd.signal()
      ended.wait()
      #expect(outcomes.withLock { $0 } == [.io, .io])
      let again = try Journal<Ledger>.open(at: url)
      #expect(again.state.accounts[1]?.owner == "Ana")
      try again.close()
    }
  }

  @Test func closingAgainDoesNothing() throws {
    try withLedger { journal, url in
      try journal.close()
      let again = try Journal<Ledger>.open(at: url)
      try journal.close()
      try again.commit { _ = try $0.open(owner: "Ana") }
      try again.close()
    }
  }
}
