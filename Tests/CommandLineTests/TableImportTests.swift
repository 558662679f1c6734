import CatalogModel
import Foundation
import TestSupport
import Testing

/// Tables that become items, and their next versions.
@Suite struct TableImportTests {
  private func write(_ text: String, _ name: String, _ folder: TemporaryFolder) throws -> String {
    let path = folder.path(name)
    try Data(text.utf8).write(to: URL(filePath: path))
    return path
  }

  @Test func whatATableHasChangedIsOneEntry() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Books.journal")
      let first =
        "\u{FEFF}isbn,title,stars,Title\r\n007,\"Dun, \"\"a\"\"\nb\",18446744073709551615,x\r\n8,,,\"\"\r\n9,E,,\r\n"
      let options = ["--key", "isbn", "--kind", "book", "--type", "stars=int", "--by", "ana"]
      func importing(_ text: String, _ more: String...) throws -> Outcome {
        try journal(["import", path, "csv", try write(text, "books.csv", folder)] + options + more)
      }
      #expect(
        try importing(first, "--inspect").output
          == "3 rows of kind \"book\": nothing was written; items that would be: 3 added, 0 changed, 0 deleted\n"
      )
      #expect(!FileManager.default.fileExists(atPath: path))
      let made = try importing(first, "--at", "2020-02-03")
      #expect(
        made.output == "3 rows of kind \"book\": entry 1; items: 3 added, 0 changed, 0 deleted\n", "\(made)")
      #expect(try importing(first).output.contains("nothing has changed"))
      var books = try CatalogJournal.open(at: URL(filePath: path))
      #expect(
        books.state.items.map(\.attributes) == [
          ["isbn": "007", "title": "Dun, \"a\"\nb", "stars": .unsigned(.max), "Title": "x"],
          ["isbn": "8", "Title": ""], ["isbn": "9", "title": "E"],
        ])
      #expect(try books.entry(at: 1).clockDate == Timestamp("2020-02-03T00:00:00Z")?.date)
      // People add an attribute and an item, which stay.
      try books.commit(by: "bob") { draft in
        try draft.updateItem(1, set: ["lent": true])
        try draft.addItem(kind: "book", attributes: ["isbn": "77"])
      }
      try books.close()
      let next = "isbn,title,stars,Title\n007,Dune,5,x\n9,E,,\n10,F,1,\n"
      #expect(try importing(next).output.hasSuffix("entry 3; items: 1 added, 1 changed, 1 deleted\n"))
      books = try CatalogJournal.open(at: URL(filePath: path), mode: .readOnly)
      #expect(
        books.state.item(1)?.attributes == [
          "isbn": "007", "title": "Dune", "stars": 5, "Title": "x", "lent": true,
        ])
      #expect(books.state.items.map(\.id) == [1, 3, 4, 5] && books.state.item(5)?["stars"] == 1)
      #expect(try books.entry(at: 3).events.count == 3)
    }
  }

  @Test func linesThatCanNotBeTakenAreNamedAndNothingIsImported() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Books.journal")
      for (text, message) in [
        ("isbn,stars\n1,2\n2,4.5\n", "line 3: stars is no whole number: \"4.5\""),
        ("isbn,stars\n1,2,3\n", "line 2: it has 3 cells, and the first line 2 names"),
        ("isbn,stars\n1,2\n\n1,3\n", "line 4: isbn is 1, as on line 2"),
        ("isbn,stars\n,2\n", "line 2: isbn is missing"),
        ("isbn,stars\n1,\"2\n", "line 2: the quotation mark that begins a cell is never closed"),
        ("isbn,stars\n1,\"2\"3\n", "line 2: text after a closing quotation mark"),
        ("isbn,isbn\n1,2\n", "line 1: two columns have the same name"),
        ("", "line 1: the names of the columns are missing"),
        (
          "isbn,stars\n1,123456789012345678901\n",
          "line 2: stars has a number with more digits than can be kept"
        ),
      ] {
        let outcome = try journal(
          "import", path, "csv", try write(text, "books.csv", folder), "--key", "isbn", "--type", "stars=int")
        #expect(outcome.code == 1 && outcome.error.hasPrefix(message), "\(text): \(outcome)")
        #expect(outcome.error.contains("nothing was imported; correct the table first"))
      }
      let file = try write("a\n1\n", "a.csv", folder)
      try check("import", path, "csv", file, "--key", "b", code: 2, says: "there is no column b")
      try check("import", path, "csv", file, code: 2, says: "with --key")
      try check(
        "import", path, "csv", file, "--key", "a", "--type", "a=number", code: 2,
        says: "--type is COLUMN=TYPE")
      #expect(!FileManager.default.fileExists(atPath: path))
    }
  }

  @Test func valuesOfJSONLinesKeepTheirTypes() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Books.journal")
      let lines = #"""
        {"isbn":1,"n":1.0,"z":null,"list":[{"a":9007199254740993}],"read":"2026-08-01T10:00:00.123456Z","data":{"$data":"AAE="}}
        {"isbn":2,"late":"an attribute that the first line lacks"}
        """#
      let file = try write(lines, "book.jsonl", folder)
      let made = try journal("import", path, "jsonl", file, "--key", "isbn", "--type", "read=date", "--json")
      #expect(made.code == 0 && made.output.contains(#""kind":"book","rows":2"#), "\(made)")
      let books = try CatalogJournal.open(at: URL(filePath: path), mode: .readOnly)
      #expect(
        try books.state.item(1)?.attributes == [
          "isbn": 1, "n": .double(1), "z": .null, "list": [["a": 9_007_199_254_740_993]],
          "read": .date(#require(Timestamp("2026-08-01T10:00:00.123456Z")?.date)),
          "data": .data(Data([0, 1])),
        ])
      #expect(books.state.item(2)?["late"] == "an attribute that the first line lacks")
    }
  }

  @Test func whatPeopleHaveChangedStaysUnlessTheTableChangesItToo() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Books.journal")
      func importing(_ rows: String) throws -> Outcome {
        try journal(
          "import", path, "csv", try write("isbn,title,stars\n" + rows, "book.csv", folder), "--key", "isbn")
      }
      func items() throws -> [[String: FieldValue]] {
        let books = try CatalogJournal.open(at: URL(filePath: path), mode: .readOnly)
        return books.state.items.map(\.attributes)
      }
      let rows = "1,A,3\n2,B,3\n3,C,3\n4,D,3\n"
      #expect(try importing(rows).code == 0)
      let books = try CatalogJournal.open(at: URL(filePath: path))
      try books.commit(by: "bob") { draft in
        try draft.updateItem(1, set: ["title": "Aa"])
        try draft.updateItem(2, set: ["title": "Bb"])
        try draft.deleteItem(3)
        try draft.updateItem(4, set: ["title": "Dd"])
      }
      try books.close()
      let same = try importing(rows)
      #expect(same.output.contains("nothing has changed") && same.error.isEmpty, "\(same)")
      // A row changes another field, one the same field, and one that has no item is as before.
      let next = try importing("1,A,4\n2,Bbb,3\n3,C,3\n")
      #expect(next.output.hasSuffix("entry 3; items: 0 added, 2 changed, 0 deleted\n"), "\(next)")
      #expect(next.error.contains("line 3: item:2 (2): title was changed in the journal too"), "\(next)")
      #expect(next.error.contains("item:4 (4) is no longer in the table, but was changed"), "\(next)")
      #expect(
        try items() == [
          ["isbn": "1", "title": "Aa", "stars": "4"], ["isbn": "2", "title": "Bbb", "stars": "3"],
          ["isbn": "4", "title": "Dd", "stars": "3"],
        ])
      #expect(try importing("1,A,4\n2,Bbb,3\n3,C,3\n").output.contains("nothing has changed"))
      // The row of the deleted item changes.
      let back = try importing("1,A,4\n2,Bbb,3\n3,C,5\n4,D,3\n")
      #expect(back.output.hasSuffix("items: 1 added, 0 changed, 0 deleted\n"), "\(back)")
      #expect(back.error.contains("item:3 (3) was deleted in the journal, and is back"), "\(back)")
      #expect(try items()[2] == ["isbn": "3", "title": "C", "stars": "5"])
      #expect(try items()[3]["title"] == "Dd")
    }
  }

  @Test func aTableThatIsNoneDeletesNothing() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Books.journal")
      let full = try write("{\"isbn\":1}\n{\"isbn\":2}\n", "book.jsonl", folder)
      try check("import", path, "jsonl", full, "--key", "isbn")
      let empty = try write("", "book.jsonl", folder)
      try check(
        "import", path, "jsonl", empty, "--key", "isbn", code: 1, says: "has no row, so nothing was imported")
      try check(
        "import", path, "jsonl", "-", "--key", "isbn", "--kind", "book", code: 2, says: "save standard input")
      let texts = try write("isbn\n1\n2\n", "book.csv", folder)
      try check(
        "import", path, "csv", texts, "--key", "isbn", code: 2, says: "give the column the same --type")
      try check(
        "import", path, "csv", texts, "--key", "isbn", "--type", "isbm=int", code: 2,
        says: "there is no column isbm")
      try check(
        "import", path, "csv", texts, "--key", "isbn", "--at", "yesterday", code: 2,
        says: "--at is no date such as")
      try check(
        "import", path, "csv", texts, "--key", "isbn", "--type", "isbn=int", prints: "nothing has changed")
      let names = try write("isbn\n", "book.csv", folder)
      try check("import", path, "csv", names, "--key", "isbn", prints: "0 changed, 2 deleted")
    }
  }
}
