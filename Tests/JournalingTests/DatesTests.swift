import Foundation
import JournalMaintenance
import TestSupport
import Testing

@testable import Journaling

/// An entry has two dates: the one that orders entries and never decreases, and that of the clock.
@Suite struct DatesTests {
  private let august = Date(timeIntervalSince1970: 1_785_578_400)

  @Test func theDateOfTheClockIsKeptAndTheOrderingDateNeverDecreases() throws {
    try withLedger { journal, url in
      try journal.commit(date: august) { try $0.open(owner: "Ana") }
      let behind = try journal.commit(date: august - 3600) { try $0.open(owner: "Bob") }
      try journal.commit(date: august + 5) { try $0.open(owner: "Eve") }
      #expect(behind.date == august)
      #expect(behind.clockDate == august - 3600)
      #expect(behind.clockWarning == .behind(seconds: 3600))
      try journal.close()

      let again = try Journal<Ledger>.open(at: url)
      let entries = try (1...3).map { try again.entry(at: $0) }
      #expect(entries.map(\.date) == [august, august, august + 5])
      #expect(entries.map(\.clockDate) == [august, august - 3600, august + 5])
      let change = try #require(try again.history(of: .account(2)).first)
      #expect(change.date == august)
      #expect(change.clockDate == august - 3600)
      // Points in time refer to the date that orders entries.
      #expect(try again.revision(at: .date(august - 1800)) == 0)
      #expect(try again.revision(at: .date(august)) == 2)
      #expect(try again.verify().isSound)
    }
  }

  @Test func aWrongClockIsReportedAndLaterEntriesKeepTheirOwnClockDates() throws {
    try withLedger { journal, _ in
      let now = Date()
      #expect(try journal.commit { try $0.open(owner: "Ana") }.clockWarning == nil)
      let wrong = Date(timeIntervalSince1970: 4_070_908_800)  // 2099
      let ahead = try journal.commit(date: wrong) { try $0.open(owner: "Bob") }
      guard case .ahead(let seconds) = ahead.clockWarning else {
        Issue.record("\(String(describing: ahead.clockWarning))")
        return
      }
      #expect(seconds > 365 * 86_400)
      let later = try journal.commit { try $0.open(owner: "Eve") }
      #expect(later.date == wrong)
      #expect(later.clockDate >= now && later.clockDate < now + 3600)
      guard case .behind = later.clockWarning else {
        Issue.record("\(String(describing: later.clockWarning))")
        return
      }
    }
  }

  @Test func aClockIsComparedWithTheDatesOfOtherEntries() {
    func warning(
      _ given: Int64?, after previous: Int64?, written: Int64? = nil, now: Int64
    ) -> ClockWarning? {
      let head = Head(
        revision: previous == nil ? 0 : 1, timestamp: Timestamp(microseconds: (previous ?? 0) * 1_000_000),
        digest: .zero)
      return CommitClock(
        given.map { Timestamp(microseconds: $0 * 1_000_000) }, after: head,
        lastWrite: { written.map { Timestamp(microseconds: $0 * 1_000_000) } },
        now: Timestamp(microseconds: now * 1_000_000)
      ).warning
    }
    let (day, year): (Int64, Int64) = (86_400, 31_556_952)
    #expect(warning(nil, after: nil, now: 5 * year) == nil)
    #expect(warning(nil, after: 5 * year, now: 5 * year + 1) == nil)
    #expect(warning(nil, after: 5 * year, now: 6 * year) == nil)
    #expect(warning(nil, after: 5 * year, now: 6 * year + 1) == .ahead(seconds: Double(year + 1)))
    #expect(warning(nil, after: 5 * year, now: 5 * year - 1) == nil)
    #expect(warning(nil, after: 5 * year, now: 5 * year - 2) == .behind(seconds: 2))
    #expect(warning(6 * day, after: nil, now: 5 * day) == nil)
    #expect(warning(6 * day + 1, after: nil, now: 5 * day) == .ahead(seconds: Double(day + 1)))
    // The journal is old, and not the clock wrong.
    #expect(warning(nil, after: 2 * year, written: 5 * year, now: 6 * year) == nil)
    #expect(
      warning(nil, after: 2 * year, written: 5 * year, now: 7 * year) == .ahead(seconds: Double(2 * year)))
    #expect(
      warning(6 * day + 1, after: nil, written: 6 * day, now: 5 * day) == .ahead(seconds: Double(day + 1)))
    // Imported entries may have any earlier date.
    #expect(warning(5 * year, after: 2 * year, now: 50 * year) == nil)
    #expect(warning(-5 * year, after: nil, now: 50 * year) == nil)
    #expect("\(ClockWarning.behind(seconds: 7_300))".contains("2 hours behind"))
    #expect("\(ClockWarning.ahead(seconds: 31_556_952))".contains("1 year ahead"))
  }

  @Test func datesBefore1970AreKeptAsTheyAre() throws {
    try withLedger { journal, url in
      let old = Date(timeIntervalSince1970: -3_000_000_000.25)
      try journal.commit(date: old) { try $0.open(owner: "Ana") }
      #expect(try journal.entry(at: 1).date == old)
      try journal.close()
      #expect(try Journal<Ledger>.open(at: url).head.date == old)
    }
  }
}
