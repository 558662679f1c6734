import Files
import Foundation
import JournalMaintenance
import LevelDB
import Locks
import TestSupport
import Testing

@testable import Journaling

/// A journal is read while another one writes to it. Here both are in one process. `FollowTests` has processes that are
/// killed.
@Suite struct FollowerTests {
  @Test func aFollowerSeesEveryEntryAndTheSameStates() async throws {
    try await withLedger { journal, url in
      let follower = try Journal<Ledger>.open(at: url, mode: .follow)
      async let notes: [String] = {
        var notes: [String] = []
        for try await entry in follower.newEntries(after: 0) {
          notes.append(entry.note)
          if notes.count == 101 { break }
        }
        return notes
      }()
      async let newest: Revision? = {
        for await version in follower.versions where version.revision == 101 {
          return version.state.accounts[1].map { _ in version.revision }
        }
        return nil
      }()
      try await journal.commit(note: "0") { try $0.open(owner: "Ana") }
      for number in 1...100 { try await journal.commit(note: "\(number)") { try $0.deposit(1, on: 1) } }
      let found = try await notes
      #expect(found == (0...100).map { "\($0)" })
      #expect(await newest == 101)
      try follower.catchUp()
      #expect(follower.head == journal.head)
      #expect(follower.state.accounts[1]?.balance == 100)
      try follower.close()
      try journal.close()
    }
  }

  @Test func aFollowerIsUpToDateWhileLogsRotateAndSnapshotsAreTakenAndDropped() throws {
    var options = JournalOptions(layers: .manual)
    options.database.writeBufferByteCount = 64 << 10
    try withLedger(options: options) { journal, url in
      let follower = try Journal<Ledger>.open(at: url, mode: .follow)
      let first = try Journal<Ledger>.open(at: url, mode: .readOnly)
      var random = SeededGenerator()
      try journal.commit { _ = try $0.open(owner: "Ana") }
      var tables: Set<String> = []
      for turn in 2...600 {
        try journal.commit(note: String(repeating: "x", count: 1000)) { _ = try $0.deposit(1, on: 1) }
        if turn % 50 == 0 { try journal.takeSnapshot() }
        if turn % 120 == 0 { try journal.dropSnapshot(at: (turn - 1) / 50 * 50) }
        try follower.catchUp()
        #expect(follower.head == journal.head)
        #expect(follower.state.accounts[1]?.balance == Int64(turn - 1))
        let past = Int.random(in: 1...turn, using: &random)
        #expect(try follower.entry(at: past).digest == journal.entry(at: past).digest)
        if turn % 40 == 0 {
          #expect(try follower.state(asOf: .revision(past)).accounts[1]?.balance == Int64(past - 1))
          #expect(try follower.history(of: .account(1)).count == turn)
          // A reader can open the journal at any time.
          let look = try Journal<Ledger>.open(at: url, mode: .readOnly)
          #expect(look.head == journal.head)
          #expect(try look.verify(.deep).isSound)
          try look.close()
        }
        tables.formUnion(try FileManager.default.contentsOfDirectory(atPath: "\(url.path)/entries"))
      }
      // Otherwise this test would prove nothing.
      #expect(tables.count { $0.hasSuffix(".ldb") } > 5)
      #expect(try follower.verify(.deep).isSound)
      #expect(first.head.revision == 0)
      try follower.close()
      try journal.close()
    }
  }

  /// Otherwise all changes since it was opened would stay in its memory.
  /// With the usual sizes, LevelDB merges its first table, which has the journal's id, again and again. A view of the
  /// folder names tables that are gone then.
  @Test func aFollowerReadsRangesWhileTheirNeighborsAreMovedToOtherTables() throws {
    try withLedger(options: JournalOptions(layers: .manual)) { journal, url in
      let follower = try Journal<Ledger>.open(
        at: url, mode: .follow, options: JournalOptions(layers: .manual))
      try journal.commit { _ = try $0.open(owner: "Ana") }
      let text = String(repeating: "x", count: 60_000)
      for turn in 2...900 {
        try journal.commit(note: text) { try $0.deposit(1, on: 1) }
        try follower.catchUp()
        // Rarely, because a read opens the tables that exist at that moment.
        guard turn % 70 == 0 else { continue }
        for newestFirst in [false, true] {
          var found: [Revision] = []
          let entries = follower.entries(10...15, newestFirst: newestFirst)
          while let entry = try entries.next() { found.append(entry.revision) }
          #expect(newestFirst ? found == (10...15).reversed() : found == Array(10...15))
        }
      }
      try follower.close()
    }
  }

