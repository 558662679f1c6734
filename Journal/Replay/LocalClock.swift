package import Foundation

/// A wall clock, which shows the time of a zone, and is set forward and back with the zone.
///
/// A reading is what the clock shows, counted like a ``Timestamp``: in microseconds since it would have shown
/// 1970-01-01 00:00. Only the offset at a time comes from Foundation, because it has one answer. A reading can belong
/// to no time or to two: clocks skip and repeat readings, even whole days (Pacific/Apia, 2011-12-30).
package struct LocalClock {
  let timeZone: TimeZone

  package init(_ timeZone: TimeZone) { self.timeZone = timeZone }

  /// A period without a change of the clock.
  private struct Period {
    var start: Int64
    var end = Int64.max
    let offset: Int64

    /// The time at which the clock shows a reading, nil if that is not in the period.
    func time(showing reading: Int64) -> Int64? {
      let time = reading - offset
      return start <= time && time < end ? time : nil
    }
  }

  private static let hour: Int64 = 3_600_000_000
  /// More than any offset. No zone has changed its clock twice within three days, so at most one change is this near.
  private static let reach = 28 * hour

  package func reading(at time: Timestamp) -> Int64 {
    Self.isFarAway(time.microseconds) ? time.microseconds : time.microseconds + offset(at: time.microseconds)
  }

  /// The first time at which the clock shows a reading in a range that begins with a day; nil if it skipped all of
  /// these.
  func firstTime(showing readings: Range<Int64>) -> Timestamp? {
    for period in periods(around: readings.lowerBound) {
      let time = max(period.start, readings.lowerBound - period.offset)
      if time < period.end, time + period.offset < readings.upperBound {
        return Timestamp(microseconds: time)
      }
    }
    return nil
  }

  /// The last time at which the clock shows a reading. If the clock skipped it, the first time after the gap.
  func lastTime(showing reading: Int64) -> Timestamp {
    let periods = periods(around: reading)
    let shown = periods.reversed().lazy.compactMap { $0.time(showing: reading) }.first
    let skipped = periods.dropFirst().first { $0.start + $0.offset > reading }?.start
    return Timestamp(microseconds: shown ?? skipped ?? reading)
  }

  /// Whether the clock shows a reading twice, because it was set back.
  package func repeats(_ reading: Int64) -> Bool {
    periods(around: reading).count { $0.time(showing: reading) != nil } > 1
  }

  /// The periods in which the clock may show a reading, in order.
  private func periods(around reading: Int64) -> [Period] {
    if Self.isFarAway(reading) { return [Period(start: .min, offset: 0)] }
    // Clocks change at whole seconds.
    var time = reading / 1_000_000 * 1_000_000 - Self.reach
    let end = time + 2 * Self.reach
    var periods = [Period(start: time, offset: offset(at: time))]
    while time < end {
      let next = time + Self.reach
      let (old, new) = (periods[periods.count - 1].offset, offset(at: next))
      if old != new {
        var (before, after) = (time, next)
        while after - before > 1_000_000 {
          let middle = before + (after - before) / 2_000_000 * 1_000_000
          if offset(at: middle) == old { before = middle } else { after = middle }
        }
        periods[periods.count - 1].end = after
        periods.append(Period(start: after, offset: new))
      }
      time = next
    }
    return periods
  }

  /// How far the clock is ahead of UTC at a time.
  private func offset(at time: Int64) -> Int64 {
    Int64(timeZone.secondsFromGMT(for: Timestamp(microseconds: time).date)) * 1_000_000
  }

  /// Whether a time is more than 290,000 years away, so that a sum with an offset might overflow. Zones have no offset
  /// there.
  static func isFarAway(_ time: Int64) -> Bool { time.magnitude > UInt64(Int64.max) / 100 * 99 }
}
