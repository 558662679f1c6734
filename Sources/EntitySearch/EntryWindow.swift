import CBOR
package import Foundation
package import Journaling

/// The entries between two points in time.
///
/// A window between dates has the entries from the first date on and before the second. A revision, a tag or an entity
/// names an entry: the window begins after the first one named, and ends with the second.
package struct EntryWindow: Sendable {
  /// The last entry before the window.
  package let start: Revision
  /// The last entry of the window, or an earlier one if it has none.
  package let end: Revision
  /// The dates, for each border that is one.
  private let dates: (start: Timestamp?, end: Timestamp?)

  /// The revisions in the window; nil if there are none.
  package var revisions: ClosedRange<Revision>? { start < end ? start + 1...end : nil }

  fileprivate init(
    _ start: (revision: Revision, date: Timestamp?), _ end: (revision: Revision, date: Timestamp?)
  ) {
    (self.start, self.end) = (start.revision, end.revision)
    dates = (start.date, end.date)
  }

  /// Whether an entry is outside, because its date is later than that of its clock, which is inside.
  package func isInside(byClock entry: Entry) -> Bool {
    entry.revision > max(start, end) && isInside(entry.clockDate)
  }

  /// Whether a date is inside. False if the window has no last date.
  package func isInside(_ date: Date) -> Bool {
    guard let last = dates.end else { return false }
    return date < last.date && dates.start.map { $0.date <= date } ?? true
  }

  /// Whether the window ends at a date, so that ``isInside(byClock:)`` can be true.
  package var endsAtDate: Bool { dates.end != nil }
}

extension Journal {
  /// The entries since a point, until another. Unlike ``revision(at:)``, it accepts dates before the base of a pruned
  /// history.
  package func window(
    since: RevisionSelector = .start, until: RevisionSelector = .head()
  ) throws -> EntryWindow {
    EntryWindow(try border(at: since), try border(at: until))
  }
}
