import CBOR
import CatalogModel
import Foundation
import Journaling
import TestSupport
import Testing

@testable import Examples

@Suite struct ToDoManagerTests {
  private let home = ToDo.Location(name: "Home", latitude: 50, longitude: 6)

  private func withManager(_ body: (ToDoManager) throws -> Void) throws {
    try withTemporaryFolder { try body(ToDoManager(at: $0.url.appending(path: "ToDo.journal"))) }
  }

  private func titles(_ toDos: [ToDo]) -> [String] { toDos.map(\.title) }

  @Test func aNewManagerHasNothingToDoAndNothingDone() throws {
    try withManager { manager throws in
      #expect(try manager.toDos().isEmpty)
      #expect(try manager.doneToDos().isEmpty)
    }
  }

  @Test func additionsGoToTheEnd() throws {
    try withManager { manager throws in
      try manager.add(ToDo(title: "First"))
      try manager.add(ToDo(title: "Second"))
      #expect(try manager.toDos() == [ToDo(title: "First"), ToDo(title: "Second")])
      #expect(try manager.doneToDos().isEmpty)
    }
  }

  @Test func checkingMovesAToDoToTheEndOfTheDoneList() throws {
    try withManager { manager throws in
      for title in ["First", "Second", "Third"] { try manager.add(ToDo(title: title)) }
      try manager.check(at: 1)
      try manager.check(at: 0)
      #expect(try titles(manager.toDos()) == ["Third"])
      #expect(try titles(manager.doneToDos()) == ["Second", "First"])
    }
  }

  @Test func uncheckingMovesAToDoToTheEndOfTheOpenList() throws {
    try withManager { manager throws in
      for title in ["First", "Second", "Third"] { try manager.add(ToDo(title: title)) }
      try manager.check(at: 0)
      try manager.uncheck(at: 0)
      #expect(try titles(manager.toDos()) == ["Second", "Third", "First"])
      #expect(try manager.doneToDos().isEmpty)
    }
  }

  @Test(arguments: [(0, 2, "bcad"), (2, 0, "cabd"), (3, 1, "adbc"), (1, 1, "abcd"), (0, 3, "bcda")])
  func movingAToDoKeepsTheOrderOfTheOthers(from: Int, to: Int, order: String) throws {
    try withManager { manager throws in
      for title in ["a", "b", "c", "d"] { try manager.add(ToDo(title: title)) }
      try manager.move(from: from, to: to)
      #expect(try titles(manager.toDos()).joined() == order)
      try manager.add(ToDo(title: "e"))
      #expect(try titles(manager.toDos()).joined() == order + "e")
    }
  }

  @Test func removingTakesAToDoFromTheChosenList() throws {
    try withManager { manager throws in
      for title in ["First", "Second", "Third"] { try manager.add(ToDo(title: title)) }
      try manager.check(at: 2)
      try manager.remove(at: 0)
      #expect(try titles(manager.toDos()) == ["Second"])
      try manager.remove(at: 0, done: true)
      #expect(try titles(manager.toDos()) == ["Second"])
      #expect(try manager.doneToDos().isEmpty)
    }
  }

