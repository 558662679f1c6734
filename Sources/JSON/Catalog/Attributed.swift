package import CatalogModel
package import Foundation

/// An entry, or a part of one, and with it who made the entry, when and why.
///
/// All listings get these facts from here, so they treat erased annotations and the clock's date alike.
package protocol Attributed {
  /// The entry's date, by which entries are ordered.
  var date: Date { get }
  /// The date by the clock or the caller.
  var clockDate: Date { get }
  /// Who made the entry; empty if that was erased.
  var author: String { get }
  /// Why; empty if that was erased.
  var note: String { get }
  /// Whether author and note have been erased.
  var isAnnotationErased: Bool { get }
}

extension Attributed {
  /// The clock's date, if it differs from the entry's by more than two correct clocks would.
  package var differingClockDate: Date? { abs(date.timeIntervalSince(clockDate)) > 1 ? clockDate : nil }

  /// The first line of the note that is not blank.
  package var subject: String { String(note.subject) }
}

extension Entry: Attributed {}
extension EntityChange: Attributed {}
extension Blame: Attributed {}
extension LaterEdit: Attributed {}
