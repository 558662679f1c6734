import Dispatch
import Files
import Foundation
import JournalMaintenance
import LevelDB
import Locks
import SharedJournals
import TestSupport
import Testing

@testable import Journaling

/// What happens in a node's folder while commits go to the shared log.
@Suite struct BacklogTests {
  /// Calls `body` with a node and a gate that lets writes to the node's own log pass, wait or fail.
  private func withGate(
    _ body: (Nodes, Journal<Ledger>, _ gate: Gate) throws -> Void
  ) throws {
    try withShared(.memory) { nodes in
      let gate = Gate()
      var options = nodes.options
      options.fileHook = { operation in
        operation.path.contains("/entries/") && operation.kind == .write ? gate.pass() : .proceed
      }
      options.log = { gate.note($0) }
      options.layers.eventCount = 8
      options.layers.additionsPerEvent = 1
      let journal = try Journal<Ledger>.open(at: nodes.url(0), options: options)
      defer {
        gate.open()
        try? journal.close()
      }
      try body(nodes, journal, gate)
    }
  }

  @Test func aCommitDoesNotWaitForTheFoldersDrive() throws {
    try withGate { nodes, journal, gate in
      gate.close()
      for turn in 1...3 { try journal.commit(by: "\(turn)") { try $0.deposit(1, on: 1) } }
      #expect(journal.head.revision == 4 && journal.state.accounts[1]?.balance == 103)
      // Everything that reads entries sees those that are not on the drive yet.
      #expect(try journal.entry(at: 4).author == "3")
      #expect(try journal.history(of: EntityKey.account(1)).map(\.revision) == [4, 3, 2, 1])
      #expect(try journal.state(asOf: .revision(3)).accounts[1]?.balance == 102)
      #expect(try journal.verify(.deep).isSound)
      #expect(journal.head.revision == 4 && !gate.hasGivenUp)
      gate.open()
      try journal.close()
      let reader = try Journal<Ledger>.open(at: nodes.url(0), mode: .readOnly)
      #expect(reader.head.revision == 4)
      try reader.close()
    }
  }

  @Test func aFolderThatCanNotBeWrittenEndsCommitsAndLosesNothing() throws {
    try withGate { nodes, journal, gate in
      gate.fail()
      try journal.commit { try $0.deposit(1, on: 1) }
      #expect(gate.waitForError()?.contains("close the journal and open it again") == true)
      let error = #expect(throws: JournalError.self) { try journal.commit { try $0.deposit(1, on: 1) } }
      #expect(error?.code == .poisoned)
      let late = #expect(throws: JournalError.self) { try journal.catchUp() }
      #expect(late?.code == .poisoned)
      // The entries that were committed can still be read from memory.
      #expect(try journal.history(of: EntityKey.account(1)).map(\.revision) == [2, 1])
      gate.open()
      try? journal.close()
      let reader = try Journal<Ledger>.open(at: nodes.url(0), mode: .readOnly)
      #expect(reader.head.revision == 1)
      try reader.close()
      let again = try nodes.open(0)
      try again.catchUp()
      #expect(again.state.accounts[1]?.balance == 101)
      #expect(try again.commit { try $0.deposit(1, on: 1) }.revision == 3)
      #expect(try again.verify().isSound)
      try again.close()
    }
  }

  /// LevelDB then begins no new log, and writes nothing. The node used to take no more commits.
  @Test(arguments: [EMFILE, ENFILE]) func aShortageInTheFolderDelaysStoringAndNothingElse(error: Int32) throws
  {
    try withShared(.memory) { nodes in
      try nodes.join(1)
      let isShort = Lock(false)
      let notices = Lock<[JournalNotice]>([])
      let isNoted = DispatchSemaphore(value: 0)
      var options = nodes.options
      options.database.writeBufferByteCount = 64 << 10
      options.fileHook = { operation in
        let isNewLog = operation.kind == .create && operation.path.hasSuffix(".log")
        return isNewLog && isShort.withLock { $0 } ? .fail(error) : .proceed
      }
      options.log = { notice in
        // Others may be about a slow drive.
        guard notice.level == .error || notice.message.contains("paused by a shortage") else { return }
        notices.withLock { $0.append(notice) }
        isNoted.signal()
      }
      let other = try nodes.open(0)
      let journal = try Journal<Ledger>.open(at: nodes.url(1), options: options)
      isShort.withLock { $0 = true }
      let text = String(repeating: "x", count: 30_000)
      // What comes together is stored together.
      repeat {
        try other.commit(note: text) { try $0.deposit(1, on: 1) }
        try journal.catchUp()
        #expect(journal.head == other.head)
      } while isNoted.wait(timeout: .now() + .milliseconds(50)) == .timedOut && journal.head.revision < 100
      for _ in 1...10 { try journal.commit(note: text) { try $0.deposit(1, on: 1) } }
      // It tries again several times, and says so once.
      usleep(350_000)
      #expect(notices.withLock { $0.map(\.level) } == [.warning])
      isShort.withLock { $0 = false }
      try journal.commit { try $0.deposit(1, on: 1) }
      let head = journal.head
      try journal.close()
      try other.close()
      let reader = try Journal<Ledger>.open(at: nodes.url(1), mode: .readOnly)
      #expect(reader.head == head && reader.state.accounts[1]?.balance == Int64(99 + head.revision))
      #expect(try reader.verify().isSound)
      try reader.close()
    }
  }