  @Test func removingAllEmptiesBothListsAlsoAfterARestart() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "ToDo.journal")
      var manager: ToDoManager? = try ToDoManager(at: url)
      try manager?.add(ToDo(title: "First"))
      try manager?.add(ToDo(title: "Second"))
      try manager?.check(at: 0)
      try manager?.removeAll()
      #expect(try manager?.toDos() == [])
      #expect(try manager?.doneToDos() == [])
      manager = nil

      manager = try ToDoManager(at: url)
      #expect(try manager?.toDos() == [])
      #expect(try manager?.doneToDos() == [])
      // Removing all was one step, and the state before it can still be read.
      #expect(try manager?.toDos(asOf: .head(back: 1)) == [ToDo(title: "Second")])
      #expect(try manager?.doneToDos(asOf: .head(back: 1)) == [ToDo(title: "First")])
    }
  }

  @Test func anEqualToDoIsNotAddedTwice() throws {
    try withManager { manager throws in
      let toDo = ToDo(title: "First", description: "at noon", timestamp: 1, location: home)
      try manager.add(toDo)
      let revision = manager.journal.head.revision
      try manager.add(toDo)
      #expect(try manager.toDos() == [toDo])
      #expect(manager.journal.head.revision == revision)
    }
  }

  @Test func valuesThatDifferInAnyPropertyAreNotEqual() throws {
    let toDo = ToDo(title: "First", description: "at noon", timestamp: 1, location: home)
    var others = [toDo, toDo, toDo, toDo, toDo, toDo, toDo]
    others[0].title = "Second"
    others[1].description = nil
    others[2].timestamp = 2
    others[3].location = nil
    others[4].location?.name = "Office"
    others[5].location?.longitude = 7
    others[6].location?.latitude = nil
    try withManager { manager throws in
      try manager.add(toDo)
      for other in others { try manager.add(other) }
      #expect(try manager.toDos() == [toDo] + others)
    }
  }

  @Test func aDoneToDoCanBeAddedAgainAndUncheckingItLeavesOne() throws {
    try withManager { manager throws in
      try manager.add(ToDo(title: "Water the plants"))
      try manager.check(at: 0)
      try manager.add(ToDo(title: "Water the plants"))
      try manager.add(ToDo(title: "Second"))
      #expect(try titles(manager.toDos()) == ["Water the plants", "Second"])
      try manager.uncheck(at: 0)
      #expect(try titles(manager.toDos()) == ["Water the plants", "Second"])
      #expect(try manager.doneToDos().isEmpty)
    }
  }

  @Test func bothListsSurviveARestart() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "ToDo.journal")
      let full = ToDo(title: "First", description: "at noon", timestamp: 1_700_000_000.25, location: home)
      let plain = ToDo(title: "Second", location: ToDo.Location(name: "Somewhere"))
      var manager: ToDoManager? = try ToDoManager(at: url)
      for toDo in [full, plain, ToDo(title: "Third"), ToDo(title: "Fourth")] { try manager?.add(toDo) }
      try manager?.check(at: 3)
      try manager?.check(at: 2)
      try manager?.move(from: 1, to: 0)
      manager = nil

      manager = try ToDoManager(at: url)
      #expect(try manager?.toDos() == [plain, full])
      #expect(try manager?.doneToDos() == [ToDo(title: "Fourth"), ToDo(title: "Third")])
    }
  }

  /// The manager is not told that the app will close.
  @Test func additionsAreOnTheDiskAtOnce() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "ToDo.journal")
      let manager = try ToDoManager(at: url)
      try manager.add(ToDo(title: "First"))
      try manager.add(ToDo(title: "Second"))
      try manager.check(at: 0)
      let copy = folder.url.appending(path: "Copy.journal")
      try FileManager.default.copyItem(at: url, to: copy)

      let second = try ToDoManager(at: copy)
      #expect(try second.toDos() == [ToDo(title: "Second")])
      #expect(try second.doneToDos() == [ToDo(title: "First")])
      try manager.journal.close()
    }
  }

  @Test func anIndexOutOfRangeIsAnErrorAndChangesNothing() throws {
    try withManager { manager throws in
      try manager.add(ToDo(title: "First"))
      let attempts: [() throws -> Void] = [
        { try manager.check(at: 1) }, { try manager.check(at: -1) }, { try manager.uncheck(at: 0) },
        { try manager.remove(at: 1) }, { try manager.remove(at: 0, done: true) },
        { try manager.move(from: 1, to: 0) }, { try manager.move(from: 0, to: 1) },
      ]
      for attempt in attempts {
        let error = #expect(throws: JournalError.self) { try attempt() }
        #expect(error?.code == .rejected)
      }
      #expect(manager.journal.head.revision == 1)
    }
  }

  @Test func anItemHasTheAttributesOfAToDoAndItsPlace() throws {
    try withManager { manager throws in
      try manager.add(ToDo(title: "First", description: "at noon", timestamp: 1, location: home))
      let item = try #require(manager.journal.state.item(1))
      let location: [String: FieldValue] = [
        "name": .string("Home"), "latitude": .double(50), "longitude": .double(6),
      ]
      let attributes: [String: FieldValue] = [
        "title": .string("First"), "description": .string("at noon"), "timestamp": .double(1),
        "location": .dictionary(location), "done": .bool(false), "order": .integer(0),
      ]
      #expect(item.kind == "toDo")
      #expect(item.attributes == attributes)
    }
  }

  @Test func rowsWithoutAPositionComeFirstInTheOrderOfAddition() throws {
    try withManager { manager throws in
      try manager.add(ToDo(title: "ours"))
      try manager.journal.commit { draft in
        for title in ["older", "newer"] { try draft.addItem(kind: "toDo", encoding: ToDo(title: title)) }
      }
      try manager.add(ToDo(title: "last"))
      #expect(try titles(manager.toDos()) == ["older", "newer", "ours", "last"])
    }
  }

  @Test func anItemWithTheGreatestOrderDoesNotPreventAdding() throws {
    try withManager { manager throws in
      try manager.add(ToDo(title: "First"))
      try manager.journal.commit { try $0.updateItem(1, set: ["order": .integer(.max)]) }
      for title in ["Second", "Third"] { try manager.add(ToDo(title: title)) }
      #expect(try titles(manager.toDos()) == ["First", "Second", "Third"])
    }
  }
}
