import Foundation
import TestSupport
import Testing

@testable import Journaling

@Suite struct TimeTests {
  /// Calls `body` with a journal whose entry n makes the balance n and has the date 2026-08-01T00:00:00Z plus n hours.
  private func withHours(_ body: (Journal<Ledger>, URL) throws -> Void) throws {
    try withLedger { journal, url in
      try journal.commit(by: "ana", note: "1", date: hour(1)) { try $0.open(owner: "Ana", balance: 1) }
      for number in 2...30 {
        try journal.commit(by: "ana", note: "\(number)", date: hour(number)) { try $0.deposit(1, on: 1) }
      }
      try body(journal, url)
    }
  }

  private func hour(_ number: Int) -> Date {
    Date(timeIntervalSince1970: 1_785_542_400 + 3600 * Double(number))
  }

  @Test func everyRevisionHasItsOwnState() throws {
    try withHours { journal, _ in
      for revision in 0...30 {
        let state = try journal.state(asOf: .revision(revision))
        #expect(state.accounts[1]?.balance ?? 0 == Int64(revision))
      }
    }
  }

  @Test(arguments: [
    ("0", 0), ("7", 7), ("HEAD", 30), ("head", 30), ("HEAD~", 29), ("HEAD~3", 27), ("HEAD~30", 0),
    ("2026-07-31", 0), ("2026-08-01", 0), ("2026-08-02", 24), ("2026-08-01T10:00:00Z", 10),
    ("2026-08-01T09:59:59.999999Z", 9), ("2026-08-01T12:00:00+02:00", 10), (" 2027-01-01 ", 30),
    ("10 years ago", 0), ("2026", 0), ("an hour ago", 30), ("now", 30), ("9999-12-31", 30), ("2026-08", 0),
    ("2026-08-01 10:00:00", 10), ("2026-08-01 10:00", 10), ("2026-08-01 10:00:00 UTC", 10),
    ("2026-08-01 9:30", 9), ("2026-08-01 12:00+02:00", 10), ("r7", 7), ("account:1", 30),
    ("account:1@HEAD~3", 27), ("account:1@2026-08-01 10:00", 10),
  ])
  func aSelectorNamesARevision(_ text: String, _ revision: Int) throws {
    try withHours { journal, _ in
      // The journal's newest date is the 2nd of August 2026, and the tests run later.
      let found = try journal.revision(at: RevisionSelector(text))
      #expect(found == revision)
    }
  }

  @Test(arguments: [
    "", "x", "-1", "HEAD~-1", "HEAD~x", "HEAD^", "1.5", "2026-13-01", "2026-02-30", "tomorrow", "minutes ago",
    "5 lightyears ago", "99999999999999999999", "1 2 3", "2026-08-01T25:00:00Z", "2026-08-01 24:00",
    "2026-08-01 10:00+24:00", "2026-08-01T10:00:00+02:60", "last day",
  ])
  func aTextThatNamesNoPointInTimeIsAnError(_ text: String) throws {
    try withHours { journal, _ in
      // A text that could be a tag is a tag that does not exist.
      let error = #expect(throws: JournalError.self) { try journal.revision(at: RevisionSelector(text)) }
      #expect(error?.code == .invalidSelector)
      #expect(error?.message.contains("HEAD~3") == true)
    }
  }

  /// Each `@` was parsed by a recursive call, and many overflowed the stack.
  @Test func aTextWithTooManyEntitiesOrBytesIsAnError() throws {
    try withHours { journal, _ in
      func entities(_ count: Int) -> String { String(repeating: "account:1@", count: count) }
      let named = try RevisionSelector(entities(8) + "7")
      #expect(try journal.revision(at: named) == 7)
      // A tag of a catalog can have such a long name.
      let tag = String(repeating: "a", count: 4096)
      #expect(throws: Never.self) { try RevisionSelector("account:1@" + tag) }
      for text in [entities(9) + "7", entities(100_000) + "7", "account:1@" + tag + tag] {
        let error = #expect(throws: JournalError.self) { try RevisionSelector(text) }
        #expect(error?.code == .invalidSelector)
      }
    }
  }

