import CBOR
import Tables

/// A word to look for, or the beginning of words.
package typealias SoughtWord = (bytes: [UInt8], isPrefix: Bool)

/// A version of an entity that has some words.
package struct WordHit: Sendable {
  package let number: Int
  let revision: Revision
  /// How often the version has the first word. 0 if this is not known, and the record must be read.
  package var count: Int
  /// How many words the version has, if the count is known.
  package let length: Int
  /// Whether no later version or deletion of the entity is in the layer.
  var isNewest = false

  /// This hit, so that its record must be read.
  package var withoutCount: WordHit { WordHit(number: number, revision: revision, count: 0, length: 0) }
}

/// The words of the entities of one state. They never change.
package protocol WordsBase: Sendable {
  /// The entities that have all of some words.
  func hits(ofAll words: [SoughtWord]) -> [WordHit]
}

/// The words of a table's texts: those of its layers or of an earlier table, and those of what has changed since then.
package struct TextIndex: Sendable {
  private let definition: IndexDefinition
  private let base: any WordsBase
  /// Whether the base is the layers of the table.
  package let isLayered: Bool
  /// The table that has these words.
  package private(set) var table: EntityTable
  /// The entities that the base has otherwise, and the words of those that still exist.
  private var changed = SortedTable<Int, Void>()
  private var recent = ValueIndex()

  /// Whether all layers of a table have an index.
  package static func isInLayers(of table: EntityTable, _ definition: IndexDefinition) -> Bool {
    table.base?.words(definition) != nil
  }

  /// An index in layers; nil if the table is not backed by layers, or if one of them lacks the index.
  /// - Complexity: O(n log n) in the words of what has changed above the layers.
  package init?(inLayersOf table: EntityTable, _ definition: IndexDefinition) {
    guard let base = table.base?.words(definition) else { return nil }
    (self.definition, self.base, self.table, isLayered) = (definition, base, table, true)
    for number in table.numbersAboveBase { changed.updateValue((), forKey: number) }
    recent = ValueIndex(aboveBaseOf: table, definition)
  }

  /// An index in memory.
  /// - Complexity: O(n log n) in the words of all entities.
  package init(building table: EntityTable, _ definition: IndexDefinition, progress: (_ done: Int) -> Void) {
    var collector = TextCollector(definition)
    for (done, entity) in table.enumerated() {
      collector.append(entity.number, entity.row.modified, entity.row.record, isNewest: true)
      if done % 4096 == 4095 { progress(done + 1) }
    }
    (self.definition, self.table, isLayered) = (definition, table, false)
    base = BuiltWords(segment: collector.finish().segment)
    progress(table.count)
  }

  /// How many entities the base has otherwise.
  package var changeCount: Int { changed.count }

  /// About how many events lead to another table; nil if the index can't be updated to that table.
  package func distance(to other: EntityTable) -> Int? {
    isLayered && !table.hasSameBase(as: other) ? nil : table.distance(to: other)
  }

  /// This index, updated to another table, to which it must have a distance.
  /// - Complexity: that of finding the differences between the tables, and O(log n) for each word in them.
  package func following(to new: EntityTable) -> TextIndex {
    var index = self
    index.table = new
    for (number, old, new) in new.changes(since: table) {
      index.changed.updateValue((), forKey: number)
      if let old { definition.forEachLine(of: number, old.record) { index.recent.remove($0) } }
      if let new { definition.forEachLine(of: number, new.record) { index.recent.insert($0) } }
    }
    return index
  }

  /// The entities that have all of some words, in the order of their numbers.
  package func hits(ofAll words: [SoughtWord]) -> [WordHit] {
    var members: Set<Int>?
    for word in words {
      let text = String(decoding: word.bytes, as: UTF8.self)
      let next = recent.members(in: word.isPrefix ? .prefix(text) : .equal(to: .string(text)))
      members = members?.intersection(next) ?? Set(next)
    }
    var hits = (members ?? []).map { WordHit(number: $0, revision: 0, count: 0, length: 0) }
    for hit in base.hits(ofAll: words) where changed.isEmpty || !changed.contains(hit.number) {
      hits.append(hit)
    }
    let isRising = zip(hits, hits.dropFirst()).allSatisfy { $0.number < $1.number }
    if isRising { return hits }
    hits.sort { $0.number < $1.number }
    var last = 0
    hits.removeAll { hit in
      defer { last = hit.number }
      return hit.number == last
    }
    return hits
  }
}

private struct BuiltWords: WordsBase {
  let segment: TextSegment

  func hits(ofAll words: [SoughtWord]) -> [WordHit] {
    guard let hits = try? segment.hits(ofAll: words, asOf: .max) else {
      preconditionFailure("An index in memory can be read.")
    }
    return hits
  }
}
