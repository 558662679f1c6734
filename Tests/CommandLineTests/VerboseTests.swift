import CatalogModel
import Foundation
import TestSupport
import Testing

/// What `--verbose` prints on standard error. Some verbs took it and printed nothing.
@Suite struct VerboseTests {
  private let tornTail =
    "journal: warning: the log has a torn tail, as after a power loss; it was never acknowledged and is ignored\n"

  @Test(arguments: [
    "log", "replay", "verify", "doctor", "tag first", "gc --dry-run", "gc", "prune --before HEAD~2 --dry-run",
    "prune --before HEAD~2", "erase item:3 --reason law",
  ])
  func aVerbReportsHowTheJournalWasRecovered(line: String) throws {
    try FormatFixture.withCopy(of: FormatFixture.folder.appending(path: "TornEnd.journal")) { url in
      let words = line.split(separator: " ").map(String.init)
      let arguments = [words[0], url.path] + words.dropFirst()
      let copy = url.deletingLastPathComponent().appending(path: "Quiet.journal")
      try FileManager.default.copyItem(at: url, to: copy)
      let verbose = try journal(arguments + ["--verbose"])
      #expect(verbose.code == 0 && verbose.error.hasPrefix(tornTail), "\(verbose.error)")
      #expect(
        verbose.error.contains("journal: info: the journal was opened at revision 13; "), "\(verbose.error)")
      let quiet = try journal([words[0], copy.path] + words.dropFirst())
      #expect(!quiet.error.contains("torn tail"))
    }
  }

  @Test func verbsThatMakeJournalsReportThem() throws {
    try withFixedJournal { path, folder in
      let file = folder.path("Finds.jbak")
      let backup = try journal("backup", path, file, "--file", "--verbose")
      #expect(backup.error == "journal: info: the journal was opened at revision 3; 7 events were replayed\n")
      let restored = try journal("init", folder.path("Restored.journal"), "--from-backup", file, "--verbose")
      #expect(
        restored.error
          == "journal: info: the journal was created from the backup and checked up to revision 3\n")
      let input = try Data(contentsOf: URL(filePath: file))
      let piped = try run(
        journalPath, ["init", folder.path("Piped.journal"), "--from-backup", "-", "--verbose"], input: input)
      #expect(String(decoding: piped.error, as: UTF8.self) == restored.error)
      let salvaged = try journal("salvage", path, "--to", folder.path("Saved.journal"), "--verbose")
      #expect(
        salvaged.error
          == "journal: info: the journal was created from the entries that can be proven, up to revision 3\n")
      for words in [
        ["init", folder.path("Quiet.journal"), "--from-backup", file],
        ["salvage", path, "--to", folder.path("Quiet2")],
      ] {
        let quiet = try journal(words)
        #expect(quiet.code == 0 && quiet.error.isEmpty)
      }
    }
  }
}
