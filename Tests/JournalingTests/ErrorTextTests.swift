import Files
import Foundation
import JournalMaintenance
import LevelDB
import Locks
import TestSupport
import Testing

@testable import Journaling

/// What errors say to people. None says its cause twice.
@Suite struct ErrorTextTests {
  @Test func aCauseThatTheMessageHasAlreadyIsNotRepeated() {
    let cause = JournalError(.io, "the drive reports an error", path: "/a/HEAD")
    #expect(
      JournalError(.poisoned, "commits are refused: the drive reports an error", cause: cause).description
        == "commits are refused: the drive reports an error (/a/HEAD)")
    #expect(JournalError(.io, cause.message, cause: cause).description == cause.description)
    #expect(
      JournalError(.io, "writing failed", path: "/a/HEAD", cause: cause).description
        == "writing failed: the drive reports an error (/a/HEAD)")
    let outer = JournalError(.poisoned, "closed", cause: JournalError(.io, "closed", cause: cause))
    #expect(outer.description == "closed: the drive reports an error (/a/HEAD)")
  }

  /// The system's words came once from LevelDB and once from the error number.
  @Test(arguments: [ENOENT, ERANGE, EIO, EOPNOTSUPP, ENOSPC]) func theSystemsWordsAreNotRepeated(
    _ number: Int32
  ) {
    let words = unsafe String(cString: strerror(number))
    let error = DatabaseError(.io, "000005.log: \(words)", path: "/a/entries", osError: number)
    let text = JournalError(error).description
    #expect(Self.repetition(in: text) == nil, "\(text)")
    #expect(text.components(separatedBy: words).count <= 2, "\(text)")
  }

  /// Each operation on files fails in turn, in each of these ways.
  @Test(arguments: [ENOENT, EIO, ENOMEM]) func noFailureOfAFileIsToldTwice(
    _ number: Int32
  ) throws {
    var count = 0
    for failing in stride(from: 0, to: 400, by: 3) {
      let passed = Lock(0)
      let notices = Lock<[String]>([])
      var options = JournalOptions { notice in notices.withLock { $0.append(notice.message) } }
      options.layers.eventCount = 2
      options.layers.additionsPerEvent = 1
      options.flushesHeadAtEveryCommit = true
      options.fileHook = { _ in
        passed.withLock { passed in
          passed += 1
          return passed > failing ? .fail(number) : .proceed
        }
      }
      let errors = try withTemporaryFolder { folder in
        Self.errors(of: folder.url.appending(path: "Bank.journal"), options)
      }
      for text in errors.map({ "\($0)" }) + notices.withLock({ $0 }) {
        #expect(Self.repetition(in: text) == nil, "\(failing): \(text)")
        count += 1
      }
      if passed.withLock({ $0 }) <= failing { break }
    }
    #expect(count > 20)
  }

  private static func errors(of url: URL, _ options: JournalOptions) -> [any Error] {
    var errors: [any Error] = []
    func attempt<Result>(_ body: () throws -> Result) -> Result? {
      do { return try body() } catch {
        errors.append(error)
        return nil
      }
    }
    guard let journal = attempt({ try Journal<Ledger>.create(at: url, options: options) }) else {
      return errors
    }
    for _ in 0..<2 {
      for owner in ["Ana", "Bob"] { _ = attempt { try journal.commit { try $0.open(owner: owner) } } }
      _ = attempt { try journal.takeSnapshot() }
    }
    errors += (attempt { try journal.verify() }?.problems ?? []).map { JournalError($0.code, $0.message) }
    _ = attempt { try journal.close() }
    _ = attempt { try Journal<Ledger>.open(at: url, options: options).close() }
    return errors
  }

  /// A part of a sentence that comes twice: what is between colons, without the places in parentheses.
  private static func repetition(in text: String) -> String? {
    var seen: Set<String> = []
    for part in text.components(separatedBy: ": ") {
      let words = part.prefix { $0 != "(" }.trimmingCharacters(in: .whitespaces)
      if words.count > 5, !seen.insert(words).inserted { return words }
    }
    return nil
  }
}
