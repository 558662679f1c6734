import CBOR
import Foundation
import PropertyLists
import Words

struct LayerHeader: Sendable {
  let journal: JournalID
  let shape: StateShape
  /// The newest entry that the archive includes.
  let head: Head
  /// The checkpoint after which the layer begins; that of the empty state for a whole state.
  let start: LayerCheckpoint
  /// The checkpoints in ascending order; the last one is at the head.
  let checkpoints: [LayerCheckpoint]
  var indexes: [IndexDefinition] = []
  /// What the entries of the layer made. If nil, new indexes of words list only the versions that checkpoints show.
  var history: LayerHistory?
  /// Whether the entities become objects, which people can read. The only source is then a ``WholeState``.
  var isSnapshot = false

  var top: LayerCheckpoint { checkpoints.last ?? start }
  var valueIndexes: [IndexDefinition] { indexes.filter { $0.content == .values } }
  /// A snapshot has none, because no query reads it.
  var wordIndexes: [IndexDefinition] { isSnapshot ? [] : indexes.filter { $0.content != .values } }
}

/// What the archive has of the entities of one kind.
private struct WrittenTable {
  /// The number and the revision of each version. Only for a snapshot or a kind with declared indexes, because memory
  /// grows with the layer.
  var versions = PackedNumbersBuilder(columns: 2)
  /// The number and the revision of each deletion, and of each deletion that is an erasure.
  var deletions = PackedNumbersBuilder(columns: 2)
  var erased = PackedNumbersBuilder(columns: 2)
  var keyLists: [RecordKeys] = []
  /// For each block: the number and the revision of its first version, and the block's offset in the file. A last row
  /// has the number and the revision of the last version, and where the blocks end.
  var blocks = PackedNumbersBuilder(columns: 3)
}

/// Looks up the newest revision of entities in rows of numbers and revisions, in the order of numbers.
private struct NewestRows {
  private let rows: PackedNumbersBuilder
  private var place = 0
  private var last = (number: 0, newest: 0)

  init(_ rows: PackedNumbersBuilder) { self.rows = rows }

  /// The newest revision of an entity; 0 if it has no row.
  mutating func newest(of number: Int) -> Revision {
    if last.number == number { return last.newest }
    last = (number, 0)
    while place < rows.count, case let row = rows.row(at: place), row.0 <= UInt64(number) {
      if row.0 == UInt64(number) { last.newest = Revision(row.1) }
      place += 1
    }
    return last.newest
  }
}

/// Writes a layer or a snapshot as a keyed archive, entity by entity. The same sources make the same bytes.
///
/// The entities of a snapshot become objects, which other programs can read. Those of a layer become blocks, which take
/// less space and time.
struct LayerWriter: ~Copyable {
  var archive: KeyedArchiveWriter
  var texts = ShortTexts()
  var keyLists = KeyLists()
  /// The encoded keys of the dictionaries in progress, the innermost last.
  var keys: [UInt8] = []
  var null: KeyedArchiveWriter.Reference?
  /// The leading fields of the entity that was written last; neighbors mostly have some of the same numbers.
  var leading = [(number: Int, value: KeyedArchiveWriter.Value)?](
    repeating: nil, count: LayerLayout.leadingFields.count)
  private var digest: StateDigest.Builder

  /// - Parameter sources: the sources in the order of time; together they have everything that the header names.
  /// - Returns: the digest of the state; nil for a layer.
  static func write(
    _ sources: [any LayerSource], _ header: LayerHeader, to sink: @escaping KeyedArchiveWriter.Sink
  ) throws -> ContentDigest? {
    var writer = LayerWriter(
      archive: try unsafe KeyedArchiveWriter(to: sink),
      digest: StateDigest.Builder(schema: header.shape.schema))
    // The shapes are made first, so that a reader finds the names of fields at the start.
    let shapes = header.isSnapshot ? try writer.shapes(header.shape) : []
    let root = try writer.root(sources, header, shapes)
    let digest = try writer.finish(root)
    return header.isSnapshot ? digest : nil
  }

  private init(archive: consuming KeyedArchiveWriter, digest: consuming StateDigest.Builder) {
    self.archive = archive
    self.digest = digest
  }

