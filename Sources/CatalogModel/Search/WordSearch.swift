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
    if properties.isEmpty { throw JournalError(.wrongUse, "a search needs a property") }
    kind = Model.kind
    for property in properties { paths.append(try Model.attribute(of: property).get()) }
    isIndexed = paths.allSatisfy(Model.indexedPaths.words.contains)
    self.pattern = WordPattern(pattern)
    self.matchesAny = matchesAny
  }

  var scope: IndexScope { IndexScope(itemsOfKind: kind) }
  var definitions: [IndexDefinition] { paths.map { IndexDefinition(scope, $0, .words) } }

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

    /// Appends the matches among later items.
    fileprivate mutating func append(_ other: Matches) {
      numbers += other.numbers
      lengths += other.lengths
      for phrase in counts.indices {
        counts[phrase] += other.counts[phrase]
        itemCounts[phrase] += other.itemCounts[phrase]
      }
    }
  }

  /// The indexes of the attributes; nil if some attribute has no index that can be used now.
  func indexes(in catalog: Catalog) -> [TextIndex]? {
    guard isIndexed else { return nil }
    var indexes: [TextIndex] = []
    for definition in definitions {
      guard let index = catalog.indexCache.words.index(definition, in: catalog.itemTable) else { return nil }
      indexes.append(index)
    }
    return indexes
  }

  /// The matches, found by the indexes of the attributes.
  func indexedMatches(_ indexes: [TextIndex], in catalog: Catalog) -> Matches {
    var matches = Matches(phraseCount: pattern.phrases.count)
    let lists = pattern.phrases.map { phrase in
      let lists = indexes.map { index in
        let hits = index.hits(ofAll: phrase.sought)
        matches.lineCount += hits.count
        return hits
      }
      return lists.dropFirst().reduce(lists[0]) { $0.union(with: $1) }
    }
    collect(lists, in: catalog, &matches)
    return matches
  }

  /// Collects the matches from the items that have all words of each phrase, in the order of their numbers.
  private func collect(_ lists: [[WordHit]], in catalog: Catalog, _ matches: inout Matches) {
    // The index knows which items have all words of a phrase, and not where.
    let isCandidate = pattern.phrases.map { $0.words.count > 1 }
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
      var (isKnown, isSure) = (true, true)
      for phrase in lists.indices {
        found[phrase] = 0
        guard places[phrase] < lists[phrase].count, case let hit = lists[phrase][places[phrase]],
          hit.number == lowest
        else { continue }
        places[phrase] += 1
        found[phrase] = max(hit.count, 1)
        length = hit.length
        if hit.count == 0 { isKnown = false }
        if isCandidate[phrase] { isSure = false }
      }
      if !isSure || !isKnown && self.matches(found) {
        guard let record = catalog.itemTable[lowest]?.record else { continue }
        matches.recordCount += 1
        let counts = counts(in: record, &text)
        for phrase in counts.indices where found[phrase] > 0 && counts[phrase] == 0 {
          matches.itemCounts[phrase] -= 1
        }
        found = counts
        length = text.words.count
      }
      if self.matches(found) { matches.append(lowest, found, length: length) }
    }
  }

  /// The matches, found by reading the texts of all items of the kind.
  func scannedMatches(in catalog: Catalog) -> Matches {
    var matches = Matches(phraseCount: pattern.phrases.count)
    let (lineCount, recordCount) = catalog.forEachPart(ofKind: kind, isConcurrent: true) { forEachItem in
      var part = Matches(phraseCount: pattern.phrases.count)
      var text = TextWords()
      forEachItem { number, record in
        let counts = counts(in: record, &text)
        for (phrase, count) in counts.enumerated() where count > 0 { part.itemCounts[phrase] += 1 }
        if self.matches(counts) { part.append(number, counts, length: text.words.count) }
        return true
      }
      return part
    } _: {
      matches.append($0)
    }
    (matches.lineCount, matches.recordCount) = (lineCount, recordCount)
    return matches
  }
}

extension [WordHit] {
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
