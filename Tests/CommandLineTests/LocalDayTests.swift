import CatalogModel
import Foundation
import TestSupport
import Testing

/// Days, times and windows of dates on the command line, where clocks change and at midnight.
@Suite struct LocalDayTests {
  /// Calls `body` with a journal whose entry n adds item n, at the date n.
  private func withEntries(_ dates: String..., body: (_ path: String) throws -> Void) throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Finds.journal")
      let made = try CatalogJournal.create(at: URL(filePath: path))
      for (number, date) in dates.enumerated() {
        try made.commit(by: "ana", note: "find \(number + 1)", date: try #require(Timestamp(date)).date) {
          _ = try $0.addItem(kind: "find", attributes: ["number": .integer(Int64(number + 1))])
        }
      }
      try made.close()
      try body(path)
    }
  }

  /// The notes of the entries that a log shows, the oldest first.
  private func log(_ path: String, _ options: String..., zone: String) throws -> [String] {
    let result = try run(
      journalPath, ["log", path, "--reverse", "--local"] + options, environment: ["TZ": zone])
    #expect(result.code == 0, "\(String(decoding: result.error, as: UTF8.self))")
    return String(decoding: result.output, as: UTF8.self).matches(of: /find [0-9]+/).map { String($0.output) }
  }

  /// Clocks skip midnight, so the day began at 23:00 of the day before.
  @Test func aDayWhoseMidnightIsSkippedBeginsAfterTheGap() throws {
    try withEntries("2026-09-06T03:30:00Z", "2026-09-06T04:30:00Z") { path throws in
      let zone = "America/Santiago"
      #expect(try log(path, "--since", "2026-09-06", zone: zone) == ["find 2"])
      #expect(try log(path, "--until", "2026-09-06", zone: zone) == ["find 1"])
      #expect(try log(path, "--since", "2026-09-06 00:30", zone: zone) == ["find 2"])
      let local = ["TZ": zone]
      for words in [
        ["replay", path, "--at", "2026-09-06"], ["find", path, "--at", "2026-09-06"],
        ["find", path, "--at", "2026-09-06 00:00"],
      ] {
        let found = try journal(words + ["--local"], environment: local)
        #expect(
          found.output.contains("item:1") && !found.output.contains("item:2"), "\(words): \(found.output)")
      }
      let restored = try journal(
        "restore", path, "--all", "--at", "2026-09-06", "--local", "--dry-run", environment: local)
      #expect(restored.output.contains("- item:2") && !restored.output.contains("item:1"), "\(restored)")
      let pruned = try journal(
        "prune", path, "--before", "2026-09-06", "--local", "--dry-run", environment: local)
      #expect(pruned.output.hasPrefix("would remove entry 1 of "), "\(pruned)")
      let tag = try journal("tag", path, "day", "2026-09-06", "--local", environment: local)
      #expect(tag.output == "tagged revision 1 as day\n", "\(tag)")
    }
  }

  /// The clock shows the first hour of the day twice.
  @Test func aDayBeginsWithTheFirstTimeThatItsClockShowsIt() throws {
    try withEntries("2021-10-28T20:30:00Z", "2021-10-28T21:30:00Z", "2021-10-28T22:30:00Z") { path throws in
      #expect(try log(path, "--since", "2021-10-29", zone: "Asia/Amman") == ["find 2", "find 3"])
      #expect(try log(path, "--since", "2021-10-29 00:00", zone: "Asia/Amman") == ["find 3"])
    }
  }

  @Test func aTimeThatClocksShowTwiceIsTheLaterOne() throws {
    try withEntries("2026-11-01T05:45:00Z", "2026-11-01T06:15:00Z", "2026-11-01T06:30:00Z") { path throws in
      let zone = "America/New_York"
      #expect(try log(path, "--until", "2026-11-01 01:30", zone: zone) == ["find 1", "find 2"])
      #expect(try log(path, "--since", "2026-11-01 01:30", zone: zone) == ["find 3"])
      #expect(try log(path, "--until", "2026-11-01 01:30 -04:00", zone: zone) == [])
    }
  }

  @Test func aDayThatDidNotExistIsAnErrorOfEachVerb() throws {
    try withEntries("2011-12-29T12:00:00Z", "2011-12-31T12:00:00Z") { path throws in
      let zone = ["TZ": "Pacific/Apia"]
      for words in [
        ["log", path, "--since", "2011-12-30"], ["log", path, "--until", "2011-12-30 10:00"],
        ["restore", path, "item:1", "--at", "2011-12-30"], ["show", path, "item:1@2011-12-30"],
        ["diff", path, "2011-12-30"], ["bisect", path, "item:2", "--from", "2011-12-30"],
        ["find", path, "--where", "d>=2011-12-30"], ["prune", path, "--before", "2011-12-30"],
        ["blame", path, "item:1@2011-12-30"], ["revert", path, "--since", "2011-12-30"],
      ] {
        let result = try journal(words + ["--local"], environment: zone)
        #expect(result.code == 2, "\(words): \(result.error)")
        #expect(
          result.error.contains("the day 2011-12-30 did not exist in the time zone Pacific/Apia"),
          "\(result.error)")
        let inUTC = try journal(words, environment: zone)
        #expect(inUTC.code < 2, "\(words): \(inUTC.error)")
      }
    }
  }

  /// An entry at midnight counted to the day before.
  @Test func anEntryAtMidnightIsOfTheDayThatBegins() throws {
    try withEntries("2026-08-01T12:00:00Z", "2026-08-02T00:00:00Z", "2026-08-03T00:00:00Z") { path throws in
      #expect(try log(path, "--since", "2026-08-01", "--until", "2026-08-02", zone: "UTC") == ["find 1"])
      #expect(try log(path, "--since", "2026-08-02", "--until", "2026-08-03", zone: "UTC") == ["find 2"])
      #expect(try log(path, "item:2", "--until", "2026-08-02", zone: "UTC") == [])
      // A revision is the entry itself.
      #expect(try log(path, "--since", "1", "--until", "2", zone: "UTC") == ["find 2"])
      #expect(try log(path, "--since", "2026-08-02", "--until", "HEAD", zone: "UTC") == ["find 2", "find 3"])
      // A state has the entry of its moment.
      #expect(try journal("show", path, "item:2@2026-08-02").code == 0)
      let pruned = try journal("prune", path, "--before", "2026-08-02", "--dry-run")
      #expect(pruned.output.hasPrefix("would remove entry 1 of "), "\(pruned)")
      let reverted = try journal(
        "revert", path, "--author", "ana", "--since", "2026-08-02", "--until", "2026-08-03", "--dry-run")
      #expect(reverted.output.contains("item:2") && !reverted.output.contains("item:3"), "\(reverted)")
    }
  }

  /// The log only said that no entry matches, though a day of the clock has entries.
  @Test func aWindowWithoutEntriesSaysWhichTheClockSetThere() throws {
    try withEntries(
      "2026-08-05T00:00:00Z", "2026-08-02T10:00:00Z", "2026-08-02T11:00:00Z", "2026-08-06T00:00:00Z"
    ) { path throws in
      let words = ["--since", "2026-08-02", "--until", "2026-08-03"]
      let result = try run(journalPath, ["log", path] + words)
      let error = String(decoding: result.error, as: UTF8.self)
      #expect(result.code == 0 && result.output.isEmpty)
      #expect(
        error == """
          no entry matches; by their clocks, 2 entries are of that time, but the first of them, entry 2, is ordered as \
          of 2026-08-05 00:00:00 UTC, the date of an earlier entry

          """)
      for (options, isSaid) in [
        (["item:3"], true), (["item:1"], false), (["--note", "find 3"], true), (["--author", "bob"], false),
      ] {
        let result = try journal(["log", path] + words + options)
        #expect(
          result.error.hasPrefix("no entry matches")
            && result.error.contains("by its clock, entry 3 is of") == isSaid,
          "\(result.error)")
      }
      for option in [[], ["--reverse"], ["--kind", "find"], ["--kind", "find", "--reverse"]] {
        let result = try journal(["log", path] + words + option)
        #expect(result.error == error, "\(option)")
      }
      let reversed = try journal("log", path, "--since", "HEAD", "--until", "2026-08-01")
      #expect(reversed.code == 0 && reversed.error == "no entry matches\n", "\(reversed)")
      let other = try journal("log", path, "--since", "2026-08-03", "--until", "2026-08-04").error
      #expect(other == "no entry matches\n", "\(other)")
    }
  }

  @Test func helpSaysWhatDatesMean() throws {
    let help = try journal("help").output.replacing(/\s+/, with: " ")
    for sentence in [
      "a time that clocks show twice is the later one", "before the other", "a month ago is the last day",
    ] { #expect(help.contains(sentence), "\(sentence)") }
    for verb in ["log", "revert"] {
      #expect(try journal("help", verb).output.contains("only entries since this date, or after"), "\(verb)")
    }
  }
}
