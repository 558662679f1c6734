import Locks
import PropertyLists

/// Identifies stacks of one history: what changed between any two of them is in their layers. An erasure begins another
/// lineage, because no layer says what was erased.
final class LayerLineage: Sendable {}

/// Layers that together have a state at one of their checkpoints, and back its tables and indexes.
///
/// 1. The layers reach from revision 0 up to the checkpoint without a gap.
/// 2. If several layers have an entity, the newest of them is right.
/// 3. What can't be read is missing from answers. An older layer never answers instead, because its answer could be
///    outdated.
final class LayerStack: Sendable {
  /// The layers, newest first.
  let layers: [Layer]
  let checkpoint: LayerCheckpoint
  let faults: ReadFaults
  let lineage: LayerLineage

  init(
    _ layers: [Layer], at checkpoint: LayerCheckpoint, faults: ReadFaults,
    lineage: LayerLineage = LayerLineage()
  ) {
    self.layers = layers
    self.checkpoint = checkpoint
    self.faults = faults
    self.lineage = lineage
  }

  /// The layers of a state; nil if the state was replayed from revision 0.
  static func backing(_ state: some EventSourced) -> LayerStack? {
    (state.parts?.tables.first?.base as? StackedEntities)?.stack
  }

  func parts(_ shape: StateShape, _ lists: [TextInterner], defersUpdates: Bool = false) -> StateParts {
    StateParts(
      tables: shape.kinds.indices.map { kind in
        EntityTable(base: StackedEntities(self, kind), defersUpdates: defersUpdates)
      },
      indexes: shape.indexes.enumerated().map { ($1, EntityIndex(base: StackedIndex(self, $0))) },
      lists: zip(shape.lists, lists).map { ($0, $1) })
  }

  /// The texts with their numbers, all read at once; nil if they are invalid.
  func lists(_ shape: StateShape) throws(ArchiveError) -> [TextInterner]? {
    var lists: [TextInterner] = []
    for list in shape.lists.indices {
      var texts: [String] = []
      for layer in layers.reversed() {
        let start = layer.start.textCounts[list]
        guard start <= texts.count else { return nil }
        texts += try layer.contents.texts(list).dropFirst(texts.count - start)
      }
      let count = checkpoint.textCounts[list]
      guard texts.count >= count, let numbers = TextInterner(Array(texts.prefix(count))) else { return nil }
      lists.append(numbers)
    }
    return lists
  }

  /// The answer of the newest layer that has one; nil if no layer has one, or if a layer on the way can't be read. An
  /// older layer never answers instead of an unreadable one.
  @inline(__always)
  fileprivate static func firstAnswer<Value>(
    of layers: [Layer], _ body: (any LayerContents) throws(ArchiveError) -> Value?
  ) -> Value? {
    for layer in layers {
      guard let answer = layer.read(body) else { return nil }
      if let answer { return answer }
    }
    return nil
  }
}

private final class StackedEntities: EntityBase {
  fileprivate let stack: LayerStack
  fileprivate let kind: Int
  /// The entity that was read last. The checks of one change ask for the same one about five times.
  private let latest = Lock<Latest?>(nil)
  /// Why changes above the layers can't be applied. It concerns this state, and no other of the journal.
  private let ownFailure = Lock<JournalError?>(nil)

  private struct Latest {
    let number: Int
    let revision: Revision
    /// Nil if the entity is deleted or erased.
    let row: EntityRow?
    let isErased: Bool
  }

  /// Larger records are not kept, because a state may be held for long.
  private static let latestByteLimit = 16 << 10

  init(_ stack: LayerStack, _ kind: Int) {
    self.stack = stack
    self.kind = kind
  }

  private var revision: Revision { stack.checkpoint.revision }

  var totals: EntityTotals { stack.checkpoint.tables[kind] }
  var failure: JournalError? { stack.faults.failure ?? ownFailure.withLock { $0 } }
  func fail(_ error: JournalError) { ownFailure.withLock { $0 = $0 ?? error } }

