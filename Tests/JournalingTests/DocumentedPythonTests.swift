import Foundation
import Journaling
import TestSupport
import Testing

/// Runs the recomputation of digests in Python that `Documentation/Format.md` shows.
@Suite struct DocumentedPythonTests {
  @Test func theDocumentedPythonPrintsTheDigestsOfTheDocumentAndTheJournal() throws {
    let blocks = try blocks()
    try #require(blocks.count == 2)
    let printed = try python(blocks.map(\.code).joined())
    #expect(printed == blocks.map(\.prints).joined())
    try withDocumentedJournal { url in
      let journal = try Journal<Ledger>.open(at: url, mode: .readOnly)
      let digests = try (1...4).map { "\($0) \(try journal.entry(at: $0).digest)" }
      #expect(printed.split(separator: "\n").dropFirst().prefix(4).map(String.init) == digests)
      let state = try journal.state(asOf: .revision(3))
      #expect(StateDigest.digest(of: state).map { printed.hasSuffix("\($0)\n") } == true)
      try journal.close()
    }
  }

  /// Runs the same lines on a journal that was not made for them.
  @Test func theDocumentedPythonComputesTheDigestsOfAFrozenJournal() throws {
    let tests = URL(filePath: #filePath).deletingLastPathComponent()
    let corpus = tests.appending(path: "../Corpus/journals/format2").standardizedFileURL
    let code = try #require(try blocks().first).code
    let recomputation = try #require(code.range(of: "def sha(")).lowerBound
    let printed = try python(
      """
      import sys
      reader, folder = sys.argv[1:]
      sys.path.insert(0, reader)
      import leveldb_reader
      from journal_reader import Reader
      from hashlib import sha256
      FORMAT = open(folder + "/FORMAT", "rb").read()
      journal = bytes.fromhex(FORMAT.decode().split()[2].replace("-", ""))
      values = leveldb_reader.read(folder + "/entries")
      entries = []
      for revision in range(1, len(values)):
          data = values[b"e" + revision.to_bytes(8, "big")]
          items, parts = Reader(data), []
          items.item()
          end = items.at
          for _ in range(items.head()[2]):
              part = items.item()
              parts.append((items.at - len(part), items.at))
          entries.append((data.hex(), end, parts))

      """ + code[recomputation...],
      tests.appending(path: "Reader").path, corpus.appending(path: "Finds.journal").path)
    let found = printed.split(separator: "\n").map { $0.split(separator: " ") }
    let said = try String(contentsOf: corpus.appending(path: "Finds.json"), encoding: .utf8)
      .split(separator: "\n").filter { $0.contains("\"events\":") }.compactMap { line in
        try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      }
      .compactMap { $0["digest"] as? String }
    // `log` has the newest first.
    #expect(found.dropFirst().map { String($0[1]) } == said.reversed())
    #expect(said.count == 13)
  }

  /// Each block of Python in the document, and its output, which is the block that follows.
  private func blocks() throws -> [(code: String, prints: String)] {
    try Documented.text.matches(of: /```python\n(.+?)```\n\n```\n(.+?)```/.dotMatchesNewlines())
      .map { (String($0.1), String($0.2)) }
  }

  private func python(_ code: String, _ arguments: String...) throws -> String {
    let (process, input, output) = (Process(), Pipe(), Pipe())
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3", "-B", "-"] + arguments
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    try input.fileHandleForWriting.write(contentsOf: Data(code.utf8))
    try input.fileHandleForWriting.close()
    let printed = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    return String(decoding: printed, as: UTF8.self)
  }
}
