import CatalogModel
import Foundation

/// Something to be done. Two are the same when all of their properties are.
struct ToDo: CatalogItem, Equatable {
  static let kind = "toDo"

  /// Somewhere with a name, and if it is known with degrees of latitude and longitude.
  struct Location: Codable, Equatable {
    var name: String
    var latitude: Double?
    var longitude: Double?
  }

  var title: String
  var description: String?
  /// When it is due, in seconds since 1970.
  var timestamp: Double?
  var location: Location?
}

/// What is to do and what is done: two lists, kept in a journal.
///
/// Besides the properties of a ``ToDo`` an item has two attributes: `done`, which tells its list, and `order`, its
/// place there.
struct ToDoManager {
  let journal: CatalogJournal

  /// Opens the lists; both are empty at the first launch.
  init(at url: URL) throws { journal = try .openOrCreate(at: url) }

  /// What is to do, in the order in which people put it; as of an earlier time, if one is named.
  func toDos(asOf selector: RevisionSelector = .head()) throws -> [ToDo] {
    try journal.state(asOf: selector).list(done: false).map { try $0.value }
  }

  /// What is done, in the order in which it was checked; as of an earlier time, if one is named.
  func doneToDos(asOf selector: RevisionSelector = .head()) throws -> [ToDo] {
    try journal.state(asOf: selector).list(done: true).map { try $0.value }
  }

  /// Puts something at the end of what is to do, unless it is on that list already.
  func add(_ toDo: ToDo) throws {
    try journal.commit(note: "add \(toDo.title)") { draft in
      let list = draft.state.list(done: false)
      if try list.contains(where: { try $0.value == toDo }) { return }
      let id = try draft.insert(toDo)
      try draft.updateItem(id.item, set: ["done": false, "order": list.nextOrder])
    }
  }

  /// Puts what stands at an index of what is to do elsewhere on that list.
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

  /// Puts what stands at an index of what is to do at the end of what is done.
  func check(at index: Int) throws {
    try journal.commit(note: "check") { draft in
      let checked = try draft.state.list(done: false).element(at: index)
      let order = draft.state.list(done: true).nextOrder
      try draft.updateItem(checked.item.id, set: ["done": true, "order": order])
    }
  }

  /// Puts what stands at an index of what is done at the end of what is to do. When that list has the same
  /// already, there is one of it, where it was.
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

  /// Takes what stands at an index of either list away.
  func remove(at index: Int, done: Bool = false) throws {
    try journal.commit(note: "remove") { draft in
      try draft.delete(try draft.state.list(done: done).element(at: index).id)
    }
  }

  /// Empties both lists, in one step.
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
  /// Items that came without an order are listed first, as they were added.
  fileprivate var order: Int { self["order"]?.integer ?? -1 }
}

extension [StoredItem<ToDo>] {
  /// At the greatest number there is, the numbers of the items decide.
  fileprivate var nextOrder: FieldValue { .integer(Int64(Swift.min(last?.order ?? -1, .max - 1) + 1)) }

  /// An index may come from a screen that is older than the list.
  fileprivate func element(at index: Int) throws -> StoredItem<ToDo> {
    guard indices.contains(index) else {
      throw JournalError(.rejected, "there is no index \(index) in the list; it has \(count)")
    }
    return self[index]
  }
}