  func row(_ number: Int) -> EntityRow? {
    if let latest = latest(number) { return latest.row }
    let found: EntityRow?? = LayerStack.firstAnswer(of: stack.layers) { (contents) throws(ArchiveError) in
      try contents.row(kind, number, asOf: revision)
    }
    guard let row = found ?? nil else { return nil }
    keep(row, of: number)
    return row
  }

  func keep(_ row: EntityRow, of number: Int) {
    guard row.record.bytes.count <= Self.latestByteLimit else { return }
    keep(Latest(number: number, revision: row.modified, row: row, isErased: false))
  }

  private func keep(_ entity: Latest) { if failure == nil { latest.withLock { $0 = entity } } }

  private func latest(_ number: Int) -> Latest? { latest.withLock { $0?.number == number ? $0 : nil } }

  /// The newest version of an entity; nil if it has no version, or if a layer can't be read.
  private func newest(_ number: Int) -> (revision: Revision, isErased: Bool)? {
    if let latest = latest(number) { return (latest.revision, latest.isErased) }
    let version = LayerStack.firstAnswer(of: stack.layers) { (contents) throws(ArchiveError) in
      try contents.version(kind, number, asOf: revision)
    }
    guard let version else { return nil }
    if case .deleted(let isErased) = version.content {
      keep(Latest(number: number, revision: version.revision, row: nil, isErased: isErased))
    }
    return (version.revision, version.isErased)
  }

  func revision(of number: Int) -> Revision { newest(number)?.revision ?? 0 }

  func isErased(_ number: Int) -> Bool { totals.erasedCount > 0 && newest(number)?.isErased == true }

  func rows(from number: Int) -> BaseIterator<Int, EntityRow> {
    var rows = StackedRows(self, merge(entitiesFrom: number))
    return BaseIterator { rows.next() }
  }

  /// Decodes entities on two threads; nil if no second thread is free.
  /// - Parameter partCount: how many entities the first part has.
  fileprivate func rowsAhead(from number: Int, partCount: Int) -> StackedRows.Ahead? {
    var merge = merge(entitiesFrom: number)
    let nextCount = Lock(partCount)
    return ReadAhead {
      let versions = merge.next(nextCount.withLock { $0 })
      return versions.isEmpty
        ? nil : StackedRows.Part(versions: versions[...], contents: merge.sources.map(\.contents))
    } _: { part in
      let decoded = self.decoded(part)
      let count = part.versions.count - (decoded.rest?.versions.count ?? 0)
      let partCount = StackedRows.partCount(asIn: count, byteCount: decoded.byteCount)
      nextCount.withLock { $0 = partCount }
      return decoded
    }
  }

  /// Decodes the versions of a part in order, about 1 MiB of records at most.
  fileprivate func decoded(_ part: StackedRows.Part) -> StackedRows.Decoded {
    let readers = part.contents.map { $0.rows(kind) }
    var rest = part.versions
    var rows: [StackedRows.Row] = []
    var byteCount = 0
    while byteCount < StackedRows.partByteCount, let (source, version) = rest.popFirst() {
      let row = self.row(version, readers[source], stack.layers[source], part.contents[source])
      guard let row else { continue }
      rows.append((version.number, row))
      byteCount += row.record.bytes.count
    }
    return StackedRows.Decoded(
      rows: rows, byteCount: byteCount,
      rest: rest.isEmpty ? nil : StackedRows.Part(versions: rest, contents: part.contents))
  }

  /// - Parameters:
  ///   - read: reads the version from the layer.
  ///   - contents: the contents of the layer that have the version; evaluated only after an error.
  /// - Returns: the entity; nil if it was deleted, or can't be read.
  fileprivate func row(
    _ version: EntityVersion, _ read: RowReader, _ layer: @autoclosure () -> Layer,
    _ contents: @autoclosure () -> any LayerContents
  ) -> EntityRow? {
    do throws(ArchiveError) {
      return try read(version)
    } catch {
      let layer = layer()
      _ = layer.replacement(of: contents(), because: error)
      let found: EntityRow?? = LayerStack.firstAnswer(of: [layer]) { (contents) throws(ArchiveError) in
        try contents.row(kind, version.number, asOf: revision)
      }
      return found ?? nil
    }
  }

