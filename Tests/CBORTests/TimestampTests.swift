import CBOR
import Foundation
import Testing

@Suite struct TimestampTests {
  @Test(
    arguments: [
      (0, "1970-01-01T00:00:00.000000Z"), (-1, "1969-12-31T23:59:59.999999Z"),
      (1_785_578_400_000_000, "2026-08-01T10:00:00.000000Z"),
      (951_782_400_000_001, "2000-02-29T00:00:00.000001Z"),
      (-62_135_596_800_000_000, "0001-01-01T00:00:00.000000Z"),
      (-62_135_596_800_000_001, "0000-12-31T23:59:59.999999Z"),
      (253_402_300_799_999_999, "9999-12-31T23:59:59.999999Z"),
      (253_402_300_800_000_000, "+010000-01-01T00:00:00.000000Z"),
      (.max, "+294247-01-10T04:00:54.775807Z"), (.min, "-290308-12-21T19:59:05.224192Z"),
    ] as [(Int64, String)])
  func aTimestampIsPrintedAndReadAsTheSameText(microseconds: Int64, text: String) {
    #expect(Timestamp(microseconds: microseconds).description == text)
    #expect(Timestamp(text)?.microseconds == microseconds)
  }

  @Test(arguments: [
    ("2026-08-01", "2026-08-01T00:00:00.000000Z"), ("2026-08-01T10:00:00Z", "2026-08-01T10:00:00.000000Z"),
    ("2026-08-01t10:00:00z", "2026-08-01T10:00:00.000000Z"),
    ("2026-08-01 10:00:00.5Z", "2026-08-01T10:00:00.500000Z"),
    ("2026-08-01T10:00:00.1234569Z", "2026-08-01T10:00:00.123456Z"),
    ("2026-08-01T01:00:00+02:00", "2026-07-31T23:00:00.000000Z"),
    ("2026-12-31T23:30:00-00:45", "2027-01-01T00:15:00.000000Z"),
    ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000000Z"),
  ])
  func otherFormsOfATimeAreRead(text: String, same: String) {
    #expect(Timestamp(text)?.description == same)
  }

  @Test(arguments: [
    "", "2026", "2026-8-1", "2026-13-01", "2026-00-01", "2026-02-29", "1900-02-29", "2026-04-31",
    "2026-08-00", "2026-08-01T",
    "2026-08-01T10:00Z", "2026-08-01T10:00:00", "2026-08-01T24:00:00Z", "2026-08-01T10:60:00Z",
    "2026-08-01T10:00:61Z",
    "2026-08-01T10:00:00.Z", "2026-08-01T10:00:00+0200", "2026-08-01T10:00:00+24:00", "2026-08-01T10:00:00Zx",
    " 2026-08-01",
    "2026-08-01Z", "+2026-08-01", "+999999-01-01", "-999999-01-01", "+294247-01-10T04:00:54.775808Z",
    "２０２６-08-01",
  ])
  func invalidTimesAreRejected(text: String) {
    #expect(Timestamp(text) == nil)
  }

  @Test func everyDayOfFourHundredYearsHasItsDate() {
    var days: Int64 = -719_162
    for year in 1...401 {
      for month in 1...12 {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        for day in 1...[31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] {
          let text = [(year, 4), (month, 2), (day, 2)]
            .map { String(repeating: "0", count: $1 - String($0).count) + String($0) }.joined(separator: "-")
          let timestamp = Timestamp(microseconds: days * 86_400_000_000)
          if timestamp.description.prefix(10) != text { Issue.record("\(text) is \(timestamp)") }
          if Timestamp(text) != timestamp { Issue.record("\(text) is read as something else") }
          days += 1
        }
      }
    }
  }

  @Test(arguments: [-7_600_000_000_000_000, -1, 0, 1, 951_782_399_999_999, 9_500_000_000_000_000] as [Int64])
  func aTimestampComesBackFromADate(microseconds: Int64) {
    for offset in 0..<Int64(1_000) {
      let timestamp = Timestamp(microseconds: microseconds + offset)
      #expect(Timestamp(timestamp.date) == timestamp)
    }
  }

  @Test func datesAgreeWithFoundation() {
    #expect(Timestamp(Date(timeIntervalSince1970: 1.5))?.microseconds == 1_500_000)
    #expect(Timestamp(Date(timeIntervalSince1970: -1.5))?.microseconds == -1_500_000)
    #expect(Timestamp(microseconds: -1_500_000).date == Date(timeIntervalSince1970: -1.5))
  }

  /// A date is coarser than a microsecond there, and the nearest one was in the next second.
  @Test(arguments: [
    "9999-12-31T23:59:59", "5000-06-30T23:59:59", "0001-01-01T00:00:00", "1969-12-31T23:59:59",
  ])
  func theLastMicrosecondOfASecondStaysInIt(second: String) throws {
    let date = try #require(Timestamp("\(second).999999Z")).date
    #expect(Timestamp(date)?.description.hasPrefix("\(second).9999") == true)
    let next = try #require(Timestamp("\(second)Z")).date + 1
    #expect(date < next)
    // So does a part of the last microsecond.
    let last = Date(timeIntervalSinceReferenceDate: next.timeIntervalSinceReferenceDate.nextDown)
    #expect(Timestamp(last)?.description.hasPrefix("\(second).9999") == true)
  }

  @Test(arguments: [Double.nan, .infinity, -.infinity, 1e300, 9.3e12, -9.3e12])
  func datesBeyondTheRangeOfTimestampsHaveNone(interval: Double) {
    #expect(Timestamp(Date(timeIntervalSinceReferenceDate: interval)) == nil)
  }

  @Test func theFourDigitYearsEndWhereTheirTextGrows() {
    #expect(Timestamp.fourDigitYears.lowerBound.description == "0001-01-01T00:00:00.000000Z")
    #expect(Timestamp.fourDigitYears.upperBound.description == "9999-12-31T23:59:59.999999Z")
  }
}
