import CatalogModel
import Foundation
import JournalMaintenance
import TestSupport
import Testing

@Suite struct ResumeTests {
  /// A repository of many small commits, made of random changes.
  private func makeLongRepository(_ path: String, _ generator: inout SeededGenerator) throws {
    var repository = try MadeRepository(path)
    var paths: [String] = []
    for number in 0..<400 {
      var changes: [MadeRepository.Change] = []
      for _ in 0..<Int.random(in: 0...3, using: &generator) {
        if let path = paths.randomElement(using: &generator), Int.random(in: 0..<5, using: &generator) == 0 {
          changes.append(.delete(path))
          paths.removeAll { $0 == path }
        } else {
          let path =
            "\(Int.random(in: 0..<5, using: &generator))/\(Int.random(in: 0..<40, using: &generator))"
          let bytes = (0..<20).map { _ in UInt8.random(in: 0x60...0x90, using: &generator) }
          changes.append(.file(path, Data(bytes)))
          if !paths.contains(path) { paths.append(path) }
        }
      }
      repository.commit("commit \(number)", changes)
    }
    try repository.write()
  }

  /// All entries without their salts, and without the digests that depend on them.
  private func contents(_ path: String) throws -> [String] {
    let journal = try CatalogJournal.open(at: URL(fileURLWithPath: path))
    #expect(try journal.verify().problems.isEmpty)
    let cursor = journal.entries()
    var lines: [String] = []
    while let entry = try cursor.next() {
      lines.append("\(entry.date) \(entry.note) \(entry.metadata.sorted { $0.key < $1.key }) \(entry.events)")
    }
    return lines
  }

