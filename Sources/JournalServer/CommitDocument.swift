import CBOR
package import CatalogModel
package import Foundation
import JSON

/// A commit in JSON: an object with `author`, `note`, `metadata`, `date` and `events`, each event in the form that
/// `log --json` prints.
package struct CommitDocument {
  package let author: String?
  package let note: String?
  package let metadata: [String: String]
  /// The date to keep as the entry's ``Entry/clockDate``; nil for the clock's.
  package let date: Date?
  private let events: [CommitEvent]

  /// - Throws: ``JournalError`` with code `wrongUse` if the value does not have this form.
  package init(_ value: FieldValue) throws {
    (author, note, metadata, date, events) = try Self.asJournalError {
      let body = try Members(
        value, of: "the body", allowing: ["author", "note", "metadata", "date", "events"])
      let events = try body.array("events").map { try CommitEvent($0) }
      guard !events.isEmpty else { throw APIError.wrongUse("events is empty; there is nothing to commit") }
      return (
        try body.string("author"), try body.string("note"), try body.texts("metadata"),
        try body.date("date"), events
      )
    }
  }

  /// For each event with `previous`: the entity, and the revision that must have changed the entity last.
  package var expectations: [(entity: EntityKey, revision: Revision)] { events.compactMap(\.expectation) }

  /// - Throws: ``JournalError`` if a change breaks a rule, or an event refers to a name that no earlier event
  ///   has.
  package func apply(to draft: inout Draft<Catalog>) throws {
    try Self.asJournalError {
      var names: CommitEvent.Names = [:]
      for event in events { try event.apply(to: &draft, &names) }
    }
  }

  private static func asJournalError<Value>(_ body: () throws -> Value) throws -> Value {
    do { return try body() } catch let error as APIError { throw JournalError(.wrongUse, error.message) }
  }
}
