import CatalogModel
import Foundation

/// An item with a text of 20 words, whose frequencies fall as those of a language do.
private struct Page: CatalogItem {
  static let kind = "page"
  static let indexes = [Index(\Page.text, .text)]
  static let wordCount = 20

  var text: String

  init(_ random: inout SeededGenerator) {
    text = (0..<Self.wordCount).map { _ in Self.word(&random) }.joined(separator: " ")
  }

  static func word(_ random: inout SeededGenerator, from rare: Double = 0) -> String {
    var rank = Int(pow(Double.random(in: rare..<1, using: &random), 2.5) * 50_000)
    var bytes: [UInt8] = []
    // The digits are mixed, so that a prefix has frequent and rare words.
    rank = rank &* 7919 % 50_021
    for _ in 0..<4 {
      bytes.append(UInt8(ascii: "a") + UInt8(rank % 15))
      rank /= 15
    }
    return String(decoding: bytes, as: UTF8.self) + "en"
  }
}

/// Measures searches for words over many items, against FTS5, and in past states and all versions against the newest
/// state. The 20 best matches are read.
func search(_ bench: Workbench) async throws {
  let size = bench.largeSize
  bench.show("writing a journal of \(size) texts")
  let journal = try CatalogJournal.create(at: bench.path("pages.journal"))
  _ = try journal.state.items(Page.self).matching(\.text, "none").count
  let database = try SQLitePeer(at: bench.path("pages.sqlite"))
  try database.execute("PRAGMA cache_size=-2000000")
  try database.execute(
    "CREATE VIRTUAL TABLE pages USING fts5(text, tokenize='unicode61 remove_diacritics 2'); BEGIN")
  let insertion = try database.prepare("INSERT INTO pages(rowid, text) VALUES(?, ?)")
  var random = SeededGenerator(seed: bench.seed)
  var phrases: [String] = []
  try journal.fill(size / 1_000) { draft, _ in
    for number in 0..<1_000 {
      let page = Page(&random)
      let id = try draft.insert(page)
      try database.run(insertion, .integer(id.number), .text(page.text))
      if number == 0 { phrases.append(page.text.split(separator: " ").prefix(2).joined(separator: " ")) }
    }
  }
  try database.execute("COMMIT; INSERT INTO pages(pages) VALUES('optimize'); PRAGMA wal_checkpoint(TRUNCATE)")
  let selection = try database.prepare(
    "SELECT rowid, text FROM pages WHERE pages MATCH ?1 ORDER BY rank LIMIT 20")
  journal.waitForLayers()

  func ours(_ state: Catalog, _ pattern: String) throws -> Int {
    var rows = 0
    for page in try state.items(Page.self).matching(\.text, pattern).prefix(20) where page["text"] != nil {
      rows += 1
    }
    return rows
  }
  func race(_ work: String, _ patterns: [String]) async throws {
    var race = Race(bench, work, operations: patterns.count, rounds: 5)
    var found = 0
    race.add("Journal") {
      found = 0
      return try timed { for pattern in patterns { found += try ours(journal.state, pattern) } }
    }
    race.add("FTS5, prepared") {
      var rows = 0
      let seconds = try timed {
        for pattern in patterns { rows += try database.run(selection, .text(pattern)) }
      }
      guard rows == found else { throw PeerFailure("FTS5 found \(rows) rows, and the journal \(found)") }
      return seconds
    }
    try await race.report(.rate("searches"), .against(1, atLeast: 0.5))
  }
  let words = (0..<200).map { _ in Page.word(&random, from: 0.3) }
  let prefixes = (0..<40).map { _ in
    (0..<2).map { _ in "\(Page.word(&random, from: 0.3).prefix(3))*" }.joined(separator: " ")
  }
  try await race("one word among \(size) texts", words)
  try await race("two prefixes among \(size) texts", prefixes)
  phrases = phrases.prefix(100).map { "\"\($0)\"" }
  try await race("a phrase among \(size) texts", phrases)

  let mixed = Array(words.prefix(10) + prefixes.prefix(5) + phrases.prefix(5))
  var past = Race(
    bench, "words, prefixes, phrases in \(size) texts, as of a random revision", operations: 20, rounds: 5)
  var ever = Race(bench, "words, prefixes, phrases in all versions of them", operations: 20, rounds: 5)
  past.add("as of a revision") {
    let revisions = (0..<20).map { _ in Int.random(in: 1...journal.head.revision, using: &random) }
    return try timed {
      for (revision, pattern) in zip(revisions, mixed) {
        _ = try ours(try journal.state(asOf: .revision(revision)), pattern)
      }
    }
  }
  ever.add("ever") {
    try timed { for pattern in mixed { _ = try journal.everMatching(\Page.text, pattern, limit: 20) } }
  }
  let now = { try timed { for pattern in mixed { _ = try ours(journal.state, pattern) } } }
  past.add("now", now)
  ever.add("now", now)
  try await past.report(.duration, .against(1, atMost: 3))
  try await ever.report(.duration, .against(1, atMost: 4))
}
