import CBOR
import CatalogModel
import Foundation
import Journaling
import TestSupport
import Testing

@testable import Examples

@Suite struct PersonListTests {
  @Test func personsSurviveARestartInTheirOrder() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Persons.journal")
      var list: PersonList? = try PersonList(at: url)
      try list?.add(Person(name: "Zoe", number: "1 (415) 555-0100"))
      try list?.add(Person(name: "Adam", number: "1 (415) 555-0101"))
      try list?.add(Person(name: "Zoe", number: "1 (415) 555-0100"))
      let before = try list?.persons().values
      list = nil

      list = try PersonList(at: url)
      let persons = try #require(try list?.persons().values)
      #expect(persons == before)
      #expect(persons.map(\.name) == ["Zoe", "Adam", "Zoe"])
      #expect(persons.map(\.number) == ["1 (415) 555-0100", "1 (415) 555-0101", "1 (415) 555-0100"])
    }
  }

  @Test func changesAndRemovalsSurviveARestart() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Persons.journal")
      var list: PersonList? = try PersonList(at: url)
      let zoe = try #require(try list?.add(Person(name: "Zo", number: "1")))
      let adam = try #require(try list?.add(Person(name: "Adam", number: "2")))
      try list?.change(zoe) { $0.name = "Zoë" }
      try list?.remove(adam)
      list = nil

      list = try PersonList(at: url)
      #expect(try list?.persons().ids == [zoe])
      #expect(try list?.persons().values == [Person(name: "Zoë", number: "1")])
      #expect(try list?.persons(asOf: .revision(2)).values.map(\.name) == ["Zo", "Adam"])
    }
  }

  @Test func aRemovedPersonCanNotBeChanged() throws {
    try withTemporaryFolder { folder in
      let list = try PersonList(at: folder.url.appending(path: "Persons.journal"))
      let zoe = try list.add(Person(name: "Zoe", number: "1"))
      try list.remove(zoe)
      let error = #expect(throws: JournalError.self) { try list.change(zoe) { $0.number = "2" } }
      #expect(error?.code == .rejected)
      #expect(throws: JournalError.self) { try list.remove(zoe) }
      #expect(throws: JournalError.self) { try list.change(99) { $0.number = "2" } }
      #expect(try list.persons().isEmpty)
    }
  }

  @Test func theItemOfAPersonHasTwoAttributesAndNothingElse() throws {
    try withTemporaryFolder { folder in
      let list = try PersonList(at: folder.url.appending(path: "Persons.journal"))
      let zoe = try list.add(Person(name: "Zoe", number: "1"))
      let attributes: [String: FieldValue] = ["name": .string("Zoe"), "number": .string("1")]
      #expect(list.journal.state.item(zoe.item)?.kind == "person")
      #expect(list.journal.state.item(zoe.item)?.attributes == attributes)
    }
  }
}
