import CatalogModel
import Foundation
import JSON
import TestSupport
import Testing

/// Flat rows of log, diff, history and blame, read by Python's own modules.
@Suite struct RowsTests {
  @Test func aRowHasTheSameColumnsInEveryVerb() throws {
    try withFixedJournal { path, _ in
      try expect(
        ["log", "item:1", "--rows", "--since", "1"], in: path,
        prints: #"""
          {"revision":3,"date":"2026-08-03T00:00:00.000000Z","clockDate":"2026-08-03T00:00:00.000000Z",\#
          "author":"ana","note":"no place after all","entity":"item:1","label":"blue cup","kind":"find",\#
          "operation":"update","field":"found","old":"{\"$date\":\"1970-01-01T00:00:00.000000Z\"}","new":null}
          {"revision":2,"date":"2026-08-02T11:30:00.250000Z","clockDate":"2026-08-02T11:30:00.250000Z",\#
          "author":"ben","note":"a photo\n\nand its age","entity":"item:1","label":"blue cup","kind":"find",\#
          "operation":"update","field":"age","old":"200","new":"212.5"}
          {"revision":2,"date":"2026-08-02T11:30:00.250000Z","clockDate":"2026-08-02T11:30:00.250000Z",\#
          "author":"ben","note":"a photo\n\nand its age","entity":"item:1","label":"blue cup","kind":"find",\#
          "operation":"update","field":"found","old":null,"new":"{\"$date\":\"1970-01-01T00:00:00.000000Z\"}"}
          """#)
      let head = "revision,date,clockDate,author,note,entity,label,kind,operation,field,old,new\r\n"
      let diff = try journal("diff", path, "1", "2", "--csv", "item:1").output
      #expect(diff.hasPrefix(head + ",,,,,item:1,blue cup,find,update,age,200,212.5\r\n"), "\(diff)")
      let note = "\"a photo\n\nand its age\""
      let history = try journal("history", path, "item:1", "--csv").output
      #expect(
        history.contains(
          "2,2026-08-02T11:30:00.250000Z,2026-08-02T11:30:00.250000Z,ben,\(note),item:1,blue cup,find,update,age,"
            + "200,212.5\r\n"), "\(history)")
      let blame = try journal("blame", path, "--kind", "find", "--tsv").output
      #expect(
        blame.contains(
          "\tben\t\(note)\titem:1\tblue cup\tfind\t\tage\t\t212.5\n"), "\(blame)")
      #expect(blame.hasPrefix(head.replacing(",", with: "\t").replacing("\r\n", with: "\n")))
      #expect(
        try journal("log", path, "--touched", "age", "--csv").output.split(separator: "\r\n").count == 3)
    }
  }

  @Test func aDeletionHasItsOldValuesAndAnErasureNone() throws {
    try withFixedJournal { path, folder in
      let deleted = try journal("log", path, "item:2", "--operation", "delete", "--csv").output
      #expect(deleted.contains(",delete,@kind,\"\"\"place\"\"\",\r\n"), "\(deleted)")
      #expect(try journal("erase", path, "item:1", "--reason", "by law").code == 0)
      let log = try journal("log", path, "item:1", "--csv").output.split(separator: "\r\n").dropFirst()
      #expect(log.count == 3 && log.allSatisfy { $0.contains(",item:1,,,") }, "\(log)")
    }
  }

  @Test func statNamesFieldsInJSONToo() throws {
    try withFixedJournal { path, _ in
      let log = try journal("log", path, "--stat", "--json", "-n", "1").output
      #expect(
        log.contains(
          #""events":[{"operation":"delete","entity":"item:2","label":"the \u001b[31mred\nfield","fields":[]},"#
            + #"{"operation":"update","entity":"item:1","label":"blue cup","fields":["found"]}]"#), "\(log)")
      try expect(
        ["diff", "1", "2", "item:1", "--stat", "--json"], in: path,
        prints: #"{"operation":"update","entity":"item:1","label":"blue cup","fields":["age","found"]}"#)
      let history = try journal("history", path, "item:1", "--stat", "--json", "-n", "1").output
      #expect(history.hasPrefix(#"{"revision":3,"date":"#) && history.contains(#""fields":["found"]"#))
    }
  }

  @Test func blameOfAKindNamesEachEntity() throws {
    try withFixedJournal { path, _ in
      let places = try journal("blame", path, "--kind", "place", "--at", "1").output
      #expect(places.hasPrefix("ENTITY      FIELD  VALUE"), "\(places)")
      #expect(places.contains("\nitem:2      kind   place"), "\(places)")
      let lines = try journal("blame", path, "--kind", "image", "--json").output.split(separator: "\n")
      #expect(lines.count == 4 && lines.allSatisfy { $0.hasPrefix(#"{"entity":"image:1","field":"@"#) })
      try check("blame", path, "--kind", "none", code: 1, says: "there is nothing of the kind none")
      try check("blame", path, code: 2, says: "name an ENTITY, or all items of a kind with --kind")
      try check("log", path, "--csv", "--tsv", code: 2, says: "--csv and --tsv exclude each other")
      try check("log", path, "--rows", "--patch", code: 2, says: "--rows and --patch exclude each other")
    }
  }

  /// Unusual values, read by Python and compared with those of the journal.
  @Test(.enabled(if: isPythonThere)) func pythonReadsEveryValueOfEveryForm() throws {
    var generator = SeededGenerator()
    try withTemporaryFolder { folder in
      let path = folder.path("Values.journal")
      let values = try CatalogJournal.create(at: URL(filePath: path))
      var expected: [String] = []
      for number in 0..<60 {
        let value: FieldValue =
          switch number {
          case 0: .unsigned(.max)
          case 1: .integer(1 << 53 + 1)
          case 2: .double(0.1)
          case 3: .null
          case 4: .string("a, \"b\"\r\n\tc")
          default: .random(using: &generator)
          }
        try values.commit(by: "a\"b", note: "x\ty\nz") { draft in
          try draft.addItem(kind: "value", attributes: [number % 2 == 0 ? "title" : "Title": value])
        }
        expected.append(value.json)
      }
      try values.close()
      let script = """
        import csv, io, json, subprocess, sys
        def run(form):
            return subprocess.run([sys.argv[1], "log", sys.argv[2], "--reverse", form], capture_output=True, check=True).stdout
        rows = [json.loads(line) for line in run("--rows").decode().split("\\n")[:-1]]
        names = list(rows[0])
        for form, dialect in [("--csv", "excel"), ("--tsv", "excel-tab")]:
            text = run(form).decode()
            found = list(csv.DictReader(io.StringIO(text, newline=""), dialect=dialect))
            assert [{n: "" if r[n] is None else str(r[n]) for n in names} for r in rows] == found, form
        kept = [r for r in rows if r["field"] != "@kind"]
        assert [r["field"] for r in kept] == ["title", "Title"] * (len(kept) // 2)
        for row in kept:
            json.loads(row["new"])
            print(row["new"])
        """
      let python = try #require(Programs.python)
      let result = try run(
        python, ["-c", script, journalPath, path], environment: ["PYTHONIOENCODING": "utf-8"])
      #expect(result.code == 0, "\(String(decoding: result.error, as: UTF8.self))")
      let lines = String(decoding: result.output, as: UTF8.self).split(
        separator: "\n", omittingEmptySubsequences: false)
      #expect(lines.dropLast().map(String.init) == expected)
    }
  }

  @Test func aQuotationMarkBeforeACombiningMarkIsDoubled() throws {
    try withFixedJournal { path, _ in
      let finds = try CatalogJournal.open(at: URL(filePath: path))
      try finds.commit(by: "ana", note: "a \"\u{301}b\"") { draft in try draft.updateItem(1, set: ["age": 1])
      }
      try finds.close()
      let log = try journal("log", path, "--csv", "-n", "1").output
      #expect(Data(log.utf8).range(of: Data(",\"a \"\"\u{301}b\"\"\",item:1,".utf8)) != nil, "\(log)")
    }
  }
}
