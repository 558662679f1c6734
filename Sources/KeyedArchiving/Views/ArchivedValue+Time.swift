public import Foundation
import PropertyLists

/// A calendar as it was archived.
public struct ArchivedCalendar: Hashable, Sendable {
  /// Which calendar it is, such as `gregorian`.
  public var identifier: String
  /// The identifier of its locale.
  public var locale: String?
  /// The name of its time zone.
  public var timeZone: String?
  /// The first day of the week. Sunday is 1.
  public var firstWeekday: Int?
  /// How many days the first week of a year must have at least.
  public var minimumDaysInFirstWeek: Int?
  /// The date of the change from the Julian to the Gregorian calendar.
  public var gregorianStart: Date?
}

extension ArchivedValue {
  /// The name of the time zone that an `NSTimeZone` holds, such as `Europe/Lisbon`. The field `NS.data` has its rules
  /// as of the time of archiving.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if it has no name.
  public var timeZone: String? {
    get throws(ArchiveError) { try identifier("NSTimeZone", "NS.name") }
  }

  /// The identifier that an `NSLocale` holds, such as `pt_PT`.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if it has none.
  public var locale: String? {
    get throws(ArchiveError) { try identifier("NSLocale", "NS.identifier") }
  }

  /// The calendar that an `NSCalendar` holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if it has no identifier, or a part of it is broken.
  public var calendar: ArchivedCalendar? {
    get throws(ArchiveError) {
      guard let identifier = try identifier("NSCalendar", "NS.identifier"),
        let object = kind(of: "NSCalendar")
      else { return nil }
      return ArchivedCalendar(
        identifier: identifier, locale: try object["NS.locale"]?.locale,
        timeZone: try object["NS.timezone"]?.timeZone, firstWeekday: try object.integer("NS.firstwkdy"),
        minimumDaysInFirstWeek: try object.integer("NS.mindays"),
        gregorianStart: try object.date("NS.gstartdate"))
    }
  }

  /// The interval that an `NSDateInterval` holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if it has no start or end, or ends before it starts.
  public var dateInterval: DateInterval? {
    get throws(ArchiveError) {
      guard let object = kind(of: "NSDateInterval") else { return nil }
      guard let start = try object.date("NS.startDate"), let end = try object.date("NS.endDate"), start <= end
      else {
        throw object.malformed("the date interval has no start or no end, or ends before it starts")
      }
      return DateInterval(start: start, end: end)
    }
  }

  /// The parts of a date that an `NSDateComponents` holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if a part is not an integer.
  public var dateComponents: DateComponents? {
    get throws(ArchiveError) {
      guard let object = kind(of: "NSDateComponents") else { return nil }
      func part(_ name: String, _ other: String? = nil) throws(ArchiveError) -> Int? {
        // The largest integer of 32 or 64 bits means that a part is not set.
        let value = try object.integer("NS." + name, "NS." + (other ?? name))
        return value == Int.max || value == Int(Int32.max) ? nil : value
      }
      return DateComponents(
        timeZone: try object["NS.timezone"]?.timeZone.flatMap { TimeZone(identifier: $0) },
        era: try part("era"), year: try part("year"), month: try part("month"), day: try part("day"),
        hour: try part("hour"), minute: try part("minute"), second: try part("second"),
        nanosecond: try part("nanosec", "nanosecond"), weekday: try part("weekday"),
        weekdayOrdinal: try part("weekdayOrdinal"), quarter: try part("quarter"),
        weekOfMonth: try part("weekOfMonth"), weekOfYear: try part("weekOfYear"),
        yearForWeekOfYear: try part("yearForWeekOfYear"))
    }
  }

  private func identifier(_ className: String, _ key: String) throws(ArchiveError) -> String? {
    guard let object = kind(of: className) else { return nil }
    guard let identifier = try object.string(key) else { throw object.malformed("\(key) is missing") }
    return identifier
  }
}
