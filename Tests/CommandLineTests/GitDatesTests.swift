import CatalogModel
import Foundation
import JournalMaintenance
import TestSupport
import Testing

/// The dates of entries that were made of commits.
@Suite struct GitDatesTests {
  private func entries(of path: String) throws -> [Entry] {
    let opened = try CatalogJournal.open(at: URL(filePath: path), mode: .readOnly)
    return try (1...opened.head.revision).map { try opened.entry(at: $0) }
  }

  /// With the dates of the authors, nine of 120 states were not what the branch had.
  @Test func theStateAsOfAnyDateIsTheCommitThatGitNames() throws {
    var generator = SeededGenerator()
    try withTemporaryFolder { folder in
      var repository = try MadeRepository(folder.path("repository"))
      var clock = 1_400_000_000
      var known: [Int] = []
      for number in 0..<80 {
        clock += Int.random(in: 0...3, using: &generator) * 1000
        // Some are made by clocks that are wrong, in both directions.
        let skew = [0, 0, 0, 0, -5_000, 5_000, -40_000].randomElement(using: &generator)!
        let zone = ["+0000", "-1130", "+1400", "+0545"].randomElement(using: &generator)!
        let authored = clock - Int.random(in: 0...90_000, using: &generator)
        known.append(clock + skew)
        let (author, committer) = ("\(authored) \(zone)", "\(clock + skew) \(zone)")
        if number % 9 == 5 {
          repository.commit("s\(number)", on: "side", from: "main", [.file("s", Data("\(number)"))])
          repository.commit(
            "\(number)", merging: "side", authored: author, committed: committer,
            [.file("s", Data("\(number)")), .file("f", Data("\(number)"))])
        } else {
          repository.commit(
            "\(number)", authored: author, committed: committer, [.file("f", Data("\(number)"))])
        }
      }
      try repository.write()
      let path = folder.path("J.journal")
      #expect(try journal("import", path, "git", repository.path).code == 0)
      let opened = try CatalogJournal.open(at: URL(filePath: path), mode: .readOnly)
      let (first, last) = (known.min()!, known.max()!)
      let others = (0..<120).map { _ in Int.random(in: first...last + 10, using: &generator) }
      for second in Set(known + others) {
        let commit = String(
          decoding: try git(
            repository.path, "rev-list", "-1", "--first-parent", "--before=\(second) +0000", "main"),
          as: UTF8.self)
        let expected = try commit.isEmpty ? nil : git(repository.path, "show", "\(commit.dropLast()):f")
        let date = Date(timeIntervalSince1970: Double(second))
        let found = try opened.state(asOf: .date(date)).items.first { $0["path"] == .string("f") }?["text"]
        #expect(found == expected.map { .string(String(decoding: $0, as: UTF8.self)) }, "\(second)")
      }
      // Each date is still there.
      _ = try revisions(of: opened, GitOracle(path: repository.path))
      #expect(try opened.verify().problems.isEmpty)
    }
  }

