package import Foundation

/// Parses dates as people write them, in one time zone.
///
/// A day, a month or a year means the first time at which the zone's clock shows a part of it. A time of day that the
/// clock shows twice is the later one, and a skipped one is the first after the gap. A skipped day is an error.
struct DateReader {
  private let clock: LocalClock
  private let now: Timestamp

  private static let day: Int64 = 86_400_000_000
  private static let weekdays = [
    "sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday",
  ]
  /// The units of fixed length for periods such as `5 minutes ago`, in seconds.
  private static let seconds: [String: Int64] = ["second": 1, "minute": 60, "hour": 3600]
  private static let days: [String: Int64] = ["day": 1, "week": 7]
  private static let months: [String: Int64] = ["month": 1, "year": 12]

  init(timeZone: TimeZone = .gmt, now: Date = Date()) {
    clock = LocalClock(timeZone)
    let years = Timestamp.fourDigitYears
    self.now = min(max(Timestamp(now) ?? Timestamp(microseconds: 0), years.lowerBound), years.upperBound)
  }

  /// The time that a text means: a date with or without a time and a zone, a day in words, or a period ago. Nil for all
  /// other texts.
  /// - Throws: ``JournalError`` with code `invalidSelector` for a day that did not exist in the zone.
  func read(_ text: String) throws(JournalError) -> Timestamp? {
    if let exact = Timestamp(text), text.contains(":") || LocalClock.isFarAway(exact.microseconds) {
      return exact
    }
    let text = text.lowercased()
    if text == "now" { return now }
    if let time = try ago(text) { return time }
    return try dayAndTime(text)
  }

  /// The first time of a year of four digits.
  func readYear(_ text: String) throws(JournalError) -> Timestamp? {
    guard let day = days(text + "-01-01")?.lowerBound else { return nil }
    return try start(of: day..<day + 365)
  }

  // MARK: Periods ago

  /// Parses `5 minutes ago`, `a month ago`. Some days, weeks, months or years ago means the same time of day; if the
  /// month lacks the day, the month's last day.
  private func ago(_ text: String) throws(JournalError) -> Timestamp? {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, words[2] == "ago",
      let count = words[0] == "a" || words[0] == "an" ? 1 : Self.number(words[0], digits: 1...12)
    else { return nil }
    let unit = String(words[1].hasSuffix("s") ? words[1].dropLast() : words[1])
    // The limit is beyond any date, and far below an overflow.
    if let seconds = Self.seconds[unit], count < 400_000_000_000 / seconds {
      return Timestamp(microseconds: now.microseconds - count * seconds * 1_000_000)
    }
    let reading = clock.reading(at: now)
    let today = Self.dayNumber(of: reading)
    let day: Int64
    if let days = Self.days[unit], count < 4_000_000 / days {
      day = today - count * days
    } else if let months = Self.months[unit], count < 120_000 / months {
      let date = Timestamp.calendarDay(daysSince1970: today)
      let month = date.year * 12 + date.month - 1 - count * months
      let year = month >= 0 ? month / 12 : (month - 11) / 12
      let length = Timestamp.dayCount(year: year, month: month - year * 12 + 1)
      day = Timestamp.daysSince1970(
        year: year, month: month - year * 12 + 1, day: min(date.day, length))
    } else {
      return nil
    }
    // If the clock shows the time of day twice today, now may be the earlier one.
    return day == today ? now : try time(showing: reading - today * Self.day, on: day)
  }

  // MARK: Days and times

  /// Parses `2026-08-01 10:00`, `yesterday`, `last monday 9:30`, `14:00:00+02:00`.
  private func dayAndTime(_ text: String) throws(JournalError) -> Timestamp? {
    if !text.contains(":") {
      guard let days = try calendarDays(text) else { return nil }
      return try start(of: days)
    }
    let (rest, offset) = Self.splitZone(text)
    let gap = rest.lastIndex { $0 == " " || $0 == "t" }
    let dayText = gap.map { String(rest[..<$0]) } ?? ""
    guard let time = Self.timeOfDay(gap.map { rest[rest.index(after: $0)...] } ?? rest),
      let day = try dayText.isEmpty ? today : calendarDays(dayText)?.lowerBound
    else { return nil }
    if let offset { return Timestamp(microseconds: day * Self.day + time - offset) }
    return try self.time(showing: time, on: day)
  }

  /// The days that a text means, nil for other texts. A date that no calendar has, such as 30 February, is an error.
  private func calendarDays(_ text: String) throws(JournalError) -> Range<Int64>? {
    if let days = days(text) { return days }
    let form = text.utf8.map { (48...57).contains($0) ? 48 : $0 }
    guard form == Array("0000-00-00".utf8) || form == Array("0000-00".utf8) else { return nil }
    throw RevisionSelector.invalid("there is no date \(text) in the calendar")
  }

