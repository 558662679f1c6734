import CatalogModel
import Foundation

/// Somebody with a telephone number.
struct Person: Identifiable, Codable, Equatable {
  /// The number of the item that holds this person; 0 until there is one.
  var id = 0
  var name: String
  var number: String

  // The item knows its number itself.
  private enum CodingKeys: CodingKey { case name, number }
}

extension Person {
  fileprivate init(_ item: Catalog.Item) throws {
    self = try item.decode()
    id = item.id
  }
}

/// A list of persons, kept in a journal: items of the kind `person`.
///
/// What a call changes is on the disk when it returns, so there is nothing to save, and no preferences to put
/// an archive into.
struct PersonList {
  let journal: CatalogJournal

  /// Opens the list, which is empty at the first launch.
  init(at url: URL) throws { journal = try .openOrCreate(at: url) }

  /// Everybody, in the order in which they were added; as of an earlier time, if one is named.
  func persons(asOf selector: RevisionSelector = .head()) throws -> [Person] {
    try journal.state(asOf: selector).items(ofKind: "person").map(Person.init)
  }

  /// Puts somebody at the end of the list.
  @discardableResult
  func add(name: String, number: String) throws -> Person {
    var person = Person(name: name, number: number)
    person.id = try journal.commit(note: "add \(name)") { try $0.addItem(kind: "person", encoding: person) }
      .value
    return person
  }

  /// Keeps another name or number of somebody on the list.
  func update(_ person: Person) throws {
    try journal.commit(note: "change \(person.name)") { draft in
      try draft.updateItem(person.id, as: Person.self) { $0 = person }
    }
  }

  /// Takes somebody off the list.
  func remove(_ person: Person) throws {
    try journal.commit(note: "remove \(person.name)") { try $0.deleteItem(person.id) }
  }
}
