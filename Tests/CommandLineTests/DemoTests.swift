import Foundation
import TestSupport
import Testing

/// `Tools/demo`, the first command that the README shows to newcomers.
@Suite struct DemoTests {
  private static let script = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../Tools/demo").standardizedFileURL.path

  private func demo(_ repository: String) throws -> Outcome {
    let result = try run("bash", [Self.script, repository], environment: ["JOURNAL_PROGRAM": journalPath])
    return Outcome(
      code: result.code, output: String(decoding: result.output, as: UTF8.self),
      error: String(decoding: result.error, as: UTF8.self))
  }

  @Test func theDemoShowsARepository() throws {
    try withTemporaryFolder { folder in
      var repository = try MadeRepository(folder.path("repository"))
      repository.commit(
        "a text and an image",
        [.file("notes.txt", Data("one".utf8)), .file("images/a.png", Data([0xFF, 0]))])
      repository.commit("another image", [.file("images/b.png", Data([0xFE, 0]))])
      repository.commit("changes", [.file("notes.txt", Data("two".utf8)), .delete("images/a.png")])
      try repository.write()
      let shown = try demo(repository.path)
      #expect(shown.code == 0, "\(shown)")
      #expect(shown.output.contains("\nNothing is missing, nothing is altered.\n"), "\(shown)")
      #expect(shown.output.contains("3 entries") && shown.output.contains("all is well"), "\(shown)")
    }
  }

  @Test func whatIsNoRepositoryIsRefusedInOneSentence() throws {
    try withTemporaryFolder { folder in
      let refused = try demo(folder.path)
      #expect(refused.code == 2 && refused.output.isEmpty, "\(refused)")
      #expect(refused.error.contains("is not a git repository with a commit"), "\(refused)")
    }
  }
}
