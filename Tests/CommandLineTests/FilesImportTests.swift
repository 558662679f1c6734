import CatalogModel
import Foundation
import JournalMaintenance
import TestSupport
import Testing

@Suite struct FilesImportTests {
  /// A repository with everything that is odd but possible.
  private func makeOddRepository(_ path: String, format: String = "sha1") throws -> MadeRepository {
    var repository = try MadeRepository(path, format: format)
    let submodule = String(repeating: "1", count: format == "sha1" ? 40 : 64)
    repository.commit(
      "first\n\nwith a body\n\n", by: "Añá",
      [
        .file("docs/api/a.md", Data("hi")), .file("readme", Data("root")), .file("empty", Data()),
        .file("sp ace/f", Data("q")), .file("bin", Data([0x78, 0xFF, 0xFE])),
      ])
    repository.commit("nothing")
    repository.commit(
      "links",
      [
        .file("link", Data("docs/api/a.md"), mode: "120000"),
        .file("badlink", Data([0x78, 0xFF]), mode: "120000"),
      ])
    repository.commit("mode", [.file("readme", Data("root"), mode: "100755")])
    repository.commit("rename", [.delete("docs/api/a.md"), .file("docs/b.md", Data("hi"))])
    repository.commit(
      "odd names",
      [
        .named([0x63, 0xE9], Data("latin")), .file("c\\xe9", Data("literal")),
        .file("back\\slash", Data("b")),
        .file("e\u{301}", Data("two scalars")), .file("\u{E9}", Data("one scalar")),
        .file("line\nbreak", Data("n")),
      ])
    repository.commit("file to folder", [.delete("readme"), .file("readme/x", Data("in"))])
    repository.commit("folder to file", [.delete("readme/x"), .file("readme", Data("back"))])
    repository.commit(
      "sizes",
      [
        .file("long", Data(String(repeating: "é", count: 32_768))),
        .file("longer", Data(String(repeating: "é", count: 32_769))),
        .file("huge", Data(repeating: 0xFF, count: 3 << 20)),
        .file("vast", Data(repeating: 0x61, count: 3 << 20)),
      ])
    repository.commit("binary to text", [.file("bin", Data("a\0b"))])
    repository.commit("text to binary", [.file("bin", Data([0x89, 0x50, 0xFF]))])
    repository.commit("side", on: "side", from: "main", [.file("side", Data("s"))])
    repository.commit("mainline", [.file("m", Data("m"))])
    repository.commit("merge", merging: "side", [.file("side", Data("s"))])
    repository.commit("submodule", [.submodule("sub/mod", commit: submodule)])
    repository.commit("submodule moves", [.submodule("sub/mod", commit: submodule.replacing("1", with: "2"))])
    repository.commit("back in time", later: -100_000, [.file("time", Data("t"))])
    repository.commit("type changes", [.file("link", Data("now a file"))])
    repository.commit("", later: 100_060, [.file("no message", Data())])
    repository.commit("all gone", [.deleteAll])
    repository.commit("again", [.file("again/x", Data("x"))])
    try repository.write()
    return repository
  }

  @Test(arguments: ["sha1", "sha256"])
  func everyCommitOfAnOddRepositoryEqualsGit(format: String) throws {
    try withTemporaryFolder { folder in
      let repository = try makeOddRepository(folder.path("repository"), format: format)
      let outcome = try check("import", folder.path("J.journal"), "git", repository.path)
      #expect(outcome.error == "")
      let opened = try CatalogJournal.open(at: URL(fileURLWithPath: folder.path("J.journal")))
      let oracle = GitOracle(path: repository.path)
      let line = try revisions(of: opened, oracle)
      #expect(line.count == 20)
      #expect(opened.head.revision == 19, "the commit that changes nothing makes no entry")
      for (commit, revision) in line {
        try expectFiles(opened.state(asOf: .revision(revision)), opened.blobs, equal: commit, oracle)
      }
      #expect(try opened.verify().problems.isEmpty)
    }
  }

  @Test func anUpdateRecordsOnlyWhatChanged() throws {
    try withTemporaryFolder { folder in
      let repository = try makeOddRepository(folder.path("repository"))
      _ = try journal("import", folder.path("J.journal"), "git", repository.path)
      let opened = try CatalogJournal.open(at: URL(fileURLWithPath: folder.path("J.journal")))
      let entry = try #require(try entries(of: opened).first { $0.note == "mode" })
      #expect(entry.events.map(\.change) == [.update(RecordChanges(set: ["mode": .string("100755")]))])
      // A later commit is earlier.
      #expect(Set(entry.metadata.keys) == ["git.authored", "git.commit", "git.date", "import.source"])
    }
  }

  @Test func aDateEarlierThanThePreviousOneIsKeptSeparately() throws {
    try withTemporaryFolder { folder in
      let repository = try makeOddRepository(folder.path("repository"))
      _ = try journal("import", folder.path("J.journal"), "git", repository.path, "--dates", "author")
      let opened = try CatalogJournal.open(at: URL(fileURLWithPath: folder.path("J.journal")))
      let all = try entries(of: opened)
      let index = try #require(all.firstIndex { $0.note == "back in time" })
      #expect(all[index].metadata["git.committed"] == "2017-07-12T23:09:25.000000Z")
      #expect(all[index].date == all[index - 1].date)
      #expect(all[index].metadata["git.date"] == "2017-07-12T23:09:20.000000Z")
    }
  }

  @Test func theCategoryOfAFolderWithoutFilesIsDeletedInTheSameEntry() throws {
    try withTemporaryFolder { folder in
      let repository = try makeOddRepository(folder.path("repository"))
      _ = try journal("import", folder.path("J.journal"), "git", repository.path)
      let opened = try CatalogJournal.open(at: URL(fileURLWithPath: folder.path("J.journal")))
      let entry = try #require(try entries(of: opened).first { $0.note == "rename" })
      let names = entry.events.filter { $0.entity.kind == .category }.map(\.operation)
      #expect(names == [.add, .delete])
    }
  }

  @Test func aMessageThatIsTooLongForANoteIsShortenedAndReported() throws {
    try withTemporaryFolder { folder in
      var repository = try MadeRepository(folder.path("repository"))
      repository.commit("one", [.file("a", Data("one"))])
      // Not at a multiple of two, so the limit is in the middle of a letter.
      let message = "x" + String(repeating: "é", count: 1 << 20)
      repository.commit(message, [.file("a", Data("two"))])
      repository.commit("three", [.file("a", Data("three"))])
      try repository.write()
      let outcome = try check("import", folder.path("J.journal"), "git", repository.path)
      #expect(outcome.error.contains("its message has 2,097,153 bytes, and the entry has the first 999,999"))
      let opened = try CatalogJournal.open(at: URL(fileURLWithPath: folder.path("J.journal")))
      let notes = try entries(of: opened).map(\.note)
      #expect(notes.count == 3 && notes[0] == "one" && notes[2] == "three")
      #expect(notes[1] == String(message.prefix(500_000)))
    }
  }

  private func entries(of journal: CatalogJournal) throws -> [Entry] {
    let cursor = journal.entries()
    var entries: [Entry] = []
    while let entry = try cursor.next() { entries.append(entry) }
    return entries
  }
}
