package import Foundation

/// A point in time as entries store it: whole microseconds since the start of 1970, UTC.
///
/// Its text is RFC 3339 with six digits of fraction and `Z`, so texts of the years 0000 to 9999 sort as the times do.
/// As in POSIX, leap seconds are not counted. All of this is plain arithmetic, independent of time zones, locales and
/// clocks.
package struct Timestamp: Hashable, Sendable {
  package var microseconds: Int64

  package init(microseconds: Int64) {
    self.microseconds = microseconds
  }

  /// All timestamps in the years 0001 to 9999.
  package static let fourDigitYears: ClosedRange<Timestamp> = {
    let first = daysSince1970(year: 1, month: 1, day: 1) * microsecondsPerDay
    let end = daysSince1970(year: 10_000, month: 1, day: 1) * microsecondsPerDay
    return Timestamp(microseconds: first)...Timestamp(microseconds: end - 1)
  }()

  package var hasFourDigitYear: Bool {
    let years = Self.fourDigitYears
    return years.lowerBound.microseconds <= microseconds && microseconds <= years.upperBound.microseconds
  }

  private static let microsecondsPerDay: Int64 = 86_400_000_000
}

extension Timestamp: Comparable {
  package static func < (first: Timestamp, second: Timestamp) -> Bool {
    first.microseconds < second.microseconds
  }
}

extension Timestamp {
  /// Seconds from the start of 1970 to the start of 2001, from which Foundation counts.
  private static let referenceSeconds: Int64 = 978_307_200

  /// The microsecond nearest to a date, in the same second; nil for dates outside of ±292,000 years and for NaN.
  package init?(_ date: Date) {
    let interval = date.timeIntervalSinceReferenceDate
    // Whole seconds and fraction are converted separately, so that neither loses precision.
    let whole = interval.rounded(.down)
    guard let seconds = Int64(exactly: whole) else { return nil }
    let (sum, sumOverflow) = seconds.addingReportingOverflow(Self.referenceSeconds)
    let (product, productOverflow) = sum.multipliedReportingOverflow(by: 1_000_000)
    // Rounding up into the next second could move the last moment of a year into the next year.
    let fraction = min(Int64(((interval - whole) * 1_000_000).rounded()), 999_999)
    let (total, totalOverflow) = product.addingReportingOverflow(fraction)
    guard !sumOverflow, !productOverflow, !totalOverflow else { return nil }
    microseconds = total
  }

  /// The date nearest to the timestamp, in the same second. From 1729 to 2273, `Timestamp(timestamp.date)` equals
  /// `timestamp`; in other years, a `Date` is coarser than a microsecond.
  package var date: Date {
    let (seconds, fraction) = Self.floorDivide(microseconds, by: 1_000_000)
    let start = Double(seconds - Self.referenceSeconds)
    let nearest = start + Double(fraction) / 1_000_000
    // Where a `Date` is coarser than a microsecond, the date nearest to the last microseconds of a second may be in the
    // next second.
    return Date(timeIntervalSinceReferenceDate: min(nearest, (start + 1).nextDown))
  }

  fileprivate static func floorDivide(_ number: Int64, by divisor: Int64) -> (
    quotient: Int64, remainder: Int64
  ) {
    let (quotient, remainder) = number.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}

extension Timestamp {
  /// The number of days from 1970-01-01 to a day of the Gregorian calendar, which is extended to all years.
  ///
  /// The calculation uses years that begin in March, so that a leap day is the last day of its year, and eras of 400
  /// years, each of 146,097 days.
  package static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
    let marchYear = month > 2 ? year : year - 1
    let marchMonth = month > 2 ? month - 3 : month + 9
    let (era, yearOfEra) = floorDivide(marchYear, by: 400)
    let dayOfYear = (153 * marchMonth + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - daysFromYear0ToEpoch
  }

  /// The reverse of `daysSince1970(year:month:day:)`.
  package static func calendarDay(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let (era, dayOfEra) = floorDivide(days + daysFromYear0ToEpoch, by: 146_097)
    // Subtracting the leap days before this day leaves years of 365 days.
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
    let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    return (era * 400 + yearOfEra + (month > 2 ? 0 : 1), month, day)
  }

  /// The number of days from 0000-03-01 to 1970-01-01.
  private static let daysFromYear0ToEpoch: Int64 = 719_468

