import Locks
import PropertyLists
import Tables

/// The changes between two checkpoints, in memory until a file has them: the part of a state above its layers.
final class Memtable: LayerContents {
  struct Entities: Sendable {
    var rows = SortedTable<Int, EntityRow>()
    var deletions = SortedTable<Int, Deletion>()
  }

  private let revision: Revision
  private let tables: [Entities]
  private let indexes: [SortedTable<IndexKey, Bool>]
  private let lists: [TextInterner]
  /// The number of texts that each list has in the layers below.
  private let textStarts: [Int]
  /// The words that queries have asked for.
  private let scanned = Lock<[IndexDefinition: TextSegment]>([:])

  init(
    revision: Revision, tables: [Entities], indexes: [SortedTable<IndexKey, Bool>], lists: [TextInterner],
    textStarts: [Int]
  ) {
    self.revision = revision
    self.tables = tables
    self.indexes = indexes
    self.lists = lists
    self.textStarts = textStarts
  }

  /// All changes of a state above its layers.
  convenience init(_ parts: StateParts, at checkpoint: LayerCheckpoint, after start: LayerCheckpoint) {
    self.init(
      revision: checkpoint.revision,
      tables: parts.tables.map { Entities(rows: $0.rows, deletions: $0.deletions) },
      indexes: parts.indexes.map(\.index.changes), lists: parts.lists.map(\.texts),
      textStarts: start.textCounts)
  }

  /// The changes that a state has in memory, but only those since an earlier state above the same layers.
  convenience init(
    _ parts: StateParts, since earlier: StateParts, at checkpoint: LayerCheckpoint,
    after start: LayerCheckpoint
  ) {
    let tables = zip(parts.tables, earlier.tables).map { table, before in
      Entities(
        rows: Self.values(after: table.rows.changes(since: before.rows)) { $0 },
        deletions: Self.values(after: table.deletions.changes(since: before.deletions)) { $0 })
    }
    let indexes = zip(parts.indexes, earlier.indexes).map { part, before in
      Self.values(after: part.index.changes.changes(since: before.index.changes)) { $0 ?? false }
    }
    self.init(
      revision: checkpoint.revision, tables: tables, indexes: indexes, lists: parts.lists.map(\.texts),
      textStarts: start.textCounts)
  }

  /// - Parameter value: returns what the layer keeps for a new value; nil to keep nothing.
  private static func values<Key, Value>(
    after changes: SortedTable<Key, Value>.Changes, _ value: @escaping (Value?) -> Value?
  ) -> SortedTable<Key, Value> {
    let elements = changes.lazy.compactMap { change in value(change.new).map { (key: change.key, value: $0) }
    }
    guard let table = SortedTable(sorted: elements) else {
      preconditionFailure("Changes are in the order of their keys.")
    }
    return table
  }

  // MARK: Writing

  func versions(_ kind: Int) -> VersionCursor { newestVersions(kind, from: 0, asOf: revision) }

  func rows(_ kind: Int) -> RowReader {
    { (version) throws(ArchiveError) in version.row }
  }

  func lines(_ index: Int) -> LineCursor {
    newestLines(index, from: IndexKey(group: 0, member: 0), asOf: revision)
  }

  func texts(_ list: Int) -> [String] { lists[list].texts(from: textStarts[list]) }

  // MARK: Looking up

  func hasIndex(_ definition: IndexDefinition) -> Bool { true }

  func knownOrScannedWords(_ definition: IndexDefinition) throws(ArchiveError) -> TextSegment {
    if let known = scanned.withLock({ $0[definition] }) { return known }
    let words = try scannedWords(definition)
    scanned.withLock { $0[definition] = words }
    return words
  }

  func version(_ kind: Int, _ number: Int, asOf revision: Revision) -> EntityVersion? {
    if let row = tables[kind].rows[number] {
      return row.modified <= revision
        ? EntityVersion(number: number, revision: row.modified, content: .row(row)) : nil
    }
    guard let deletion = tables[kind].deletions[number], deletion.revision <= revision else { return nil }
    return EntityVersion(
      number: number, revision: deletion.revision, content: .deleted(isErased: deletion.isErased))
  }

  func line(_ index: Int, _ key: IndexKey, asOf revision: Revision) -> Bool? {
    self.revision <= revision ? indexes[index][key] : nil
  }

