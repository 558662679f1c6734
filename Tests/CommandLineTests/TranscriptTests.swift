import CatalogModel
import Foundation
import TestSupport
import Testing

/// Compares the terminal sessions on the pages with the output of the program. With `JOURNAL_WRITE_TRANSCRIPTS=1` in
/// the environment, it rewrites them instead.
@Suite struct TranscriptTests {
  private let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
    .standardizedFileURL

  @Test(arguments: [
    "README.md": "Dun\n",
    "Documentation/GettingStarted.md": nil,
    "Documentation/Relations.md": nil,
    "Documentation/Uniqueness.md": nil,
    "Documentation/Migrations.md": nil,
    "Documentation/Undo.md": nil,
    "Documentation/Queries.md": nil,
    "Documentation/Comparison.md": nil,
    "Documentation/Search.md": nil,
  ])
  func theProgramOfAPageAndItsSessionsPrintWhatThePageSays(_ page: String, _ output: String?) throws {
    try withTemporaryFolder { folder in
      let program = journalPath.replacing(/journal$/, with: "DocumentedCode")
      let result = try run("bash", ["-c", "cd \"$1\" && \"$0\" \"$2\"", program, folder.path, page])
      #expect(result.code == 0)
      let printed = String(decoding: result.output, as: UTF8.self)
      if let output {
        #expect(printed == output)
      } else {
        #expect(try text(of: page).contains("```\n\(printed)```\n"))
      }
      try check(page, in: folder)
    }
  }

