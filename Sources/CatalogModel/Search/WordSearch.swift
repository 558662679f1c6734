import CBOR

/// A search for words in some attributes of the items of a kind.
struct WordSearch: Sendable, Hashable {
  private let kind: String
  private(set) var paths: [AttributePath] = []
  /// Whether each of them has a declared index of words.
  private let isIndexed: Bool
  let pattern: WordPattern
  /// Whether one phrase of the pattern is enough, instead of all.
  let matchesAny: Bool

  init<Model: CatalogItem>(
    _: Model.Type, _ properties: [any PartialKeyPath<Model> & Sendable], _ pattern: String, matchesAny: Bool
  ) throws(JournalError) {
    kind = Model.kind
    for property in properties { paths.append(try Model.attribute(of: property).get()) }
    isIndexed = !paths.isEmpty && paths.allSatisfy(Model.wordPaths.contains)
    self.pattern = WordPattern(pattern)
    self.matchesAny = matchesAny
  }

  var scope: IndexScope { IndexScope(itemsOfKind: kind) }
  var definitions: [IndexDefinition] { paths.map { IndexDefinition(scope, $0, isOfWords: true) } }

  /// Whether the texts of an item match.
  func holds(for record: EntityRecord) -> Bool {
    var text = TextWords()
    return matches(counts(in: record, &text))
  }

  private func matches(_ counts: [Int]) -> Bool {
    matchesAny ? counts.contains { $0 > 0 } : counts.allSatisfy { $0 > 0 }
  }

  /// How often each phrase is in the texts of an item, whose words are in `text` afterwards.
  private func counts(in record: EntityRecord, _ text: inout TextWords) -> [Int] {
    text.removeAll()
    for path in paths { text.read(record, at: path) }
    return pattern.phrases.map { $0.starts(in: text).count }
  }

  // MARK: Matches

  /// Items that match, in the order of their numbers.
  struct Matches {
    fileprivate(set) var numbers: [Int] = []
    /// How often each of these items has each phrase, one phrase after the other.
    fileprivate(set) var counts: [[Int32]]
    /// How many words each of these items has.
    fileprivate(set) var lengths: [Int32] = []
    /// How many items have each phrase, whether or not they match.
    fileprivate(set) var itemCounts: [Int]
    /// How many lines of indexes, and how many records were read.
    fileprivate(set) var (lineCount, recordCount) = (0, 0)

    fileprivate init(phraseCount: Int) {
      counts = Array(repeating: [], count: phraseCount)
      itemCounts = Array(repeating: 0, count: phraseCount)
    }

    fileprivate mutating func append(_ number: Int, _ counts: [Int], length: Int) {
      numbers.append(number)
      lengths.append(Int32(clamping: length))
      for (phrase, count) in counts.enumerated() { self.counts[phrase].append(Int32(clamping: count)) }
    }
  }

  /// The matches, found by indexes; nil if some attribute has no index that can be used now.
  func indexedMatches(in catalog: Catalog) -> Matches? {
    guard isIndexed else { return nil }
    var indexes: [TextIndex] = []
    for definition in definitions {
      guard let index = catalog.indexCache.words.index(definition, in: catalog.itemTable) else { return nil }
      indexes.append(index)
    }
    var matches = Matches(phraseCount: pattern.phrases.count)
    let lists = pattern.phrases.map { hits(of: $0, indexes, catalog, &matches) }
    collect(lists, in: catalog, &matches)
    return matches
  }

  /// The items that have a phrase, in the order of their numbers. A count of 0 is not known.
  private func hits(
    of phrase: WordPattern.Phrase, _ indexes: [TextIndex], _ catalog: Catalog, _ matches: inout Matches
  ) -> [WordHit] {
    let lists = indexes.map { index in
      let lists = phrase.words.map { index.hits(of: $0.bytes, isPrefix: $0.isPrefix) }
      matches.lineCount += lists.reduce(0) { $0 + $1.count }
      return lists.dropFirst().reduce(lists[0]) { $0.intersection(with: $1) }
    }
    var hits = lists.dropFirst().reduce(lists[0]) { $0.union(with: $1) }
    guard phrase.words.count > 1 else { return hits }
    // The index knows which items have all words, and not where.
    var text = TextWords()
    matches.recordCount += hits.count
    hits.removeAll { hit in
      guard let record = catalog.itemTable[hit.number]?.record else { return true }
      text.removeAll()
      for path in paths { text.read(record, at: path) }
      return phrase.starts(in: text).isEmpty
    }
    return hits.map(\.withoutCount)
  }

  private func collect(_ lists: [[WordHit]], in catalog: Catalog, _ matches: inout Matches) {
    matches.itemCounts = lists.map(\.count)
    var places = lists.map { _ in 0 }
    var text = TextWords()
    var found = lists.map { _ in 0 }
    while true {
      var lowest = Int.max
      for (list, place) in zip(lists, places) where place < list.count {
        lowest = min(lowest, list[place].number)
      }
      if lowest == .max { return }
      var length = 0
      var isKnown = true
      for phrase in lists.indices {
        found[phrase] = 0
        guard places[phrase] < lists[phrase].count, case let hit = lists[phrase][places[phrase]],
          hit.number == lowest
        else { continue }
        places[phrase] += 1
        found[phrase] = max(hit.count, 1)
        length = hit.length
        if hit.count == 0 { isKnown = false }
      }
      guard self.matches(found) else { continue }
      if !isKnown, let record = catalog.itemTable[lowest]?.record {
        matches.recordCount += 1
        found = counts(in: record, &text)
        length = text.words.count
      }
      matches.append(lowest, found, length: length)
    }
  }

  /// The matches, found by reading the texts of all items of the kind.
  func scannedMatches(in catalog: Catalog) -> Matches {
    var matches = Matches(phraseCount: pattern.phrases.count)
    var text = TextWords()
    let (lineCount, recordCount) = catalog.forEachItem(ofKind: kind) { number, record in
      let counts = counts(in: record, &text)
      for (phrase, count) in counts.enumerated() where count > 0 { matches.itemCounts[phrase] += 1 }
      if self.matches(counts) { matches.append(number, counts, length: text.words.count) }
      return true
    }
    (matches.lineCount, matches.recordCount) = (lineCount, recordCount)
    return matches
  }
}

extension [WordHit] {
  fileprivate func intersection(with other: [WordHit]) -> [WordHit] {
    var hits: [WordHit] = []
    var place = 0
    for hit in self {
      while place < other.count, other[place].number < hit.number { place += 1 }
      if place < other.count, other[place].number == hit.number { hits.append(hit) }
    }
    return hits
  }

  /// The hits of both in the order of numbers. Their counts and lengths are not known, because each is of one attribute.
  fileprivate func union(with other: [WordHit]) -> [WordHit] {
    var hits: [WordHit] = []
    var place = 0
    for hit in self {
      while place < other.count, other[place].number < hit.number {
        hits.append(other[place].withoutCount)
        place += 1
      }
      if place < other.count, other[place].number == hit.number { place += 1 }
      hits.append(hit.withoutCount)
    }
    return hits + other[place...].map(\.withoutCount)
  }
}
