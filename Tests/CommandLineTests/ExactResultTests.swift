import CatalogModel
import Foundation
import TestSupport
import Testing

/// Results that hid a difference, an author or an error.
@Suite struct ExactResultTests {
  private func withJournal(_ body: (_ path: String, _ made: CatalogJournal) throws -> Void) throws {
    try withTemporaryFolder { folder in
      let path = folder.path("Books.journal")
      try body(path, try CatalogJournal.create(at: URL(filePath: path)))
    }
  }

  /// The entry that set "Evil" was passed over for one that set another value.
  @Test func metadataOfARestoreDoNotHideWhoSetAnotherValue() throws {
    try withJournal { path, made in
      try made.commit(by: "ana") {
        _ = try $0.addItem(kind: "book", attributes: ["title": "Dun", "stars": 4])
      }
      try made.commit(by: "eve", metadata: ["journal.restores": "1"]) {
        try $0.updateItem(1, set: ["title": "Evil", "stars": 5])
      }
      try made.commit(by: "ben", metadata: ["journal.restores": "1"]) {
        try $0.updateItem(1, set: ["stars": 4])
      }
      let blame = try #require(try made.blame(.item(1), findsOrigin: true))
      let authors = blame.map(\.author)
      // The kind, stars and title.
      #expect(authors == ["ana", "ana", "eve"])
      try made.close()
      let printed = try journal("blame", path, "item:1", "--origin").output
      #expect(printed.contains(/"Evil" +2 .* eve/), "\(printed)")
    }
  }

  /// Nothing was printed, or two values that looked the same.
  @Test func twoSpellingsOfANameOrATextArePrintedAsADifference() throws {
    try withJournal { path, made in
      try made.commit {
        _ = try $0.addItem(kind: "book", attributes: ["m": ["caf\u{E9}": 1], "title": "\u{E9}"])
      }
      try made.commit { try $0.updateItem(1, set: ["m": ["cafe\u{301}": 2], "title": "e\u{301}"]) }
      try made.close()
      for words in [["show", path, "2"], ["history", path, "item:1"], ["diff", path, "1", "2"]] {
        let output = String(decoding: try run(journalPath, words).output, as: UTF8.self)
        #expect(output.contains("    m.caf\u{E9}: 1 → (none)\n"), "\(output)")
        #expect(output.contains("    m.cafe\u{301}: (none) → 2\n"), "\(output)")
        let titles = /title: "." \(SHA-256 4a99557e…\) → "." \(SHA-256 [0-9a-f]{8}…\)\n/
        #expect(output.contains(titles), "\(output)")
      }
    }
  }

  /// They were printed as equal.
  @Test func dataOfOneSizeAndDatesOfOneSecondArePrintedAsDifferent() throws {
    try withJournal { path, made in
      let date = Date(timeIntervalSinceReferenceDate: 788_918_400)
      try made.commit {
        _ = try $0.addItem(kind: "book", attributes: ["b": .data(Data("abc".utf8)), "d": .date(date)])
      }
      try made.commit {
        try $0.updateItem(1, set: ["b": .data(Data("abd".utf8)), "d": .date(date.addingTimeInterval(0.25))])
      }
      try made.close()
      let output = try journal("diff", path, "1", "2").output
      #expect(output.contains("b: 3 bytes (SHA-256 ba7816bf…) → 3 bytes (SHA-256 a52d159f…)\n"), "\(output)")
      #expect(output.contains("d: 2026-01-01 00:00:00 → 2026-01-01 00:00:00.25\n"), "\(output)")
    }
  }

