import CBOR
package import CatalogModel
package import Foundation
import JSON

/// A commit in JSON: an object with `author`, `note`, `metadata`, `date` and `events`, each event in the form that
/// `log --json` prints.
package struct CommitDocument: Sendable {
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

  package var eventCount: Int { events.count }

  /// The names that `as` gives to added entities.
  package var names: [String] { events.compactMap(\.name) }

  /// The added entities that have a name, found in the events of the entry that was made of this document. Empty if the
  /// entry has others.
  package func named(in events: [JournalEvent]) -> [(name: String, entity: EntityKey)] {
    // An entity that the document also deletes left no event.
    let deleted = Set(self.events.compactMap(\.deletedName))
    let adds = self.events.filter { event in
      event.addedKind != nil && event.name.map { !deleted.contains($0) } ?? true
    }
    let added = events.filter { $0.operation == .add }.map(\.entity)
    guard added.map(\.kind) == adds.map(\.addedKind) else { return [] }
    return zip(adds, added).compactMap { add, entity in add.name.map { ($0, entity) } }
  }

  /// - Throws: ``JournalError`` if a change breaks a rule, or an event refers to a name that no earlier event
  ///   has.
  package func apply(to draft: inout Draft<Catalog>) throws {
    var names: [String: EntityKey] = [:]
    try apply(to: &draft, naming: &names)
  }

  /// - Parameter names: the entities that events can name. Those that are added with `as` are inserted.
  package func apply(to draft: inout Draft<Catalog>, naming names: inout [String: EntityKey]) throws {
    try Self.asJournalError {
      for event in events { try event.apply(to: &draft, &names) }
    }
  }

  private static func asJournalError<Value>(_ body: () throws -> Value) throws -> Value {
    do { return try body() } catch let error as APIError { throw JournalError(.wrongUse, error.message) }
  }
}
