import CatalogModel
import Foundation
import TestSupport
import Testing

/// Compares searches for words with FTS5 of SQLite, through the module `sqlite3` of Python.
@Suite(.disabled(if: TestLength.isUnderSanitizer)) struct FTS5Tests {
  private static let isInstalled: Bool = {
    let script = "import sqlite3; sqlite3.connect(':memory:').execute('create virtual table t using fts5(x)')"
    return (try? Programs.python.map { try Programs.run($0, ["-c", script]).succeeded } ?? false) ?? false
  }()

  private struct Search: Codable {
    struct Phrase: Codable {
      let text: String
      let isPrefix: Bool
    }

    let phrases: [Phrase]
    let matchesAny: Bool

    /// The pattern, for ours.
    var pattern: String {
      phrases.map { "\"\($0.text)\($0.isPrefix ? "*" : "")\"" }.joined(separator: " ")
    }
  }

  /// What FTS5 finds.
  private struct Answer: Codable {
    /// The matches in the order of FTS5.
    let ranked: [Int]
    /// The matches in the order of BM25 with the average length of the matches, computed from the words of FTS5.
    let expected: [Int]
    /// How often the first phrase is in each of these.
    let counts: [Int]
  }

  @Test(.enabled(if: isInstalled, "there is no Python with FTS5"))
  func theSameTextsAreFoundInTheSameOrder() throws {
    var random = SeededGenerator()
    var texts = (0..<3_000).map { _ in Self.text(&random) }
    // Documentation/Search.md names these differences.
    texts += try pages().flatMap { $0.components(separatedBy: "\n\n") }.filter { text in
      !text.unicodeScalars.contains {
        "ßı".unicodeScalars.contains($0) || (0x3000...0x9FFF).contains($0.value)
      }
    }
    var history = CatalogHistory()
    let ids = try history.commit { draft in try texts.map { try draft.insert(Memo(title: $0)) } }
    let searches = (0..<400).map { _ in Self.search(texts.randomElement(using: &random)!, texts, &random) }
    let answers = try fts5(texts, searches)
    try #require(answers.count == searches.count)
    try history.state.buildIndexes(of: Memo.self)
    let notes = history.state.items(Memo.self)
    var longCount = 0
    for (search, answer) in zip(searches, answers) {
      let found = try notes.matching(\.title, search.pattern, anyWord: search.matchesAny).ids
      let places = found.map { $0.number - ids[0].number }
      #expect(places.sorted() == answer.ranked.sorted(), "\(search.pattern)")
      #expect(places == answer.expected, "\(search.pattern)")
      if answer.ranked.count > 3 { longCount += 1 }
      // With one phrase, the average length changes no order among the texts that have the phrase equally often.
      guard search.phrases.count == 1 else { continue }
      let counts = Dictionary(uniqueKeysWithValues: zip(answer.expected, answer.counts))
      for count in Set(answer.counts) {
        #expect(
          places.filter { counts[$0] == count } == answer.ranked.filter { counts[$0] == count },
          "\(search.pattern)")
      }
    }
    #expect(longCount > 100)
  }

  // MARK: Texts

  private static let syllables = [
    "to", "ma", "so", "up", "é", "Ü", "ne", "st", "ЖИ", "до", "ΛΟ", "γή", "x", "9",
  ]

  private static func text(_ random: inout SeededGenerator) -> String {
    (0..<Int.random(in: 1...20, using: &random)).map { _ in
      let word = (0..<Int.random(in: 1...2, using: &random)).map { _ in
        syllables[min(Int.random(in: 0..<14, using: &random), Int.random(in: 0..<14, using: &random))]
      }.joined()
      return Int.random(in: 0..<4, using: &random) == 0 ? word.uppercased() : word
    }.joined(separator: Bool.random(using: &random) ? " " : ", ")
  }

  private func pages() throws -> [String] {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Documentation")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    return try names.filter { $0.hasSuffix(".md") }.map {
      try String(contentsOf: folder.appending(path: $0), encoding: .utf8)
    }
  }

  private static func search(
    _ text: String, _ texts: [String], _ random: inout SeededGenerator
  ) -> Search {
    var phrases: [Search.Phrase] = []
    var text = text
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let words = text.split(whereSeparator: \.isWhitespace).map { $0.filter { $0 != "\"" && $0 != "*" } }
      let start = Int.random(in: 0...max(words.count - 1, 0), using: &random)
      var phrase = words[min(start, words.count)...].prefix(Int.random(in: 1...2, using: &random))
        .joined(separator: " ")
      let isPrefix = Int.random(in: 0..<3, using: &random) == 0
      if isPrefix { phrase = String(phrase.prefix(Int.random(in: 1...6, using: &random))) }
      // A phrase without words means nothing here, and nothing at all there.
      if phrase.contains(where: { $0.isLetter || $0.isNumber }) {
        phrases.append(Search.Phrase(text: phrase, isPrefix: isPrefix))
      }
      if Bool.random(using: &random), let other = texts.randomElement(using: &random) { text = other }
    }
    if phrases.isEmpty { phrases = [Search.Phrase(text: "soup", isPrefix: false)] }
    return Search(phrases: phrases, matchesAny: Bool.random(using: &random))
  }

  // MARK: FTS5

  private func fts5(_ texts: [String], _ searches: [Search]) throws -> [Answer] {
    try withTemporaryFolder { folder in
      let input = folder.url.appending(path: "input.json")
      struct Input: Codable {
        let texts: [String]
        let searches: [Search]
      }
      try JSONEncoder().encode(Input(texts: texts, searches: searches)).write(to: input)
      let python = try #require(Programs.python)
      let (output, succeeded) = try Programs.run(python, ["-c", Self.script, input.path])
      #expect(succeeded)
      return try JSONDecoder().decode([Answer].self, from: output)
    }
  }

  private static let script = """
    import json, math, sqlite3, sys
    given = json.load(open(sys.argv[1]))
    db = sqlite3.connect(":memory:")
    tokenizer = "tokenize='unicode61 remove_diacritics 2'"
    db.execute("create virtual table t using fts5(x, " + tokenizer + ")")
    db.executemany("insert into t(rowid, x) values(?, ?)", enumerate(given["texts"]))
    db.execute("create virtual table v using fts5vocab(t, instance)")
    words = [[] for _ in given["texts"]]
    for term, doc, offset in db.execute("select term, doc, offset from v order by doc, offset"):
        words[doc].append(term)
    # Splits a phrase as FTS5 does.
    db.execute("create virtual table p using fts5(x, " + tokenizer + ")")
    db.execute("create virtual table pv using fts5vocab(p, instance)")
    def parts(text):
        db.execute("delete from p")
        db.execute("insert into p(rowid, x) values(1, ?)", (text,))
        return [term for term, in db.execute("select term from pv order by offset")]
    def count(text, phrase, is_prefix):
        found = 0
        for start in range(len(text) - len(phrase) + 1):
            part = text[start:start + len(phrase)]
            if part[:-1] == phrase[:-1] and (
                    part[-1].startswith(phrase[-1]) if is_prefix else part[-1] == phrase[-1]):
                found += 1
        return found
    answers = []
    for search in given["searches"]:
        phrases = [(parts(phrase["text"]), phrase["isPrefix"]) for phrase in search["phrases"]]
        query = (" OR " if search["matchesAny"] else " AND ").join(
            '"' + phrase["text"] + '"' + ("*" if phrase["isPrefix"] else "") for phrase in search["phrases"])
        ranked = [row for row, in db.execute("select rowid from t where t match ? order by rank, rowid", (query,))]
        counts = [[count(text, *phrase) for text in words] for phrase in phrases]
        lengths = [len(words[row]) for row in ranked]
        average = max(sum(lengths) / max(len(ranked), 1), 1)
        weights = []
        for found in counts:
            rows = sum(1 for number in found if number)
            weights.append(max(math.log((len(words) - rows + 0.5) / (rows + 0.5)), 1e-6))
        def score(row):
            sum = 0.0
            length = 0.25 + 0.75 * float(len(words[row])) / average
            for found, weight in zip(counts, weights):
                sum += weight * found[row] * 2.2 / (found[row] + 1.2 * length)
            return sum
        expected = sorted(ranked, key=lambda row: (-score(row), row))
        answers.append({"ranked": ranked, "expected": expected, "counts": [counts[0][row] for row in expected]})
    json.dump(answers, sys.stdout)
    """
}
