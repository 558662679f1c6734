import CatalogModel
import Foundation
import TestSupport
import Testing

/// `find` with fields, an order, counts, groups and sums.
@Suite struct FindVerbTests {
  private func withBooks(_ body: (_ path: String) throws -> Void) throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Books.journal")
      #expect(try journal("init", path).code == 0)
      let events = #"""
        {"events":[
        {"operation":"add","entity":"category","as":"sf","changes":{"name":"SF","color":"#2255AA"}},
        {"operation":"add","changes":{"kind":"book","category":"sf","attributes":
          {"title":"Dune","author":"Herbert","stars":5,"price":9.1,"weight":{"$decimal":"0.10000000000000000000001"}}}},
        {"operation":"add","changes":{"kind":"book","attributes":
          {"title":"Emma","author":"Austen","stars":4,"price":0.2,"place":{"shelf":3}}}},
        {"operation":"add","changes":{"kind":"book","attributes":
          {"title":"Persuasion","author":"Austen","stars":4.0,"price":12,"weight":1,"tags":["b"]}}},
        {"operation":"add","changes":{"kind":"book","category":"sf","attributes":
          {"title":"Ubik","author":"Dick","stars":null,"tags":["a"]}}},
        {"operation":"add","changes":{"kind":"disc","attributes":{"title":"Kind of Blue","stars":"five"}}}]}
        """#
      let made = try run(journalPath, ["commit", path], input: Data(events.utf8))
      #expect(made.code == 0, "\(made)")
      try body(path)
    }
  }

  @Test func fieldsAreColumnsAndMembers() throws {
    try withBooks { path in
      try expect(
        ["find", "--kind", "book", "--fields", "stars, @category,place.shelf"], in: path,
        prints: """
          ENTITY      KIND        CHANGED  STARS  @CATEGORY        PLACE.SHELF  LABEL
          item:1      book              1  5      category:1 (SF)               Dune
          item:2      book              1  4                       3            Emma
          item:3      book              1  4.0                                  Persuasion
          item:4      book              1         category:1 (SF)               Ubik
          """)
      try expect(
        ["find", "--kind", "book", "--where", "stars=null", "--fields", "stars,title,tags,price", "--json"],
        in: path,
        prints:
          #"{"entity":"item:4","label":"Ubik","kind":"book","revision":1,"fields":{"stars":null,"title":"Ubik","tags":["a"]}}"#
      )
    }
  }

  @Test func entitiesAreSortedByFieldsAndThenByNumbers() throws {
    try withBooks { path in
      for (words, expected) in [
        (["stars"], [4, 2, 3, 1]), (["-stars"], [1, 2, 3, 4]), (["author,-title"], [3, 2, 4, 1]),
        (["-stars,price", "-n", "2"], [1, 2]), (["-@category,-title", "-n", "3"], [4, 1, 3]),
      ] {
        let found = try journal(["find", path, "--kind", "book", "--json", "--order"] + words)
        let numbers = found.output.split(separator: "\n").compactMap { line in
          Int(line.dropFirst(#"{"entity":"item:"#.count).prefix(while: \.isNumber))
        }
        #expect(numbers == expected && found.code == 0, "\(words): \(found)")
      }
    }
  }

  @Test func sumsAreExactAndEqualNumbersAreOneGroup() throws {
    try withBooks { path in
      try expect(["find", "--kind", "book", "--count"], in: path, prints: "4")
      try expect(["find", "--kind", "book", "--count", "--json"], in: path, prints: #"{"count":4}"#)
      try expect(
        ["find", "--kind", "book", "--sum", "price,weight", "--json"], in: path,
        prints: #"{"count":4,"sums":{"price":21.3,"weight":{"$decimal":"1.10000000000000000000001"}}}"#)
      try expect(
        ["find", "--kind", "book", "--group", "stars", "--sum", "price"], in: path,
        prints: """
          STARS   COUNT  SUM OF PRICE
          (none)      1             0
          4           2          12.2
          5           1           9.1
          """)
      try expect(
        ["find", "--group", "@category", "--json"], in: path,
        prints: #"""
          {"group":null,"count":4}
          {"group":1,"count":2}
          """#)
      try expect(
        ["find", "--kind", "book", "--group", "tags", "-n", "2", "--json"], in: path,
        prints: #"""
          {"group":null,"count":2}
          {"group":["a"],"count":1}
          """#)
      try expect(
        ["find", "--kind", "book", "--group", "@category"], in: path,
        prints: """
          @CATEGORY        COUNT
          (none)               2
          category:1 (SF)      2
          """)
      try expect(
        ["find", "--kind", "map", "--count"], in: path, prints: "0",
        says: "journal: nothing found; --deleted searches deleted entities", code: 1)
    }
  }

  @Test func sumsOfManyDigitsAreRoundedAndArraysWithNaNAreGroups() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Sums.journal")
      let app = try CatalogJournal.create(at: url)
      try app.commit { draft in
        for price in ["12345678901234567890.5", "0.00000000000000000001"] {
          let value = FieldValue.dictionary(["$decimal": .string(price)])
          _ = try draft.addItem(kind: "book", attributes: ["price": value])
        }
        for _ in 1...2 { _ = try draft.addItem(kind: "disc", attributes: ["marks": [.double(.nan)]]) }
      }
      try app.close()
      struct Answer: Decodable { let sums: [String: Double] }
      let sum = try journal("find", url.path, "--sum", "price", "--json")
      let answer = try JSONDecoder().decode(Answer.self, from: Data(sum.output.utf8))
      #expect(answer.sums == ["price": 12345678901234567890.5])
      let groups = try journal("find", url.path, "--kind", "disc", "--group", "marks", "--json")
      #expect(groups.output.split(separator: "\n").count == 1 && groups.output.contains(#""count":2"#))
    }
  }

  @Test func aConditionThatFitsNothingIsExplained() throws {
    try withBooks { path in
      for (words, hint) in [
        (
          ["--kind", "book", "--where", "star=5"], "; nothing of the kind book has star (did you mean stars?)"
        ),
        (["--where", "place.shelve=3"], "; nothing has place.shelve"),
        (["--kind", "book", "--where", "stars>=five"], "; stars has other values, such as 4.0, a number"),
        (["--kind", "disc", "--where", "stars>=4"], #"; stars has other values, such as "five", a text"#),
        (["--kind", "book", "--where", "stars=9"], ""), (["--kind", "book", "--where", "title=5"], ""),
        (["--kind", "map", "--where", "stars=null"], ""),
      ] {
        let found = try journal(["find", path] + words)
        #expect(
          found.error == "journal: nothing found; --deleted searches deleted entities\(hint)\n"
            && found.code == 1)
      }
      let warned = try journal("find", path, "--kind", "book", "--fields", "stars,titel", "--sum", "pages")
      #expect(warned.code == 2 && warned.error.contains("--fields and --order are for lists"), "\(warned)")
      let summed = try journal("find", path, "--kind", "book", "--sum", "pages,stars", "--json")
      #expect(summed.output == #"{"count":4,"sums":{"pages":0,"stars":13}}"# + "\n" && summed.code == 0)
      #expect(summed.error == "journal: nothing of the kind book has pages\n")
    }
  }

  @Test func optionsThatDoNotFitAreRefused() throws {
    try withBooks { path in
      for words in [
        ["--count", "--sum", "stars"], ["--count", "-n", "1"], ["--group", "stars,title"],
        ["--fields", "stars,,title"],
        ["--order", "-"], ["--fields", "@colour"], ["--group", "stars", "--order", "title"],
      ] {
        let found = try journal(["find", path] + words)
        #expect(found.code == 2 && found.output.isEmpty, "\(words): \(found)")
      }
    }
  }
}