  @Test func anImportThatIsKilledContinuesToTheSameStates() throws {
    var generator = SeededGenerator()
    try withTemporaryFolder { folder in
      let repository = folder.path("repository")
      try makeLongRepository(repository, &generator)
      #expect(try journal("import", folder.path("whole.journal"), "git", repository).code == 0)
      let cut = folder.path("cut.journal")
      var kills = 0
      for _ in 0..<20 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: journalPath)
        process.arguments = ["import", cut, "git", repository]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        // The first process makes the journal, however long that takes.
        while process.isRunning, !FileManager.default.fileExists(atPath: cut) { usleep(1000) }
        usleep(UInt32.random(in: 1000...120_000, using: &generator))
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        if process.terminationReason == .uncaughtSignal { kills += 1 }
      }
      #expect(kills > 0)
      let last = try check("import", cut, "git", repository)
      #expect(last.error == "")
      #expect(try contents(cut) == contents(folder.path("whole.journal")))
    }
  }

  /// The error told a program what to do: to close the journal and open it again.
  @Test(.enabled(if: Mount.isPossible, "only the superuser can mount a small disk"))
  func anImportThatAFullDiskStoppedSaysWhatIsKeptAndContinues() throws {
    var generator = SeededGenerator()
    try withTemporaryFolder { folder in
      var repository = try MadeRepository(folder.path("repository"))
      for number in 1...100 {
        let bytes = (0..<45_000).map { _ in UInt8.random(in: 0x20...0x7E, using: &generator) }
        repository.commit("\(number)", [.file("f", Data(bytes))])
      }
      try repository.write()
      let disk = try Mount.point(in: folder.path)
      try Mount.with(["-t", "tmpfs", "-o", "size=24m", "none"], at: disk) {
        let (path, ballast) = ("\(disk)/J.journal", URL(fileURLWithPath: "\(disk)/ballast"))
        try Data(count: 21 << 20).write(to: ballast)
        let stopped = try journal("import", path, "git", repository.path)
        #expect(stopped.code == 3 && stopped.output == "", "\(stopped)")
        let kept = try CatalogJournal.open(at: URL(fileURLWithPath: path), mode: .readOnly).head.revision
        #expect(
          stopped.error.hasPrefix(
            "journal: the import stopped, and everything up to revision \(kept) is kept; run it again to "
              + "continue, after mending this: "),
          "\(stopped)")
        #expect(stopped.error.hasSuffix("the disk is full; free some space\n"), "\(stopped)")
        try FileManager.default.removeItem(at: ballast)
        let continued = try check("import", path, "git", repository.path)
        #expect(continued.output.hasPrefix("imported \(100 - kept) commits "), "\(continued)")
      }
    }
  }

  @Test func aSecondRunWithNothingNewMakesNoEntry() throws {
    try withTemporaryFolder { folder in
      var repository = try MadeRepository(folder.path("repository"))
      repository.commit("one", [.file("a", Data("a"))])
      repository.commit("nothing")
      try repository.write()
      let path = folder.path("J.journal")
      _ = try journal("import", path, "git", repository.path)
      let again = try journal("import", path, "git", repository.path)
      #expect(again.output.hasPrefix("imported 1 commit of \(repository.path): 0 entries, 0 events, "))
    }
  }

  /// A repository of three commits, the last of which removes the first one's file, and its import.
  private func importThreeCommits(
    _ folder: TemporaryFolder
  ) throws -> (repository: MadeRepository, path: String) {
    var repository = try MadeRepository(folder.path("repository"))
    repository.commit("one", [.file("a", Data("1"))])
    repository.commit("two", [.file("b", Data("2"))])
    repository.commit("three", [.delete("a"), .file("b", Data("3"))])
    try repository.write()
    let path = folder.path("J.journal")
    #expect(try journal("import", path, "git", repository.path).code == 0)
    return (repository, path)
  }

  /// It imported all commits again: "a" came back, and was deleted again.
  @Test func anImportDoesNotBeginAgainAfterItsHistoryWasPruned() throws {
    try withTemporaryFolder { folder in
      let (imported, path) = try importThreeCommits(folder)
      var repository = imported
      let newest = try #require(GitOracle(path: repository.path).commits().last)
      #expect(try journal("prune", path, "--before", "HEAD", "--reason", "old").code == 0)
      repository.commit("four", [.file("c", Data("4"))])
      try repository.write()
      let refused = try journal("import", path, "git", repository.path)
      #expect(
        refused
          == Outcome(
            code: 2, output: "",
            error: "journal: history up to revision 3 was pruned, so the journal may no longer name the "
              + "newest commit that was imported; name it with --after COMMIT, or import into a new journal\n"
          ))
      let unknown = try journal("import", path, "git", repository.path, "--after", "five")
      #expect(unknown.code == 2 && unknown.error.contains("no branch or commit \"five\""), "\(unknown)")
      let continued = try journal("import", path, "git", repository.path, "--after", newest)
      #expect(continued.code == 0 && continued.output.hasPrefix("imported 1 commit "), "\(continued)")
      // From now on, the journal names the newest commit again.
      #expect(try journal("import", path, "git", repository.path).output.hasPrefix("imported 0 commits "))
      let state = try CatalogJournal.open(at: URL(fileURLWithPath: path), mode: .readOnly).state
      #expect(state.items.compactMap { $0["path"]?.string } == ["b", "c"])
    }
  }

  /// It imported the commits again whose names were erased.
  @Test func anImportDoesNotBeginAtAnOlderCommitAfterANewerOneWasErased() throws {
    try withTemporaryFolder { folder in
      let (repository, path) = try importThreeCommits(folder)
      let commits = try GitOracle(path: repository.path).commits()
      // The second and the third commit changed it.
      #expect(try journal("erase", path, "item:2", "--notes", "--reason", "by law").code == 0)
      let refused = try check("import", path, "git", repository.path, code: 2)
      #expect(refused.error.contains("the metadata of revision 3 were erased"), "\(refused)")
      #expect(refused.error.contains(", which is \(commits[0]) or a later one; name it"), "\(refused)")
      let continued = try journal("import", path, "git", repository.path, "--after", commits[2])
      #expect(continued.code == 0 && continued.output.hasPrefix("imported 0 commits "), "\(continued)")
      #expect(try journal("find", path).code == 1)
    }
  }

  @Test func anImportIntoACopyWithoutHistoryDoesNotBeginAgain() throws {
    try withTemporaryFolder { folder in
      let (repository, path) = try importThreeCommits(folder)
      let copy = folder.path("Copy.journal")
      #expect(try journal("replay", path, "--no-history", "--to", copy).code == 0)
      try check(
        "import", copy, "git", repository.path, code: 2, says: "copied without its history")
    }
  }

  @Test func aCommitToContinueAfterIsOnlyTakenIfTheJournalNamesNone() throws {
    try withTemporaryFolder { folder in
      let (repository, path) = try importThreeCommits(folder)
      let commits = try GitOracle(path: repository.path).commits()
      let refused = try check("import", path, "git", repository.path, "--after", commits[0], code: 2)
      #expect(refused.error.contains("the newest imported commit is \(commits[2])"), "\(refused)")
      let new = folder.path("New.journal")
      try check(
        "import", new, "git", repository.path, "--after", commits[0], code: 2, says: "no commit was imported")
    }
  }

  @Test func aRewrittenBranchIsRefused() throws {
    try withTemporaryFolder { folder in
      var repository = try MadeRepository(folder.path("repository"))
      repository.commit("one", [.file("a", Data("a"))])
      try repository.write()
      let path = folder.path("J.journal")
      _ = try journal("import", path, "git", repository.path)
      let old = try GitOracle(path: repository.path).commits()[0]
      var other = try MadeRepository(folder.path("other"))
      other.commit("another", [.file("b", Data("b"))])
      try other.write()
      let outcome = try check("import", path, "git", other.path, code: 2)
      #expect(
        outcome.error
          == "journal: the newest imported commit \(old) (revision 1) is not on this branch's first-parent line; "
          + "name its branch with --branch, or import into a new journal\n")
    }
  }

  @Test func aMergedCommitIsNotOnTheFirstParentLine() throws {
    try withTemporaryFolder { folder in
      var repository = try MadeRepository(folder.path("repository"))
      repository.commit("one", [.file("a", Data("a"))])
      repository.commit("side", on: "side", from: "main", [.file("s", Data("s"))])
      repository.commit("main", [.file("m", Data("m"))])
      repository.commit("merge", merging: "side", [.file("s", Data("s"))])
      try repository.write()
      let path = folder.path("J.journal")
      #expect(try journal("import", path, "git", repository.path, "--branch", "side").code == 0)
      #expect(try journal("import", path, "git", repository.path, "--branch=main").code == 2)
    }
  }

  @Test func continuingAnImportInAnotherFormIsRefused() throws {
    try withTemporaryFolder { folder in
      var repository = try MadeRepository(folder.path("repository"))
      repository.commit("one", [.file("a.json", Data("[]"))])
      try repository.write()
      let path = folder.path("J.journal")
      _ = try journal("import", path, "git", repository.path)
      let outcome = try journal("import", path, "git", repository.path, "--records", "a.json", "--key", "id")
      #expect(
        outcome
          == Outcome(
            code: 2, output: "",
            error: "journal: the journal was imported as \"files\", and this import would continue as "
              + "\"records a.json key=id\"; use the same options, or another journal\n"))
    }
  }
}
