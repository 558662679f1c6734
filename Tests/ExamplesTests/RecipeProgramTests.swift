import Foundation
import TestSupport
import Testing

/// The recipe manager, driven as by a user at a terminal.
@Suite struct RecipeProgramTests {
  /// A running recipe manager.
  private final class Session {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var shown = ""

    init(_ journal: URL, author: String) throws {
      let tests = try #require(Bundle.main.executableURL).resolvingSymlinksInPath()
      process.executableURL = tests.deletingLastPathComponent().appending(path: "recipes")
      process.arguments = [journal.path, author]
      process.standardInput = input
      process.standardOutput = output
      try process.run()
    }

    func type(_ line: String) throws {
      try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
    }

    /// Reads until the program has shown a text, after the one that was expected last.
    func expect(_ text: String, _ location: SourceLocation = #_sourceLocation) {
      while !shown.contains(text) {
        let bytes = output.fileHandleForReading.availableData
        if bytes.isEmpty { break }
        shown += String(decoding: bytes, as: UTF8.self)
      }
      guard let range = shown.range(of: text) else {
        Issue.record("not shown: \(text)\n\(shown)", sourceLocation: location)
        return
      }
      shown.removeSubrange(..<range.upperBound)
    }

    /// - Returns: the exit code.
    func quit() throws -> Int32 {
      try type("quit")
      process.waitUntilExit()
      return process.terminationStatus
    }

    func kill() {
      Foundation.kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
  }

  @Test(.timeLimit(.minutes(60))) func recipesSurviveAKillAndUndoContinues() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "Recipes.journal")
      let first = try Session(url, author: "ana")
      try first.type("add Soup")
      first.expect("1. Soup\n")
      try first.type("add Pie")
      first.expect("1. Soup\n2. Pie\n")
      try first.type("rate 2 5")
      first.expect("2. Pie *****\n")
      try first.type("move 2 1")
      first.expect("1. Pie *****\n2. Soup\n")
      try first.type("rate 9 1")
      first.expect("there is no line 9\n")
      // Everything that the screen has shown is on the disk.
      first.kill()

      let second = try Session(url, author: "ana")
      second.expect("1. Pie *****\n2. Soup\n")
      try second.type("undo")
      second.expect("1. Soup\n2. Pie *****\n")
      try second.type("best")
      second.expect("1. Pie *****\n")
      #expect(try second.quit() == 0)
    }
  }
}