  @Test(.timeLimit(.minutes(60))) func aLongShortageEndsCommitsInsteadOfLettingThemWait() throws {
    try withShared(.memory) { nodes in
      let isShort = Lock(false)
      var options = nodes.options
      options.database.writeBufferByteCount = 64 << 10
      options.fileHook = { operation in
        let isNewLog = operation.kind == .create && operation.path.hasSuffix(".log")
        return isNewLog && isShort.withLock { $0 } ? .fail(EMFILE) : .proceed
      }
      let journal = try Journal<Ledger>.open(at: nodes.url(0), options: options)
      isShort.withLock { $0 = true }
      let text = String(repeating: "x", count: 1_000_000)
      func commit() throws { try journal.commit(note: text) { try $0.deposit(1, on: 1) } }
      let first = #expect(throws: JournalError.self) { for _ in 1...40 { try commit() } }
      #expect(first?.code == .outcomeUnknown)
      let later = #expect(throws: JournalError.self) { try commit() }
      #expect(later?.code == .poisoned)
      try? journal.close()
      let again = try nodes.open(0)
      try again.catchUp()
      #expect(again.state.accounts[1]?.balance == Int64(99 + again.head.revision) && again.head.revision > 16)
      try again.close()
    }
  }

  /// The threads of the node used to keep its log open.
  @Test func aNodeCanBeOpenedAgainAfterAnOpeningThatFailsLate() throws {
    try withShared(.memory) { nodes in
      // An unfinished image, which opening removes at its end.
      try Data().write(to: nodes.url(0).appending(path: "images/0123456789abcdef.new"))
      var options = nodes.options
      options.fileHook = { $0.kind == .remove && $0.path.contains("/images/") ? .fail(EIO) : .proceed }
      let error = #expect(throws: JournalError.self) {
        try Journal<Ledger>.open(at: nodes.url(0), options: options)
      }
      #expect(error?.code == .io)
      let again = try nodes.open(0)
      #expect(try again.commit { try $0.deposit(1, on: 1) }.revision == 2)
      try again.close()
    }
  }

  @Test func aJournalStaysSharedIfItsFolderCanNotStoreWhatTheSharedLogHas() throws {
    try withGate { nodes, journal, gate in
      try nodes.join(1)
      try journal.close()
      let other = try nodes.open(1)
      for _ in 0..<3 { try other.commit { try $0.deposit(1, on: 1) } }
      try other.close()
      var options = nodes.options
      // Opening for writing writes other files there.
      options.fileHook = { $0.path.hasSuffix(".log") && $0.kind == .write ? gate.pass() : .proceed }
      gate.fail()
      let error = #expect(throws: JournalError.self) {
        try Journal<Ledger>.leaveSharing(at: nodes.url(0), isForced: false, options: options)
      }
      #expect(error?.code == .io && error?.revision == 2, "\(error.map { "\($0)" } ?? "")")
      gate.open()
      #expect(
        try Journal<Ledger>.leaveSharing(at: nodes.url(0), isForced: false, options: options).revision == 4)
    }
  }

  /// If the server were restored from a backup, a layer ahead of the folder's log could be of another history.
  /// The control: a folder that can be written gets a layer.
  @Test(arguments: [true, false]) func noLayerIsAheadOfTheFoldersLog(_ fails: Bool) throws {
    try withGate { nodes, journal, gate in
      if fails { gate.fail() }
      let snapshots = nodes.url(0).appending(path: "snapshots").path
      func hasLayer() throws -> Bool {
        try !FileManager.default.contentsOfDirectory(atPath: snapshots).isEmpty
      }
      // A layer waits for the folder's log for a second at most. After that, the next commit makes it due again.
      for turn in 1...100 where try turn == 1 || !fails && !hasLayer() {
        try journal.commit { draft in
          for number in 1...8 { _ = try draft.open(owner: "\(turn) \(number)", balance: 1) }
        }
        journal.waitForLayers()
      }
      try? journal.close()
      #expect(try hasLayer() != fails)
    }
  }
}

/// Lets writes pass, makes them wait, or makes them fail.
private final class Gate: Sendable {
  private struct State: Sendable {
    var isClosed = false
    var fails = false
    var hasGivenUp = false
    var error: String?
  }

  private let state = Lock(State())
  private let isOpen = DispatchSemaphore(value: 0)
  private let isNoted = DispatchSemaphore(value: 0)

  func close() { state.withLock { $0.isClosed = true } }
  func fail() { state.withLock { $0.fails = true } }

  func open() {
    state.withLock { ($0.isClosed, $0.fails) = (false, false) }
    isOpen.signal()
  }

  /// Whether a write has waited so long that a caller who depends on it must have been blocked.
  var hasGivenUp: Bool { state.withLock { $0.hasGivenUp } }

  func pass() -> FileVerdict {
    if state.withLock({ $0.fails }) { return .fail(EIO) }
    guard state.withLock({ $0.isClosed }) else { return .proceed }
    if isOpen.wait(timeout: .now() + .seconds(60)) == .timedOut { state.withLock { $0.hasGivenUp = true } }
    isOpen.signal()
    return .proceed
  }

  func note(_ notice: JournalNotice) {
    guard notice.level == .error else { return }
    state.withLock { $0.error = "\(notice.message) \(notice.cause.map { "\($0)" } ?? "")" }
    isNoted.signal()
  }

  /// The last error, or nil if there was none for a minute.
  func waitForError() -> String? {
    guard isNoted.wait(timeout: .now() + .seconds(60)) == .success else { return nil }
    isNoted.signal()
    return state.withLock { $0.error }
  }
}
