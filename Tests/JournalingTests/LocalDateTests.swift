import Dispatch
import Foundation
import Locks
import TestSupport
import Testing

@testable import Journaling

/// Days and times of day around every change of the clocks of every zone from 1970 to 2037, compared with a slow search
/// and with Python.
@Suite(.disabled(if: TestLength.isUnderSanitizer)) struct LocalDateTests {
  @Test(arguments: ["2026-02-30", "2026-06-31 10:00", "2026-13", "2026-13-01"])
  func aDateThatNoCalendarHasIsAnErrorThatSaysSo(_ text: String) {
    let error = #expect(throws: JournalError.self) { try RevisionSelector(text) }
    #expect(error?.code == .invalidSelector)
    #expect(error?.message.contains("there is no date 2026-") == true, "\(text)")
  }

  @Test func daysAndTimesAroundEveryChangeOfClocksAreThoseOfASlowSearch() throws {
    let changes = Change.all
    // There are about 18,000, and all zones of a machine without a database have about as many.
    #expect(changes.count > 10_000)
    let expected = Dictionary(
      uniqueKeysWithValues: Set(changes.map(\.shape)).map { ($0, $0.answersOfASearch()) })
    let failures = zip(changes, Change.answers).compactMap { change, found in
      let wanted = change.shape.questions.map { expected[change.shape]?[$0] ?? nil }
      return found == wanted ? nil : "\(change) \(change.shape.questions): \(found), not \(wanted)"
    }
    #expect(failures.isEmpty, "\(failures.count): \(failures.prefix(10))")
  }

  @Test func daysAndTimesAroundEveryChangeOfClocksAreThoseOfPython() throws {
    guard let answers = try PythonZones.answers(Change.all) else {
      print("There is no python3 with zoneinfo here, so nothing is compared with it.")
      return
    }
    var (failures, knownCount): ([String], Int) = ([], 0)
    for ((change, ours), lines) in zip(zip(Change.all, Change.answers), answers) {
      // Another version of the database has another history of the zone.
      guard lines != ["other"] else { continue }
      knownCount += 1
      let found = ours.map { $0.map { "\($0)" } ?? "none" }
      if found != lines { failures.append("\(change) \(change.shape.questions): \(found), not \(lines)") }
    }
    #expect(failures.isEmpty, "\(failures.count): \(failures.prefix(10))")
    #expect(answers.count == Change.all.count && knownCount > Change.all.count / 2)
  }

  @Test(arguments: [
    ("America/Santiago", "2026-09-06", "2026-09-06T04:00:00Z"),
    ("America/Santiago", "2026-09-06 00:30", "2026-09-06T04:00:00Z"),
    ("Asia/Amman", "2021-10-29", "2021-10-28T21:00:00Z"),
    ("Asia/Amman", "2021-10-29 00:00", "2021-10-28T22:00:00Z"),
    ("America/New_York", "2026-11-01 01:30", "2026-11-01T06:30:00Z"),
    ("America/New_York", "2026-03-08 02:30", "2026-03-08T07:00:00Z"),
    // The clock showed 00:00 of the 29th, then the last hour of the 28th again, and then 00:00 of the 29th.
    ("America/St_Johns", "2006-10-29", "2006-10-29T02:30:00Z"),
    ("America/St_Johns", "2006-10-29 00:00", "2006-10-29T03:30:00Z"),
    ("Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00Z"),
    ("Pacific/Apia", "2011-12", "2011-12-01T10:00:00Z"),
    ("Africa/Monrovia", "1971-01-01", "1971-01-01T00:44:30Z"),
    ("Europe/Berlin", "1890-01-01", "1889-12-31T23:06:32Z"),
    ("Europe/Berlin", "2999-07", "2999-06-30T22:00:00Z"),
    ("Australia/Lord_Howe", "2026-04-05 01:45", "2026-04-04T15:15:00Z"),
    ("Pacific/Apia", "2011-12-30 10:00Z", "2011-12-30T10:00:00Z"),
    ("America/New_York", "2026-11-01 01:30 -04:00", "2026-11-01T05:30:00Z"),
  ])
  func aDateIsReadInItsZone(_ zone: String, _ text: String, _ expected: String) throws {
    let reader = DateReader(timeZone: try #require(TimeZone(identifier: zone)))
    #expect(try reader.read(text) == Timestamp(expected))
  }

  @Test(arguments: [
    ("Pacific/Apia", "2011-12-30"), ("Pacific/Apia", "2011-12-30 10:00"), ("Pacific/Kwajalein", "1993-08-21"),
    ("Pacific/Apia", "friday"), ("Pacific/Apia", "yesterday"), ("Pacific/Apia", "yesterday 14:30"),
    ("Pacific/Apia", "1 day ago"),
  ])
  func aDayThatDidNotExistIsAnErrorThatSaysSo(_ zone: String, _ text: String) throws {
    let timeZone = try #require(TimeZone(identifier: zone))
    let now = try #require(Timestamp("2011-12-30T20:00:00Z")).date
    let error = #expect(throws: JournalError.self) {
      try RevisionSelector(text, timeZone: timeZone, now: now)
    }
    #expect(error?.code == .invalidSelector)
    #expect(error?.message.contains("did not exist in the time zone \(zone)") == true)
  }

  @Test(arguments: [
    ("UTC", "2026-03-31T10:00:00Z", "1 month ago", "2026-02-28T10:00:00Z"),
    ("UTC", "2024-03-31T10:00:00Z", "a month ago", "2024-02-29T10:00:00Z"),
    ("UTC", "2024-02-29T10:00:00.25Z", "1 year ago", "2023-02-28T10:00:00.25Z"),
    ("UTC", "2026-01-15T10:00:00Z", "13 months ago", "2024-12-15T10:00:00Z"),
    ("UTC", "2026-12-15T10:00:00Z", "12 months ago", "2025-12-15T10:00:00Z"),
    ("UTC", "1970-02-28T10:00:00Z", "100 years ago", "1870-02-28T10:00:00Z"),
    ("UTC", "2026-08-05T10:00:00Z", "0 months ago", "2026-08-05T10:00:00Z"),
    ("UTC", "2026-08-05T10:00:00Z", "2 weeks ago", "2026-07-22T10:00:00Z"),
    ("UTC", "2026-08-05T10:00:00Z", "24 hours ago", "2026-08-04T10:00:00Z"),
    // In Berlin 12:00, in winter and in summer.
    ("Europe/Berlin", "2026-11-15T11:00:00Z", "2 months ago", "2026-09-15T10:00:00Z"),
    ("Europe/Berlin", "2026-10-25T11:00:00Z", "1 day ago", "2026-10-24T10:00:00Z"),
    ("Europe/Berlin", "2026-10-25T11:00:00Z", "24 hours ago", "2026-10-24T11:00:00Z"),
    // The time is skipped, or there twice.
    ("Europe/Berlin", "2026-04-29T00:30:00Z", "1 month ago", "2026-03-29T01:00:00Z"),
    ("Europe/Berlin", "2026-11-25T01:30:00Z", "1 month ago", "2026-10-25T01:30:00Z"),
    ("Europe/Berlin", "2026-10-25T00:30:00Z", "0 days ago", "2026-10-25T00:30:00Z"),
    // It is the 1st in Auckland already.
    ("Pacific/Auckland", "2026-07-31T20:00:00Z", "1 month ago", "2026-06-30T20:00:00Z"),
  ])
  func aMonthAgoIsTheSameDayOfTheMonthBefore(
    _ zone: String, _ now: String, _ text: String, _ expected: String
  ) throws {
    let now = try #require(Timestamp(now)).date
    let reader = DateReader(timeZone: try #require(TimeZone(identifier: zone)), now: now)
    #expect(try reader.read(text) == Timestamp(expected))
  }

  @Test(arguments: [
    "+294247-01-10", "+294247-01-10 04:00:00", "+294247-01-10 23:00Z", "-290308-12-21 19:59:06",
    "+012026-08-01 10:00", "-290308-12-22", "0000-01-01 00:00", "9999-12-31 23:59:60",
    "999999999999 seconds ago", "99999 years ago", "999999999 hours ago", "119999 months ago",
    "3999999 days ago",
  ])
  func aDateFarAwayIsReadOrIsNone(_ text: String) throws {
    for zone in ["Pacific/Kiritimati", "Pacific/Niue", "GMT"] {
      for now in [Date.distantPast, .distantFuture, Date(timeIntervalSince1970: -9e12)] {
        let reader = DateReader(timeZone: try #require(TimeZone(identifier: zone)), now: now)
        #expect(throws: Never.self) { try reader.read(text) }
      }
    }
  }

  @Test func windowsOfDatesHaveTheirFirstMomentAndStatesTheirLast() throws {
    try withLedger { journal, _ in
      let midnight = try #require(Timestamp("2026-08-02T00:00:00Z")).date
      try journal.commit(date: midnight - 3600) { try $0.open(owner: "Ana") }
      try journal.commit(date: midnight) { try $0.open(owner: "Bob") }
      try journal.commit(date: midnight + 86_400) { try $0.open(owner: "Eve") }
      func revisions(_ since: String, _ until: String) throws -> ClosedRange<Revision>? {
        let first = try journal.border(at: RevisionSelector(since)).revision + 1
        let last = try journal.border(at: RevisionSelector(until)).revision
        return first <= last ? first...last : nil
      }
      #expect(try revisions("2026-08-01", "2026-08-02") == 1...1)
      #expect(try revisions("2026-08-02", "2026-08-03") == 2...2)
      #expect(try revisions("2026-08-02", "2026-08-02") == nil)
      #expect(try revisions("2026", "2027") == 1...3)
      // Each other selector names an entry.
      #expect(try revisions("1", "2") == 2...2)
      #expect(try revisions("HEAD~1", "account:3") == 3...3)
      #expect(try revisions("1", "2026-08-03") == 2...2)
      #expect(try journal.revision(at: RevisionSelector("2026-08-02")) == 2)
    }
  }
}

/// What is asked: where a day begins, or when the clock shows a time of day, relative to a change.
private enum Question: Hashable {
  /// A day, counted from that which the clock shows just before the change.
  case day(Int64)
  /// What the clock shows, in seconds after what it would have shown at the change without that.
  case time(Int64)
}

/// A change of a clock.
private struct Change: Sendable, CustomStringConvertible {
  /// What the answers depend on.
  struct Shape: Hashable, Sendable {
    /// The offsets before and after the change, in seconds.
    let before: Int64
    let after: Int64
    /// The time of day of the change in UTC, in seconds.
    let second: Int64

    /// Days before and after the change, and times at the edges and in the middle of what is skipped or repeated.
    var questions: [Question] {
      let length = after - before
      let times = Set([-1, 0, 1, length / 2, length - 1, length, length + 1])
      return (-1...2).map { .day($0) } + times.sorted().map { .time($0) }
    }

    /// The last second of midnight before the change, as the clock shows it.
    var midnight: Int64 { (second + before - 1).floored(to: 86_400) }

    /// The answers, found by looking at the clock every half a minute; and every second where a time is between.
    func answersOfASearch() -> [Question: Int64?] {
      let times = stride(from: second - 4 * 86_400, through: second + 5 * 86_400, by: 30).map { $0 }
      let shown = times.map { $0 + ($0 < second ? before : after) }
      var answers: [Question: Int64?] = [:]
      for question in questions {
        var answer: Int64?
        switch question {
        case .day(let day):
          let days = (midnight + day * 86_400)..<(midnight + (day + 1) * 86_400)
          answer = zip(times, shown).first { days.contains($0.1) }?.0
        case .time(let time):
          let reading = second + before + time
          // The last half a minute that shows it, or the first that begins later.
          for (start, first) in zip(times, shown) {
            if first <= reading, reading < first + 30 { answer = start + reading - first }
          }
          answer = answer ?? zip(times, shown).first { $0.0 >= second && $0.1 > reading }?.0
        }
        // `map` would make an answer of nil none at all.
        answers.updateValue(answer.map { $0 - second }, forKey: question)
      }
      return answers
    }
  }

  let zone: TimeZone
  /// In seconds since 1970.
  let time: Int64
  let shape: Shape

  var description: String { "\(zone.identifier) \(Timestamp(microseconds: time * 1_000_000))" }

  /// The answer of the product, in seconds after the change.
  func answer(_ question: Question) -> Int64? {
    let clock = LocalClock(zone)
    let start = time - shape.second
    let found: Timestamp?
    switch question {
    case .day(let day):
      let first = (start + shape.midnight + day * 86_400) * 1_000_000
      found = clock.firstTime(showing: first..<first + 86_400_000_000)
    case .time(let time):
      found = clock.lastTime(showing: (self.time + shape.before + time) * 1_000_000)
    }
    return found.map { $0.microseconds / 1_000_000 - self.time }
  }

  /// All changes of all zones.
  static let all: [Change] = {
    let found = Lock<[Int: [Change]]>([:])
    let zones = Self.zones
    DispatchQueue.concurrentPerform(iterations: zones.count) { index in
      let changes = changes(of: zones[index])
      found.withLock { $0[index] = changes }
    }
    return found.withLock { found in zones.indices.flatMap { found[$0] ?? [] } }
  }()

  /// The answers of the product to all questions about each change.
  static let answers: [[Int64?]] = {
    let found = Lock<[Int: [Int64?]]>([:])
    DispatchQueue.concurrentPerform(iterations: all.count) { index in
      let answers = all[index].shape.questions.map { all[index].answer($0) }
      found.withLock { $0[index] = answers }
    }
    return found.withLock { found in all.indices.map { found[$0] ?? [] } }
  }()

  /// A zone for each different file of the system's database, or all zones that Foundation knows.
  private static var zones: [TimeZone] {
    let folder = URL(filePath: "/usr/share/zoneinfo")
    var files: Set<Data> = []
    let names = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
    let different = names.sorted().filter { name in
      guard !name.hasPrefix("posix/"), !name.hasPrefix("right/"), TimeZone(identifier: name) != nil,
        let data = try? Data(contentsOf: folder.appending(path: name)), data.starts(with: Data("TZif".utf8))
      else { return false }
      return files.insert(data).inserted
    }
    return (different.isEmpty ? TimeZone.knownTimeZoneIdentifiers : different).compactMap {
      TimeZone(identifier: $0)
    }
  }

  /// The changes of a zone from 1970 to 2037. No zone has two in six days.
  private static func changes(of zone: TimeZone) -> [Change] {
    func offset(_ time: Int64) -> Int64 {
      Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(time))))
    }
    var changes: [Change] = []
    var (time, old) = (Int64(0), offset(0))
    while time < 2_145_916_800 {
      let next = time + 6 * 86_400
      let new = offset(next)
      if new != old {
        var (before, after) = (time, next)
        while after - before > 1 {
          let middle = (before + after) / 2
          if offset(middle) == old { before = middle } else { after = middle }
        }
        let shape = Shape(before: old, after: new, second: after - after.floored(to: 86_400))
        changes.append(Change(zone: zone, time: after, shape: shape))
      }
      (time, old) = (next, new)
    }
    return changes
  }
}

