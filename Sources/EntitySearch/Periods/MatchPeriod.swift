public import Foundation
public import Journaling

/// A period in which an entity matched a condition, from one entry up to, but not including, another one.
public struct MatchPeriod: Hashable, Sendable {
  /// The entry with which a period begins or ends.
  public struct Border: Hashable, Sendable {
    /// The entry's number. With ``isPruned``, the point of pruning.
    public let revision: Revision
    /// The entry's date.
    public let date: Date
    /// The date that the clock or the caller gave to the commit.
    public let clockDate: Date
    /// Who made the entry; empty if the author was erased or pruned.
    public let author: String
    /// Why the entry was made; empty if the note was erased or pruned.
    public let note: String
    /// Whether the history before this point was pruned, so that the period may have begun earlier.
    public let isPruned: Bool
    /// Whether author and note have been erased.
    public let isAnnotationErased: Bool
  }

  /// The entry since which the entity matched.
  public let start: Border
  /// The entry since which the entity no longer matched, for example because it was deleted; nil if it still matched at
  /// the point in time up to which the history was read.
  public fileprivate(set) var end: Border?
}

extension Sequence<MatchPeriod> {
  /// The seconds that the periods have between two dates.
  /// - Parameters:
  ///   - start: the date from which time is counted.
  ///   - end: the date up to which time is counted, by default now. A period without an end lasts until then.
  public func totalTime(from start: Date = .distantPast, until end: Date = Date()) -> TimeInterval {
    reduce(0) { sum, period in
      let (first, last) = (Swift.max(period.start.date, start), Swift.min(period.end?.date ?? end, end))
      return sum + Swift.max(0, last.timeIntervalSince(first))
    }
  }
}

extension [MatchPeriod] {
  /// Takes whether the entity matches since an entry. The entries come in order.
  /// - Returns: whether a period begins or ends there.
  @discardableResult
  mutating func add(_ matches: Bool, since border: MatchPeriod.Border) -> Bool {
    let isOpen = last.map { $0.end == nil } ?? false
    if matches, !isOpen { append(MatchPeriod(start: border)) }
    if !matches, isOpen { self[count - 1].end = border }
    return matches != isOpen
  }
}

extension MatchPeriod.Border {
  init(_ change: EntityChange) {
    self.init(
      revision: change.revision, date: change.date, clockDate: change.clockDate, author: change.author,
      note: change.note, isPruned: change.isPruned, isAnnotationErased: change.isAnnotationErased)
  }

  init(_ entry: Entry) {
    self.init(
      revision: entry.revision, date: entry.date, clockDate: entry.clockDate, author: entry.author,
      note: entry.note, isPruned: false, isAnnotationErased: entry.isAnnotationErased)
  }

  init(base: Head) {
    self.init(
      revision: base.revision, date: base.date, clockDate: base.date, author: "", note: "", isPruned: true,
      isAnnotationErased: false)
  }
}