  package static func dayCount(year: Int64, month: Int64) -> Int64 {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}

extension Timestamp: CustomStringConvertible {
  /// `2026-08-01T10:00:00.000000Z`. Years outside of 0000 to 9999 have a sign and six digits, as in ISO 8601.
  package var description: String {
    let (days, time) = Self.floorDivide(microseconds, by: Self.microsecondsPerDay)
    let (year, month, day) = Self.calendarDay(daysSince1970: days)
    var text: [UInt8] = []
    text.reserveCapacity(30)

    func append(_ number: Int64, digits: Int) {
      var rest = number
      let start = text.count
      for _ in 0..<digits {
        text.append(UInt8(ascii: "0") + UInt8(rest % 10))
        rest /= 10
      }
      text[start...].reverse()
    }

    if 0...9_999 ~= year {
      append(year, digits: 4)
    } else {
      text.append(UInt8(ascii: year < 0 ? "-" : "+"))
      append(abs(year), digits: 6)
    }
    let seconds = time / 1_000_000
    let parts: [(separator: Unicode.Scalar, number: Int64)] = [
      ("-", month), ("-", day), ("T", seconds / 3_600), (":", seconds / 60 % 60), (":", seconds % 60),
    ]
    for (separator, number) in parts {
      text.append(UInt8(ascii: separator))
      append(number, digits: 2)
    }
    text.append(UInt8(ascii: "."))
    append(time % 1_000_000, digits: 6)
    text.append(UInt8(ascii: "Z"))
    return String(decoding: text, as: UTF8.self)
  }

  /// Reads a date alone, which means its first moment in UTC, or a date and a time with `Z` or an offset: `2026-08-01`,
  /// `2026-08-01T10:00:00Z`, `2026-08-01 12:00:00.25+02:00`.
  ///
  /// A fraction's digits after the sixth are dropped. A leap second, `:60`, is the next minute's first. Years with a
  /// sign and six digits are read too. Nil for all other texts, days and times that do not exist, a time without an
  /// offset, and anything beyond ±292,000 years.
  package init?(_ text: some StringProtocol) {
    var reader = Reader(text: Array(text.utf8))
    guard let days = reader.readDay() else { return nil }
    var time: Int64 = 0
    if !reader.isAtEnd {
      guard let read = reader.readTime(), reader.isAtEnd else { return nil }
      time = read
    }
    // Before 1970, time is counted back from the end of the day, because the start of the first representable
    // day is out of range.
    let (wholeDays, rest) = days < 0 ? (days + 1, time - Self.microsecondsPerDay) : (days, time)
    let (start, startOverflow) = wholeDays.multipliedReportingOverflow(by: Self.microsecondsPerDay)
    let (sum, sumOverflow) = start.addingReportingOverflow(rest)
    guard !startOverflow, !sumOverflow else { return nil }
    microseconds = sum
  }

  private struct Reader {
    let text: [UInt8]
    var position = 0

    var isAtEnd: Bool { position == text.count }

    /// Reads and returns the next byte if it is one of `expected`; otherwise nil.
    mutating func skip(_ expected: Unicode.Scalar...) -> UInt8? {
      guard position < text.count, expected.contains(Unicode.Scalar(text[position])) else { return nil }
      defer { position += 1 }
      return text[position]
    }

    mutating func readDigit() -> Int64? {
      guard position < text.count, 0x30...0x39 ~= text[position] else { return nil }
      defer { position += 1 }
      return Int64(text[position] - 0x30)
    }

    mutating func readNumber(digits: Int) -> Int64? {
      var number: Int64 = 0
      for _ in 0..<digits {
        guard let digit = readDigit() else { return nil }
        number = number * 10 + digit
      }
      return number
    }

    /// Reads a date such as `2026-08-01`, as days since 1970.
    mutating func readDay() -> Int64? {
      let sign = skip("+", "-")
      guard let digits = readNumber(digits: sign == nil ? 4 : 6), skip("-") != nil,
        let month = readNumber(digits: 2), 1...12 ~= month, skip("-") != nil,
        let day = readNumber(digits: 2)
      else { return nil }
      let year = sign == UInt8(ascii: "-") ? -digits : digits
      guard 1...Timestamp.dayCount(year: year, month: month) ~= day else { return nil }
      return Timestamp.daysSince1970(year: year, month: month, day: day)
    }

    /// Reads a time such as `T10:00:00.25+02:00`, as microseconds since the day began in UTC.
    mutating func readTime() -> Int64? {
      guard skip("T", "t", " ") != nil,
        let hour = readNumber(digits: 2), hour < 24, skip(":") != nil,
        let minute = readNumber(digits: 2), minute < 60, skip(":") != nil,
        let second = readNumber(digits: 2), second <= 60,
        let fraction = readFraction(), let offset = readOffset()
      else { return nil }
      return ((hour * 60 + minute - offset) * 60 + second) * 1_000_000 + fraction
    }

    /// Reads a fraction such as `.25`, which may be absent, as microseconds.
    mutating func readFraction() -> Int64? {
      guard skip(".") != nil else { return 0 }
      guard var fraction = readDigit() else { return nil }
      var unit: Int64 = 100_000
      fraction *= unit
      while let digit = readDigit() {
        unit /= 10
        fraction += digit * unit
      }
      return fraction
    }

    /// Reads `Z` or an offset such as `+02:00`, as minutes.
    mutating func readOffset() -> Int64? {
      if skip("Z", "z") != nil { return 0 }
      guard let sign = skip("+", "-"),
        let hours = readNumber(digits: 2), hours < 24, skip(":") != nil,
        let minutes = readNumber(digits: 2), minutes < 60
      else { return nil }
      return sign == UInt8(ascii: "-") ? -(hours * 60 + minutes) : hours * 60 + minutes
    }
  }
}