  func hasLines(_ index: Int, from first: IndexKey, through last: IndexKey) -> Bool {
    var lines = indexes[index].elements(in: first...last)
    return lines.next() != nil
  }

  func newestVersions(_ kind: Int, from number: Int, asOf revision: Revision) -> VersionCursor {
    var versions = TableVersions(
      tables[kind].rows.elements(from: number).makeIterator(),
      tables[kind].deletions.elements(from: number).makeIterator(), asOf: revision)
    return { () throws(ArchiveError) in versions.next() }
  }

  func newestLines(_ index: Int, from key: IndexKey, asOf revision: Revision) -> LineCursor {
    let own = self.revision
    guard own <= revision else { return { () throws(ArchiveError) in nil } }
    var lines = indexes[index].elements(from: key).makeIterator()
    return { () throws(ArchiveError) in
      lines.next().map { LineVersion(key: $0.key, revision: own, isThere: $0.value) }
    }
  }
}

/// Iterates over the versions of the entities of a kind. One struct, because a closure that captures one value takes
/// less time than one that captures four.
private struct TableVersions<Rows: IteratorProtocol, Deletions: IteratorProtocol>
where Rows.Element == (key: Int, value: EntityRow), Deletions.Element == (key: Int, value: Deletion) {
  private let revision: Revision
  private var rows: Rows
  private var deletions: Deletions
  private var row: Rows.Element?
  private var deletion: Deletions.Element?

  init(_ rows: Rows, _ deletions: Deletions, asOf revision: Revision) {
    self.revision = revision
    self.rows = rows
    self.deletions = deletions
    row = self.rows.next()
    deletion = self.deletions.next()
  }

  mutating func next() -> EntityVersion? {
    while true {
      // No number is in both iterators.
      if let next = row, deletion.map({ next.key < $0.key }) ?? true {
        row = rows.next()
        guard next.value.modified <= revision else { continue }
        return EntityVersion(number: next.key, revision: next.value.modified, content: .row(next.value))
      }
      guard let next = deletion else { return nil }
      deletion = deletions.next()
      guard next.value.revision <= revision else { continue }
      return EntityVersion(
        number: next.key, revision: next.value.revision, content: .deleted(isErased: next.value.isErased))
    }
  }
}

/// The changes of a state above its layers, at a revision that can become a checkpoint until the next layer has a file.
struct LayerMoment: Sendable {
  let checkpoint: LayerCheckpoint
  let parts: StateParts

  /// The changes since an earlier moment above the same layers; if that is nil, all changes above these layers.
  func layer(after before: LayerMoment?, start: LayerCheckpoint) -> Memtable {
    guard let before else { return Memtable(parts, at: checkpoint, after: start) }
    return Memtable(parts, since: before.parts, at: checkpoint, after: before.checkpoint)
  }

  /// An upper bound of the bytes of records that moments keep in memory although the next moment has replaced them.
  static func heldByteCount(_ moments: [LayerMoment]) -> Int {
    zip(moments, moments.dropFirst()).reduce(0) { sum, pair in
      let (before, next) = (pair.0.parts, pair.1.parts)
      return sum + min(next.replacedByteCount - before.replacedByteCount, before.changedByteCount)
    }
  }
}

extension [LayerMoment] {
  var everySecond: [LayerMoment] { enumerated().filter { $0.offset % 2 == 1 }.map(\.element) }
}

/// A whole state as a source: all changes since revision 0.
struct WholeState: LayerSource {
  let parts: StateParts
  let revision: Revision

  func versions(_ kind: Int) -> VersionCursor {
    let table = parts.tables[kind]
    var versions = TableVersions(
      table.makeIterator().entities, table.goneEntities.deletions, asOf: revision)
    return { () throws(ArchiveError) in versions.next() }
  }

  func rows(_ kind: Int) -> RowReader {
    { (version) throws(ArchiveError) in version.row }
  }

  func lines(_ index: Int) -> LineCursor {
    var lines = parts.indexes[index].index.lines.makeIterator()
    return { [revision] () throws(ArchiveError) in
      lines.next().map { LineVersion(key: $0, revision: revision, isThere: true) }
    }
  }

  func texts(_ list: Int) -> [String] { parts.lists[list].texts.texts }

  func valueLines(_ definition: IndexDefinition) -> (any LayerValueLines)? {
    LayeredIndex(parts.tables[definition.scope.table], definition).map { ScannedValueLines($0.lines()) }
  }
}
