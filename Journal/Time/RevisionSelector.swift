public import Foundation

/// Names a point in time: `120`, `HEAD`, `HEAD~3`, `2026-08-01`, `2026-08-01T10:00:00Z`, `5 minutes ago`.
public struct RevisionSelector: Hashable, Sendable {
  enum Form: Hashable, Sendable {
    case revision(Revision)
    case head(back: Int)
    case date(Timestamp)
    case ago(microseconds: Int64)
  }

  let form: Form

  /// The entry of that number; 0 is the empty journal.
  public static func revision(_ revision: Revision) -> RevisionSelector {
    RevisionSelector(form: .revision(revision))
  }

  /// So many entries before the newest one.
  public static func head(back: Int = 0) -> RevisionSelector { RevisionSelector(form: .head(back: back)) }

  /// The newest entry whose date is not after this one. A date no entry can have is the nearest that can.
  public static func date(_ date: Date) -> RevisionSelector {
    let range = Timestamp.fourDigitYears
    let nearest = date.timeIntervalSinceReferenceDate < 0 ? range.lowerBound : range.upperBound
    return RevisionSelector(form: .date(Timestamp(date) ?? nearest))
  }

  init(form: Form) { self.form = form }

  /// Reads a selector as a person writes it.
  ///
  /// A date without a time means its first moment, and a time without a zone is UTC.
  /// - Throws: ``JournalError`` with code `invalidSelector`.
  public init(_ text: String) throws(JournalError) {
    let trimmed = text.trimmingCharacters(in: .whitespaces)
    guard
      let form = Self.revision(trimmed) ?? Self.head(trimmed) ?? Self.ago(trimmed)
        ?? Timestamp(trimmed).map({ .date($0) })
    else {
      throw JournalError(
        .invalidSelector,
        "\"\(text)\" names no point in time; write a revision (120), HEAD, HEAD~3, a date (2026-08-01, "
          + "2026-08-01T10:00:00Z) or \"5 minutes ago\"")
    }
    self.form = form
  }

  private static func number(_ text: some StringProtocol) -> Int? {
    guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) else {
      return nil
    }
    return Int(text)
  }

  private static func revision(_ text: String) -> Form? { number(text).map { .revision($0) } }

  private static func head(_ text: String) -> Form? {
    let text = text.uppercased()
    if text == "HEAD" || text == "@" { return .head(back: 0) }
    guard text.hasPrefix("HEAD~") else { return nil }
    let back = text.dropFirst(5)
    return back.isEmpty ? .head(back: 1) : number(back).map { .head(back: $0) }
  }

  private static let units: [String: Int64] = [
    "second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800, "month": 2_629_746,
    "year": 31_556_952,
  ]

  private static func ago(_ text: String) -> Form? {
    let text = text.lowercased()
    if text == "now" { return .ago(microseconds: 0) }
    if text == "yesterday" { return .ago(microseconds: 86_400_000_000) }
    let words = text.split(separator: " ")
    guard words.count == 3, words[2] == "ago" else { return nil }
    let unit = words[1].hasSuffix("s") ? String(words[1].dropLast()) : String(words[1])
    guard let count = words[0] == "a" || words[0] == "an" ? 1 : number(words[0]), let seconds = units[unit],
      // Further back than any date can be, and far from where the product would overflow.
      count < 10_000 * units["year"]! / seconds
    else { return nil }
    return .ago(microseconds: Int64(count) * seconds * 1_000_000)
  }
}

extension Journal {
  /// The revision that a selector means now.
  /// - Throws: ``JournalError`` with code `notFound` for one that is not there yet, or `damaged`.
  /// - Complexity: O(1) for numbers, O(log n) reads of entries for a date.
  public func revision(at selector: RevisionSelector) throws -> Revision {
    let newest = head.revision
    switch selector.form {
    case .revision(let revision):
      guard (0...newest).contains(revision) else {
        throw JournalError(.notFound, "there is no revision \(revision); the newest one is \(newest)")
      }
      return revision
    case .head(let back):
      guard (0...newest).contains(back) else {
        throw JournalError(
          .notFound, "HEAD~\(back) is outside of the journal; it has \(newest) entries")
      }
      return newest - back
    case .date(let date): return try newestRevision(notAfter: date, newest: newest)
    case .ago(let microseconds):
      let date = Timestamp(microseconds: Timestamp.now.microseconds - microseconds)
      return try newestRevision(notAfter: date, newest: newest)
    }
  }

  /// Dates never decrease from entry to entry, so the log is its own index of dates.
  private func newestRevision(notAfter date: Timestamp, newest: Revision) throws -> Revision {
    var (low, high) = (0, newest)
    while low < high {
      let middle = low + (high - low + 1) / 2
      if try log.read(middle, { entry throws(JournalError) in try entry.date() }) <= date {
        low = middle
      } else {
        high = middle - 1
      }
    }
    return low
  }

  /// The state at a point in time.
  /// - Throws: ``JournalError`` with code `notFound` when the selector names none.
  /// - Complexity: O(m) in the number of events between it and the snapshot before it.
  public func state(asOf selector: RevisionSelector) throws -> State { try version(asOf: selector).state }

  /// The state at a point in time together with the entry that made it.
  public func version(asOf selector: RevisionSelector) throws -> Version<State> {
    let revision = try revision(at: selector)
    let newest = version
    if revision == newest.revision { return newest }
    return try replayed(through: revision).version
  }

  /// The same from revision 1 on, using no snapshot: the state that the log itself makes.
  /// - Complexity: O(n) in the number of entries before it.
  public func version(replayedTo selector: RevisionSelector) throws -> Version<State> {
    try Replay<State>(log: log, id: id).version(through: try revision(at: selector)).version
  }

  /// The version at a revision, from the nearest checkpoint before it, and how many events the entries up to it
  /// have.
  func replayed(through revision: Revision) throws(JournalError) -> (version: Version<State>, eventCount: Int)
  {
    let faultCount = chain.faults.count
    let replayed = try Replay<State>(log: log, id: id).version(
      through: revision, from: chain.start(atOrBefore: revision))
    try chain.faults.check(since: faultCount)
    return replayed
  }
}

extension Timestamp {
  static var now: Timestamp { Timestamp(Date()) ?? Timestamp(microseconds: 0) }
}