  func deletions() -> BaseIterator<Int, Deletion> {
    var merge = merge(entitiesFrom: 0)
    return BaseIterator {
      while let (_, version) = merge.next() {
        if case .deleted(let isErased) = version.content {
          return (version.number, Deletion(revision: version.revision, isErased: isErased))
        }
      }
      return nil
    }
  }

  func revisions() -> BaseIterator<Int, Revision> {
    var merge = merge(entitiesFrom: 0)
    return BaseIterator { merge.next().map { ($0.1.number, $0.1.revision) } }
  }

  func valueLines(_ definition: IndexDefinition) -> (any ValueLinesBase)? {
    guard definition.scope.table == kind,
      stack.layers.allSatisfy({ $0.contents.hasIndex(definition) })
    else { return nil }
    return StackedValueLines(stack, definition)
  }

  func words(_ definition: IndexDefinition) -> (any WordsBase)? {
    guard definition.scope.table == kind,
      stack.layers.allSatisfy({ $0.contents.hasIndex(definition) })
    else { return nil }
    return StackedWords(stack, definition)
  }

  func distance(to other: any EntityBase) -> Int? {
    guard let other = other as? StackedEntities, other.kind == kind,
      other.stack.lineage === stack.lineage,
      // No events lead from withdrawn entries to another state.
      !stack.layers.contains(where: \.isWithdrawn), !other.stack.layers.contains(where: \.isWithdrawn)
    else { return nil }
    return abs(stack.checkpoint.eventCount - other.stack.checkpoint.eventCount)
  }

  func numbers(changedSince other: any EntityBase) -> Set<Int> {
    guard let other = other as? StackedEntities else { return [] }
    let older = min(revision, other.revision)
    let newer = revision >= other.revision ? self : other
    var numbers: Set<Int> = []
    for layer in newer.stack.layers where layer.top.revision > older {
      let versions = versions(in: layer, from: 0, asOf: newer.revision)
      while let version = versions.next() {
        if version.revision > older { numbers.insert(version.number) }
      }
    }
    return numbers
  }

  private func merge(entitiesFrom number: Int) -> LayerMerge<EntityVersion> {
    LayerMerge(stack.layers.map { versions(in: $0, from: number, asOf: revision) })
  }

  private func versions(
    in layer: Layer, from number: Int, asOf revision: Revision
  ) -> LayerIterator<EntityVersion> {
    LayerIterator(layer) { [kind] (contents, last) throws(ArchiveError) in
      try contents.newestVersions(kind, from: last.map { $0 + 1 } ?? number, asOf: revision)
    }
  }
}

/// Iterates over entities. Each is decoded when it is needed; in a long iteration, two threads decode ahead.
private struct StackedRows {
  typealias Row = (key: Int, value: EntityRow)
  typealias Ahead = ReadAhead<Part, Decoded>

  /// Versions, each with the number of its layer, and the contents of all layers.
  struct Part: Sendable {
    let versions: ArraySlice<LayerMerge<EntityVersion>.Found>
    let contents: [any LayerContents]
  }

  struct Decoded: Sendable {
    let rows: [Row]
    let byteCount: Int
    /// The versions after the decoded ones; nil if there are none.
    let rest: Part?
  }

  private let entities: StackedEntities
  private var merge: LayerMerge<EntityVersion>
  /// The reader of each layer, and the contents that it reads.
  private var readers: [(contents: any LayerContents, read: RowReader)?]
  /// How many entities were read without a second thread, and the bytes of their records.
  private var count = 0
  private var byteCount = 0
  private var ahead: Ahead?
  private var part: [Row] = []
  private var position = 0
  /// The rest of a part whose records turned out to be large. It is decoded on the reader's thread, 1 MiB at a time.
  private var rest: Part?