  private consuming func finish(_ root: KeyedArchiveWriter.Reference) throws -> ContentDigest {
    try archive.finish(.root(root))
    return digest.finish()
  }

  // MARK: The root

  private mutating func shapes(_ shape: StateShape) throws -> [EntityShapes] {
    var shapes: [EntityShapes] = []
    for (kind, names) in zip(shape.kinds, shape.fieldNames) {
      shapes.append(
        try EntityShapes(
          ArchivedClass(LayerLayout.className(ofKind: kind)), LayerLayout.fields(names), &archive))
    }
    return shapes
  }

  private mutating func root(
    _ sources: [any LayerSource], _ header: LayerHeader, _ shapes: [EntityShapes]
  ) throws -> KeyedArchiveWriter.Reference {
    typealias Root = LayerLayout.Root
    let shape = header.shape
    try archive.beginDictionary()
    try append(Root.about, LayerLayout.about(header))
    try append(Root.format, header.isSnapshot ? LayerLayout.objectsVersion : LayerLayout.blocksVersion)
    try append(Root.journal, header.journal.description)
    try append(Root.schema, shape.schema)
    try append(Root.from, header.start.revision)
    try append(Root.revision, header.head.revision)
    try archive.append(string: Root.date)
    try archive.append(date: header.head.date)
    try append(Root.digest, header.head.digest.hex)
    try archive.append(string: Root.checkpoints)
    try archive.beginArray()
    for checkpoint in header.checkpoints { try archive.append(integer: Int64(checkpoint.revision)) }
    try archive.append(try archive.end())
    try archive.append(string: Root.kinds)
    try append(texts: shape.kinds)
    try appendDictionary(Root.fields, shape.kinds, shape.fieldNames) { writer, names throws in
      try writer.append(texts: names)
    }
    let kept = header.checkpoints.map(\.revision)
    var tables: [WrittenTable] = []
    if header.isSnapshot {
      try appendDictionary(Root.entities, shape.kinds, shapes) { writer, shapes throws in
        var shapes = shapes
        let totals = header.top.tables[tables.count]
        writer.digest.begin(highest: totals.highest, count: totals.count)
        let table = try writer.objects(sources, tables.count, kept, &shapes)
        writer.digest.end(deletions: table.deletions, erased: table.erased)
        tables.append(table)
      }
      try appendData(Root.versions, shape.kinds, tables.map(\.versions))
    } else {
      try appendDictionary(Root.entities, shape.kinds, Array(shape.kinds.indices)) { writer, kind throws in
        let isIndexed = header.indexes.contains { $0.scope.table == kind }
        tables.append(try writer.blocks(sources, kind, kept, keepsVersions: isIndexed))
      }
      try appendDictionary(Root.keys, shape.kinds, tables.map(\.keyLists)) { writer, lists throws in
        try writer.append(lists)
      }
      try appendData(Root.blocks, shape.kinds, tables.map(\.blocks))
    }
    try appendData(Root.deleted, shape.kinds, tables.map(\.deletions))
    try appendData(Root.erased, shape.kinds, tables.map(\.erased))
    try appendDictionary(Root.highest, shape.kinds, header.top.tables) { writer, totals throws in
      try writer.archive.append(integer: Int64(totals.highest))
    }
    var lines: [PackedNumbersBuilder] = []
    for index in shape.indexes.indices {
      lines.append(try Self.lines(sources, index, kept, isLowest: header.start.revision == 0))
    }
    try appendData(Root.indexes, shape.indexes, lines)
    try appendDictionary(Root.lists, shape.lists, Array(shape.lists.indices)) { writer, list throws in
      try writer.append(texts: try sources.flatMap { try $0.texts(list) })
    }
    try appendIndexes(Root.valueIndexes, header.valueIndexes, shape) { writer, definition throws in
      try writer.appendLines(definition, sources, header, tables)
    }
    var words = try TextSources(sources, header)
    try appendIndexes(Root.wordIndexes, header.wordIndexes, shape) { writer, definition throws in
      try writer.append(LayerLayout.ValueIndex.rules, definition.content.rules)
      try writer.appendWords(words.take(definition), header, tables[definition.scope.table])
    }
    return try archive.end()
  }