  /// It printed the entry's date in the local zone, and those of the values in UTC.
  @Test func allDatesArePrintedInTheZoneOfTheMachine() throws {
    try withJournal { path, made in
      let date = Date(timeIntervalSinceReferenceDate: 788_918_400)
      try made.commit(by: "ana", date: date) {
        _ = try $0.addItem(kind: "book", attributes: ["d": .date(date)])
      }
      try made.close()
      let zone = ["TZ": "America/New_York"]
      for words in [
        ["show", path, "item:1"], ["blame", path, "item:1"], ["show", path, "1"], ["stat", path],
      ] {
        let result = try journal(words + ["--local"], environment: zone)
        #expect(
          result.output.contains("2025-12-31") && !result.output.contains("2026-01-01"),
          "\(words): \(result.output)")
        #expect(!result.output.contains("UTC"), "\(words): \(result.output)")
      }
      let entry = try journal("show", path, "1", "--local", environment: zone).output
      #expect(entry.contains("Date:    2025-12-31T19:00:00.000000-05:00\n"), "\(entry)")
    }
  }

  /// In the hour that a clock repeats, two dates had the same text.
  @Test func datesOfARepeatedHourNameTheirZone() throws {
    try withJournal { path, made in
      // 2026-11-01 01:30 in New York, in summer time and in winter time, and an hour before and after.
      let dates = [-1.0, 0, 1, 2].map { Date(timeIntervalSince1970: 1_793_511_000 + 3_600 * $0) }
      for (number, date) in dates.enumerated() {
        try made.commit(by: "ana", note: "\(number)", date: date) {
          _ = try $0.addItem(kind: "book", attributes: ["when": .date(date)])
        }
      }
      try made.close()
      let zone = ["TZ": "America/New_York"]
      let texts = [
        "2026-11-01 00:30:00", "2026-11-01 01:30:00 -04:00", "2026-11-01 01:30:00 -05:00",
        "2026-11-01 02:30:00",
      ]
      let log = try journal("log", path, "--reverse", "--local", environment: zone).output
      for (line, (number, text)) in zip(log.split(separator: "\n").dropFirst(), texts.enumerated()) {
        #expect(line.contains("  \(text)  ana"), "\(log)")
        let item = try journal("show", path, "item:\(number + 1)@\(text)", "--local", environment: zone)
        #expect(item.code == 0 && item.output.contains("  when          \(text)\n"), "\(item)")
        #expect(
          try journal("show", path, "item:\(number + 2)@\(text)", "--local", environment: zone).code == 1)
      }
      #expect(log.split(separator: "\n").count == 5)
    }
  }

  /// `blame --full` printed the date of a value as JSON, and so in UTC.
  @Test func jsonHasTheSameDatesInEveryZone() throws {
    try withJournal { path, made in
      let date = Date(timeIntervalSinceReferenceDate: 788_918_400)
      try made.commit(by: "ana", date: date) {
        _ = try $0.addItem(kind: "book", attributes: ["d": .date(date), "m": ["when": .date(date)]])
      }
      _ = try made.tag("first", at: .head())
      try made.close()
      let zone = ["TZ": "America/New_York"]
      for words in [
        ["replay", path, "--json"], ["show", path, "item:1", "--json"], ["show", path, "1", "--json"],
        ["log", path, "--json", "--patch"], ["history", path, "item:1", "--json"],
        ["blame", path, "item:1", "--json"], ["diff", path, "0", "1", "--json"],
        ["bisect", path, "item:1", "--json"], ["tag", path, "--json"], ["stat", path, "--json"],
        ["find", path, "--json"], ["cat", path, "item:1.d"], ["cat", path, "item:1.m"],
      ] {
        let printed = try [[], ["--local"]].map { option in
          String(decoding: try run(journalPath, words + option, environment: zone).output, as: UTF8.self)
        }
        #expect(!printed[0].isEmpty && printed[0] == printed[1], "\(words): \(printed)")
      }
      let blame = try journal(["blame", path, "item:1", "--full", "--local"], environment: zone)
      #expect(blame.output.contains("\nd      2025-12-31 19:00:00  "), "\(blame.output)")
      let nested = #"{"when":{"$date":"2026-01-01T00:00:00.000000Z"}}"#
      #expect(blame.output.contains("\nm      \(nested)  "), "\(blame.output)")
    }
  }

  /// Other comparisons than `=`, and dates as they are printed, found nothing.
  @Test func conditionsCompareAndFindDatesAsTheyArePrinted() throws {
    try withJournal { path, made in
      let date = Date(timeIntervalSinceReferenceDate: 788_918_400)
      try made.commit {
        _ = try $0.addItem(kind: "book", attributes: ["title": "Dune", "stars": 4, "d": .date(date)])
        _ = try $0.addItem(kind: "book", attributes: ["title": "Emma", "stars": 2])
      }
      try made.close()
      for (condition, items) in [
        ("d=2026-01-01 00:00:00", ["item:1"]), ("d=2026-01-01T00:00:00Z", ["item:1"]),
        ("d>=2026-01-01 00:00:00", ["item:1"]), ("d<2026-01-01", []), ("stars>=3", ["item:1"]),
        ("stars<3", ["item:2"]), ("stars!=4", ["item:2"]), ("title^=Em", ["item:2"]),
        ("stars<=4", ["item:1", "item:2"]),
      ] as [(String, [String])] {
        let found = try journal("find", path, "--where", condition)
        let names = found.output.matches(of: /item:[0-9]/).map { String($0.output) }
        #expect(names == items, "\(condition): \(found)")
      }
      let first = try journal("bisect", path, "item:1", "--where", "stars>3")
      #expect(first.output.contains("revision 1"), "\(first)")
    }
  }

  /// They were texts, though --at and --since read them as dates, and nothing was found.
  @Test func conditionsReadDatesWithoutSecondsOrADay() throws {
    try withJournal { path, made in
      let date = Date(timeIntervalSinceReferenceDate: 788_918_400)
      try made.commit {
        _ = try $0.addItem(kind: "book", attributes: ["title": "Dune", "d": .date(date)])
        _ = try $0.addItem(kind: "book", attributes: ["title": "2026-01", "age": "5 minutes ago"])
      }
      try made.close()
      for (condition, isLocal, items) in [
        ("d>2025-12-31 23:59", false, ["item:1"]), ("d<2026-01-01 00:01", false, ["item:1"]),
        ("d=2026-01-01 00:00", false, ["item:1"]), ("d=2026-01-01T00:00", false, ["item:1"]),
        ("d=2026-01", false, ["item:1"]), ("d>=2026-01", false, ["item:1"]), ("d<2026-01", false, []),
        ("d > 2025-12", false, ["item:1"]), ("d=2025-12-31 19:00", true, ["item:1"]),
        ("d>=2026-01", true, []), ("title=2026-01", false, ["item:2"]),
        ("age=5 minutes ago", false, ["item:2"]),
      ] as [(String, Bool, [String])] {
        let words = ["find", path, "--where", condition] + (isLocal ? ["--local"] : [])
        let found = try journal(words, environment: ["TZ": "America/New_York"])
        let names = found.output.matches(of: /item:[0-9]/).map { String($0.output) }
        #expect(names == items, "\(condition): \(found.output)")
      }
    }
  }

  /// They were read in UTC and printed in the local zone, so what was printed was not found.
  @Test func conditionsReadDatesInTheZoneInWhichTheyArePrinted() throws {
    try withJournal { path, made in
      let winter = Date(timeIntervalSinceReferenceDate: 788_918_400)
      let summer = winter.addingTimeInterval(181 * 86_400)
      try made.commit {
        _ = try $0.addItem(
          kind: "book",
          attributes: ["title": "2026-01-01 00:00:00", "d": .date(winter), "s": .date(summer)])
      }
      try made.close()
      let zone = ["TZ": "America/New_York"]
      for (condition, isLocal, isFound) in [
        ("d=2025-12-31 19:00:00", true, true), ("s=2026-06-30 20:00:00", true, true),
        ("d=2026-01-01 00:00:00", true, false), ("d=2026-01-01 00:00:00", false, true),
        ("d=2026-01-01T00:00:00Z", true, true), ("d=2025-12-31 19:00:00-05:00", false, true),
        ("d!=2025-12-31 19:00:00", true, false), ("d>=2025-12-31 19:00:00", true, true),
        ("d>=2026-01-01", true, false), ("d>=2026-01-01", false, true), ("d<2026-01-01", true, true),
        ("title=2026-01-01 00:00:00", true, true),
      ] {
        for verb in ["find", "bisect"] {
          let words = [verb, path, "--where", condition] + (isLocal ? ["--local"] : [])
          let result = try journal(words, environment: zone)
          #expect(result.code == (isFound ? 0 : 1), "\(words)")
        }
      }
    }
  }

  /// They said that there was nothing to do, or that a content was erased.
  @Test func aRestoreOfWhatDoesNotExistSaysSo() throws {
    try withJournal { path, made in
      try made.commit {
        _ = try $0.addCategory(name: "Novels")
        _ = try $0.addItem(kind: "book", attributes: ["title": "Dune"])
        _ = try $0.addItem(kind: "book", attributes: ["title": "Emma"])
      }
      try made.commit {
        try $0.deleteItem(2)
        try $0.deleteCategory(1)
      }
      try made.close()
      for (words, code, reason) in [
        (["item:2", "--fields", "title"], 1, "item:2 was deleted by revision 2; restore it as a whole"),
        (["category:1", "--fields", "@name"], 1, "category:1 was deleted by revision 2; restore it"),
        (["item:1", "--fields", "nope"], 1, "has the attribute \"nope\", now or at that point"),
        (["--all", "--fields", "nope"], 1, "has the attribute \"nope\", now or at that point"),
        (["item:1", "--fields", ""], 2, "--fields names no attribute"),
        (["--kind", "nope"], 1, "no item has the kind \"nope\""),
      ] as [([String], Int32, String)] {
        let result = try journal(["restore", path, "--at", "1"] + words)
        #expect(result.code == code && result.error.contains(reason), "\(words): \(result.error)")
      }
      try check("restore", path, "--kind", "book", "--fields", "title", "--at", "1")
    }
  }

  /// `@name` and `@color` restored the kind and the category of items.
  @Test func aRestoreOfAFieldChangesNoFieldOfOtherKinds() throws {
    try withJournal { path, made in
      try made.commit { draft in
        let shelf = try draft.addCategory(name: "Novels")
        try draft.addItem(kind: "book", category: shelf, attributes: ["title": "Dune"])
      }
      try made.commit { draft in
        try draft.setName(ofCategory: 1, to: "Prose")
        try draft.setKind(ofItem: 1, to: "novel")
        try draft.setCategory(ofItem: 1, to: nil)
      }
      try made.close()
      for field in ["@name", "@color"] {
        try check(
          "restore", path, "item:1", "--at", "1", "--fields", field, code: 1, says: "has the field \(field)")
      }
      let restored = try check(
        "restore", path, "--category", "1", "--at", "1", "--fields", "@name", prints: "name: Prose → Novels")
      #expect(!restored.output.contains("~ item:1"), "\(restored)")
      let both = try journal("restore", path, "item:1", "--at", "1", "--fields", "@kind,@category")
      #expect(both.output.contains("kind: novel → book"), "\(both)")
      #expect(both.output.contains("category: (none) → category:1"), "\(both)")
    }
  }
}
