import CatalogModel
import Foundation
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
      let last = try journal("import", cut, "git", repository)
      #expect(last.code == 0)
      #expect(last.error == "")
      #expect(try contents(cut) == contents(folder.path("whole.journal")))
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
      let outcome = try journal("import", path, "git", other.path)
      #expect(outcome.code == 2)
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
      let outcome = try journal(
        "import", path, "git", repository.path, "--records", "a.json", "--key", "id")
      #expect(
        outcome
          == Outcome(
            code: 2, output: "",
            error: "journal: the journal was imported as \"files\", and this import would continue as "
              + "\"records a.json key=id\"; use the same options, or another journal\n"))
    }
  }
}
