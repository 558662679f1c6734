import CBOR
import Foundation
import InMemoryJournals
import JournalMaintenance
import TestSupport
import Testing

@testable import CatalogModel
@testable import Journaling

/// Searches for words, compared with a naive search of the texts.
@Suite(.disabled(if: TestLength.isUnderSanitizer)) struct WordSearchTests {
  @Test func wordsPrefixesAndPhrasesAreFoundTheBestOnesFirst() throws {
    var history = CatalogHistory()
    let ids = try history.commit { draft in
      try [
        Memo(title: "Soup of the day", lines: ["Tomato soup", "with basil"]),
        Memo(title: "Äpfel", lines: ["SOUP soup Süppchen soup"]), Memo(title: "A long list of other dishes"),
        Memo(title: "東京タワー"),
      ].map { try draft.insert($0) }
    }
    let notes = history.state.items(Memo.self)
    #expect(try notes.matching(\.title, "soup").ids == [ids[0]])
    #expect(try notes.matching(\.title, "APFEL").ids == [ids[1]])
    #expect(try notes.matching(\.lines, "soup").ids == [ids[1], ids[0]])
    #expect(try notes.matching(\.lines, "sup*").ids == [ids[1]])
    #expect(try notes.matching(\.title, "\"of the\"").ids == [ids[0]])
    #expect(try notes.matching(\.title, "\"of the d*\"").ids == [ids[0]])
    #expect(try notes.matching(\.title, "\"of day\"").isEmpty)
    #expect(try notes.matching(\.title, "of dishes").ids == [ids[2]])
    #expect(try notes.matching(\.title, "day dishes").isEmpty)
    #expect(try notes.matching(\.title, "day dishes", anyWord: true).ids == [ids[0], ids[2]])
    // A phrase is in one text, and words may be in several.
    #expect(try notes.matching(\.lines, "\"soup with\"").isEmpty)
    #expect(try notes.matching(\.lines, "basil soup").ids == [ids[0]])
    #expect(try notes.matching([\.title, \.lines], "day basil").ids == [ids[0]])
    #expect(try notes.matching([\.title, \.lines], "\"day tomato\"").isEmpty)
    for text in ["京", "京タ", "東京", "ﾀﾜｰ", "東京タワー"] {
      #expect(try notes.matching(\.title, text).ids == [ids[3]], "\(text)")
    }
    for text in ["東タ", "夕", "タ゚", "ﾀﾞ"] { #expect(try notes.matching(\.title, text).isEmpty, "\(text)") }
    #expect(try notes.matching(\.title, " ! \"\" ").count == 4)
    // Other conditions and orders.
    #expect(try notes.matching(\.lines, "soup").sorted(by: \.title).ids == [ids[0], ids[1]])
    #expect(try notes.sorted(by: \.title).matching(\.lines, "soup").ids == [ids[0], ids[1]])
    #expect(try notes.filter(.prefix(\.title, "S")).matching(\.lines, "soup").ids == [ids[0]])
    #expect(try notes.matching(\.lines, "soup").filter(.prefix(\.title, "S")).ids == [ids[0]])
    #expect(try notes.matching(\.lines, "soup").prefix(1).ids == [ids[1]])
    #expect(try notes.prefix(1).matching(\.lines, "soup").ids == [ids[0]])
    #expect(try notes.matching(\.lines, "soup").matching(\.title, "day").ids == [ids[0]])
    // A phrase is looked for in the text of each item that has its words, which is read once.
    let phrases = try notes.matching(\.title, "\"of the\" \"the day\"")
    #expect(phrases.ids == [ids[0]] && phrases.explain().recordCount == 1)
  }

  @Test func aSearchWithoutAPropertyIsWrongUse() throws {
    let journal = try CatalogJournal.inMemory()
    let none: [any PartialKeyPath<Memo> & Sendable] = []
    let errors = [
      #expect(throws: JournalError.self) { try journal.state.items(Memo.self).matching(none, "soup") },
      #expect(throws: JournalError.self) { try journal.everMatching(none, "soup") },
    ]
    for error in errors { #expect(error?.code == .wrongUse && error?.message == "a search needs a property") }
    try journal.close()
  }

  @Test func randomSearchesFindInAllStatesWhatANaiveSearchFinds() throws {
    try withTemporaryFolder { folder in
      var notes = try RandomNotes(in: folder.url)
      for round in 0..<12 {
        try notes.grow(20)
        if round % 3 == 0 { notes.journal.waitForLayers() }
        if round % 4 == 3 { try notes.reopen() }
        if round == 6 { try notes.restore() }
        if round == 7 { try notes.prune() }
        if round == 9 { try notes.erase() }
        for state in try [notes.journal.state, notes.past()] { try notes.compare(state) }
        if round % 3 == 2 {
          try notes.compareEver()
          try notes.grow(2)
          try notes.compareEver()
        }
        _ = try notes.journal.commit { draft in
          for _ in 0..<5 { try notes.change(&draft) }
          try notes.compare(draft.state)
        }
      }
      notes.journal.waitForLayers()
      #expect(try notes.journal.verify(.deep).problems.map(\.description) == [])
      try notes.journal.close()
    }
  }

  @Test func aLargeCatalogIsSearchedInItsLayers() throws {
    try withTemporaryFolder { folder in
      var notes = try RandomNotes(in: folder.url)
      // So many that no query waits for an index in memory.
      try notes.journal.commit { draft in
        for _ in 0..<4_500 { try draft.insert(notes.note()) }
      }
      for _ in 0..<3 {
        try notes.grow(60)
        notes.journal.waitForLayers()
        try notes.reopen()
        try notes.grow(10)
        let state = notes.journal.state
        let definition = IndexDefinition(
          IndexScope(itemsOfKind: Memo.kind), Memo.indexedPaths.words[0], .words)
        #expect(state.itemTable.base?.words(definition) != nil)
        for state in try [state, notes.past()] { try notes.compare(state) }
      }
      #expect(try notes.journal.verify(.deep).problems.map(\.description) == [])
      try notes.journal.close()
    }
  }

  @Test func whatAnItemEverSaidIsFoundWithItsFirstAndLastEntry() throws {
    try withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Notes.journal"))
      let id = try journal.commit(by: "ana") { try $0.insert(Memo(title: "Tomato soup")) }.value
      let other = try journal.commit(by: "eve") { try $0.insert(Memo(title: "A stew")) }.value
      try journal.commit(by: "bob") { try $0.update(id) { $0.title = "Soup of the day" } }
      try journal.commit(by: "eve") { try $0.update(id) { $0.title = "Pie" } }
      try journal.commit { try $0.delete(other) }
      let soup = try journal.everMatching(\Memo.title, "SOUP")
      #expect(soup.map(\.id) == [id])
      #expect(soup.map(\.first.revision) == [1] && soup.map(\.first.author) == ["ana"])
      #expect(soup.map(\.last.revision) == [3] && soup.map(\.last.author) == ["bob"])
      #expect(try soup.first?.last.date == journal.entry(at: 3).date)
      #expect(try journal.everMatching(\Memo.title, "stew").map(\.id) == [other])
      #expect(try journal.everMatching(\Memo.title, "soup stew", anyWord: true, limit: 1).map(\.id) == [id])
      #expect(try journal.everMatching(\Memo.title, "tomato day").isEmpty)
      #expect(try journal.everMatching(\Memo.title, "\"the day\"").map(\.first.revision) == [3])
      #expect(try journal.everMatching(\Memo.title, "\"soup day\"").isEmpty)
      #expect(throws: JournalError.self) { try journal.everMatching(\Memo.title, "!") }
      try journal.close()
    }
  }

  @Test func theRangesOfWordsInATextAreThoseOfAHighlight() {
    func marked(_ text: String, _ pattern: String) -> [String] {
      text.ranges(matching: pattern).map { String(text[$0]) }
    }
    #expect(marked("Süße Suppe, suppenkelle", "SUPPE* süsse") == ["Süße", "Suppe", "suppenkelle"])
    #expect(marked("one two one two", "\"one two\"") == ["one two", "one two"])
    #expect(marked("東京都庁", "京都庁") == ["京都庁"])
    #expect(marked("東京都", "東") == ["東"] && marked("東京都", "都") == ["都"])
    #expect(marked("A京都に 京", "京*") == ["京", "京"])
    #expect(marked("nothing", "no").isEmpty)
  }

  @Test func inAnInMemoryJournalASearchFindsTheSame() throws {
    let journal = try CatalogJournal.inMemory()
    var notes = RandomNotes(journal)
    for _ in 0..<4 {
      try notes.grow(40)
      try notes.compare(journal.state)
    }
  }
}

struct Memo: CatalogItem, Equatable {
  static let kind = "note"
  static let indexes = [Index(\Memo.title, .text), Index(\.lines, .text)]

  var title: String
  var lines: [String] = []
}

/// The same items, searched without an index.
struct ScannedMemo: CatalogItem {
  static let kind = Memo.kind
  var title: String
  var lines: [String]
}

/// A journal of notes that are changed at random.
struct RandomNotes {
  /// Words, each in several forms that a search does not distinguish. The first one is folded.
  private static let words = [
    ["soup", "Soup", "SOUP", "ｓｏｕｐ"], ["suppe", "Suppe", "Süppe"], ["so", "So", "Sò"],
    ["strasse", "Straße", "STRASSE"],
    ["дом", "Дом", "ДОМ"], ["домой", "Домой"], ["λογοσ", "Λόγος", "ΛΟΓΟΣ"], ["हिन्दी"], ["سلام", "سَلام"], ["42"],
  ]
  private static let ideographs = ["東", "京", "都", "タ", "한"]
  private static let folded = Dictionary(
    words.flatMap { forms in forms.map { ($0, forms[0]) } }, uniquingKeysWith: { first, _ in first })

  var url = URL(filePath: "/")
  var options = JournalOptions(layers: .often(40))
  var random = SeededGenerator()
  var journal: CatalogJournal
  var oldest = 1

  init(_ journal: CatalogJournal) { self.journal = journal }

  init(in folder: URL) throws {
    url = folder.appending(path: "Notes.journal")
    options.layers.fanout = 3
    journal = try CatalogJournal.create(at: url, options: options)
    // A search declares the indexes.
    #expect(try journal.state.items(Memo.self).matching(\.title, "none").isEmpty)
  }

  // MARK: Changes

  mutating func text() -> String {
    (0..<Int.random(in: 0...6, using: &random)).map { _ in
      if Int.random(in: 0..<5, using: &random) == 0 { return run(Int.random(in: 1...4, using: &random)) }
      return Self.words.randomElement(using: &random)!.randomElement(using: &random)!
    }.joined(separator: " ")
  }

  private mutating func run(_ count: Int) -> String {
    (0..<count).map { _ in Self.ideographs.randomElement(using: &random)! }.joined()
  }

  mutating func note() -> Memo {
    Memo(title: text(), lines: (0..<Int.random(in: 0...3, using: &random)).map { _ in text() })
  }

  mutating func change(_ draft: inout Draft<Catalog>) throws {
    let all = draft.state.items(Memo.self).ids
    switch Int.random(in: 0..<8, using: &random) {
    case 0..<4: try draft.insert(note())
    case 4..<6:
      guard let id = all.randomElement(using: &random) else { return }
      let new = note()
      try draft.update(id) { $0 = new }
    case 6:
      guard let id = all.randomElement(using: &random) else { return }
      try draft.delete(id)
    default: try draft.addItem(kind: "other", attributes: ["title": .string(text())])
    }
  }

  mutating func grow(_ count: Int) throws {
    for _ in 0..<count {
      try journal.commit { draft in
        for _ in 0..<Int.random(in: 1...4, using: &random) { try change(&draft) }
      }
    }
  }

  mutating func reopen() throws {
    try journal.close()
    journal = try CatalogJournal.open(at: url, options: options)
  }

  mutating func past() throws -> Catalog {
    try journal.state(asOf: .revision(Int.random(in: oldest...journal.head.revision, using: &random)))
  }

  mutating func restore() throws {
    let revision = Int.random(in: oldest...journal.head.revision, using: &random)
    try journal.commit(try journal.planRestore(of: .everything, asOf: .revision(revision)), by: "ana")
  }

  mutating func prune() throws {
    oldest = journal.head.revision / 3
    try journal.prune(before: .revision(oldest))
  }

  mutating func erase() throws {
    let entity = try #require(journal.state.items(Memo.self).ids.randomElement(using: &random)).entity
    try journal.erase([entity], reason: "by law")
  }

  // MARK: The naive search

  /// Compares searches for a word, a prefix, a phrase and a run of ideographs, with all or any of them.
  mutating func compare(_ state: Catalog) throws {
    let all = try state.items(Memo.self).map { (id: $0.id.number, memo: try $0.value) }
    for _ in 0..<6 {
      let phrases = (0..<Int.random(in: 1...2, using: &random)).map { _ in phrase() }
      let pattern = phrases.map(\.text).joined(separator: " ")
      let anyWord = Bool.random(using: &random)
      let paths = Int.random(in: 0..<3, using: &random)
      let scanned: [[any PartialKeyPath<ScannedMemo> & Sendable]] = [
        [\.title], [\.lines], [\.title, \.lines],
      ]
      let expected = all.filter { Self.matches($0.memo, phrases, paths, anyWord) }.map(\.id)
      let found = try state.items(Memo.self).matching(Self.properties[paths], pattern, anyWord: anyWord)
      #expect(found.ids.map(\.number).sorted() == expected, "\(pattern) \(paths) \(anyWord)")
      // The order does not depend on how the items were found.
      let others = try state.items(ScannedMemo.self).matching(scanned[paths], pattern, anyWord: anyWord)
      #expect(found.ids.map(\.number) == others.ids.map(\.number), "\(pattern) \(paths) \(anyWord)")
    }
  }

  /// Compares a search of all versions with one of all states.
  mutating func compareEver() throws {
    var versions: [Int: [Revision: Memo]] = [:]
    for revision in oldest...journal.head.revision {
      for item in try journal.state(asOf: .revision(revision)).items(Memo.self) {
        versions[item.id.number, default: [:]][item.modified] = try item.value
      }
    }
    for _ in 0..<4 {
      let phrases = (0..<Int.random(in: 1...2, using: &random)).map { _ in phrase() }
      let pattern = phrases.map(\.text).joined(separator: " ")
      let anyWord = Bool.random(using: &random)
      let paths = Int.random(in: 0..<3, using: &random)
      let expected = versions.compactMapValues { versions in
        let found = versions.filter { Self.matches($0.value, phrases, paths, anyWord) }.keys.sorted()
        return found.first.map { $0...found[found.count - 1] }
      }
      let found = try journal.everMatching(Self.properties[paths], pattern, anyWord: anyWord)
      #expect(found.map(\.last.revision) == found.map(\.last.revision).sorted(by: >))
      let ranges = Dictionary(
        uniqueKeysWithValues: found.map { ($0.id.number, $0.first.revision...$0.last.revision) })
      #expect(ranges == expected, "\(pattern) \(paths) \(anyWord)")
    }
  }

  private static let properties: [[any PartialKeyPath<Memo> & Sendable]] = [
    [\.title], [\.lines], [\.title, \.lines],
  ]

  private static func matches(_ memo: Memo, _ phrases: [Phrase], _ paths: Int, _ anyWord: Bool) -> Bool {
    let texts = [[memo.title], memo.lines, [memo.title] + memo.lines][paths]
    let holds = phrases.map { phrase in texts.contains { phrase.isIn(parsed($0)) } }
    return anyWord ? holds.contains(true) : !holds.contains(false)
  }

  private struct Phrase {
    let text: String
    /// Whether the phrase is in a text, whose words are folded.
    let isIn: ([String]) -> Bool
  }

  private static func parsed(_ text: String) -> [String] {
    text.split(separator: " ").map { folded[String($0)] ?? String($0) }
  }

  private mutating func phrase() -> Phrase {
    let forms = Self.words.randomElement(using: &random)!
    let word = forms.randomElement(using: &random)!
    switch Int.random(in: 0..<4, using: &random) {
    case 0: return Phrase(text: word) { $0.contains(forms[0]) }
    case 1:
      let prefix = String(forms[0].unicodeScalars.prefix(2))
      return Phrase(text: prefix + "*") {
        $0.contains { $0.unicodeScalars.starts(with: prefix.unicodeScalars) }
      }
    case 2:
      let second = Self.words.randomElement(using: &random)!
      return Phrase(text: "\"\(word) \(second.randomElement(using: &random)!)\"") { words in
        zip(words, words.dropFirst()).contains { $0 == forms[0] && $1 == second[0] }
      }
    default:
      let run = run(Int.random(in: 1...3, using: &random))
      return Phrase(text: run) { words in words.contains { $0.contains(run) } }
    }
  }
}
