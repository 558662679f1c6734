package import Foundation

/// Parses dates as people write them, in one time zone.
struct DateReader {
  private let timeZone: TimeZone
  private let now: Timestamp

  private static let day: Int64 = 86_400_000_000
  private static let weekdays = [
    "sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday",
  ]
  private static let units: [String: Int64] = [
    "second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800, "month": 2_629_746,
    "year": 31_556_952,
  ]

  init(timeZone: TimeZone = .gmt, now: Date = Date()) {
    self.timeZone = timeZone
    self.now = Timestamp(now) ?? Timestamp(microseconds: 0)
  }

  /// The time that a text means: a date with or without a time and a zone, a day in words, or a period ago. Nil for all
  /// other texts.
  func read(_ text: String) -> Timestamp? {
    if let exact = Timestamp(text), text.count > 10 { return exact }
    let text = text.lowercased()
    if text == "now" { return now }
    return ago(text) ?? dayAndTime(text)
  }

  private func ago(_ text: String) -> Timestamp? {
    guard let match = text.wholeMatch(of: /([0-9]+|an?) ([a-z]+?)s? ago/),
      let seconds = Self.units[String(match.2)],
      let count = match.1.hasPrefix("a") ? 1 : Int64(match.1),
      // Beyond any date, and far below an overflow of the product.
      count < 10_000 * Self.units["year"]! / seconds
    else { return nil }
    return Timestamp(microseconds: now.microseconds - count * seconds * 1_000_000)
  }

  /// `2026-08-01 10:00`, `yesterday`, `last monday 9:30`, `14:00:00+02:00`.
  private func dayAndTime(_ text: String) -> Timestamp? {
    let time =
      /(?:^|[ t])([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]+))?)? ?(z|utc|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])?$/
    guard let match = text.firstMatch(of: time) else { return dayStart(text).map { moment($0, in: nil) } }
    let dayText = String(text[..<match.range.lowerBound])
    guard let start = dayText.isEmpty ? today : dayStart(dayText), let hour = Int64(match.1), hour < 24,
      let minute = Int64(match.2), minute < 60, let second = Int64(match.3 ?? "0"), second <= 60
    else { return nil }
    let microseconds = Int64((match.4 ?? "").prefix(6).padding(toLength: 6, withPad: "0", startingAt: 0)) ?? 0
    let civil = start + (hour * 60 + minute) * 60_000_000 + second * 1_000_000 + microseconds
    return moment(civil, in: match.5.map(String.init))
  }

  /// The first moment of a day, a month or a year, as if the zone were UTC.
  private func dayStart(_ text: String) -> Int64? {
    switch text {
    case "today": return today
    case "yesterday": return today - Self.day
    default: break
    }
    let isLast = text.hasPrefix("last ")
    if let weekday = Self.weekdays.firstIndex(of: isLast ? String(text.dropFirst(5)) : text) {
      // 1970 began on a Thursday.
      let current = (today / Self.day + 4) % 7
      let back = (current - Int64(weekday) + 7) % 7
      return today - (isLast && back == 0 ? 7 : back) * Self.day
    }
    if text.wholeMatch(of: /[0-9]{4}-[0-9]{2}/) != nil { return Timestamp(text + "-01")?.microseconds }
    return text.count == 10 ? Timestamp(text)?.microseconds : nil
  }

  /// The first moment of today, as if the zone were UTC.
  private var today: Int64 {
    let civil = now.microseconds + now.offset(of: timeZone)
    return civil - (civil % Self.day + Self.day) % Self.day
  }

  /// The time at which a clock shows this.
  private func moment(_ civil: Int64, in zone: String?) -> Timestamp {
    if let zone {
      guard zone.first == "+" || zone.first == "-" else { return Timestamp(microseconds: civil) }
      let parts = zone.dropFirst().split(separator: ":").compactMap { Int64($0) }
      let minutes = parts[0] * 60 + parts[1]
      return Timestamp(microseconds: civil - (zone.first == "-" ? -minutes : minutes) * 60_000_000)
    }
    return Timestamp(microseconds: civil).asShown(in: timeZone)
  }
}

extension Timestamp {
  /// Reads a date in digits, with or without a day, a time and a zone, as selectors do: `2026-08`, `2026-08-01 10:00`.
  /// Nil for words, and for times without a date, which mean another moment each day.
  package init?(calendarDate text: String, in timeZone: TimeZone) {
    guard text.prefixMatch(of: /[0-9]{4}-[0-9]{2}/) != nil,
      let date = DateReader(timeZone: timeZone).read(text)
    else { return nil }
    self = date
  }

  /// The time at which a clock in a zone shows what a clock in UTC shows at this time.
  package func asShown(in timeZone: TimeZone) -> Timestamp {
    // The offset depends on the time, which depends on the offset: two iterations are enough, except within an hour
    // that a clock shows twice or never.
    let guess = earlier(by: offset(of: timeZone))
    return earlier(by: guess.offset(of: timeZone))
  }

  /// How far a clock in a zone is ahead of UTC at this time, in microseconds.
  fileprivate func offset(of timeZone: TimeZone) -> Int64 {
    Int64(timeZone.secondsFromGMT(for: date)) * 1_000_000
  }

  /// The time that many microseconds earlier, or the same one if there is no such timestamp.
  private func earlier(by duration: Int64) -> Timestamp {
    let (result, isOverflow) = microseconds.subtractingReportingOverflow(duration)
    return isOverflow ? self : Timestamp(microseconds: result)
  }
}