  /// Appends an `NSArray` of the entities of a kind as objects, and adds them to the digest of the state.
  private mutating func objects(
    _ sources: [any LayerSource], _ kind: Int, _ kept: [Revision], _ shapes: inout EntityShapes
  ) throws -> WrittenTable {
    try archive.beginArray()
    let table = try visit(sources, kind, kept, keepsVersions: true) { writer, number, row throws in
      // Iterating over a state in files is most of the work, so one iteration makes both the digest and the archive.
      writer.digest.append(number, row)
      try writer.append(number, row, &shapes)
    }
    try archive.append(try archive.end())
    return table
  }

  private mutating func blocks(
    _ sources: [any LayerSource], _ kind: Int, _ kept: [Revision], keepsVersions: Bool
  ) throws -> WrittenTable {
    var output = BlockOutput()
    try archive.beginArray()
    var table = try visit(sources, kind, kept, keepsVersions: keepsVersions) { writer, number, row throws in
      try output.append(number, row, to: &writer.archive)
    }
    try output.end(in: &archive)
    try archive.append(try archive.end())
    table.keyLists = output.keyLists
    table.blocks = output.blocks
    return table
  }

  private struct BlockOutput: ~Copyable {
    private var block = EntityBlockWriter()
    private(set) var blocks = PackedNumbersBuilder(columns: 3)

    var keyLists: [RecordKeys] { block.keyLists }

    mutating func append(
      _ number: Int, _ row: EntityRow, to archive: inout KeyedArchiveWriter
    ) throws(ArchiveError) {
      if block.isComplete(before: number, row.record) { try endBlock(in: &archive) }
      block.append(number, row)
    }

    /// Ends the last block, and records where it ends.
    mutating func end(in archive: inout KeyedArchiveWriter) throws(ArchiveError) {
      try endBlock(in: &archive)
      if blocks.count > 0 {
        blocks.append((UInt64(block.end.number), UInt64(block.end.revision), UInt64(archive.byteCount)))
      }
    }

    private mutating func endBlock(in archive: inout KeyedArchiveWriter) throws(ArchiveError) {
      guard let start = block.start else { return }
      blocks.append((UInt64(start.number), UInt64(start.revision), UInt64(archive.byteCount)))
      try unsafe block.finishBlock { (bytes) throws(ArchiveError) in
        try archive.append(try unsafe archive.data(bytes))
      }
    }
  }

  /// Calls `body` with the versions of all entities of a kind, in order.
  private mutating func visit(
    _ sources: [any LayerSource], _ kind: Int, _ kept: [Revision], keepsVersions: Bool,
    _ body: (inout LayerWriter, Int, EntityRow) throws -> Void
  ) throws -> WrittenTable {
    var table = WrittenTable()
    var merge = try VersionMerge(try sources.map { try $0.versions(kind) }, keeping: kept)
    let readers = sources.map { $0.rows(kind) }
    while try merge.next() {
      for (source, version) in merge.group {
        let numbers = (UInt64(version.number), UInt64(version.revision), UInt64(0))
        if let row = try readers[source](version) {
          if keepsVersions { table.versions.append(numbers) }
          try body(&self, version.number, row)
        } else {
          table.deletions.append(numbers)
          if case .deleted(isErased: true) = version.content { table.erased.append(numbers) }
        }
      }
    }
    return table
  }

  private mutating func append(_ keyLists: [RecordKeys]) throws {
    try archive.beginArray()
    for list in keyLists {
      try archive.beginArray()
      for key in list.keys {
        switch key {
        case .field(let number): try archive.append(integer: Int64(number))
        case .attribute(let name): try archive.append(string: name)
        }
      }
      try archive.append(try archive.end())
    }
    try archive.append(try archive.end())
  }

