import CBOR
public import Foundation

/// An item that had some words, once or still.
public struct PastMatch<Model: CatalogItem>: Sendable {
  /// The entry that made a version of an item.
  public struct Moment: Sendable {
    /// The entry's revision.
    public let revision: Revision
    /// The entry's date; of a pruned entry, the date up to which history was pruned.
    public let date: Date
    /// Who made the entry; empty for a pruned entry.
    public let author: String
  }

  /// The item, which may be deleted by now: then `journal.state.item(id)` is nil.
  public let id: ItemID<Model>
  /// The first version that has the words.
  public let first: Moment
  /// The last version that has the words.
  public let last: Moment
}

extension Journal where State == Catalog {
  /// The items that have certain words now or had them at any time, also those that are deleted. The items that had them
  /// last come first.
  ///
  /// ```swift
  /// for match in try journal.everMatching(\Recipe.title, "tom* soup") { print(match.id, match.last.author) }
  /// ```
  /// Erased texts are not found, and of pruned history only what it ended with.
  /// - Parameters:
  ///   - property: a text, or an array or a dictionary with texts. An index makes the search fast: `Index(\.title, .text)`.
  ///   - pattern: the words, as `matching` of ``ItemQuery`` takes them. One version of an item must match.
  ///   - anyWord: whether one of the words or phrases is enough.
  ///   - limit: the most items to return.
  /// - Throws: ``JournalError``: `wrongUse` if the key path leads to no attribute, or the pattern has no word; other codes
  ///   if the log can't be read.
  /// - Complexity: O(m) for the m versions that have one of the words, O(n) for the n events that no layer with the index
  ///   has, and two reads of the log for each returned item. A phrase reads all versions that have its words. The words of
  ///   up to 8 MiB of such events are kept, so that the next search of the same properties reads only later events.
  public func everMatching<Model: CatalogItem>(
    _ property: any PartialKeyPath<Model> & Sendable, _ pattern: String, anyWord: Bool = false,
    limit: Int = .max
  ) throws -> [PastMatch<Model>] { try everMatching([property], pattern, anyWord: anyWord, limit: limit) }

  /// The items that have certain words in one of some properties now, or had them at any time.
  ///
  /// As the function for one property, except that each word may be in another property; a phrase must be in one.
  /// - Parameters:
  ///   - properties: texts, or arrays or dictionaries with texts.
  ///   - pattern: the words.
  ///   - anyWord: whether one of the words or phrases is enough.
  ///   - limit: the most items to return.
  /// - Throws: ``JournalError``, as for one property; `wrongUse` also if there is no property.
  public func everMatching<Model: CatalogItem>(
    _ properties: [any PartialKeyPath<Model> & Sendable], _ pattern: String, anyWord: Bool = false,
    limit: Int = .max
  ) throws -> [PastMatch<Model>] {
    let search = try WordSearch(Model.self, properties, pattern, matchesAny: anyWord)
    guard !search.pattern.phrases.isEmpty else {
      throw JournalError(.wrongUse, "\"\(pattern)\" has no word to search for")
    }
    version.state.indexCache.declare(Model.indexedPaths, of: search.scope)
    return try settled {
      let found = try pastVersions(of: search.scope, search.definitions) { words in
        try search.pastHits(words) { hit in
          try row(of: .item(hit.number), after: hit.revision)?.record
        }
      } scanned: {
        search.holds(for: $0)
      }
      var ranges: [Int: ClosedRange<Revision>] = [:]
      for hit in found {
        let range = ranges[hit.number] ?? hit.revision...hit.revision
        ranges[hit.number] = min(range.lowerBound, hit.revision)...max(range.upperBound, hit.revision)
      }
      let newest = ranges.sorted { ($0.value.upperBound, $1.key) > ($1.value.upperBound, $0.key) }
      return try newest.prefix(max(limit, 0)).map { number, range in
        PastMatch(
          id: ItemID(number), first: try moment(range.lowerBound), last: try moment(range.upperBound))
      }
    }
  }

  private func moment<Model: CatalogItem>(_ revision: Revision) throws -> PastMatch<Model>.Moment {
    let (date, author) = try origin(at: revision)
    return .init(revision: revision, date: date, author: author)
  }
}

extension WordSearch {
  /// The versions of a layer that match.
  /// - Parameter record: reads a version.
  fileprivate func pastHits(
    _ words: PastWords, _ record: (PastHit) throws -> EntityRecord?
  ) throws -> Set<PastHit> {
    var found: Set<PastHit>?
    for phrase in pattern.phrases {
      let new = try words.hits(ofAll: phrase.sought)
      found = found.map { matchesAny ? $0.union(new) : $0.intersection(new) } ?? new
    }
    guard pattern.phrases.contains(where: { $0.words.count > 1 }) else { return found ?? [] }
    // The index knows which versions have all words of a phrase, and not where.
    return try (found ?? []).filter { try record($0).map(holds) ?? false }
  }
}