extension Int64 {
  /// The greatest multiple that is not greater.
  fileprivate func floored(to unit: Int64) -> Int64 {
    let rest = self % unit
    return self - (rest < 0 ? rest + unit : rest)
  }
}

/// The answers of Python's zoneinfo.
private enum PythonZones {
  private static let script = """
    import sys
    from datetime import datetime, timedelta, timezone
    from zoneinfo import ZoneInfo
    epoch = datetime(1970, 1, 1)
    def instant(seconds): return (epoch + timedelta(seconds=seconds)).replace(tzinfo=timezone.utc)
    def offset(zone, time): return int(instant(time).astimezone(zone).utcoffset().total_seconds())
    def times(zone, reading):
        wall = epoch + timedelta(seconds=reading)
        found = set()
        for fold in 0, 1:
            time = wall.replace(tzinfo=zone, fold=fold).astimezone(timezone.utc)
            if time.astimezone(zone).replace(tzinfo=None) == wall:
                found.add(int((time.replace(tzinfo=None) - epoch).total_seconds()))
        return found
    def after(zone, reading):
        low, high = reading - 30 * 3600, reading + 30 * 3600
        while high - low > 1:
            middle = (low + high) // 2
            if middle + offset(zone, middle) < reading: low = middle
            else: high = middle
        return high
    for line in sys.stdin:
        name, time, before, now, *questions = line.split()
        time, before, now = int(time), int(before), int(now)
        try: zone = ZoneInfo(name)
        except Exception: zone = None
        if zone is None or offset(zone, time - 1) != before or offset(zone, time) != now:
            print("other")
            continue
        answers = []
        for question in questions:
            reading = int(question[1:])
            found = times(zone, reading)
            if question[0] == "d":
                first = min(found) if found else after(zone, reading)
                exists = first + offset(zone, first) < reading + 86400
                answers.append(str(first - time) if exists else "none")
            else:
                answers.append(str((max(found) if found else after(zone, reading)) - time))
        print(*answers)
    """

  /// The answers to the questions about each change; nil without Python.
  static func answers(_ changes: [Change]) throws -> [[String]]? {
    try withTemporaryFolder { folder in
      var lines = ""
      for change in changes {
        let start = change.time - change.shape.second
        let questions = change.shape.questions.map { question in
          switch question {
          case .day(let day): "d\(start + change.shape.midnight + day * 86_400)"
          case .time(let time): "t\(change.time + change.shape.before + time)"
          }
        }
        lines += "\(change.zone.identifier) \(change.time) \(change.shape.before) \(change.shape.after) "
        lines += questions.joined(separator: " ") + "\n"
      }
      let input = folder.url.appending(path: "questions")
      try Data(lines.utf8).write(to: input)
      let process = Process()
      process.executableURL = URL(filePath: "/usr/bin/env")
      process.arguments = ["python3", "-c", script]
      process.standardInput = try FileHandle(forReadingFrom: input)
      let output = Pipe()
      process.standardOutput = output
      process.standardError = FileHandle.nullDevice
      try process.run()
      let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
      process.waitUntilExit()
      guard process.terminationStatus == 0 else { return nil }
      return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map {
        $0.split(separator: " ").map(String.init)
      }
    }
  }
}