  @Test(.disabled(if: TestLength.isUnderSanitizer)) func aFollowerIsBackedByNewLayersAfterManyEvents() throws
  {
    var options = JournalOptions()
    options.layers.additionsPerEvent = 1
    try withLedger(options: options) { journal, url in
      let count = 1000
      try journal.commit { draft in for number in 1...count { _ = try draft.open(owner: "\(number)") } }
      journal.waitForLayers()
      let follower = try Journal<Ledger>.open(at: url, mode: .follow)
      func backing() -> Revision { LayerStack.backing(follower.state)?.checkpoint.revision ?? 0 }
      #expect(backing() == 1)
      for turn in 1...110 {
        try journal.commit { draft in for number in 1...count { try draft.deposit(1, on: number) } }
        journal.waitForLayers()
        try follower.catchUp()
        #expect(follower.head == journal.head)
        if turn == 40 { #expect(backing() == 1) }
        if turn == 60 { #expect((41...61).contains(backing())) }
        if turn % 10 == 0 {
          #expect((1...count).allSatisfy { follower.state.accounts[$0]?.balance == Int64(turn) })
        }
      }
      #expect(backing() > 90)
      #expect(StateDigest.digest(of: follower.state) == StateDigest.digest(of: journal.state))
      #expect(try follower.verify(.deep).problems.map(\.description) == [])
      try follower.close()
      try journal.close()
    }
  }

  @Test func aFollowerDoesNotCommit() throws {
    try withLedger { journal, url in
      let follower = try Journal<Ledger>.open(at: url, mode: .follow)
      let error = #expect(throws: JournalError.self) { try follower.commit { try $0.open(owner: "Ana") } }
      #expect(error?.code == .readOnly)
      #expect(error?.message.contains("commit in that process") == true)
      #expect(throws: JournalError.self) { try follower.takeSnapshot() }
      #expect(throws: JournalError.self) { try follower.blobs.add(Data([1])) }
      try follower.close()
      #expect(throws: JournalError.self) { try follower.catchUp() }
      _ = journal
    }
  }

  @Test func aFollowerSurvivesRestartsOfTheWriterAndAMoveOfTheFolder() async throws {
    try await withTemporaryFolder { folder in
      var url = folder.url.appending(path: "0.journal")
      try Journal<Ledger>.create(at: url).close()
      let follower = try Journal<Ledger>.open(at: url, mode: .follow)
      var iterator = follower.newEntries.makeAsyncIterator()
      for turn in 1...12 {
        let new = folder.url.appending(path: "\(turn).journal")
        try FileManager.default.moveItem(at: url, to: new)
        url = new
        let journal = try Journal<Ledger>.open(at: url)
        try await journal.commit(note: "\(turn)") { _ = try $0.open(owner: "Ana") }
        #expect(try await iterator.next()?.note == "\(turn)")
        try journal.close()
      }
      #expect(follower.head.revision == 12)
      try follower.close()
    }
  }

  @Test func aFollowerDoesNotSeeUnacknowledgedEntries() throws {
    let isFailing = Lock(false)
    var options = JournalOptions()
    options.fileHook = { operation in
      let fails = isFailing.withLock { $0 } && operation.kind == .sync && operation.path.hasSuffix(".log")
      return fails ? .fail(EIO) : .proceed
    }
    try withLedger(options: options) { journal, url in
      let follower = try Journal<Ledger>.open(at: url, mode: .follow)
      try journal.commit { _ = try $0.open(owner: "Ana") }
      isFailing.withLock { $0 = true }
      let error = #expect(throws: JournalError.self) { try journal.commit { _ = try $0.open(owner: "Bob") } }
      #expect(error?.code == .outcomeUnknown)
      try follower.catchUp()
      #expect(follower.head.revision == 1)
      // A follower that opens now sees no more, because the writer is still open.
      #expect(try Journal<Ledger>.open(at: url, mode: .readOnly).head.revision == 1)
      try? journal.close()
      isFailing.withLock { $0 = false }
      // No process writes now, so a reader sees the same entries as the next writer.
      let look = try Journal<Ledger>.open(at: url, mode: .readOnly)
      let again = try Journal<Ledger>.open(at: url)
      #expect(look.head == again.head)
      try again.commit { _ = try $0.open(owner: "Eve") }
      try follower.catchUp()
      #expect(follower.head == again.head)
      #expect(try follower.verify().isSound)
      try again.close()
      try follower.close()
    }
  }

  @Test func aFollowerSkipsATornTailAndSeesTheEntryThatReplacesIt() throws {
    try withLedger { journal, url in
      for _ in 1...5 { try journal.commit { _ = try $0.open(owner: "Ana") } }
      try journal.close()
      let entries = url.appending(path: "entries")
      let names = try FileManager.default.contentsOfDirectory(atPath: entries.path)
      let log = entries.appending(path: try #require(names.filter { $0.hasSuffix(".log") }.max()))
      let file = try FileHandle(forWritingTo: log)
      try file.seek(toOffset: UInt64(endOfRecords(try Data(contentsOf: log))))
      try file.write(contentsOf: Data([1, 2, 3, 4, 200, 0, 1, 9, 9]))
      try file.close()
      let follower = try Journal<Ledger>.open(at: url, mode: .follow)
      #expect(follower.head.revision == 5)
      let again = try Journal<Ledger>.open(at: url)
      try follower.catchUp()
      #expect(follower.head.revision == 5)
      try again.commit { _ = try $0.open(owner: "Bob") }
      try follower.catchUp()
      #expect(follower.head == again.head)
      try again.close()
      try follower.close()
    }
  }

  @Test func aFollowerFollowsAHEADThatIsReplacedBecauseABackupSharesIt() throws {
    try withLedger { journal, url in
      let follower = try Journal<Ledger>.open(at: url, mode: .follow)
      for turn in 1...5 {
        let head = url.appending(path: "HEAD")
        try FileManager.default.linkItem(
          at: head, to: url.deletingLastPathComponent().appending(path: "HEAD \(turn)"))
        try journal.commit { _ = try $0.open(owner: "Ana") }
        try follower.catchUp()
        #expect(follower.head == journal.head)
      }
      try follower.close()
      try journal.close()
    }
  }

  @Test func aMissingEntryEndsFollowingWithAnError() async throws {
    try await withLedger { journal, url in
      try await journal.commit { _ = try $0.open(owner: "Ana") }
      let follower = try Journal<Ledger>.open(at: url, mode: .follow)
      // HEAD names an entry that was never written.
      let folder = try JournalFolder(url, hook: nil)
      let digest = try #require(ContentDigest(bytes: [UInt8](repeating: 7, count: 32)))
      let headFile = try HeadFile(folder, id: journal.id)
      try headFile.mark(LogMark(revision: 3, digest: digest))
      try headFile.flush()
      let error = await #expect(throws: JournalError.self) {
        for try await _ in follower.newEntries {}
      }
      #expect(error?.code == .damaged)
      #expect(error?.revision == 2)
      #expect(throws: JournalError.self) { try follower.catchUp() }
      #expect(follower.state.accounts[1]?.owner == "Ana")
      try follower.close()
    }
  }

  /// The sequence used to end without these entries and without the error, as if the journal had been closed.
  @Test func theEntriesBeforeAFailureAreReadBeforeItIsThrown() async throws {
    try await withLedger { journal, url in
      for owner in ["Ana", "Bob", "Eve"] { try await journal.commit { _ = try $0.open(owner: owner) } }
      let follower = try Journal<Ledger>.open(at: url, mode: .follow)
      // HEAD names an entry that was never written.
      let digest = try #require(ContentDigest(bytes: [UInt8](repeating: 7, count: 32)))
      let headFile = try HeadFile(try JournalFolder(url, hook: nil), id: journal.id)
      try headFile.mark(LogMark(revision: 5, digest: digest))
      try headFile.flush()
      // The failure has happened when a reader that has all entries is told.
      await #expect(throws: JournalError.self) {
        for try await _ in follower.newEntries {}
      }
      var found: [Revision] = []
      do {
        for try await entry in follower.newEntries(after: 1) { found.append(entry.revision) }
        Issue.record("the sequence ended without an error")
      } catch let error as JournalError {
        #expect(error.code == .damaged && error.revision == 4)
      }
      #expect(found == [2, 3])
      #expect(try follower.waitForEntry(after: 1, atMost: .seconds(60)))
      #expect(throws: JournalError.self) { try follower.waitForEntry(after: 3, atMost: .seconds(60)) }
      try follower.close()
    }
  }

  @Test(arguments: [EMFILE, ENFILE, ENOMEM], ["/HEAD", ".log"])
  func aShortagePausesAFollowerAndNothingElse(error: Int32, file: String) throws {
    let isShort = Lock(false)
    let notices = Lock<[JournalNotice]>([])
    let isNoted = DispatchSemaphore(value: 0)
    var options = JournalOptions()
    options.readHook = { path, _ in isShort.withLock { $0 } && path.hasSuffix(file) ? .fail(error) : .proceed
    }
    options.log = { notice in
      guard notice.level != .info else { return }
      notices.withLock { $0.append(notice) }
      isNoted.signal()
    }
    try withLedger { journal, url in
      let follower = try Journal<Ledger>.open(at: url, mode: .follow, options: options)
      try journal.commit { _ = try $0.open(owner: "Ana") }
      #expect(try follower.waitForEntry(after: 0, atMost: .seconds(60)))
      isShort.withLock { $0 = true }
      try journal.commit { try $0.deposit(1, on: 1) }
      #expect(isNoted.wait(timeout: .now() + .seconds(60)) == .success)
      let failure = #expect(throws: JournalError.self) { try follower.catchUp() }
      #expect(failure?.code == .outOfResources)
      #expect(follower.head.revision == 1)
      // It tries again several times, and says so once.
      usleep(350_000)
      #expect(notices.withLock { $0.map(\.level) } == [.warning])
      isShort.withLock { $0 = false }
      #expect(try follower.waitForEntry(after: 1, atMost: .seconds(60)))
      #expect(follower.head == journal.head && follower.state.accounts[1]?.balance == 1)
      try follower.close()
      try journal.close()
    }
  }

  @Test func readersAndWritersNeverBlockEachOther() throws {
    try withLedger { journal, url in
      try journal.commit { _ = try $0.open(owner: "Ana") }
      try journal.close()
      let isDone = Lock(false)
      let looks = Lock(0)
      let ended = DispatchGroup()
      for mode in [Journal<Ledger>.Mode.readOnly, .follow, .readOnly] {
        ended.enter()
        Thread.detachNewThread {
          while !isDone.withLock({ $0 }) {
            do {
              let look = try Journal<Ledger>.open(at: url, mode: mode)
              if look.state.accounts[1]?.owner != "Ana" { Issue.record("Ana's account is not there") }
              try look.close()
            } catch { Issue.record("\(error)") }
            looks.withLock { $0 += 1 }
          }
          ended.leave()
        }
      }
      var least = 1
      for _ in 0..<150 {
        let journal = try Journal<Ledger>.open(at: url)
        #expect(journal.head.revision == least)
        try journal.commit { try $0.deposit(1, on: 1) }
        least += 1
        try journal.close()
      }
      isDone.withLock { $0 = true }
      ended.wait()
      #expect(looks.withLock { $0 } > 20)
    }
  }
}