  /// 2026-08-05 was a Wednesday.
  @Test(arguments: [
    ("today", "2026-08-05T00:00:00Z"), ("yesterday", "2026-08-04T00:00:00Z"),
    ("yesterday 14:30", "2026-08-04T14:30:00Z"), ("14:30", "2026-08-05T14:30:00Z"),
    // A microsecond less would be the state before the entry of that date.
    ("yesterday 14:30:00.000249", "2026-08-04T14:30:00.000249Z"),
    ("14:30:59.9999999 +01:00", "2026-08-05T13:30:59.999999Z"),
    ("wednesday", "2026-08-05T00:00:00Z"), ("last wednesday", "2026-07-29T00:00:00Z"),
    ("last monday", "2026-08-03T00:00:00Z"), ("Last Thursday", "2026-07-30T00:00:00Z"),
    ("5 minutes ago", "2026-08-05T01:25:00Z"), ("1 day ago", "2026-08-04T01:30:00Z"),
    ("2026", "2026-01-01T00:00:00Z"), ("2026-07", "2026-07-01T00:00:00Z"),
  ])
  func aDayInWordsMeansItsFirstMoment(_ text: String, _ expected: String) throws {
    let now = try #require(Timestamp("2026-08-05T01:30:00Z")).date
    let selector = try RevisionSelector(text, now: now)
    let moment = try #require(Timestamp(expected))
    #expect(selector.moment == moment)
    // At the same moment, it is still the day before further west.
    let west = try #require(TimeZone(secondsFromGMT: -4 * 3600))
    if text == "today" {
      let local = try RevisionSelector(text, timeZone: west, now: now)
      #expect(local.moment == Timestamp("2026-08-04T04:00:00Z"))
    }
  }

  @Test func daysInAZoneWithSummerTimeBeginAtItsMidnight() throws {
    let berlin = try #require(TimeZone(identifier: "Europe/Berlin"))
    for (text, expected) in [
      ("2026-03-29", "2026-03-28T23:00:00Z"), ("2026-03-30", "2026-03-29T22:00:00Z"),
      ("2026-03-29 12:00", "2026-03-29T10:00:00Z"), ("2026-10-25 12:00", "2026-10-25T11:00:00Z"),
      ("2026-10-25 12:00Z", "2026-10-25T12:00:00Z"),
    ] {
      #expect(try RevisionSelector(text, timeZone: berlin).moment == Timestamp(expected))
    }
  }