  /// Below this many entities, a second thread does not pay off.
  private static let shortCount = 1024
  /// The most entities that a thread decodes at a time, and the bytes of records after which it stops earlier. The size
  /// of a record is known only once it is decoded.
  private static let longestPartCount = 512
  fileprivate static let partByteCount = 1 << 20

  init(_ entities: StackedEntities, _ merge: LayerMerge<EntityVersion>) {
    self.entities = entities
    self.merge = merge
    readers = merge.sources.map { _ in nil }
  }

  fileprivate static func partCount(asIn count: Int, byteCount: Int) -> Int {
    min(longestPartCount, partByteCount * count / max(byteCount, 1) + 1)
  }

  private mutating func reader(_ source: Int) -> (contents: any LayerContents, read: RowReader) {
    let contents = merge.sources[source].contents
    if let known = readers[source], known.contents === contents { return known }
    let reader = (contents, contents.rows(entities.kind))
    readers[source] = reader
    return reader
  }

  mutating func next() -> Row? {
    while ahead == nil {
      guard let (source, version) = merge.next() else { return nil }
      count += 1
      if count == Self.shortCount {
        ahead = entities.rowsAhead(
          from: version.number + 1, partCount: Self.partCount(asIn: count, byteCount: byteCount))
      }
      let reader = reader(source)
      if let row = entities.row(version, reader.read, entities.stack.layers[source], reader.contents) {
        byteCount += row.record.bytes.count
        return (version.number, row)
      }
    }
    while position == part.count {
      (part, position) = ([], 0)
      guard let next = rest.map(entities.decoded) ?? ahead?.next() else { return nil }
      (part, rest) = (next.rows, next.rest)
    }
    position += 1
    return part[position - 1]
  }
}

private final class StackedIndex: IndexBase {
  private let stack: LayerStack
  private let index: Int

  init(_ stack: LayerStack, _ index: Int) {
    self.stack = stack
    self.index = index
  }

  func contains(_ key: IndexKey) -> Bool {
    LayerStack.firstAnswer(of: stack.layers) { (contents) throws(ArchiveError) in
      try contents.line(index, key, asOf: stack.checkpoint.revision)
    } ?? false
  }

  func lines(from first: IndexKey, through last: IndexKey) -> BaseIterator<IndexKey, Bool>? {
    let revision = stack.checkpoint.revision
    // Most groups, such as that of a unique key, are in one layer or in none.
    let layers = stack.layers.filter { layer in
      let hasLines = layer.read { (contents) throws(ArchiveError) in
        try contents.hasLines(index, from: first, through: last)
      }
      return hasLines ?? true
    }
    if layers.isEmpty { return nil }
    var merge = LayerMerge(
      layers.map { layer in
        LayerIterator<LineVersion>(layer) { [index] (contents, latest) throws(ArchiveError) in
          let next = try contents.newestLines(index, from: latest ?? first, asOf: revision)
          guard let latest else { return next }
          return { () throws(ArchiveError) in
            // The first line may be `latest`, which was already passed.
            let line = try next()
            return line?.key == latest ? try next() : line
          }
        }
      })
    return BaseIterator {
      // Ends at `last`: otherwise the loop would read all removed lines of later groups.
      while let (_, line) = merge.next(), line.key <= last {
        if line.isThere { return (line.key, true) }
      }
      return nil
    }
  }
}

private final class StackedValueLines: ValueLinesBase {
  private let stack: LayerStack
  private let definition: IndexDefinition

  init(_ stack: LayerStack, _ definition: IndexDefinition) {
    self.stack = stack
    self.definition = definition
  }

  func lines(
    from first: ValueLine, through last: ValueLine, reversed: Bool
  ) -> BaseIterator<ValueLine, Revision> {
    let bounds = LayerValueLine(line: first, revision: 0)...LayerValueLine(line: last, revision: .max)
    var merge = LayerMerge(stack.layers.map { lines(in: $0, bounds, reversed: reversed) })
    return BaseIterator { merge.next().map { ($0.element.line.line, $0.element.line.revision) } }
  }

