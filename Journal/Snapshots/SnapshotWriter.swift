import CBOR
import Foundation
import KeyedArchiving

/// The header of a layer.
struct LayerHeader: Sendable {
  let journal: JournalID
  let shape: StateShape
  /// Its newest entry.
  let head: Head
  /// The checkpoint below it; the empty state for a self-contained one.
  let start: LayerCheckpoint
  /// Its checkpoints, in ascending order; the last is that of the head.
  let checkpoints: [LayerCheckpoint]
  /// The declared indexes that it has.
  var indexes: [IndexDefinition] = []

  var top: LayerCheckpoint { checkpoints.last ?? start }
}

/// Writes the changes between two revisions as a keyed archive, entity by entity. The same sources make the same bytes.
struct SnapshotWriter: ~Copyable {
  var archive: KeyedArchiveWriter
  var texts = ShortTexts()
  var keyLists = KeyLists()
  /// The encoded keys of the dictionaries in progress, the innermost last.
  var keys: [UInt8] = []
  var null: KeyedArchiveWriter.Reference?
  /// The values of the version that was written last, if the archive has several of its entity.
  var previous: VersionValues?
  /// The leading fields of the version that was written last; neighbors mostly have some of the same numbers.
  var leading = [(number: Int, value: KeyedArchiveWriter.Value)?](
    repeating: nil, count: SnapshotLayout.leadingFields.count)
  private var digest: StateDigest.Builder

