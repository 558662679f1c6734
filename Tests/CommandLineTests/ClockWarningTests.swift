import CatalogModel
import Foundation
import InMemoryJournals
import TestSupport
import Testing

/// What the command line says about a clock that is far ahead.
@Suite struct ClockWarningTests {
  @Test func aClockFarAheadIsReportedOnceOnStandardError() throws {
    for options in [[], ["--verbose"]] {
      try withTemporaryFolder { folder in
        let path = folder.path("Old.journal")
        let old = try CatalogJournal.create(at: URL(fileURLWithPath: path))
        let date = try #require(Timestamp("2001-01-01T00:00:00Z")?.date)
        try old.commit(by: "ana", date: date) { try $0.addItem(kind: "find") }
        try old.close()
        for name in ["FORMAT", "HEAD"] {
          try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: "\(path)/\(name)")
        }
        // The clock is years ahead of the newest entry, but not of the entry that the first verb makes.
        for (name, count) in [("first", 1), ("second", 0)] {
          let result = try journal(["tag", path, name] + options)
          let (output, error) = (result.output, result.error)
          #expect(result.code == 0 && !output.contains("ahead"), "\(output)")
          #expect(error.components(separatedBy: "years ahead").count - 1 == count, "\(error)")
          if options.isEmpty { #expect(error.split(separator: "\n").count == count, "\(error)") }
        }
      }
    }
  }

  /// The next commit warned that its date is years ahead.
  @Test func anImportOfOldDataSaysNothingOfTheClock() throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Old.journal")
      let old = try CatalogJournal.create(at: URL(fileURLWithPath: path))
      let date = try #require(Timestamp("2001-01-01T00:00:00Z")?.date)
      try old.commit(by: "ana", date: date) { try $0.addItem(kind: "find") }
      try old.close()
      let result = try journal(["tag", path, "imported"])
      #expect(result.code == 0 && result.error.isEmpty, "\(result.error)")
      // In the process that imports, too.
      let memory = try CatalogJournal.inMemory()
      try memory.commit(date: date) { try $0.addItem(kind: "find") }
      #expect(try memory.commit { try $0.addItem(kind: "find") }.clockWarning == nil)
      try memory.close()
    }
  }

  @Test func helpSaysWhichDateSelectsTheEntries() throws {
    for verb in ["replay", "restore", "find", "export", "snapshot"] {
      let help = try journal("help", verb).output.replacing(/\s+/, with: " ")
      #expect(help.contains("the dates that order entries"), "\(verb)")
    }
  }
}
