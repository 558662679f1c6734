import CatalogModel
import Foundation
import JSON
import TestSupport
import Testing

/// Logs that come back as entries.
@Suite struct EntriesImportTests {
  private func importing(_ lines: String, into path: String, _ options: String...) throws -> Outcome {
    let result = try run(journalPath, ["import", path, "entries", "-"] + options, input: Data(lines.utf8))
    return Outcome(
      code: result.code, output: String(decoding: result.output, as: UTF8.self),
      error: String(decoding: result.error, as: UTF8.self))
  }

  private func log(_ path: String, _ options: String...) throws -> String {
    try journal(["log", path, "--json", "--reverse"] + options).output
  }

  /// A journal of entities of all kinds, changed, deleted and restored at random, with dates that also go back.
  private func makeRandom(_ path: String, images: Bool = true, _ generator: inout SeededGenerator) throws {
    let journal = try CatalogJournal.create(at: URL(filePath: path))
    let names = ["title", "Title", "a.b", "@x", "attributes", "old", "new", "removed", "kind", "n"]
    let blob = try journal.blobs.add(Data("picture".utf8))
    var date = try #require(Timestamp("2026-08-01T10:00:00Z")?.date)
    for number in 0..<80 {
      date += Double.random(in: -5_000...20_000, using: &generator).rounded()
      let note = ["", "one\n\ntwo", "a \"note\""].randomElement(using: &generator) ?? ""
      if number % 9 == 8 {
        let point = RevisionSelector.head(back: .random(in: 1...4, using: &generator))
        try journal.commit(try journal.planRestore(of: .everything, asOf: point), by: "eve", date: date)
        continue
      }
      try journal.commit(
        by: ["ana", "bob", ""][number % 3], note: note, metadata: ["n": "\(number)"], date: date
      ) {
        draft in
        if number % 7 == 0 {
          let color = Catalog.Color(hex: "#2255AA80")
          try draft.addCategory(name: "c\(number)", color: number % 2 == 0 ? color : nil)
        }
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
          var attributes: [String: FieldValue] = [:]
          for name in names where Int.random(in: 0..<3, using: &generator) == 0 {
            attributes[name] = .random(using: &generator)
          }
          let items = draft.state.items.map(\.id)
          switch Int.random(in: 0..<6, using: &generator) {
          case 0..<2:
            let category = draft.state.categories.map(\.id).randomElement(using: &generator)
            try draft.addItem(kind: "k\(number % 2)", category: category, attributes: attributes)
          case 2..<4:
            guard let item = items.randomElement(using: &generator) else { break }
            let removed = names.filter { _ in Bool.random(using: &generator) }
            try draft.updateItem(item, set: attributes, remove: removed.filter { attributes[$0] == nil })
          case 4:
            guard let item = items.randomElement(using: &generator) else { break }
            try draft.deleteItem(item)
          default:
            guard images, let item = items.randomElement(using: &generator) else { break }
            try draft.addImage(to: item, name: "\(number).png", mediaType: "image/png", blob: blob)
          }
        }
        if number == 40 { try draft.addTag("forty", at: 12) }
        if number % 20 == 19, let category = draft.state.categories.first {
          try draft.deleteCategory(category.id)
        }
        // An entry needs a change.
        try draft.addItem(kind: "count", attributes: ["n": .integer(Int64(number))])
      }
    }
    try journal.close()
  }

  private func expectEqual(_ first: String, _ second: String) throws {
    let journals = try [first, second].map { try CatalogJournal.open(at: URL(filePath: $0), mode: .readOnly) }
    #expect(journals[0].head.revision == journals[1].head.revision)
    for revision in 1...journals[0].head.revision {
      let digests = try journals.map { StateDigest.digest(of: try $0.state(asOf: .revision(revision))) }
      #expect(digests[0] == digests[1], "revision \(revision)")
      let entries = try journals.map { try $0.entry(at: revision) }
      #expect(entries[0].author == entries[1].author && entries[0].note == entries[1].note)
      #expect(entries[0].date == entries[1].date)
      #expect(abs(entries[0].clockDate.timeIntervalSince(entries[1].clockDate)) <= 1)
      #expect(entries[0].metadata == entries[1].metadata.filter { !$0.key.hasPrefix("import.") })
    }
    for journal in journals { try journal.close() }
  }

  @Test func aWholeLogMakesAJournalWithEqualStatesAtEveryRevision() throws {
    var generator = SeededGenerator()
    try withTemporaryFolder { folder in
      let (path, copy) = (folder.path("J.journal"), folder.path("K.journal"))
      try makeRandom(path, &generator)
      let lines = try log(path)
      let count = lines.split(separator: "\n").count
      let first = try importing(lines, into: copy, "--images", path + "/images")
      #expect(
        first.code == 0 && first.output == "\(count) lines: 0 imported before, \(count) entries made\n",
        "\(first)")
      try expectEqual(path, copy)
      let again = try importing(lines, into: copy)
      #expect(again.output == "\(count) lines: \(count) imported before, 0 entries made\n", "\(again)")
      #expect(try journal("verify", copy).code == 0)
      try check("import", copy, "entries", folder.path("none"), code: 2, says: "No such file")
    }
  }

  @Test func anImportContinuesAfterTheNewestEntry() throws {
    var generator = SeededGenerator()
    try withTemporaryFolder { folder in
      let (path, copy) = (folder.path("J.journal"), folder.path("K.journal"))
      try makeRandom(path, &generator)
      let images = path + "/images"
      let lines = try log(path).split(separator: "\n")
      let middle = Int.random(in: 2..<lines.count - 10, using: &generator)
      let start = lines[..<middle].joined(separator: "\n")
      #expect(try importing(start, into: copy, "--images", images).code == 0)
      // More lines, then only what is new since.
      let more = lines[..<(middle + 5)].joined(separator: "\n") + "\n"
      #expect(try importing(more, into: copy, "--images", images).output.contains("5 entries made"))
      #expect(try importing(log(path, "--since", "\(middle + 5)"), into: copy, "--images", images).code == 0)
      try expectEqual(path, copy)
      // The log of another journal.
      let other = folder.path("Other.journal")
      try makeRandom(other, &generator)
      let wrong = try importing(log(other), into: copy)
      #expect(
        wrong.code == 2 && wrong.error.contains("is not the one that entry "),
        "\(wrong)")
    }
  }

  @Test func patchesAreReadToo() throws {
    var generator = SeededGenerator()
    try withTemporaryFolder { folder in
      let (path, copy) = (folder.path("J.journal"), folder.path("K.journal"))
      try makeRandom(path, images: false, &generator)
      #expect(try importing(log(path, "--patch"), into: copy).code == 0)
      try expectEqual(path, copy)
    }
  }

  /// Rows through Python's json module, and back as entries.
  @Test(.enabled(if: isPythonThere)) func rowsThroughPythonAndBackChangeNoValue() throws {
    var generator = SeededGenerator()
    try withTemporaryFolder { folder in
      let (path, copy) = (folder.path("J.journal"), folder.path("K.journal"))
      try makeRandom(path, images: false, &generator)
      let script = """
        import csv, json, subprocess, sys, io
        log, path = sys.argv[1:]
        text = subprocess.run([log, "log", path, "--reverse", "--csv"], capture_output=True, check=True).stdout.decode()
        head = [json.loads(l) for l in subprocess.run([log, "log", path, "--reverse", "--json", "--stat"],
          capture_output=True, check=True).stdout.decode().split("\\n")[:-1]]
        metadata = {e["revision"]: e["metadata"] for e in head}
        entries = {}
        for row in csv.DictReader(io.StringIO(text, newline="")):
            entry = entries.setdefault(row["revision"], {
              "revision": int(row["revision"]), "date": row["clockDate"], "author": row["author"],
              "note": row["note"], "metadata": metadata[int(row["revision"])], "events": {}})
            event = entry["events"].setdefault(row["entity"], {
              "operation": row["operation"], "entity": row["entity"], "changes": {}})
            if row["operation"] != "delete" and row["field"]:
                event["changes"][row["field"]] = {
                  n: json.loads(row[n]) for n in ["old", "new"] if row[n]}
        for entry in entries.values():
            entry["events"] = list(entry["events"].values())
            print(json.dumps(entry))
        """
      let python = try #require(Programs.python)
      let lines = try run(python, ["-c", script, journalPath, path])
      #expect(lines.code == 0, "\(String(decoding: lines.error, as: UTF8.self))")
      let outcome = try importing(String(decoding: lines.output, as: UTF8.self), into: copy)
      #expect(outcome.code == 0, "\(outcome)")
      try expectEqual(path, copy)
    }
  }

  @Test func linesWithoutARevisionNameEntitiesForLaterLinesAndLaterRuns() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Books.journal")
      let lines = [
        #"{"date":"2020-01-02T00:00:00Z","author":"ana","note":"first","metadata":{"a":"b"},"events":[{"operation":"add","as":"isbn 1","changes":{"kind":"book"}},{"operation":"add","entity":"category","as":"sf","changes":{"name":"SF"}}]}"#,
        "",
        #"{"date":"2020-01-01T00:00:00Z","events":[{"operation":"update","entity":"isbn 1","changes":{"category":"sf"}}]}"#,
        #"{"events":[{"operation":"delete","entity":"sf"}]}"#,
      ]
      let first = try importing(lines[...2].joined(separator: "\n"), into: path, "--by", "eve")
      #expect(first.code == 0 && first.output.contains("2 entries made"), "\(first)")
      let second = try importing(lines.joined(separator: "\n"), into: path, "--by", "eve")
      #expect(second.output == "4 lines: 2 imported before, 1 entry made\n", "\(second)")
      let books = try CatalogJournal.open(at: URL(filePath: path), mode: .readOnly)
      let entries = try (1...3).map { try books.entry(at: $0) }
      #expect(entries.map(\.author) == ["ana", "eve", "eve"] && entries[0].note == "first")
      #expect(entries[0].date == Timestamp("2020-01-02T00:00:00Z")?.date)
      // The date that orders entries never decreases; the other one is kept.
      #expect(entries[1].date == entries[0].date)
      #expect(entries[1].clockDate == Timestamp("2020-01-01T00:00:00Z")?.date)
      #expect(books.state.category(1) == nil && books.state.item(1)?.category == nil)
      #expect(try books.state(asOf: .revision(2)).item(1)?.category == 1)
    }
  }

  @Test func aLineThatCanNotBeTakenIsNamedAndEndsTheImport() throws {
    try withFixedJournal { path, folder in
      let copy = folder.path("K.journal")
      var lines = try log(path).split(separator: "\n").map(String.init)
      let missing = try importing(lines.joined(separator: "\n"), into: copy)
      #expect(
        missing.code == 1 && missing.error.contains("line 2: the bytes of image:1 are missing"), "\(missing)")
      #expect(missing.output == "2 lines: 0 imported before, 1 entry made\n", "\(missing)")
      lines[1] =
        #"{"revision":2,"date":"2026-08-02T00:00:00Z","events":[{"operation":"update","entity":"item:9"}]}"#
      lines.insert("{", at: 2)
      let all = lines.joined(separator: "\n")
      let inspected = try importing(all, into: copy, "--inspect")
      #expect(
        inspected.code == 1 && inspected.error.hasPrefix("line 2: item:9 does not exist"), "\(inspected)")
      #expect(inspected.error.contains("line 3: column 2: the text ends"), "\(inspected)")
      #expect(inspected.output.contains("an import stops at line 2"), "\(inspected)")
      #expect(try journal("log", copy, "--json").output.split(separator: "\n").count == 1)
      lines[1...2] = []
      // The entry before the last one is missing, so item:1 was changed by another revision.
      let skipped = try importing(lines.joined(separator: "\n"), into: copy)
      #expect(skipped.code == 0, "\(skipped)")
      #expect(try journal("show", copy, "item:2").code == 1)
      let nothing = folder.path("Nothing.journal")
      #expect(try importing(all, into: nothing, "--inspect").code == 1)
      #expect(!FileManager.default.fileExists(atPath: nothing))
    }
  }

  @Test func whatWasErasedIsLeftOut() throws {
    try withFixedJournal { path, folder in
      #expect(try journal("erase", path, "item:2", "--reason", "by law").code == 0)
      let copy = folder.path("K.journal")
      let outcome = try importing(log(path), into: copy, "--images", path + "/images")
      #expect(
        outcome.code == 1 && outcome.output.contains("3 entries made, 2 changes left out"), "\(outcome)")
      #expect(outcome.error.contains("line 4 has no changes"), "\(outcome)")
      #expect(
        try journal("show", copy, "item:1", "--json").output
          == journal("show", path, "item:1", "--json").output)
      #expect(try journal("show", copy, "item:2").code == 1)
    }
  }

  @Test func linesOfAnotherFileAreNotTakenForThoseImportedBefore() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Books.journal")
      func line(_ title: String) -> String {
        #"{"events":[{"operation":"add","changes":{"kind":"book","attributes":{"title":"\#(title)"}}}]}"#
          + "\n"
      }
      #expect(try importing(line("a") + line("b"), into: path).code == 0)
      let shorter = try importing(line("a"), into: path)
      #expect(
        shorter.code == 2 && shorter.error.contains("the file has 1 line, and line 2 was imported before"),
        "\(shorter)")
      let changed = try importing(line("x") + line("b") + line("c"), into: path)
      #expect(
        changed.code == 2 && changed.error.contains("line 1 is not the one that entry 1 was made of"),
        "\(changed)")
      #expect(changed.error.contains("--store"), "\(changed)")
      #expect(try importing(line("x"), into: path, "--store", "other").code == 0)
      #expect(try importing(line("a") + line("b") + line("c"), into: path).output.contains("1 entry made"))
    }
  }

  @Test func aLogThatBeginsWithItsNewestEntryIsRefused() throws {
    try withFixedJournal { path, folder in
      let copy = folder.path("K.journal")
      let newestFirst = try journal("log", path, "--json").output
      let refused = try importing(newestFirst, into: copy, "--images", path + "/images")
      #expect(
        refused.code == 2 && refused.error.contains("write the log with --reverse"), "\(refused)")
      let lines = try log(path)
      #expect(try importing(lines, into: copy, "--images", path + "/images").code == 0)
      try expectEqual(path, copy)
      let twice = try importing(
        lines + lines, into: folder.path("L.journal"), "--images", path + "/images", "--json")
      #expect(twice.code == 1 && twice.output.contains(#""problems":1,"firstProblem":4"#), "\(twice)")
    }
  }

  @Test func afterAPruningTheNewestImportedLineMustBeNamed() throws {
    try withFixedJournal { path, folder in
      let (copy, lines) = (folder.path("K.journal"), try log(path))
      #expect(try importing(lines, into: copy, "--images", path + "/images").code == 0)
      #expect(try journal("prune", copy, "--before", "3").code == 0)
      let refused = try importing(lines, into: copy)
      #expect(refused.code == 2 && refused.error.contains("--after"), "\(refused)")
      let named = try importing(lines, into: copy, "--after", "3")
      #expect(named.output == "3 lines: 3 imported before, 0 entries made\n", "\(named)")
      #expect(try journal("prune", path, "--before", "2").code == 0)
      let late = try importing(log(path), into: folder.path("L.journal"))
      #expect(late.code == 1 && late.error.contains("so not that of a pruned journal"), "\(late)")
      let unneeded = try importing(lines, into: folder.path("M.journal"), "--after", "2")
      #expect(unneeded.code == 2 && unneeded.error.contains("no line was imported"), "\(unneeded)")
    }
  }

  @Test func namesAreKnownAfterACommitThatAlsoDeletedAnEntity() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Books.journal")
      let first =
        #"{"events":[{"operation":"add","as":"x","changes":{"kind":"book"}},{"operation":"delete","entity":"x"},"#
        + #"{"operation":"add","as":"y","changes":{"kind":"book"}}]}"# + "\n"
      #expect(try importing(first, into: path).code == 0)
      let next = #"{"events":[{"operation":"update","entity":"y","changes":{"attributes":{"a":1}}}]}"# + "\n"
      let outcome = try importing(first + next, into: path)
      #expect(outcome.code == 0 && outcome.output.contains("1 entry made"), "\(outcome)")
      let wrong = #"{"events":[{"operation":"delete","entity":"item:0"}]}"#
      let third = try importing(first + next + wrong, into: path)
      #expect(third.code == 1 && third.error.contains("line 3: \"item:0\" names no entity"), "\(third)")
    }
  }
}
