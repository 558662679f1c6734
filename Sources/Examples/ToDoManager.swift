import CatalogModel
import Foundation

/// Something to be done. Two are the same when all of their properties are.
struct ToDo: Codable, Equatable {
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

/// What is to do and what is done: two lists, kept in a journal as items of the kind `toDo`.
///
/// Besides the properties of a ``ToDo``, an item has `done`, which tells its list, and `order`, its place there.
struct ToDoManager {
  let journal: CatalogJournal

  /// Opens the lists; both are empty at the first launch.
  init(at url: URL) throws { journal = try .openOrCreate(at: url) }

  /// What is to do, in the order in which people put it; as of an earlier time, if one is named.
  func toDos(asOf selector: RevisionSelector = .head()) throws -> [ToDo] {
    try journal.state(asOf: selector).list(done: false).map(\.toDo)
  }

  /// What is done, in the order in which it was checked; as of an earlier time, if one is named.
  func doneToDos(asOf selector: RevisionSelector = .head()) throws -> [ToDo] {
    try journal.state(asOf: selector).list(done: true).map(\.toDo)
  }

  /// Puts something at the end of what is to do, unless it is on that list already.
  func add(_ toDo: ToDo) throws {
    try journal.commit(note: "add \(toDo.title)") { draft in
      let list = try draft.state.list(done: false)
      if list.contains(where: { $0.toDo == toDo }) { return }
      let id = try draft.addItem(kind: "toDo", encoding: toDo)
      try draft.updateItem(id, set: ["done": .bool(false), "order": list.nextOrder])
    }
  }

  /// Puts what stands at an index of what is to do elsewhere on that list.
  func move(from index: Int, to destination: Int) throws {
    try journal.commit(note: "move") { draft in
      var list = try draft.state.list(done: false)
      let moved = try list.element(at: index)
      _ = try list.element(at: destination)
      list.remove(at: index)
      list.insert(moved, at: destination)
      for (order, element) in list.enumerated() {
        try draft.updateItem(element.id, set: ["order": .integer(Int64(order))])
      }
    }
  }

  /// Puts what stands at an index of what is to do at the end of what is done.
  func check(at index: Int) throws {
    try journal.commit(note: "check") { draft in
      let checked = try draft.state.list(done: false).element(at: index)
      let order = try draft.state.list(done: true).nextOrder
      try draft.updateItem(checked.id, set: ["done": .bool(true), "order": order])
    }
  }

  /// Puts what stands at an index of what is done at the end of what is to do. When that list has the same
  /// already, there is one of it, where it was.
  func uncheck(at index: Int) throws {
    try journal.commit(note: "uncheck") { draft in
      let unchecked = try draft.state.list(done: true).element(at: index)
      let list = try draft.state.list(done: false)
      if list.contains(where: { $0.toDo == unchecked.toDo }) {
        try draft.deleteItem(unchecked.id)
      } else {
        try draft.updateItem(unchecked.id, set: ["done": .bool(false), "order": list.nextOrder])
      }
    }
  }

  /// Takes what stands at an index of either list away.
  func remove(at index: Int, done: Bool = false) throws {
    try journal.commit(note: "remove") { draft in
      try draft.deleteItem(try draft.state.list(done: done).element(at: index).id)
    }
  }

  /// Empties both lists, in one step.
  func removeAll() throws {
    try journal.commit(note: "remove all") { draft in
      for item in draft.state.items(ofKind: "toDo") { try draft.deleteItem(item.id) }
    }
  }
}

/// An element of a list.
private struct Listed {
  let id: Int
  let order: Int64
  let toDo: ToDo

  init(_ item: Catalog.Item) throws {
    id = item.id
    // What came without an order stands first, as it was added.
    order = if case .integer(let order)? = item["order"] { order } else { -1 }
    toDo = try item.decode()
  }
}

extension Catalog {
  fileprivate func list(done: Bool) throws -> [Listed] {
    try items(ofKind: "toDo").filter { ($0["done"] == .bool(true)) == done }.map(Listed.init)
      .sorted { ($0.order, $0.id) < ($1.order, $1.id) }
  }
}

extension [Listed] {
  /// At the greatest number there is, the numbers of the items decide.
  fileprivate var nextOrder: FieldValue { .integer(Swift.min(last?.order ?? -1, .max - 1) + 1) }

  /// An index may come from a screen that is older than the list.
  fileprivate func element(at index: Int) throws -> Listed {
    guard indices.contains(index) else {
      throw JournalError(.rejected, "nothing stands at index \(index) of the list; it has \(count)")
    }
    return self[index]
  }
}
