import CatalogModel
import TestSupport
import Testing

private struct Book: CatalogItem {
  static let kind = "book"
  var title: String
}

private struct Chapter: CatalogItem {
  static let kind = "chapter"
  static let rules: [Rule] = [.reference(\.book, onDelete: .cascade), .unique(\.book, \.number)]
  var book: ItemID<Book>?
  var number: Int
}

/// Rules that an app has declared, for clients that do not know its types.
@Suite struct RuleTests {
  private func withChapters(_ body: (ServedJournal) throws -> Void) throws {
    try withBooks { served in
      try served.journal.declare(Chapter.self)
      try served.journal.commit(by: "ana") { draft in
        for number in 1...3 { try draft.insert(Chapter(book: 1, number: number)) }
      }
      try body(served)
    }
  }

  @Test func aCommitThatBreaksARuleIsRefusedWithTheItemAndTheRule() throws {
    try withChapters { (served) throws in
      let head = served.journal.head
      let refused = [
        #""operation":"add","changes":{"kind":"chapter","attributes":{"book":1,"number":2}}"#:
          "item:7 has the same book and number as item:5 (rule:2: book and number of chapter is unique)",
        #""operation":"update","entity":"item:4","changes":{"attributes":{"book":99}}"#:
          "item:4 refers to item:99, which does not exist (rule:1: book of chapter refers to book, on delete cascade)",
      ]
      for (event, message) in refused {
        let answer = try served.post("/api/commits", #"{"events":[{\#(event)}]}"#)
        #expect(answer.status == 422 && answer.code == "rejected", "\(answer.text)")
        #expect(try answer.json()["error"]?["message"]?.string == message, "\(answer.text)")
      }
      #expect(served.journal.head == head)
    }
  }

  @Test func aDeletionCascadesAndItsUndoBringsAllBack() throws {
    try withChapters { (served) throws in
      let before = served.journal.state
      let answer = try served.post(
        "/api/commits", #"{"author":"eve","events":[{"operation":"delete","entity":"item:1"}]}"#)
      #expect(answer.status == 201, "\(answer.text)")
      let deleted = try answer.json()["events"]?.array?.compactMap { $0["entity"]?.string }
      #expect(Set(deleted ?? []) == ["item:1", "image:1", "item:4", "item:5", "item:6"], "\(answer.text)")
      let undone = try served.post("/api/undo", #"{"author":"eve"}"#)
      #expect(undone.status == 201, "\(undone.text)")
      #expect(served.journal.state.items.map(\.attributes) == before.items.map(\.attributes))
      #expect(served.journal.state.images(of: 1).map(\.name) == ["cover.svg"])
    }
  }

  @Test func anUndoThatWouldBreakARuleIsRefusedWithTheItemAndTheRule() throws {
    try withChapters { (served) throws in
      let deletion = #"{"author":"eve","events":[{"operation":"delete","entity":"item:4"}]}"#
      #expect(try served.post("/api/commits", deletion).status == 201)
      try served.journal.commit(by: "bob") { try $0.insert(Chapter(book: 1, number: 1)) }
      let problem =
        "item:4 has the same book and number as item:7 (rule:2: book and number of chapter is unique)"
      let shown = try served.post("/api/undo", #"{"author":"eve","dryRun":true}"#)
      #expect(try shown.status == 200 && shown.json()["problem"]?.string == problem, "\(shown.text)")
      let refused = try served.post("/api/undo", #"{"author":"eve"}"#)
      #expect(refused.status == 422 && refused.code == "rejected", "\(refused.text)")
      #expect(try refused.json()["error"]?["message"]?.string == problem, "\(refused.text)")
    }
  }
}