  private func lines(
    in layer: Layer, _ bounds: ClosedRange<LayerValueLine>, reversed: Bool
  ) -> LayerIterator<DirectedLine> {
    LayerIterator(layer) {
      [definition, revision = stack.checkpoint.revision] (contents, last) throws(ArchiveError) in
      // A rebuilt layer has no index, so the lines are made from its entities.
      let lines = try contents.knownOrScannedLines(definition)
      var position =
        if reversed {
          try lines.position(of: last?.line ?? bounds.upperBound)
        } else {
          try lines.position(
            of: last.map { LayerValueLine(line: $0.line.line, revision: $0.line.revision + 1) }
              ?? bounds.lowerBound)
        }
      return { () throws(ArchiveError) in
        while reversed ? position > 0 : position < lines.count {
          let line = try lines.line(at: reversed ? position - 1 : position)
          position += reversed ? -1 : 1
          guard bounds.contains(line) else { return nil }
          if line.revision <= revision {
            return DirectedLine(line: line, isReversed: reversed)
          }
        }
        return nil
      }
    }
  }
}

// MARK: Merging several layers

/// A line of a declared index, in the order of the iteration. Equal lines of overlapping layers are of one version.
private struct DirectedLine: LayerElement, Comparable {
  let line: LayerValueLine
  let isReversed: Bool

  var key: DirectedLine { self }
  var revision: Revision { line.revision }

  static func < (left: DirectedLine, right: DirectedLine) -> Bool {
    left.isReversed ? right.line < left.line : left.line < right.line
  }
}

/// Iterates over elements of a layer, and continues with rebuilt contents if the file fails midway.
private final class LayerIterator<Element: LayerElement> {
  typealias Cursor = () throws(ArchiveError) -> Element?

  private let layer: Layer
  /// Makes a cursor that begins after the element with the key `last`, or at the start if that is nil.
  private let begin: (any LayerContents, _ last: Element.Key?) throws(ArchiveError) -> Cursor
  private(set) var contents: any LayerContents
  private var cursor: Cursor?
  private var last: Element.Key?
  private(set) var hasFailed = false

  init(
    _ layer: Layer,
    begin: @escaping (any LayerContents, _ last: Element.Key?) throws(ArchiveError) -> Cursor
  ) {
    self.layer = layer
    self.begin = begin
    contents = layer.contents
  }

  func next() -> Element? {
    while true {
      do throws(ArchiveError) {
        if cursor == nil { cursor = try begin(contents, last) }
        guard let element = try cursor?() else { return nil }
        last = element.key
        return element
      } catch {
        guard let other = layer.replacement(of: contents, because: error) else {
          hasFailed = true
          return nil
        }
        contents = other
        cursor = nil
      }
    }
  }
}

/// Merges layers, the newest first: for each key, the element of the first layer that has the key. Ends if a layer
/// can't be read.
private struct LayerMerge<Element: LayerElement> {
  typealias Found = (source: Int, element: Element)

  let sources: [LayerIterator<Element>]
  private var heads: [Element?]
  private var isCutShort: Bool

  init(_ sources: [LayerIterator<Element>]) {
    self.sources = sources
    heads = sources.map { $0.next() }
    isCutShort = sources.contains { $0.hasFailed }
  }

  /// The next elements, fewer at the end.
  mutating func next(_ count: Int) -> [Found] {
    var found: [Found] = []
    found.reserveCapacity(count)
    while found.count < count, let next = next() { found.append(next) }
    return found
  }

  mutating func next() -> Found? {
    if isCutShort { return nil }
    var lowest: (source: Int, key: Element.Key)?
    for index in heads.indices {
      guard let key = heads[index]?.key else { continue }
      if let found = lowest, found.key <= key { continue }
      lowest = (index, key)
    }
    guard let lowest, let element = heads[lowest.source] else { return nil }
    for index in lowest.source..<heads.count where heads[index]?.key == lowest.key {
      heads[index] = sources[index].next()
      if heads[index] == nil, sources[index].hasFailed { isCutShort = true }
    }
    return (lowest.source, element)
  }
}
