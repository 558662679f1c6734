import Files
import Foundation
import Journaling
import LevelDB
import Locks
import TestSupport
import Testing

/// The notices of a journal to the app's own log.
@Suite struct NoticeTests {
  /// Keeps the notices.
  private final class Listener: Sendable {
    private let kept = Lock<[JournalNotice]>([])
    var notices: [JournalNotice] { kept.withLock { $0 } }

    func options(_ hook: FileHook? = nil) -> JournalOptions {
      var options = JournalOptions { notice in self.kept.withLock { $0.append(notice) } }
      options.fileHook = hook
      return options
    }
  }

  @Test func anOpeningIsReported() throws {
    let listener = Listener()
    try withLedger(options: listener.options()) { journal, _ in
      try journal.commit(by: "ana") { _ = try $0.open(owner: "ana") }
      let opened = listener.notices.filter { $0.message.contains("opened") }
      #expect(opened.map(\.level) == [.info])
      #expect(opened.first?.message.contains("opened at revision 0") == true)
    }
  }

  @Test func aJournalThatStopsAcceptingCommitsReportsTheReasonOnce() throws {
    let fails = Lock(false)
    let listener = Listener()
    let hook: FileHook = { operation in
      operation.kind == .sync && fails.withLock { $0 } ? .fail(EIO) : .proceed
    }
    try withLedger(options: listener.options(hook)) { journal, _ in
      try journal.commit(by: "ana") { _ = try $0.open(owner: "ana") }
      fails.withLock { $0 = true }
      for _ in 0..<3 {
        #expect(throws: JournalError.self) { try journal.commit(by: "bob") { _ = try $0.open(owner: "bob") } }
      }
      let errors = listener.notices.filter { $0.level == .error }
      #expect(errors.count == 1)
      #expect(errors.first?.message.contains("takes no more commits") == true)
      #expect(errors.first?.cause?.code == .io)
      fails.withLock { $0 = false }
    }
  }

  /// The reason was in the message alone, so a server that has its own words for its clients did not tell it.
  @Test func aRefusalAfterAFailureInTheBackgroundHasItsCause() throws {
    let hook: FileHook = { operation in
      operation.path.hasSuffix(".ldb") && operation.kind == .write ? .fail(ENOSPC) : .proceed
    }
    var options = JournalOptions(fileHook: hook)
    options.database.writeBufferByteCount = 64 << 10
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Ledger.journal")
      try Journal<Ledger>.create(at: url).close()
      let journal = try Journal<Ledger>.open(at: url, options: options)
      defer { try? journal.close() }
      // The first commit that fails may have an unknown outcome. Every later one is refused.
      var failures: [JournalError] = []
      for number in 1...1000 where failures.count < 3 {
        do {
          try journal.commit { _ = try $0.open(owner: "\(number) " + String(repeating: "x", count: 1000)) }
        } catch { failures.append(try #require(error as? JournalError)) }
      }
      #expect(failures.count == 3 && failures.dropFirst().allSatisfy { $0.code == .poisoned }, "\(failures)")
      for failure in failures {
        let causes = sequence(first: failure) { $0.cause as? JournalError }.dropFirst()
        #expect(causes.contains { $0.code == .io && $0.message.contains("No space left") }, "\(failure)")
      }
    }
  }

  /// Calls `body` with a journal of forty entries that had time to write and merge a layer of each eight.
  private func withLayers(_ options: JournalOptions, _ body: (Journal<Ledger>) throws -> Void) throws {
    var options = options
    options.layers.eventCount = 8
    options.layers.additionsPerEvent = 1
    try withLedger(options: options) { journal, _ in
      for number in 1...40 {
        try journal.commit { _ = try $0.open(owner: "\(number)") }
        if number % 8 == 0 { journal.waitForLayers() }
      }
      try body(journal)
    }
  }

  @Test func snapshotsAndLayersThatAreWrittenOrMergedAreReported() throws {
    let listener = Listener()
    let options = listener.options()
    try withLayers(options) { journal in
      let written = listener.notices.filter { $0.message.contains("was written") }
      #expect(
        written.first?.message.hasPrefix("a layer of revisions 1 to 8 was written: ") == true, "\(written)")
      #expect(written.first?.level == .info && written.first?.revision == 8)
      #expect(
        listener.notices.contains { $0.message.contains("layers were merged into one of revisions 1 to ") })
      try journal.takeSnapshot()
      #expect(listener.notices.last?.message.hasPrefix("a snapshot of revision 40 was written: ") == true)
      try journal.close()
    }
  }

  @Test(arguments: [
    (8, "a layer could not be written"), (32, "layers could not be merged"),
  ])
  func layersThatCanNotBeWrittenOrMergedAreReported(_ last: Int, _ message: String) throws {
    let listener = Listener()
    // The file of the layer of revisions 1 to `last` can't be created.
    let options = listener.options { operation in
      guard operation.kind == .create, let name = operation.path.split(separator: "/").last,
        name.hasSuffix(".plist.new")
      else { return .proceed }
      return name.dropLast(10).split(separator: "-").compactMap { Int($0) } == [0, last]
        ? .fail(ENOSPC) : .proceed
    }
    try withLayers(options) { try $0.close() }
    // Others may be about a slow drive.
    let warning = listener.notices.first { $0.level == .warning && $0.message.contains("layer") }
    #expect(warning?.message.hasPrefix(message) == true && warning?.cause?.code == .io, "\(listener.notices)")
  }

  @Test func aSlowDriveIsReported() throws {
    let listener = Listener()
    let storage = WatchedStorage()
    var options = listener.options()
    options.logStorage = storage
    try withLedger(options: options) { journal, _ in
      try journal.commit { _ = try $0.open(owner: "ana") }
      storage.beforeAppend.withLock { $0 = { usleep(1_100_000) } }
      try journal.commit { _ = try $0.open(owner: "bob") }
      let warnings = listener.notices.filter { $0.level == .warning }
      // On a busy machine the other append may be slow too.
      #expect(warnings.contains { $0.revision == 2 }, "\(warnings)")
      #expect(warnings.allSatisfy { $0.message.contains(/the drive took [1-9]/) }, "\(warnings)")
      storage.beforeAppend.withLock { $0 = nil }
      try journal.close()
    }
  }

  @Test func aTornTailIsReported() throws {
    try withLedger { journal, url in
      try journal.commit { _ = try $0.open(owner: "ana") }
      try journal.close()
      let entries = url.appending(path: "entries")
      let name = try #require(
        try FileManager.default.contentsOfDirectory(atPath: entries.path).first { $0.hasSuffix(".log") })
      // The head of a record of which only the first bytes were written.
      let handle = try FileHandle(forWritingTo: entries.appending(path: name))
      try handle.seekToEnd()
      try handle.write(contentsOf: Data([1, 2, 3, 4, 200, 0, 1, 5, 6]))
      try handle.close()
      let listener = Listener()
      let again = try Journal<Ledger>.open(at: url, options: listener.options())
      #expect(again.head.revision == 1)
      #expect(listener.notices.map(\.level) == [.warning, .info])
      #expect(listener.notices.first?.message.contains("torn tail") == true)
      try again.close()
    }
  }

  @Test func aClockFarAheadIsReported() throws {
    let listener = Listener()
    try withLedger(options: listener.options()) { journal, _ in
      let date = Date().addingTimeInterval(50 * 365 * 86_400)
      try journal.commit(by: "ana", date: date) { _ = try $0.open(owner: "ana") }
      #expect(listener.notices.contains { $0.level == .warning && $0.revision == 1 })
    }
  }
}