  /// The verb and the options of every `journal` command on every page exist, also outside of sessions.
  @Test func everyCommandOnAPageExists() throws {
    let folder = root.appending(path: "Documentation")
    let pages = try FileManager.default.contentsOfDirectory(atPath: folder.path).map { "Documentation/\($0)" }
    let commands = /(?:^\$ |`|\| )journal ([a-z-]+)([^`|\n]*)/.anchorsMatchLineEndings()
    var help: [String: String] = [:]
    var count = 0
    for page in pages + ["README.md"] {
      for command in try text(of: page).matches(of: commands) {
        let verb = String(command.1)
        let text = try help[verb] ?? journal("help", verb).output
        help[verb] = text
        #expect(!text.isEmpty, "\(page): journal \(verb)")
        for option in command.2.matches(of: /(?:^| )(--?[a-z][a-z-]*)/) {
          #expect(text.contains(option.1), "\(page): journal \(verb) \(option.1)")
        }
        count += 1
      }
    }
    #expect(count > 60)
  }

  @Test func theSessionsAboutAuditAndRestorePrintWhatThePageSays() throws {
    try withTemporaryFolder { folder in
      try makeAuditedBooks(at: folder.url.appending(path: "Books.journal")).close()
      // An app keeps this journal open.
      let shop = try makeShop(at: folder.url.appending(path: "Shop.journal"))
      try check("Documentation/AuditAndRestore.md", in: folder)
      try shop.close()
    }
  }

  @Test func theSessionsAboutAnalysisPrintWhatThePageSays() throws {
    let page = "Documentation/Analysis.md"
    let text = try text(of: page)
    try withTemporaryFolder { folder in
      try makeAuditedBooks(at: folder.url.appending(path: "Books.journal")).close()
      let table = try #require(text.firstMatch(of: /```csv\n([^`]*)```/)).1
      try Data(table.utf8).write(to: folder.url.appending(path: "books.csv"))
      let entry = try #require(text.firstMatch(of: /```json\n([^`]*)```/)).1
      try Data(entry.utf8).write(to: folder.url.appending(path: "entries.jsonl"))
      try check(page, in: folder)
      guard let python = Programs.python else { return }
      let scripts = text.matches(of: /```python\n([^`]*)```/).map { String($0.1) }
      let outputs = try scripts.map { script in
        let result = try run("bash", ["-c", "cd \"$0\" && \"$1\" -c \"$2\"", folder.path, python, script])
        #expect(result.code == 0, "\(String(decoding: result.error, as: UTF8.self))")
        return String(decoding: result.output, as: UTF8.self)
      }
      #expect(
        outputs == [
          "bob Dun Dune\n", "(1, 'Dun', 'ana')\n(2, 'Emma', 'ana')\n(1, 'title', 'Dun', 1, 2)\n",
        ])
    }
  }

  @Test func theSessionsAboutCopiesPrintWhatThePageSays() throws {
    try withTemporaryFolder { folder in
      try makeCopiedBooks(at: folder.url.appending(path: "Books.journal")).close()
      try check("Documentation/Copies.md", in: folder)
    }
  }

  @Test(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
  func theSessionsAboutSharedJournalsPrintWhatThePageSays() throws {
    let address = try PostgresServer.shared.get().makeDatabase()
    try withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Books.journal"))
      func date(_ text: String) -> Date? { Timestamp(text)?.date }
      try journal.commit(by: "ana", note: "moving in", date: date("2026-08-01T10:00:00Z")) { draft in
        try draft.addItem(kind: "book", attributes: ["title": .string("Dun")])
      }
      try journal.commit(by: "bob", note: "spelling", date: date("2026-08-02T09:00:00Z")) { draft in
        try draft.updateItem(1, set: ["title": .string("Dune")])
      }
      try journal.close()
      try check(
        "Documentation/Shared.md", in: folder,
        standingFor: ("postgresql://app@db.example.org/books", address))
    }
  }

  private func text(of page: String) throws -> String {
    try String(contentsOf: root.appending(path: page), encoding: .utf8)
  }

  /// Runs each `$ journal …` of a page, in order, and compares what it prints with what the page says.
  /// - Parameter standingFor: a text on the page, and the text that replaces it here.
  private func check(
    _ page: String, in folder: TemporaryFolder, standingFor: (text: String, meaning: String)? = nil
  ) throws {
    let text = try text(of: page)
    var found = text
    let blocks = text.matches(of: /```\n(\$ (?:journal|rm) [^`]*)```\n/)
    for block in blocks {
      found = found.replacing(
        block.1, with: try session(String(block.1), in: folder, standingFor), maxReplacements: 1)
    }
    #expect(!blocks.isEmpty)
    if ProcessInfo.processInfo.environment["JOURNAL_WRITE_TRANSCRIPTS"] != nil {
      try found.write(to: root.appending(path: page), atomically: true, encoding: .utf8)
    }
    #expect(found.withoutTimes == text.withoutTimes)
  }

  private func session(
    _ text: String, in folder: TemporaryFolder, _ standingFor: (text: String, meaning: String)?
  ) throws -> String {
    let commands = text.split(separator: "\n").filter { $0.hasPrefix("$ ") }
    return try commands.map { command in
      var line = command.dropFirst(2).replacing(#/^journal /#, with: "\"$0\" ")
      if let standingFor { line = line.replacing(standingFor.text, with: "'\(standingFor.meaning)'") }
      let result = try run(
        "bash", ["-c", "cd \"$1\" && \(line) 2>&1", journalPath, folder.path], environment: ["COLUMNS": "100"]
      )
      // The path of the temporary folder is not part of the page.
      var output = String(decoding: result.output, as: UTF8.self).replacing(folder.path + "/", with: "")
      if let standingFor { output = output.replacing(standingFor.meaning, with: standingFor.text) }
      return command + "\n" + output
    }.joined(separator: "\n")
  }
}

extension String {
  /// The text without digests and ids, and without dates other than those that the test gives to its entries.
  fileprivate var withoutTimes: String {
    replacing(/20[0-9]{2}-[0-9]{2}-[0-9]{2}[ T][0-9:]{8}(\.[0-9]+Z)?/) { match in
      match.output.0.hasPrefix("2026-08-0") ? String(match.output.0) : "<now>"
    }.replacing(/[0-9a-f]{64}/, with: "<digest>")
      .replacing(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/.ignoresCase(), with: "<id>")
  }
}
