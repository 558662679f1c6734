import CatalogModel
import Foundation
import TestSupport
import Testing

private struct Task: CatalogItem {
  static let kind = "task"
  static let indexes = [Index(\Task.order)]
  var name: String
  var order: ListOrder
}

/// A task whose order was added later.
private struct LateTask: CatalogItem {
  static let kind = "task"
  static let indexes = [Index(\LateTask.order)]
  var name: String
  var order: ListOrder

  init(name: String, order: ListOrder) { (self.name, self.order) = (name, order) }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    name = try container.decode(String.self, forKey: .name)
    order = try container.decodeIfPresent(ListOrder.self, forKey: .order) ?? .start
  }
}

/// The same tasks in a newer version of the app, which no longer has their names as texts.
private struct NewTask: CatalogItem {
  static let kind = "task"
  var name: [String]
  var order: ListOrder
}

/// A row whose position is inside another property.
private struct NestedTask: CatalogItem {
  static let kind = "nested"
  struct Place: Codable {
    var order: ListOrder
    var floor: Int
  }
  var place: Place
}

@Suite(.disabled(if: TestLength.isUnderSanitizer)) struct ListOrderTests {
  @Test func betweenAnyTwoPlacesThereIsAnother() {
    var random = SeededGenerator()
    var places = [ListOrder.start]
    for _ in 0..<3_000 {
      let index = Int.random(in: 0...places.count, using: &random)
      let previous = index > 0 ? places[index - 1] : nil
      let next = index < places.count ? places[index] : nil
      let place = ListOrder(after: previous, before: next)
      #expect(previous.map { $0 < place } ?? true)
      #expect(next.map { place < $0 } ?? true)
      places.insert(place, at: index)
    }
    #expect(places.allSatisfy { $0.text.utf8.count < 20 })
  }

  @Test func rowsThatAreAddedAtEitherEndHaveShortPlaces() throws {
    for isAtEnd in [true, false] {
      var places = [ListOrder.start]
      for _ in 0..<20_000 {
        let last = places[places.count - 1]
        places.append(isAtEnd ? ListOrder(after: last, before: nil) : ListOrder(after: nil, before: last))
      }
      #expect(zip(places, places.dropFirst()).allSatisfy { isAtEnd ? $0 < $1 : $1 < $0 })
      #expect(places.allSatisfy { $0.text.utf8.count <= 4 })
    }
    let spread = ListOrder.places(
      1_000, after: ListOrder.start, before: ListOrder(after: .start, before: nil))
    #expect(zip(spread, spread.dropFirst()).allSatisfy { $0 < $1 })
    #expect(spread.count == 1_000 && spread.allSatisfy { $0.text.utf8.count <= 5 })
  }

  @Test func aPlaceComesBackFromItsTextAndAnythingElseIsRefused() throws {
    let place = ListOrder(after: .start, before: ListOrder(after: .start, before: nil))
    let value = try ValueEncoder().encode(place)
    #expect(try ValueDecoder().decode(ListOrder.self, from: value) == place)
    for text in ["", "a", "!", "a0 ", "b0", "a00", "Zz0", "A" + String(repeating: "0", count: 26)] {
      #expect(throws: DecodingError.self) { try ValueDecoder().decode(ListOrder.self, from: .string(text)) }
    }
  }

  @Test func movingOneOf100000RowsWritesOne() throws {
    try withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Tasks.journal"))
      let ids = try journal.commit { draft in
        try zip(1..., ListOrder.places(100_000)).map { try draft.insert(Task(name: "\($0)", order: $1)) }
      }.value
      try journal.state.buildIndexes(of: Task.self)
      var random = SeededGenerator()
      for _ in 0..<50 {
        let (moved, other) = (ids.randomElement(using: &random)!, ids.randomElement(using: &random)!)
        let isAfter = Bool.random(using: &random)
        let commit = try journal.commit { draft in
          if isAfter {
            try draft.move(moved, by: \.order, after: other)
          } else {
            try draft.move(moved, by: \.order, before: other)
          }
        }
        if commit.isEmpty { continue }
        #expect(try journal.entry(at: commit.revision).events.map(\.entity) == [moved.entity])
        let all = journal.state.items(Task.self)
        let order = try #require(try journal.state.value(of: moved)).order
        let neighbor =
          try isAfter
          ? all.filter(\.order < order).sorted(by: .descending(\.order)).first
          : all.filter(\.order > order).sorted(by: \.order).first
        #expect(neighbor?.id == other)
      }
      try journal.close()
    }
  }

  @Test func aListHasTheOrderThatItsMovesMade() throws {
    var random = SeededGenerator()
    var history = CatalogHistory()
    var list = try history.commit { draft in
      try zip(1..., ListOrder.places(12)).map { try draft.insert(Task(name: "\($0)", order: $1)) }
    }
    try moveAtRandom(&list, by: \.order, in: &history, times: 400, &random)
  }

  /// Moves items of a list to random places, and checks their order after each move.
  private func moveAtRandom<Model: CatalogItem>(
    _ list: inout [ItemID<Model>], by order: any WritableKeyPath<Model, ListOrder> & Sendable,
    in history: inout CatalogHistory, times: Int, _ random: inout SeededGenerator
  ) throws {
    for _ in 0..<times {
      let moved = list.remove(at: Int.random(in: list.indices, using: &random))
      let place = Int.random(in: 0...list.count, using: &random)
      let rest = list
      try history.commit { draft in
        if Bool.random(using: &random) {
          try draft.move(moved, by: order, after: place > 0 ? rest[place - 1] : nil)
        } else {
          try draft.move(moved, by: order, before: place < rest.count ? rest[place] : nil)
        }
      }
      list.insert(moved, at: place)
      #expect(try history.state.items(Model.self).sorted(by: order).ids == list)
    }
  }

  /// Rows of an app that gives each new one the same position, or has only now got positions.
  @Test func rowsThatShareAPositionOrHaveNoneMoveToTheRightPlace() throws {
    var random = SeededGenerator()
    for _ in 0..<60 {
      var history = CatalogHistory()
      let places = [nil] + ListOrder.places(3)
      var list = try history.commit { draft in
        try (1...8).map { number in
          let id = try draft.insert(LateTask(name: "\(number)", order: .start))
          try draft.replaceAttributes(ofItem: id.item, with: ["name": .string("\(number)")])
          let place = places.randomElement(using: &random)!
          if let place { try draft.update(id) { $0.order = place } }
          return id
        }
      }
      list = try history.state.items(LateTask.self).sorted(by: \.order).ids
      try moveAtRandom(&list, by: \.order, in: &history, times: 4, &random)
    }
  }

  @Test func repeatedInsertionsAtOnePointKeepPositionsShort() throws {
    var history = CatalogHistory()
    var ids = try history.commit { draft in
      try zip(1..., ListOrder.places(200)).map { try draft.insert(Task(name: "\($0)", order: $1)) }
    }
    var writes = 0
    var moves = 0
    for _ in 0..<1_000 {
      // Each row goes directly after the first one, before the row that was moved there last.
      let moved = ids.removeLast()
      try history.commit { try $0.move(moved, by: \.order, after: ids[0]) }
      ids.insert(moved, at: 1)
      writes += history.newestEvents.count
      moves += 1
    }
    let tasks = try history.state.items(Task.self).sorted(by: \.order)
    #expect(tasks.ids == ids)
    #expect(try tasks.values.allSatisfy { $0.order.text.utf8.count <= 32 })
    // Now and then the neighboring rows are written too: on average, less than one for each move.
    #expect(writes < 2 * moves)
  }

  /// A row was decoded to move another one next to it, or to give it another position.
  @Test func rowsThatCanNotBeDecodedAreMovedAndMovedAround() throws {
    var random = SeededGenerator()
    for places in [ListOrder.places(8), Array(repeating: ListOrder.start, count: 8)] {
      var history = CatalogHistory()
      var list = try history.commit { draft in
        try places.enumerated().map { index, place -> ItemID<Task> in
          guard index % 2 == 0 else { return try draft.insert(Task(name: "\(index)", order: place)) }
          return ItemID<Task>(try draft.insert(NewTask(name: ["\(index)"], order: place)).number)
        }
      }
      try moveAtRandom(&list, by: \.order, in: &history, times: 40, &random)
      // So often in one place that its neighbors are written, too.
      for _ in 0..<400 {
        let moved = list.removeLast()
        try history.commit { try $0.move(moved, by: \.order, after: list[0]) }
        list.insert(moved, at: 1)
      }
      #expect(try history.state.items(Task.self).sorted(by: \.order).ids == list)
    }
  }

  @Test func aPositionInsideAnotherPropertyIsWrittenThere() throws {
    var random = SeededGenerator()
    var history = CatalogHistory()
    var list = try history.commit { draft in
      try ListOrder.places(6).map { try draft.insert(NestedTask(place: .init(order: $0, floor: 3))) }
    }
    try moveAtRandom(&list, by: \.place.order, in: &history, times: 30, &random)
    #expect(try history.state.items(NestedTask.self).values.allSatisfy { $0.place.floor == 3 })
  }

  @Test func movingARowNextToAMissingOneIsRefused() throws {
    var history = CatalogHistory()
    let id = try history.commit { try $0.insert(Task(name: "a", order: .start)) }
    expectRejection("item:9 is not an existing task") {
      try history.commit { try $0.move(id, by: \.order, after: 9) }
    }
    expectRejection("item:9") { try history.commit { try $0.move(9, by: \.order, after: id) } }
  }
}
