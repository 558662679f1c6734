import Files
import Foundation
import Journaling
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
      #expect(listener.notices.map(\.level) == [.info])
      #expect(listener.notices.first?.message.contains("opened at revision 0") == true)
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

  @Test func aClockFarAheadIsReported() throws {
    let listener = Listener()
    try withLedger(options: listener.options()) { journal, _ in
      let date = Date().addingTimeInterval(50 * 365 * 86_400)
      try journal.commit(by: "ana", date: date) { _ = try $0.open(owner: "ana") }
      #expect(listener.notices.contains { $0.level == .warning && $0.revision == 1 })
    }
  }
}