  private static func lines(
    _ sources: [any LayerSource], _ index: Int, _ kept: [Revision], isLowest: Bool
  ) throws -> PackedNumbersBuilder {
    var lines = PackedNumbersBuilder(columns: 3)
    var merge = try VersionMerge(try sources.map { try $0.lines(index) }, keeping: kept)
    while try merge.next() {
      // A line that did not change in effect is dropped. So is a removal if no layer below can have the line.
      var wasThere = isLowest ? false : nil
      for (_, line) in merge.group where line.isThere != wasThere {
        lines.append((line.key.words.0, line.key.words.1, LayerFile.time(line)))
        wasThere = line.isThere
      }
    }
    return lines
  }

  /// Appends an `NSArray` with an `NSDictionary` for each declared index, or nothing if there is none.
  private mutating func appendIndexes(
    _ key: String, _ definitions: [IndexDefinition], _ shape: StateShape,
    _ append: (inout LayerWriter, IndexDefinition) throws -> Void
  ) throws {
    typealias Member = LayerLayout.ValueIndex
    if definitions.isEmpty { return }
    try archive.append(string: key)
    try archive.beginArray()
    for definition in definitions {
      try archive.beginDictionary()
      try self.append(Member.kind, shape.kinds[definition.scope.table])
      try self.append(Member.field, definition.scope.field)
      try self.append(Member.text, definition.scope.text)
      try archive.append(string: Member.path)
      try self.append(texts: definition.path.names)
      try append(&self, definition)
      try archive.append(try archive.end())
    }
    try archive.append(try archive.end())
  }

  /// - Parameter tables: what the archive has of each kind.
  private mutating func appendLines(
    _ definition: IndexDefinition, _ sources: [any LayerSource], _ header: LayerHeader,
    _ tables: [WrittenTable]
  ) throws {
    typealias Member = LayerLayout.ValueIndex
    let scope = definition.scope
    var lines = PackedValueLines.Builder()
    let cursors = try sources.map { try $0.knownOrScannedLines(definition).cursor() }
    var merge = try VersionMerge(cursors, keeping: header.checkpoints.map(\.revision))
    while try merge.next() {
      for (_, line) in merge.group {
        // If a later version with another value hides the line's version, that was dropped, and so is the line.
        let version = (UInt64(line.line.member), UInt64(line.revision), UInt64(0))
        if tables[scope.table].versions.contains(version) { lines.append(line) }
      }
    }
    try append(Member.lines, lines.lines)
    try append(Member.rests, lines.rests)
  }

  private mutating func appendWords(
    _ segments: [TextSegment], _ header: LayerHeader, _ table: WrittenTable
  ) throws {
    typealias Member = LayerLayout.ValueIndex
    var (versions, deletions) = (NewestRows(table.versions), NewestRows(table.deletions))
    let words = try TextSegmentBuilder(merging: segments) { document in
      versions.newest(of: document.number) == document.revision
        && deletions.newest(of: document.number) < document.revision
    } checkIsWanted: {
      try header.history?.checkIsWanted()
    }
    try append(Member.documents, words.documents)
    try append(Member.words, words.words)
    try append(Member.blocks, words.blocks)
    try append(Member.postings, words.postings)
  }

  private mutating func append(_ key: String, _ bytes: [UInt8]) throws {
    try archive.append(string: key)
    try archive.append(try archive.data(bytes))
  }

  private mutating func append(_ key: String, _ text: String) throws {
    try archive.append(string: key)
    try archive.append(string: text)
  }

  private mutating func append(_ key: String, _ number: Int) throws {
    try archive.append(string: key)
    try archive.append(integer: Int64(number))
  }

  private mutating func appendData(
    _ key: String, _ names: [String], _ rows: [PackedNumbersBuilder]
  ) throws {
    try appendDictionary(key, names, rows) { writer, rows throws in
      try writer.archive.append(try writer.archive.data(rows.bytes))
    }
  }

  private mutating func appendDictionary<Value>(
    _ key: String, _ names: [String], _ values: [Value],
    _ append: (inout LayerWriter, Value) throws -> Void
  ) throws {
    try archive.append(string: key)
    try archive.beginDictionary()
    for (name, value) in zip(names, values) {
      try archive.append(string: name)
      try append(&self, value)
    }
    try archive.append(try archive.end())
  }

  private mutating func append(texts: [String]) throws {
    try archive.beginArray()
    for text in texts { try archive.append(string: text) }
    try archive.append(try archive.end())
  }
}
