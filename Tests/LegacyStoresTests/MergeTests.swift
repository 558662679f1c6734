import CatalogModel
import Foundation
import KeyedArchiving
import TestSupport
import Testing

@testable import LegacyStores

/// What a second import does when the files, the journal or both have changed.
@Suite struct MergeTests {
  private func store(_ persons: [(String, String)]) -> LegacyStore {
    var store = LegacyStore(.defaults)
    store.lists = ["persons"]
    store.files = ["p.plist": Layout.file(.dictionary([:]), isXML: false)]
    store.items = persons.map { name, number in
      LegacyItem(
        list: "persons", kind: "person", className: "JSPerson",
        attributes: ["name": .string(name), "number": .string(number)])
    }
    return store
  }

  private func names(_ journal: CatalogJournal) -> [String] {
    journal.state.things.map { item in
      guard case .string(let name)? = item["name"], case .string(let number)? = item["number"] else {
        return "?"
      }
      return "\(item.id) \(name) \(number)"
    }
  }

  @Test func equalElementsStaySeparateItems() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      try journal.importStore(store([("Al", "1"), ("Al", "1"), ("Al", "1")]))
      #expect(names(journal) == ["1 Al 1", "2 Al 1", "3 Al 1"])
      #expect(try journal.importStore(store([("Al", "1"), ("Al", "1"), ("Al", "1")])).revisions.isEmpty)
      let report = try journal.importStore(store([("Al", "1"), ("Al", "1")]))
      #expect(report.deleted == 1 && report.unchanged == 2)
    }
  }

  /// `order` is an attribute of a to-do's item only. An element with such a field used to be recognized by what it shares
  /// with another one.
  @Test func elementsWithAFieldOfTheNameOfAToDosAttributeAreRecognizedByTheirContents() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      func tags(_ rows: [(label: String, order: Int64)]) -> LegacyStore {
        var store = store([])
        store.items = rows.map { label, order in
          LegacyItem(
            list: "persons", kind: "tag", className: "Tag",
            attributes: ["label": .string(label), "color": "red", "order": .integer(order)])
        }
        return store
      }
      try journal.importStore(tags([("a", 1), ("b", 2)]))
      let report = try journal.importStore(tags([("b", 2)]))
      #expect(report.deleted == 1 && report.unchanged == 1 && report.updated == 0)
      #expect(journal.state.item(1) == nil && journal.state.item(2)?["label"] == "b")
    }
  }

  @Test func anItemThatComesBackHasItsReferencesAndThoseOfOthers() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      func friends(_ number: String) -> LegacyStore {
        var store = store([("Al", "1"), ("Ben", number)])
        store.items[0].attributes["friend"] = Reference.make(Reference.item, 1)
        store.items[1].attributes["friend"] = Reference.make(Reference.item, 0)
        return store
      }
      try journal.importStore(friends("2"))
      try journal.commit { try $0.deleteItem(2) }
      try journal.importStore(friends("3"))
      #expect(names(journal) == ["1 Al 1", "4 Ben 3"])
      #expect(journal.state.item(1)?["friend"] == Reference.make(Reference.item, 4))
      #expect(journal.state.item(4)?["friend"] == Reference.make(Reference.item, 1))
      #expect(try journal.importStore(friends("3")).revisions.isEmpty)
    }
  }

  /// The items of the first device were deleted without a word.
  @Test func filesWithNothingOfThePreviousImportAreReported() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      func isNoted(_ store: LegacyStore) throws -> Bool {
        try journal.importStore(store).problems.contains { $0.reason.contains("--store") }
      }
      #expect(try !isNoted(store([("Al", "1"), ("Ben", "2")])))
      #expect(try !isNoted(store([("Al", "1"), ("Cid", "3")])))
      #expect(try isNoted(store([("Dee", "4"), ("Eve", "5"), ("Fay", "6")])))
      // The app has an empty list now.
      #expect(try !isNoted(store([])))
      #expect(try !isNoted(store([("Gil", "7")])))
      var tablet = store([("Hal", "8")])
      tablet.name = "tablet"
      #expect(try !isNoted(tablet))
    }
  }

  /// Each of them was a line of the report.
  @Test func itemsThatAreRejectedForTheSameReasonAreOneProblem() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      var store = store((1...14).map { ("N\($0)", "1") })
      for index in 1..<13 { store.items[index].kind = "" }
      store.items[13].kind = String(repeating: "k", count: 5_000)
      let report = try journal.importStore(store, entrySize: 1)
      #expect(report.added == 1 && !report.isComplete && report.problems.count == 2)
      let lines = report.problems.map(\.description)
      #expect(lines[0].hasPrefix(#"persons "N14": "#))
      #expect(lines[1].hasPrefix("12 items: "))
      #expect(lines[1].hasSuffix(#": persons "N2", persons "N3", persons "N4", …"#))
      #expect(report.problems.map(\.parts.count) == [0, 12])
      #expect(report.problems[1].parts.last == #"persons "N13""#)
      // A later import finds them again.
      #expect(try journal.importStore(store).problems.map(\.description) == lines)
    }
  }

  /// The record of the values that differ in the journal was one item, which became too large.
  @Test func manyLargeTextsThatWereEditedInTheJournalAreNoObstacle() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      let text = String(repeating: "text", count: 50_000)
      func notes(_ number: String) -> LegacyStore {
        var store = store((1...100).map { ("N\($0)", number) })
        for index in store.items.indices { store.items[index].attributes["note"] = .string(text) }
        return store
      }
      try journal.importStore(notes("1"))
      try journal.commit { draft in
        for item in draft.state.items(ofKind: "person") {
          try draft.updateItem(item.id, set: ["note": "short"])
        }
      }
      let report = try journal.importStore(notes("2"))
      #expect(report.updated == 100 && report.problems.isEmpty)
      #expect(journal.state.things.allSatisfy { $0["note"] == .string("short") })
      #expect(try journal.importStore(notes("2")).revisions.isEmpty)
    }
  }

  @Test func anEditedElementStaysTheSameItem() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      try journal.importStore(store([("Al", "1"), ("Ben", "2"), ("Cid", "3")]))
      let first = try journal.importStore(store([("Al", "1"), ("Ben", "20"), ("Cid", "3")]))
      #expect(first.updated == 1 && names(journal) == ["1 Al 1", "2 Ben 20", "3 Cid 3"])
      let second = try journal.importStore(store([("Cid", "3"), ("Benjamin", "20"), ("Al", "1")]))
      #expect(second.updated == 1 && second.added == 0 && second.deleted == 0)
      #expect(names(journal) == ["1 Al 1", "2 Benjamin 20", "3 Cid 3"])
    }
  }

  /// All elements are one gap, in which each may be any of the rows.
  @Test func aListWhoseElementsWereAllReplacedIsImportedInLinearTime() throws {
    func persons(_ count: Int, _ names: String, from first: Int) -> LegacyStore {
      store((first..<first + count).map { ("\(names) \($0)", "\($0)") })
    }
    func time(_ count: Int) throws -> Double {
      try withTemporaryFolder { folder in
        let journal = try folder.journal()
        try journal.importStore(persons(count, "Al", from: 0))
        let half = persons(count, "Ben", from: count / 2)
        let time = try processorTime {
          // Half of the elements share a number with one of before.
          let report = try journal.importStore(half)
          #expect(report.updated == count / 2 && report.added == count / 2)
        }
        #expect(names(journal).contains("\(count) Ben \(count - 1) \(count - 1)"))
        try journal.close()
        return time / .seconds(1)
      }
    }
    #expect(try leastRatio(1_000, to: 250, of: time) < 8)
  }

  /// Each item decoded the entries of both changes again if they were larger than the journal's cache of entries.
  @Test func manyLargeItemsThatBothSidesHaveChangedAreImportedInLinearTime() throws {
    func long(_ text: String) -> FieldValue { .string(String(repeating: text, count: 30_000)) }
    func persons(_ count: Int, _ number: String) -> LegacyStore {
      var persons = store((0..<count).map { ("Al \($0)", number) })
      for index in persons.items.indices { persons.items[index].attributes["note"] = long("o") }
      return persons
    }
    func time(_ count: Int) throws -> Double {
      try withTemporaryFolder { folder in
        let journal = try folder.journal()
        try journal.importStore(persons(count, "1"))
        try journal.commit { draft in
          for item in draft.state.things { try draft.updateItem(item.id, set: ["note": long("n")]) }
        }
        let changed = persons(count, "2")
        let time = try processorTime {
          let report = try journal.importStore(changed)
          #expect(report.updated == count && report.problems.isEmpty)
        }
        let things = journal.state.things
        #expect(things.allSatisfy { $0["number"] == "2" && $0["note"] == long("n") })
        try journal.close()
        return time / .seconds(1)
      }
    }
    #expect(try leastRatio(900, to: 300, of: time) < 15)
  }

  @Test func aChangeInTheJournalStaysUntilTheFileChangesTheSameAttribute() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      try journal.importStore(store([("Al", "1")]))
      try journal.commit { try $0.updateItem(1, set: ["name": .string("Albert"), "note": .string("tall")]) }
      #expect(try journal.importStore(store([("Al", "1")])).revisions.isEmpty)
      // The file changes another attribute.
      let second = try journal.importStore(store([("Al", "2")]))
      #expect(second.updated == 1 && second.problems.isEmpty)
      #expect(names(journal) == ["1 Albert 2"])
      #expect(journal.state.item(1)?["note"] == .string("tall"))
      #expect(try journal.importStore(store([("Al", "2")])).revisions.isEmpty)
      // Another change of the file still keeps the journal's own change.
      try journal.importStore(store([("Al", "3")]))
      #expect(names(journal) == ["1 Albert 3"])
      // Now both have changed the name.
      let third = try journal.importStore(store([("Alan", "3")]))
      #expect(third.problems.count == 1 && third.problems[0].reason.contains("name"))
      #expect(third.isComplete)
      #expect(names(journal) == ["1 Alan 3"])
      #expect(journal.state.item(1)?["note"] == .string("tall"))
    }
  }

  @Test func itemsDeletedInTheJournalStayDeletedUntilTheFileChangesThem() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      try journal.importStore(store([("Al", "1"), ("Ben", "2")]))
      try journal.commit { try $0.deleteItem(1) }
      #expect(try journal.importStore(store([("Al", "1"), ("Ben", "2")])).revisions.isEmpty)
      #expect(names(journal) == ["2 Ben 2"])
      let report = try journal.importStore(store([("Al", "10"), ("Ben", "2")]))
      #expect(report.added == 1 && report.problems.count == 1)
      #expect(journal.state.things.count == 2)
      #expect(try journal.importStore(store([("Al", "10"), ("Ben", "2")])).revisions.isEmpty)
    }
  }

  @Test func elementsMissingFromTheFileAreDeletedUnlessTheJournalHasChangedThem() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      try journal.importStore(store([("Al", "1"), ("Ben", "2"), ("Cid", "3")]))
      try journal.commit { try $0.updateItem(2, set: ["number": .string("22")]) }
      let report = try journal.importStore(store([("Cid", "3")]))
      #expect(report.deleted == 1 && report.problems.map(\.place) == ["item:2"])
      #expect(names(journal) == ["2 Ben 22", "3 Cid 3"])
      #expect(try journal.importStore(store([("Cid", "3")])).revisions.isEmpty)
    }
  }

  @Test func anAppThatReplacesAllAttributesDoesNotMakeTheImporterForget() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      try journal.importStore(store([("Al", "1")]))
      try journal.commit { try $0.replaceAttributes(ofItem: 1, with: ["other": .integer(1)]) }
      #expect(try journal.importStore(store([("Al", "1")])).revisions.isEmpty)
      #expect(try journal.importStore(store([("Al", "2")])).updated == 1)
      #expect(journal.state.item(1)?.attributes == ["other": .integer(1), "number": .string("2")])
    }
  }

  @Test func anImportAfterARestoreBringsTheFilesStateBack() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      try journal.importStore(store([("Al", "1")]))
      let before = journal.state
      try journal.importStore(store([("Al", "2")]))
      // Everything is restored, including the importer's own record.
      try journal.commit { draft in
        for item in before.items { try draft.replaceAttributes(ofItem: item.id, with: item.attributes) }
      }
      #expect(names(journal) == ["1 Al 1"])
      #expect(try journal.importStore(store([("Al", "2")])).updated == 1)
      #expect(names(journal) == ["1 Al 2"])
    }
  }

  @Test func twoStoresOfOneSourceAreKeptSeparate() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      var second = store([("Al", "1"), ("Eve", "9")])
      second.name = "tablet"
      try journal.importStore(store([("Al", "1")]))
      #expect(try journal.importStore(second).added == 2)
      #expect(try journal.importStore(store([])).deleted == 1)
      #expect(journal.state.things.count == 2)
      #expect(try journal.importStore(second).revisions.isEmpty)
    }
  }

  /// Any change of the element in the file gave the item the file's kind again.
  @Test func aKindThatWasChangedInTheJournalStaysUntilTheFileChangesIt() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      try journal.importStore(store([("Al", "1")]))
      try journal.commit { try $0.setKind(ofItem: 1, to: "friend") }
      try journal.importStore(store([("Al", "2")]))
      #expect(names(journal) == ["1 Al 2"] && journal.state.item(1)?.kind == "friend")
      var files = store([("Al", "2")])
      files.items[0].kind = "contact"
      try journal.importStore(files)
      #expect(journal.state.item(1)?.kind == "contact")
    }
  }

  /// The file's reference replaced the journal's, whatever had changed in the file.
  @Test func aReferenceThatWasChangedInTheJournalStaysUntilTheFileChangesIt() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      func files(_ number: String, friend: Int, more: [(String, String)] = []) -> LegacyStore {
        var store = store([("Al", number), ("Ben", "2"), ("Cid", "3")] + more)
        store.items[0].attributes["friend"] = Reference.make(Reference.item, friend)
        return store
      }
      try journal.importStore(files("1", friend: 1))
      #expect(journal.state.item(1)?["friend"] == Reference.make(Reference.item, 2))
      try journal.commit { try $0.updateItem(1, set: ["friend": Reference.make(Reference.item, 3)]) }
      #expect(try journal.importStore(files("10", friend: 1)).problems.isEmpty)
      #expect(journal.state.item(1)?["friend"] == Reference.make(Reference.item, 3))
      #expect(names(journal)[0] == "1 Al 10")
      let report = try journal.importStore(files("10", friend: 3, more: [("Dan", "4")]))
      #expect(report.added == 1 && report.problems.count == 1)
      let dan = try #require(journal.state.things.first { $0["name"] == .string("Dan") })
      #expect(journal.state.item(1)?["friend"] == Reference.make(Reference.item, dan.id.number))
      #expect(
        try journal.importStore(files("10", friend: 3, more: [("Dan", "4")])).revisions.isEmpty)
    }
  }

  @Test func anElementThatTheRulesForbidIsReportedAndTheRestIsImported() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      var deep = FieldValue.string("end")
      for _ in 0..<200 { deep = .array([deep]) }
      var store = store([("Al", "1"), ("Ben", "2")])
      store.items[0].attributes["deep"] = deep
      let report = try journal.importStore(store)
      #expect(report.added == 1 && report.problems.count == 1 && !report.isComplete)
      #expect(names(journal) == ["1 Ben 2"])
    }
  }

  /// Only the number of an item was reported, which another one got then.
  @Test func anElementThatTheRulesForbidIsNamedByItsPosition() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      var store = store([("Al", "1"), ("Ben", "2"), ("Cem", "3")])
      store.items[1].attributes = ["data": .data(Data(count: EntityRecord.byteLimit + 1))]
      let report = try journal.importStore(store)
      let problem = try #require(report.problems.first)
      #expect(report.added == 2 && problem.place == "persons[1]")
      #expect(problem.reason.hasPrefix("it would take"), "\(problem)")
    }
  }

  @Test func theOrderOfASetAtTheTopDoesNotCount() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      func files(_ names: [String]) throws -> LegacyStore {
        let persons = names.map { ArchiveNode.Value.node(Made.person($0, "1")) }
        return try .archives([folder.write("persons", ArchiveNode.set(persons).archived())])
      }
      try journal.importStore(files(["Al", "Ben", "Cem"]))
      #expect(try journal.importStore(files(["Cem", "Al", "Ben"])).revisions.isEmpty)
      #expect(try journal.importStore(files(["Dan", "Cem", "Al", "Ben"])).added == 1)
      #expect(try journal.importStore(files(["Ben", "Al", "Cem", "Dan"])).revisions.isEmpty)
    }
  }

  /// Whatever came before, the state after a series of imports equals that of the last one alone.
  @Test func namesThatTheRulesForbidAreReplacedAndEverythingIsImported() throws {
    try withTemporaryFolder { folder in
      let bugs = folder.url.appending(path: "bugs")
      try folder.write("bugs/1.scarybug/data.plist", Made.bug("Ant", 1))
      try folder.write("bugs/1.scarybug/ ", Data("odd".utf8))
      try folder.write("bugs/2.scarybug/data.plist", Made.bug("Bee", 2))
      let elements: [[String: Any]] = [["name": "x", " ": Made.png], ["name": "y"]]
      let album = try folder.write("Album.plist", Made.propertyList(elements))
      // One character of 6,001 bytes.
      let character = "e" + String(repeating: "\u{301}", count: 3_000)
      let place = ArchiveNode(
        ArchivedClass("Spot"),
        [
          "name": .string("Pier"), "lat": .real(1), "lon": .real(2), "category": .string(character),
          character: .data(Made.png),
        ])
      let spots = try folder.write("spots", ArchiveNode.array([.node(place)]).archived())

      let journal = try folder.journal()
      let stores = try [
        (LegacyStore.scaryBugs(in: bugs), 2), (LegacyStore.propertyLists([album]), 2),
        (LegacyStore.archives([spots]), 1),
      ]
      for (store, count) in stores {
        let report = try journal.importStore(store)
        #expect(report.isComplete && report.added == count, "\(store.source)")
        #expect(try journal.importStore(store).revisions.isEmpty)
      }
      let images = journal.state.images.map(\.name)
      #expect(images.count == 3 && images.prefix(2) == ["\\x20", "\\x20"])
      #expect(images.allSatisfy { $0.utf8.count < 1_000 })
      #expect(journal.state.categories.map { $0.name.utf8.count < 1_000 } == [true])
    }
  }

  @Test func theStateAfterManyImportsIsThatOfTheLastFile() throws {
    var generator = SeededGenerator()
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      var persons: [(String, String)] = []
      for round in 0..<40 {
        for _ in 0..<Int.random(in: 0...4, using: &generator) {
          let place = Int.random(in: 0...max(0, persons.count - 1), using: &generator)
          switch Int.random(in: 0..<5, using: &generator) {
          case 0 where !persons.isEmpty: persons.remove(at: place)
          case 1 where !persons.isEmpty: persons[place].1 = "\(Int.random(in: 0..<5, using: &generator))"
          case 2 where !persons.isEmpty: persons.insert(persons.remove(at: place), at: 0)
          case 3 where !persons.isEmpty: persons.append(persons[place])
          default: persons.insert(("N\(Int.random(in: 0..<6, using: &generator))", "\(round)"), at: place)
          }
        }
        let store = store(persons)
        try journal.importStore(store, entrySize: Int.random(in: 1...7, using: &generator))
        let found = journal.state.things.map { "\($0.attributes["name"]!) \($0.attributes["number"]!)" }
          .sorted()
        let wanted = store.items.map { "\($0.attributes["name"]!) \($0.attributes["number"]!)" }.sorted()
        #expect(found == wanted, "round \(round)")
        #expect(try journal.importStore(store).revisions.isEmpty, "round \(round)")
        let memory = ImportMemory(journal.state, .defaults, name: "")
        let order = memory.rows.compactMap { journal.state.item($0.item)?["name"] }
        #expect(order == store.items.map { $0.attributes["name"]! }, "round \(round)")
      }
    }
  }
}

