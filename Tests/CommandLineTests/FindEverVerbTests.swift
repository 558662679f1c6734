import CatalogModel
import Foundation
import TestSupport
import Testing

/// `find` with `--ever`, `--first`, `--longer` and `--since`.
@Suite struct FindEverVerbTests {
  private func withBooks(_ body: (_ path: String) throws -> Void) throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Books.journal")
      try makeAuditedBooks(at: URL(filePath: path)).close()
      try body(path)
    }
  }

  @Test func theFirstAndTheLastTimeTheNumberAndTheTotalArePrinted() throws {
    try withBooks { path in
      try expect(
        ["find", "--where", "stars=5", "--ever"], in: path,
        prints: """
          ENTITY      KIND        FIRST (UTC)          BY   UNTIL (UTC)          TIMES   TOTAL  LABEL
          item:1      book        2026-08-02 09:00:00  bob  2026-08-05 08:00:00      1  2d 23h  Dune
          """)
      try expect(
        ["find", "dun", "--kind", "book", "--ever", "--at", "4", "--fields", "stars"], in: path,
        prints: """
          ENTITY      KIND        FIRST (UTC)          BY   UNTIL (UTC)  TIMES   TOTAL  STARS  LABEL
          item:1      book        2026-08-01 10:00:00  ana  (still)          1  3d 22h  4      Dune
          """)
      try expect(
        ["find", "--where", "stars=5", "--ever", "--json"], in: path,
        prints: #"""
          {"entity":"item:1","label":"Dune","kind":"book","revision":4,"periods":[{"start":{"revision":2,"date":"2026-08-02T09:00:00.000000Z","author":"bob","note":"spelling"},"end":{"revision":4,"date":"2026-08-05T08:00:00.000000Z","author":"eve","note":"new arrivals"}}],"seconds":255600.0}
          """#)
    }
  }

  @Test func deletedEntitiesAreFoundInTheOrderInWhichTheyFirstMatched() throws {
    try withBooks { path in
      try expect(
        ["find", "--where", "stars=null", "--kind", "book", "--first", "--at", "4"], in: path,
        prints: """
          ENTITY      KIND        FIRST (UTC)          BY   UNTIL (UTC)          TIMES  TOTAL  LABEL
          item:2      book        2026-08-01 10:00:00  ana  2026-08-04 16:20:00      1  3d 6h  Emma
          item:3      book        2026-08-05 08:00:00  eve  (still)                  1     0s  Solaris
          """)
      try expect(["find", "--kind", "book", "--ever", "--count"], in: path, prints: "3")
      try expect(
        ["find", "--where", "@kind=book", "--where", "stars>3", "--first", "-n", "1", "--json", "--at", "3"],
        in: path,
        prints: #"""
          {"entity":"item:1","label":"Dune","kind":"book","revision":3,"periods":[{"start":{"revision":2,"date":"2026-08-02T09:00:00.000000Z","author":"bob","note":"spelling"},"end":null}],"seconds":199200.0}
          """#)
    }
  }

  @Test func wordsAreFoundNowDeletedAndEver() throws {
    try withBooks { path in
      func found(_ words: String, _ options: String...) throws -> [String] {
        let run = try journal(["find", path, "--words", words, "--fields", "title", "--json"] + options)
        #expect(run.code == (run.output.isEmpty ? 1 : 0))
        return run.output.split(separator: "\n").map { String($0.dropFirst(11).prefix { $0 != "\"" }) }
      }
      #expect(try found("dune") == ["item:1"] && found("dun") == [] && found("DÜN*") == ["item:1"])
      #expect(try found("dun", "--at", "1") == ["item:1"] && found("dun", "--ever") == ["item:1"])
      #expect(try found("emma", "--deleted") == ["item:2"] && found("\"dune book\"") == [])
      #expect(try found("book dune") == ["item:1"])
      let refused = try journal("find", path, "--words", "!?")
      #expect(refused.code == 2 && refused.error == "journal: --words has no word: !?\n")
    }
  }

  @Test func onlyTimeSinceAPointCountsAndOnlyWhatIsLonger() throws {
    try withBooks { path in
      for (words, expected) in [
        (["--longer", "3d"], [1, 2]), (["--longer", "79h"], [1]), (["--longer", "6w"], []),
        (["--longer", "0s", "--since", "3"], [1]), (["--since", "3"], [1, 3]),
        (["--ever", "--since", "2026-08-04"], [1, 2, 3]),
        (["--longer", "16h", "--since", "2026-08-04"], [1, 2]),
        (["--longer", "17h", "--since", "2026-08-04"], [1]),
        (["--ever", "--since", "2026-08-04T16:20:00Z"], [1, 3]),
      ] {
        let found = try journal(["find", path, "--kind", "book", "--at", "4", "--json"] + words)
        let numbers = found.output.split(separator: "\n").compactMap { line in
          Int(line.dropFirst(#"{"entity":"item:"#.count).prefix(while: \.isNumber))
        }
        #expect(numbers == expected && found.code == (expected.isEmpty ? 1 : 0), "\(words): \(found)")
      }
      #expect(try journal("find", path, "--ever", "--since", "4", "--at", "2026-08-05T08:00:00Z").code == 0)
      let short = try journal("find", path, "--where", "stars=5", "--longer", "6w", "--at", "4")
      #expect(short.error == "journal: nothing matched for that long\n" && short.code == 1)
      let none = try journal("find", path, "--where", "star=5", "--ever")
      #expect(
        none.error
          == "journal: nothing found in any state; nothing has star (did you mean stars?)\n" && none.code == 1
      )
    }
  }

  @Test func aPrunedHistoryBeginsWithTheFirstKnownState() throws {
    try withBooks { path in
      #expect(try journal("prune", path, "--before", "2", "--by", "ana").code == 0)
      try expect(
        ["find", "--where", "stars>=3", "--ever", "--at", "4"], in: path,
        prints: """
          ENTITY      KIND        FIRST (UTC)          BY               UNTIL (UTC)  TIMES   TOTAL  LABEL
          item:1      book        2026-08-02 09:00:00  (pruned before)  (still)          1  2d 23h  Dune
          """)
    }
  }

  @Test func optionsThatDoNotFitAreRefused() throws {
    try withBooks { path in
      for words in [
        ["--ever", "--deleted"], ["--first", "--order", "stars"], ["--first", "--count"],
        ["--first", "--group", "stars"], ["--longer", "3"], ["--longer", "3 days"], ["--longer", "-3d"],
        ["--longer", "d"], ["--ever", "--since", "4", "--at", "2"],
        ["--ever", "--since", "2026-08-03", "--at", "2026-08-02T10:00:00Z"],
      ] {
        let found = try journal(["find", path] + words)
        #expect(found.code == 2 && found.output.isEmpty, "\(words): \(found)")
      }
    }
  }
}
