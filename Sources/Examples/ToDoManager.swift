import CatalogModel
import Foundation

/// Something to do. Two to-dos are equal if all of their properties are equal.
struct ToDo: CatalogItem, Equatable {
  static let kind = "toDo"

  /// A named location, with latitude and longitude in degrees if they are known.
  struct Location: Codable, Equatable {
    var name: String
    var latitude: Double?
    var longitude: Double?
  }

  var title: String
  var description: String?
  /// When the to-do is due, in seconds since 1970.
  var timestamp: Double?
  var location: Location?
}

/// Two lists, to do and done, kept in a journal.
///
/// In addition to the properties of a ``ToDo``, an item has two attributes: `done`, which determines its list, and
/// `order`, its position in that list.
struct ToDoManager {
  let journal: CatalogJournal

  /// Opens the lists. Both are empty at the first launch.
  init(at url: URL) throws { journal = try .openOrCreate(at: url) }

  /// The things to do, in the user's order; now, or as of an earlier time.
  func toDos(asOf selector: RevisionSelector = .head()) throws -> [ToDo] {
    try journal.state(asOf: selector).list(done: false).map { try $0.value }
  }

  /// The things that are done, in the order in which they were checked; now, or as of an earlier time.
  func doneToDos(asOf selector: RevisionSelector = .head()) throws -> [ToDo] {
    try journal.state(asOf: selector).list(done: true).map { try $0.value }
  }

  /// Adds a to-do at the end of the list to do, unless that list has an equal one already.
  func add(_ toDo: ToDo) throws {
    try journal.commit(note: "add \(toDo.title)") { draft in
      let list = draft.state.list(done: false)
      if try list.contains(where: { try $0.value == toDo }) { return }
      let id = try draft.insert(toDo)
      try draft.updateItem(id.item, set: ["done": false, "order": list.nextOrder])
    }
  }

  /// Moves an element of the list to do to another index.
  func move(from index: Int, to destination: Int) throws {
    try journal.commit(note: "move") { draft in
      var list = draft.state.list(done: false)
      let moved = try list.element(at: index)
      _ = try list.element(at: destination)
      list.remove(at: index)
      list.insert(moved, at: destination)
      for (order, element) in list.enumerated() {
        try draft.updateItem(element.item.id, set: ["order": .integer(Int64(order))])
      }
    }
  }

  /// Moves an element of the list to do to the end of the list done.
  func check(at index: Int) throws {
    try journal.commit(note: "check") { draft in
      let checked = try draft.state.list(done: false).element(at: index)
      let order = draft.state.list(done: true).nextOrder
      try draft.updateItem(checked.item.id, set: ["done": true, "order": order])
    }
  }

  /// Moves an element of the list done to the end of the list to do. If the list to do already has an equal element,
  /// that element stays where it is, and the unchecked one is deleted.
  func uncheck(at index: Int) throws {
    try journal.commit(note: "uncheck") { draft in
      let unchecked = try draft.state.list(done: true).element(at: index)
      let list = draft.state.list(done: false)
      if try list.contains(where: { try $0.value == unchecked.value }) {
        try draft.delete(unchecked.id)
      } else {
        try draft.updateItem(unchecked.item.id, set: ["done": false, "order": list.nextOrder])
      }
    }
  }

  /// Removes an element of one of the lists.
  func remove(at index: Int, done: Bool = false) throws {
    try journal.commit(note: "remove") { draft in
      try draft.delete(try draft.state.list(done: done).element(at: index).id)
    }
  }

  /// Empties both lists in one commit.
  func removeAll() throws {
    try journal.commit(note: "remove all") { draft in
      for toDo in draft.state.items(ToDo.self) { try draft.delete(toDo.id) }
    }
  }
}

extension Catalog {
  fileprivate func list(done: Bool) -> [StoredItem<ToDo>] {
    items(ToDo.self).filter { ($0["done"] == true) == done }.sorted { ($0.order, $0.id) < ($1.order, $1.id) }
  }
}

extension StoredItem<ToDo> {
  /// The position in the list. Items without a position come first, in the order in which they were added.
  fileprivate var order: Int { self["order"]?.integer ?? -1 }
}

extension [StoredItem<ToDo>] {
  /// The position after that of the last element. Items at the greatest possible position are sorted by number.
  fileprivate var nextOrder: FieldValue { .integer(Int64(Swift.min(last?.order ?? -1, .max - 1) + 1)) }

  /// The element at an index. The index is checked, because it may come from a screen that is older than the list.
  fileprivate func element(at index: Int) throws -> StoredItem<ToDo> {
    guard indices.contains(index) else {
      throw JournalError(.rejected, "there is no index \(index) in the list; it has \(count)")
    }
    return self[index]
  }
}
