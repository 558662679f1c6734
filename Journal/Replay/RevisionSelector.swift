public import Foundation

/// Names a point in time: `120`, `HEAD~3`, `2026-08-01`, `yesterday`, `5 minutes ago`, the name of a tag, or
/// `item:42@120`, which is the newest entry up to revision 120 that changed the item.
public struct RevisionSelector: Hashable, Sendable {
  enum Form: Hashable, Sendable {
    case start
    case revision(Revision)
    /// Four digits that may be a revision or a year; `year` is the first moment of the year.
    case revisionOrYear(Revision, year: Timestamp)
    case head(back: Int)
    case date(Timestamp)
    /// A `Date` that is not a number (NaN).
    case noDate
    case tag(String)
    /// The newest entry that changed an entity, possibly up to a point.
    case entity(name: String, upTo: [RevisionSelector])
  }

  let form: Form

  /// The most bytes of a text. The names of a catalog's tags have up to 4 KiB.
  private static let byteLimit = 8 << 10
  /// The most entities of a text such as `item:1@item:2@120`.
  private static let entityLimit = 8

  /// Whether resolving the selector needs a state of the journal, as a tag or an entity does.
  package var isOfState: Bool {
    switch form {
    case .tag, .entity: true
    case .start, .revision, .revisionOrYear, .head, .date, .noDate: false
    }
  }

  /// The entry of that number; 0 is the empty journal.
  public static func revision(_ revision: Revision) -> RevisionSelector {
    RevisionSelector(form: .revision(revision))
  }

  /// The start of history: revision 0 or, if history was pruned, the base's revision.
  public static var start: RevisionSelector { RevisionSelector(form: .start) }

  /// The entry this many entries before the newest one.
  public static func head(back: Int = 0) -> RevisionSelector { RevisionSelector(form: .head(back: back)) }

  /// The newest entry whose date is not after a date. A date out of range becomes the nearest valid one. If the date is
  /// not a number, resolving the selector fails with `invalidSelector`.
  public static func date(_ date: Date) -> RevisionSelector {
    if date.timeIntervalSinceReferenceDate.isNaN { return RevisionSelector(form: .noDate) }
    let range = Timestamp.fourDigitYears
    let nearest = date.timeIntervalSinceReferenceDate < 0 ? range.lowerBound : range.upperBound
    return RevisionSelector(form: .date(Timestamp(date) ?? nearest))
  }

  /// The revision that a tag of the model names.
  public static func tag(_ name: String) -> RevisionSelector { RevisionSelector(form: .tag(name)) }

  /// The newest entry up to a revision that changed an entity.
  package static func entity(_ name: String, upTo revision: Revision) -> RevisionSelector {
    RevisionSelector(form: .entity(name: name, upTo: [.revision(revision)]))
  }

  init(form: Form) { self.form = form }

  /// Parses a selector as people write it.
  ///
  /// A day, a month or a year means the first time at which a clock in the zone shows a part of it; `yesterday` and
  /// `last monday` are days. A time that the clock shows twice, because it was set back, is the later one. A time that
  /// the clock skips is the first after the gap. `a month ago` is the same time on the same day of the month before, or
  /// on its last day. Four digits that could be a revision or a year are an error if both exist when they are looked
  /// up; `r2020` is the revision.
  /// - Parameters:
  ///   - text: the selector.
  ///   - timeZone: the time zone of days, and of times without one.
  ///   - now: the reference for `today` and `5 minutes ago`.
  /// - Throws: ``JournalError`` with code `invalidSelector`, also for a day that the zone skipped.
  public init(
    _ text: String, timeZone: TimeZone = .gmt, now: Date = Date()
  ) throws(JournalError) {
    // Texts may come from the network, and each entity is parsed and resolved by a recursive call.
    guard text.utf8.count <= Self.byteLimit,
      text.utf8.count(where: { $0 == UInt8(ascii: "@") }) <= Self.entityLimit
    else {
      throw JournalError(
        .invalidSelector,
        "the text is too long for a point in time: it may have \(Self.byteLimit) bytes, and name \(Self.entityLimit) "
          + "entities")
    }
    let trimmed = text.trimmingCharacters(in: .whitespaces)
    let reader = DateReader(timeZone: timeZone, now: now)
    if let form = try Self.number(trimmed, reader) ?? Self.head(trimmed) {
      self.form = form
    } else if let date = try reader.read(trimmed) {
      form = .date(date)
    } else if let match = trimmed.wholeMatch(of: /([a-z]+:[0-9]+)(?:@(.+))?/) {
      var upTo: [RevisionSelector] = []
      if let rest = match.2 { upTo = [try RevisionSelector(String(rest), timeZone: timeZone, now: now)] }
      form = .entity(name: String(match.1), upTo: upTo)
    } else if Self.isTagName(trimmed) {
      form = .tag(trimmed)
    } else {
      throw Self.unknown(text)
    }
  }

  /// Whether a tag may have that name, so that it can't be mistaken for another selector: it begins with a letter, and
  /// has only letters, digits, `.`, `_`, `-` and `/`.
  package static func isTagName(_ text: String) -> Bool {
    guard text.wholeMatch(of: /\p{L}[\p{L}\p{N}._\/-]*/) != nil, head(text) == nil else { return false }
    // In UTC, no day is missing.
    let reader = DateReader()
    return (try? number(text, reader) ?? reader.read(text).map { .date($0) }) == nil
  }

  static func unknown(_ text: String) -> JournalError {
    invalid("\"\(text)\" names no point in time")
  }

  static func invalid(_ problem: String) -> JournalError {
    JournalError(
      .invalidSelector,
      "\(problem); write a revision (120), HEAD, HEAD~3, a date (2026-08-01, "
        + "\"2026-08-01 10:00\", 2026-08-01T10:00:00Z), today, yesterday, \"last monday\", \"5 minutes ago\", a tag, "
        + "or item:42@120")
  }

  private static func digits(_ text: some StringProtocol) -> Int? {
    guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) else {
      return nil
    }
    return Int(text)
  }

  private static func number(_ text: String, _ reader: DateReader) throws(JournalError) -> Form? {
    if text.utf8.first == UInt8(ascii: "r") { return digits(text.dropFirst()).map { .revision($0) } }
    guard let number = digits(text) else { return nil }
    if text.utf8.count == 4, let year = try reader.readYear(text) {
      return .revisionOrYear(number, year: year)
    }
    return .revision(number)
  }

  private static func head(_ text: String) -> Form? {
    let text = text.uppercased()
    if text == "HEAD" || text == "@" { return .head(back: 0) }
    guard text.hasPrefix("HEAD~") else { return nil }
    let back = text.dropFirst(5)
    return back.isEmpty ? .head(back: 1) : digits(back).map { .head(back: $0) }
  }
}

extension Timestamp {
  static var now: Timestamp { Timestamp(Date()) ?? Timestamp(microseconds: 0) }
}
