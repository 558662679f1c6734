import CBOR
package import Foundation
package import Journaling

/// The entries between two points in time.
///
/// Each border is a date, or an entry that a revision, a tag or an entity names. The window begins at the first date or
/// after the first entry, and ends before the second date or with the second entry.
package struct EntryWindow: Sendable {
  /// The last entry before the window.
  package let start: Revision
  /// The last entry of the window. If the window has no entries, this is ``start`` or an earlier entry.
  package let end: Revision
  /// The dates of the borders; nil for a border that is an entry.
  private let dates: (start: Timestamp?, end: Timestamp?)

  /// The revisions in the window; nil if there are none.
  package var revisions: ClosedRange<Revision>? { start < end ? start + 1...end : nil }

  fileprivate init(
    _ start: (revision: Revision, date: Timestamp?), _ end: (revision: Revision, date: Timestamp?)
  ) {
    (self.start, self.end) = (start.revision, end.revision)
    dates = (start.date, end.date)
  }

  /// Whether an entry is after the window by the date that orders entries, but inside the window by its clock's date.
  package func isInside(byClock entry: Entry) -> Bool {
    entry.revision > max(start, end) && isInside(entry.clockDate)
  }

  /// Whether a date is inside the window. False if the window does not end at a date.
  package func isInside(_ date: Date) -> Bool {
    guard let last = dates.end else { return false }
    return date < last.date && dates.start.map { $0.date <= date } ?? true
  }

  /// Whether the window ends at a date, so that ``isInside(byClock:)`` can be true.
  package var endsAtDate: Bool { dates.end != nil }
}

extension Journal {
  /// The window between two points in time. Unlike ``revision(at:)``, this accepts dates before the base of a pruned
  /// history.
  package func window(
    since: RevisionSelector = .start, until: RevisionSelector = .head()
  ) throws -> EntryWindow {
    EntryWindow(try border(at: since), try border(at: until))
  }

  /// Calls `body` with the date and the author of each entry of a range, in order; the author is empty if there is none,
  /// and nil if it was erased. Events are not read.
  package func forEachHead(
    _ range: ClosedRange<Revision>, _ body: (_ date: Timestamp, _ author: String?) -> Void
  ) throws {
    try log.readAll(range) { entry throws(JournalError) in
      body(try entry.date(), try entry.annotation()?.author)
    }
  }
}