@Suite struct ItemOrderTests {
  private func result(_ elements: [ItemOrder.Element]) -> [Int64] {
    let changes = Dictionary(uniqueKeysWithValues: ItemOrder.changes(elements))
    return elements.map { changes[$0.item] ?? $0.order ?? 0 }
  }

  private func element(_ item: Int, _ place: Int?, _ order: Int64?) -> ItemOrder.Element {
    ItemOrder.Element(item: Catalog.Item.ID(item), place: place, order: order)
  }

  @Test func newElementsGetNumbersBetweenTheOthers() {
    #expect(
      result([element(1, 0, 10), element(2, nil, nil), element(3, nil, nil), element(4, 1, 40)]) == [
        10, 20, 30, 40,
      ])
    #expect(result([element(1, nil, nil), element(2, 0, 0)]) == [-1_000, 0])
  }

  @Test func withoutRoomTheNextNumbersAreMoved() {
    #expect(
      result([element(1, 0, 1), element(2, nil, nil), element(3, 1, 2), element(4, 2, 3), element(5, 3, 9)])
        == [1, 2, 3, 4, 9])
  }

  @Test func numbersAtTheEndOfTheirRangeDoNotOverflow() {
    let orders = result([
      element(1, 0, .min), element(2, nil, nil), element(3, 1, .max), element(4, nil, nil),
    ])
    #expect(orders == [.min, 0, .max, Int64.max / 4 + 1_000])
  }
}