  @Test func fourDigitsThatMeanARevisionAndAYearAreRefusedAsAmbiguous() throws {
    try withLedger(options: JournalOptions(layers: .manual)) { journal, _ in
      func date(_ text: String) -> Date? { Timestamp(text)?.date }
      try journal.commit(date: date("2019-06-01T00:00:00Z")) { try $0.open(owner: "Ana", balance: 0) }
      for _ in 2...2030 {
        try journal.commit(date: date("2021-06-01T00:00:00Z")) { try $0.deposit(1, on: 1) }
      }
      let error = #expect(throws: JournalError.self) {
        try journal.revision(at: try RevisionSelector("2020"))
      }
      #expect(error?.code == .invalidSelector)
      #expect(error?.message.contains("r2020") == true && error?.message.contains("2020-01-01") == true)
      #expect(try journal.revision(at: try RevisionSelector("r2020")) == 2020)
      #expect(try journal.revision(at: try RevisionSelector("2020-01-01")) == 1)
      // There is no entry before that year, so the text means the revision.
      #expect(try journal.revision(at: try RevisionSelector("2018")) == 2018)
    }
  }

  @Test func aRevisionThatDoesNotExistYetIsAnError() throws {
    try withHours { journal, _ in
      for selector in [RevisionSelector.revision(31), .head(back: 31)] {
        let error = #expect(throws: JournalError.self) { try journal.state(asOf: selector) }
        #expect(error?.code == .notFound)
        #expect(error?.message.contains("30") == true)
      }
    }
  }

  @Test func datesFarAwayAreSelectorsToo() throws {
    try withHours { journal, _ in
      let last = try journal.revision(at: .date(.distantFuture))
      let first = try journal.revision(at: .date(.distantPast))
      let never = try journal.revision(at: .date(Date(timeIntervalSinceReferenceDate: .infinity)))
      #expect(last == 30)
      #expect(first == 0)
      #expect(never == 30)
    }
  }

  /// It selected the newest entry.
  @Test func aDateThatIsNotANumberSelectsNothing() throws {
    try withHours { journal, _ in
      let selector = RevisionSelector.date(Date(timeIntervalSinceReferenceDate: .nan))
      let error = #expect(throws: JournalError.self) { try journal.revision(at: selector) }
      #expect(error?.code == .invalidSelector)
      #expect(throws: JournalError.self) { try journal.state(asOf: selector) }
    }
  }

  @Test func entriesAreStreamedInOrderAndInReverse() throws {
    try withHours { journal, _ in
      func notes(_ cursor: EntryCursor) throws -> [Int] {
        var notes: [Int] = []
        while let entry = try cursor.next() { notes.append(try #require(Int(entry.note))) }
        let afterwards = try cursor.next()
        #expect(afterwards == nil)
        return notes
      }
      let all = try notes(journal.entries())
      #expect(all == Array(1...30))
      let reversed = try notes(journal.entries(newestFirst: true))
      #expect(reversed == Array((1...30).reversed()))
      let some = try notes(journal.entries(5...7))
      #expect(some == [5, 6, 7])
      let back = try notes(journal.entries(-3...2, newestFirst: true))
      #expect(back == [2, 1])
      let beyond = try notes(journal.entries(31...90))
      #expect(beyond.isEmpty)
    }
  }

  @Test func aCursorOverLargeEntriesGivesEachOnce() throws {
    try withLedger { journal, _ in
      let note = String(repeating: "n", count: 300_000)
      for number in 1...9 { try journal.commit(note: note) { try $0.open(owner: "\(number)") } }
      let cursor = journal.entries(newestFirst: true)
      var revisions: [Int] = []
      while let entry = try cursor.next() { revisions.append(entry.revision) }
      #expect(revisions == Array((1...9).reversed()))
    }
  }

  @Test func theHistoryOfAnEntityIsItsEventsNewestFirst() throws {
    try withHours { journal, _ in
      try journal.commit(by: "bob") { try $0.open(owner: "Bob") }
      try journal.commit(by: "eve", note: "gone") { try $0.delete(.account(1)) }
      let history = try journal.history(of: .account(1))
      #expect(history.map(\.revision) == [32] + Array((1...30).reversed()))
      #expect(history.first?.event.operation == .delete)
      #expect(history.first?.author == "eve")
      #expect(history.last?.event.operation == .add)
      #expect(history.last?.date == hour(1))
      let never = try journal.history(of: .account(99))
      #expect(never.isEmpty)
    }
  }

  @Test(.timeLimit(.minutes(60))) func newEntriesArriveInOrderUntilTheJournalIsClosed() async throws {
    try await withLedger { journal, _ in
      try await journal.commit(note: "before") { try $0.open(owner: "Ana", balance: 0) }
      let sequence = journal.newEntries
      let (untilLast, last) = AsyncStream<Void>.makeStream()
      async let received: [String] = {
        var notes: [String] = []
        for try await entry in sequence {
          notes.append(entry.note)
          if entry.revision == 51 { last.finish() }
        }
        return notes
      }()
      for number in 1...50 { try await journal.commit(note: "\(number)") { try $0.deposit(1, on: 1) } }
      // A reader is sure to see only what it has read when the journal is closed.
      for await _ in untilLast {}
      try journal.close()
      let notes = try await received
      #expect(notes == (1...50).map { "\($0)" })
    }
  }

  @Test func waitingForEntriesEndsWhenTheTaskIsCancelled() async throws {
    try await withLedger { journal, _ in
      let task = Task {
        var count = 0
        for try await _ in journal.newEntries { count += 1 }
        return count
      }
      task.cancel()
      let count = try await task.value
      #expect(count == 0)
    }
  }
}

extension RevisionSelector {
  /// The moment of a date or a year.
  fileprivate var moment: Timestamp? {
    switch form {
    case .date(let moment), .revisionOrYear(_, let moment): moment
    default: nil
    }
  }
}