  /// The days that a text means, one or those of a month; nil for other texts.
  private func days(_ text: String) -> Range<Int64>? {
    switch text {
    case "today": return today..<today + 1
    case "yesterday": return today - 1..<today
    default: break
    }
    let isLast = text.hasPrefix("last ")
    if let weekday = Self.weekdays.firstIndex(of: isLast ? String(text.dropFirst(5)) : text) {
      // 1970 began on a Thursday.
      let back = ((today + 4 - Int64(weekday)) % 7 + 7) % 7
      let day = today - (isLast && back == 0 ? 7 : back)
      return day..<day + 1
    }
    let isMonth = Timestamp(text) == nil
    guard let first = Timestamp(isMonth ? text + "-01" : text), !LocalClock.isFarAway(first.microseconds)
    else { return nil }
    let day = Self.dayNumber(of: first.microseconds)
    let date = Timestamp.calendarDay(daysSince1970: day)
    return day..<day + (isMonth ? Timestamp.dayCount(year: date.year, month: date.month) : 1)
  }

  /// The first time at which the clock shows one of these days.
  private func start(of days: Range<Int64>) throws(JournalError) -> Timestamp {
    let first = days.lowerBound * Self.day
    if let time = clock.firstTime(showing: first..<days.upperBound * Self.day) { return time }
    let text = Timestamp(microseconds: first).description.prefix { $0 != "T" }
    throw JournalError(
      .invalidSelector,
      "the day \(text) did not exist in the time zone \(clock.timeZone.identifier), whose clocks skipped it")
  }

  /// The time at which the clock shows a time of a day, which must have existed.
  private func time(showing time: Int64, on day: Int64) throws(JournalError) -> Timestamp {
    _ = try start(of: day..<day + 1)
    return clock.lastTime(showing: day * Self.day + time)
  }

  private var today: Int64 { Self.dayNumber(of: clock.reading(at: now)) }

  /// The number of days from 1970-01-01 to the day of a reading of the clock.
  private static func dayNumber(of reading: Int64) -> Int64 {
    reading / day - (reading % day < 0 ? 1 : 0)
  }

  // MARK: Parts of a text

  /// Parses `10:00` or `9:30:15.25`; in microseconds.
  private static func timeOfDay(_ text: Substring) -> Int64? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard (2...3).contains(parts.count) else { return nil }
    let hour = parts[0].utf8.count == 1 ? "0\(parts[0])" : "\(parts[0])"
    return time("\(hour):\(parts[1]):\(parts.count == 3 ? parts[2] : "00")Z")
  }

  /// The text without the zone at its end (`z`, `utc`, `+02:00`), and the zone's offset in microseconds; nil without
  /// one.
  private static func splitZone(_ text: String) -> (rest: Substring, offset: Int64?) {
    var rest = text[...]
    var offset: Int64?
    if let name = ["z", "utc"].first(where: { text.hasSuffix($0) }) {
      (rest, offset) = (rest.dropLast(name.count), 0)
    } else if let sign = rest.suffix(6).first, sign == "+" || sign == "-",
      let midnight = time("00:00:00\(rest.suffix(6))")
    {
      (rest, offset) = (rest.dropLast(6), -midnight)
    }
    if offset != nil, rest.last == " " { rest = rest.dropLast() }
    return (rest, offset)
  }

  /// Parses a time of day with a zone; in microseconds since the day began in UTC.
  private static func time(_ text: String) -> Int64? { Timestamp("1970-01-01T" + text)?.microseconds }

  /// Parses a text of digits only, if their count is in the range.
  private static func number(_ text: some StringProtocol, digits: ClosedRange<Int>) -> Int64? {
    guard digits.contains(text.utf8.count), text.utf8.allSatisfy(isDigit) else { return nil }
    return Int64(text)
  }

  private static func isDigit(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte }
}

extension Timestamp {
  /// Reads a date in digits, with or without a day, a time and a zone, as selectors do: `2026-08`, `2026-08-01 10:00`.
  /// Nil for words, and for times without a date, whose meaning depends on the day.
  /// - Throws: ``JournalError`` with code `invalidSelector` for a day that did not exist in the zone.
  package init?(calendarDate text: String, in timeZone: TimeZone) throws(JournalError) {
    let year = text.drop { $0 == "+" || $0 == "-" }.prefix { $0.isASCII && $0.isNumber }
    guard year.utf8.count >= 4, text[year.endIndex...].first == "-",
      let date = try DateReader(timeZone: timeZone).read(text)
    else { return nil }
    self = date
  }
}
