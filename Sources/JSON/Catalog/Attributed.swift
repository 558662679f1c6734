package import CatalogModel
package import EntitySearch
package import Foundation

/// An entry or a part of an entry, with the date, author and note of the entry.
///
/// All listings use this protocol, so they treat erased annotations and clock dates in the same way.
package protocol Attributed {
  /// The entry's date, by which entries are ordered.
  var date: Date { get }
  /// The date that the clock or the caller gave when the entry was made.
  var clockDate: Date { get }
  /// The author of the entry; empty if the author was erased.
  var author: String { get }
  /// The note of the entry; empty if the note was erased.
  var note: String { get }
  /// Whether author and note have been erased.
  var isAnnotationErased: Bool { get }
}

extension Attributed {
  /// The clock's date; nil if it is within a second of the entry's date, as with correct clocks.
  package var differingClockDate: Date? { abs(date.timeIntervalSince(clockDate)) > 1 ? clockDate : nil }

  /// The first line of the note that is not blank.
  package var subject: String { String(note.subject) }
}

/// What is attributed to an entry, without its events.
package struct Attribution: Attributed, Sendable {
  package let date: Date
  package let clockDate: Date
  package let author: String
  package let note: String
  package let isAnnotationErased: Bool

  package init(_ entry: Entry) {
    (date, clockDate) = (entry.date, entry.clockDate)
    (author, note, isAnnotationErased) = (entry.author, entry.note, entry.isAnnotationErased)
  }
}

extension Entry: Attributed {}
extension EntityChange: Attributed {}
extension Blame: Attributed {}
extension LaterEdit: Attributed {}
extension MatchPeriod.Border: Attributed {}
