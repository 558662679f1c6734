import CatalogModel
import Foundation
import JournalServer
import TestSupport
import Testing

/// The sessions with curl on the page about the viewer. With `JOURNAL_WRITE_TRANSCRIPTS=1` in the environment, they are
/// rewritten instead.
@Suite struct DocumentationTests {
  @Test func theSessionsWithCurlPrintWhatThePageSays() throws {
    let page = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "../../Documentation/Viewer.md"
    )
    .standardizedFileURL
    try withTemporaryFolder { folder in
      let journal = try makeBooks(folder)
      let served = try ServedJournal(journal)
      try Data("header = \"Authorization: Bearer \(ServedJournal.token)\"\n".utf8).write(
        to: folder.url.appending(path: "curlrc"))
      let text = try String(contentsOf: page, encoding: .utf8)
      var found = text
      let blocks = text.matches(of: /```\n(\$ curl [^`]*)```\n/)
      #expect(blocks.count == 3)
      for block in blocks {
        let command = String(block.1.prefix { $0 != "\n" }.dropFirst(2))
        let output = folder.url.appending(path: "output")
        let process = Process()
        process.executableURL = URL(filePath: "/bin/bash")
        process.arguments = [
          "-c",
          command.replacing("127.0.0.1:8080", with: served.host) + " > output",
        ]
        process.currentDirectoryURL = folder.url
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(command)")
        let answer = try String(contentsOf: output, encoding: .utf8).trimmingCharacters(in: .newlines)
        found = found.replacing(block.1, with: "$ \(command)\n\(answer)\n", maxReplacements: 1)
      }
      if ProcessInfo.processInfo.environment["JOURNAL_WRITE_TRANSCRIPTS"] != nil {
        try found.write(to: page, atomically: true, encoding: .utf8)
      }
      #expect(found.withoutChance == text.withoutChance)
      served.server.stop()
      try journal.close()
    }
  }
}

extension String {
  /// The text without digests, and without dates other than those of the page's own journal.
  fileprivate var withoutChance: String {
    replacing(/20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\.[0-9]+)?Z/) { match in
      match.output.0.hasPrefix("2026-08-0") ? String(match.output.0) : "<now>"
    }.replacing(/[0-9a-f]{64}/, with: "<digest>")
  }
}
