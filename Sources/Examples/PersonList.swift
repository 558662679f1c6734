import CatalogModel
import Foundation

/// A person with a telephone number.
struct Person: CatalogItem, Equatable {
  static let kind = "person"

  var name: String
  var number: String
}

/// A list of persons, kept in a journal.
///
/// A change is on disk when the call returns, so the app need not save, nor keep an archive in its preferences.
struct PersonList {
  let journal: CatalogJournal

  /// Opens the list, which is empty at the first launch.
  init(at url: URL) throws { journal = try .openOrCreate(at: url) }

  /// All persons, in the order in which they were added; now, or as of an earlier time.
  func persons(asOf selector: RevisionSelector = .head()) throws -> ItemQuery<Person> {
    try journal.state(asOf: selector).items()
  }

  /// Puts a person at the end of the list.
  @discardableResult
  func add(_ person: Person) throws -> ItemID<Person> {
    try journal.commit(note: "add \(person.name)") { try $0.insert(person) }.value
  }

  /// Changes the name or the number of a person on the list.
  func change(_ id: ItemID<Person>, _ body: (inout Person) throws -> Void) throws {
    try journal.commit(note: "change") { try $0.update(id, body) }
  }

  /// Takes a person off the list.
  func remove(_ id: ItemID<Person>) throws {
    try journal.commit(note: "remove") { try $0.delete(id) }
  }
}