  /// 1969-12-31 became the date of the previous entry, and the year 33658 became 9999, without a word.
  @Test func datesThatGitCantPrintAreReadOrReported() throws {
    try withTemporaryFolder { folder in
      var repository = try MadeRepository(folder.path("repository"))
      repository.commit("root", authored: "-86400 +0000", committed: "-86400 +0100", [.file("f", Data("0"))])
      try repository.write()
      var tip = try git(repository.path, "rev-parse", "main").dropLast()
      let dates = [
        ("-3600 +0000", "-3600 +0000"), ("", ""), ("100", "100"), ("soon +0000", "200 +0000"),
        ("300 +0000", "999999999999 +0000"), ("99999999999999999999 +0000", "400 +0000"),
      ]
      for (number, (author, committer)) in dates.enumerated() {
        let blob = try git(repository.path, "hash-object", "-w", "--stdin", input: Data("\(number + 1)"))
        let tree = try git(
          repository.path, "mktree", input: Data("100644 blob ") + blob.dropLast() + Data("\tf\n"))
        let commit =
          "tree \(String(decoding: tree, as: UTF8.self))parent \(String(decoding: tip, as: UTF8.self))\n"
          + "author Ana <a@example.com>\(author.isEmpty ? "" : " ")\(author)\n"
          + "committer <c@example.com>\(committer.isEmpty ? "" : " ")\(committer)\n\n\(number + 1)\n"
        tip = try git(
          repository.path, "hash-object", "-t", "commit", "-w", "--stdin", "--literally", input: Data(commit)
        ).dropLast()
      }
      try git(repository.path, "update-ref", "refs/heads/main", String(decoding: tip, as: UTF8.self))
      let path = folder.path("J.journal")
      let outcome = try check("import", path, "git", repository.path)
      let entries = try entries(of: path)
      #expect(entries.map { Int($0.date.timeIntervalSince1970) } == [-86400, -3600, 100, 100, 200, 400, 400])
      #expect(
        entries.map { $0.metadata["git.authored"] } == [
          "1969-12-31T00:00:00.000000Z", "1969-12-31T23:00:00.000000Z", nil, "1970-01-01T00:01:40.000000Z",
          "soon +0000", "1970-01-01T00:05:00.000000Z", "99999999999999999999",
        ])
      #expect(entries.map { $0.metadata["git.date"] } == [nil, nil, nil, nil, nil, "999999999999", nil])
      let lines = outcome.error.split(separator: "\n").map { $0.drop { $0 != ":" }.dropFirst(2) }
      #expect(lines.count == 5, "\(outcome)")
      #expect(lines.prefix(2) == ["it has no author date", "it has no commit date"])
      #expect(lines.contains { $0.hasPrefix("its commit date is \"999999999999\", and a journal ") })
      #expect(outcome.output.contains(" 5 reported, "), "\(outcome)")
    }
  }

  /// The log only said that no entry matches, though a commit is of that month.
  @Test func aWindowWithoutEntriesSaysWhichCommitsAreOrderedBeforeIt() throws {
    try withTemporaryFolder { folder in
      var repository = try MadeRepository(folder.path("repository"))
      let dates = ["1589500800 +0000", "1585699200 +0000"]
      for date in dates { repository.commit(date, authored: date, committed: date, [.file("f", Data(date))]) }
      try repository.write()
      let path = folder.path("J.journal")
      try check("import", path, "git", repository.path)
      let log = try check("log", path, "--since", "2020-05-01", "--until", "2020-06-01")
      #expect(
        log.error == """
          no entry matches; the commit of entry 1 is of that time, but it is ordered as of 2020-04-01 00:00:00 UTC, the \
          date of a later commit

          """)
      #expect(
        try check("log", path, "--since", "2020-06-01", "--until", "2020-07-01").error == "no entry matches\n"
      )
    }
  }

  @Test func theDatesOfTheAuthorsCanBeAskedFor() throws {
    try withTemporaryFolder { folder in
      var repository = try MadeRepository(folder.path("repository"))
      repository.commit("1", authored: "2000 +0000", committed: "5000 +0000", [.file("f", Data("1"))])
      repository.commit("2", authored: "1000 +0000", committed: "6000 +0000", [.file("f", Data("2"))])
      try repository.write()
      let path = folder.path("J.journal")
      #expect(try journal("import", path, "git", repository.path, "--dates", "author").code == 0)
      // As after an import by a version that knew only these dates.
      repository.commit("3", authored: "500 +0000", committed: "7000 +0000", [.file("f", Data("3"))])
      try repository.write()
      #expect(try journal("import", path, "git", repository.path).code == 0)
      let entries = try entries(of: path)
      #expect(entries.map { Int($0.date.timeIntervalSince1970) } == [2000, 2000, 7000])
      #expect(entries.map { $0.metadata["git.date"] } == [nil, "1970-01-01T00:16:40.000000Z", nil])
      #expect(entries[1].metadata["git.committed"] == "1970-01-01T01:40:00.000000Z")
      #expect(entries[2].metadata["git.authored"] == "1970-01-01T00:08:20.000000Z")
      let refused = try journal("import", path, "git", repository.path, "--dates", "both")
      #expect(
        refused
          == Outcome(
            code: 2, output: "", error: "journal: --dates is commit or author, not \"both\"\n"))
      #expect(try journal("help", "import").output.contains("git rev-list -1 --first-parent --before=DATE"))
    }
  }

  @Test func anAuthorWithoutANameIsTheAddress() throws {
    try withTemporaryFolder { folder in
      var repository = try MadeRepository(folder.path("repository"))
      repository.commit("\n  \n\nafter blank lines\n\nmore", by: "", [.file("f", Data("1"))])
      try repository.write()
      let path = folder.path("J.journal")
      #expect(try journal("import", path, "git", repository.path).code == 0)
      #expect(try entries(of: path).map(\.author) == ["ana@example.com"])
      #expect(try journal("log", path).output.contains("+1            after blank lines\n"))
      #expect(try journal("revert", path, "1", "--dry-run").output.contains("reverted entry 1: after blank"))
    }
  }
}