  /// Writes the whole archive.
  /// - Parameter sources: in the order of time; together they have everything that the header names.
  /// - Returns: the digest of the state, if the only source is a whole state.
  static func write(
    _ sources: [any LayerSource], _ header: LayerHeader, to sink: @escaping KeyedArchiveWriter.Sink
  ) throws -> ContentDigest? {
    let isWhole = sources.first is WholeState
    var writer = SnapshotWriter(
      archive: try unsafe KeyedArchiveWriter(to: sink),
      digest: StateDigest.Builder(schema: header.shape.schema))
    // Prepared first, so that a reader finds the names of fields at the start.
    let shapes = try writer.shapes(header.shape)
    let root = try writer.root(sources, header, shapes, isWhole)
    let digest = try writer.finish(root)
    return isWhole ? digest : nil
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
          ArchivedClass(SnapshotLayout.className(ofKind: kind)), SnapshotLayout.fields(names), &archive))
    }
    return shapes
  }

  private mutating func root(
    _ sources: [any LayerSource], _ header: LayerHeader, _ shapes: [EntityShapes], _ isWhole: Bool
  ) throws -> KeyedArchiveWriter.Reference {
    typealias Root = SnapshotLayout.Root
    let shape = header.shape
    try archive.beginDictionary()
    try archive.append(string: Root.about)
    try archive.append(
      string: SnapshotLayout.about + (header.indexes.isEmpty ? "" : SnapshotLayout.aboutValueIndexes))
    try archive.append(string: Root.format)
    try archive.append(integer: Int64(SnapshotLayout.version))
    try archive.append(string: Root.journal)
    try archive.append(string: header.journal.description)
    try archive.append(string: Root.schema)
    try archive.append(string: shape.schema)
    try archive.append(string: Root.from)
    try archive.append(integer: Int64(header.start.revision))
    try archive.append(string: Root.revision)
    try archive.append(integer: Int64(header.head.revision))
    try archive.append(string: Root.date)
    try archive.append(date: header.head.date)
    try archive.append(string: Root.digest)
    try archive.append(string: header.head.digest.hex)
    try archive.append(string: Root.checkpoints)
    try archive.beginArray()
    for checkpoint in header.checkpoints { try archive.append(integer: Int64(checkpoint.revision)) }
    try archive.append(try archive.end())
    try archive.append(string: Root.kinds)
    try append(texts: shape.kinds)
    try archive.append(string: Root.fields)
    try appendDictionary(shape.kinds, shape.fieldNames) { writer, names throws in
      try writer.append(texts: names)
    }
    let kept = header.checkpoints.map(\.revision)
    var versions: [PackedNumbersBuilder] = []
    var deletions: [PackedNumbersBuilder] = []
    var erased: [PackedNumbersBuilder] = []
    try archive.append(string: Root.entities)
    try appendDictionary(shape.kinds, shapes) { writer, shapes throws in
      var shapes = shapes
      let kind = versions.count
      let totals = header.top.tables[kind]
      if isWhole { writer.digest.begin(highest: totals.highest, count: totals.count) }
      let found = try writer.entities(sources, kind, kept, &shapes, isWhole)
      if isWhole { writer.digest.end(deletions: found.deletions, erased: found.erased) }
      versions.append(found.versions)
      deletions.append(found.deletions)
      erased.append(found.erased)
    }
    try archive.append(string: Root.versions)
    try appendDictionary(shape.kinds, versions) { writer, rows throws in
      try writer.archive.append(try writer.archive.data(rows.bytes))
    }
    try archive.append(string: Root.deleted)
    try appendDictionary(shape.kinds, deletions) { writer, rows throws in
      try writer.archive.append(try writer.archive.data(rows.bytes))
    }
    try archive.append(string: Root.erased)
    try appendDictionary(shape.kinds, erased) { writer, rows throws in
      try writer.archive.append(try writer.archive.data(rows.bytes))
    }
    try archive.append(string: Root.highest)
    try appendDictionary(shape.kinds, header.top.tables) { writer, totals throws in
      try writer.archive.append(integer: Int64(totals.highest))
    }
    try archive.append(string: Root.indexes)
    try appendDictionary(shape.indexes, Array(shape.indexes.indices)) { writer, index throws in
      let lines = try Self.lines(sources, index, kept, isLowest: header.start.revision == 0)
      try writer.archive.append(try writer.archive.data(lines.bytes))
    }
    try archive.append(string: Root.lists)
    try appendDictionary(shape.lists, Array(shape.lists.indices)) { writer, list throws in
      try writer.append(texts: try sources.flatMap { try $0.texts(list) })
    }
    if !header.indexes.isEmpty {
      try archive.append(string: Root.valueIndexes)
      try archive.beginArray()
      for definition in header.indexes { try append(definition, sources, header, versions) }
      try archive.append(try archive.end())
    }
    return try archive.end()
  }

  /// Appends an `NSArray` of the versions of all entities of a kind.
  /// - Returns: the number and the revision of each, of each deletion, and of those deletions that are erasures.
  private mutating func entities(
    _ sources: [any LayerSource], _ kind: Int, _ kept: [Revision], _ shapes: inout EntityShapes,
    _ isWhole: Bool
  ) throws -> (versions: PackedNumbersBuilder, deletions: PackedNumbersBuilder, erased: PackedNumbersBuilder)
  {
    var versions = PackedNumbersBuilder(columns: 2)
    var deletions = PackedNumbersBuilder(columns: 2)
    var erased = PackedNumbersBuilder(columns: 2)
    var merge = try VersionMerge(try sources.map { try $0.versions(kind) }, keeping: kept)
    let readers = sources.map { $0.rows(kind) }
    try archive.beginArray()
    while try merge.next() {
      previous = nil
      for (source, version) in merge.group {
        let numbers = (UInt64(version.number), UInt64(version.revision), UInt64(0))
        if let row = try readers[source](version) {
          versions.append(numbers)
          // Iterating over a state in files is most of the work, so it is done once for both.
          if isWhole { digest.append(version.number, row) }
          try append(version.number, row, &shapes, isOnly: merge.group.count == 1)
        } else {
          deletions.append(numbers)
          if case .deleted(isErased: true) = version.content { erased.append(numbers) }
        }
      }
    }
    try archive.append(try archive.end())
    return (versions, deletions, erased)
  }

  private static func lines(
    _ sources: [any LayerSource], _ index: Int, _ kept: [Revision], isLowest: Bool
  ) throws -> PackedNumbersBuilder {
    var lines = PackedNumbersBuilder(columns: 3)
    var merge = try LineMerge(
      try sources.map { try $0.lines(index) }, keeping: kept, isLowest: isLowest)
    while try merge.next() {
      for line in merge.group { lines.append((line.key.words.0, line.key.words.1, LayerFile.time(line))) }
    }
    return lines
  }

  /// Appends an `NSDictionary` of a declared index.
  /// - Parameter versions: by kind: the versions of entities in the archive.
  private mutating func append(
    _ definition: IndexDefinition, _ sources: [any LayerSource], _ header: LayerHeader,
    _ versions: [PackedNumbersBuilder]
  ) throws {
    typealias Member = SnapshotLayout.ValueIndex
    let scope = definition.scope
    var lines = PackedValueLines.Builder(
      highest: header.top.tables[scope.table].highest, revision: header.head.revision)
    var merge = try ValueLineMerge(try sources.map { try $0.knownOrScannedLines(definition) })
    while let next = try merge.next() {
      guard versions[scope.table].contains((UInt64(next.line.member), UInt64(next.revision), 0)) else {
        continue
      }
      guard lines.append(next) else {
        throw ArchiveError(.limitExceeded, "An index has too many long values")
      }
    }
    try archive.beginDictionary()
    try archive.append(string: Member.kind)
    try archive.append(string: header.shape.kinds[scope.table])
    try archive.append(string: Member.field)
    try archive.append(integer: Int64(scope.field))
    try archive.append(string: Member.text)
    try archive.append(string: scope.text)
    try archive.append(string: Member.path)
    try append(texts: definition.path.names)
    try archive.append(string: Member.lines)
    try archive.append(try archive.data(lines.lines))
    try archive.append(string: Member.rests)
    try archive.append(try archive.data(lines.rests))
    try archive.append(try archive.end())
  }

  private mutating func appendDictionary<Value>(
    _ keys: [String], _ values: [Value],
    _ append: (inout SnapshotWriter, Value) throws -> Void
  ) throws {
    try archive.beginDictionary()
    for (key, value) in zip(keys, values) {
      try archive.append(string: key)
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
