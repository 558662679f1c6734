import CBOR
import Foundation
import KeyedArchiving

/// What a snapshot says of itself.
struct SnapshotHeader: Sendable {
  let journal: JournalID
  let schema: String
  let head: Head
  let kinds: [String]
  /// The names of the numbered fields of each kind.
  let fieldNames: [[String]]
}

/// Writes a state as a keyed archive, entity by entity. Equal states give equal bytes.
struct SnapshotWriter: ~Copyable {
  var archive: KeyedArchiveWriter
  var texts = ShortTexts()
  var keyLists = KeyLists()
  /// The keys of the dictionaries that are being written, encoded, those of the innermost last.
  var keys: [UInt8] = []
  var null: KeyedArchiveWriter.Reference?
  /// The revision that was written last; neighbours mostly have the same.
  var newest: (revision: Revision, value: KeyedArchiveWriter.Value)?
  private var digest: StateDigest.Builder

  /// Writes all of it.
  /// - Returns: the digest of the state.
  static func write(
    _ parts: StateParts, _ header: SnapshotHeader, to sink: @escaping KeyedArchiveWriter.Sink
  ) throws -> Digest {
    var writer = SnapshotWriter(
      archive: try unsafe KeyedArchiveWriter(to: sink), digest: StateDigest.Builder(schema: header.schema))
    // Prepared before anything else, so that a reader finds the names of fields at the start.
    let shapes = try writer.shapes(header)
    let root = try writer.root(parts, header, shapes)
    return try writer.finish(root)
  }

  private init(archive: consuming KeyedArchiveWriter, digest: consuming StateDigest.Builder) {
    self.archive = archive
    self.digest = digest
  }

  private consuming func finish(_ root: KeyedArchiveWriter.Reference) throws -> Digest {
    try archive.finish(.root(root))
    return digest.finish()
  }

  // MARK: The root

  private mutating func shapes(_ header: SnapshotHeader) throws -> [EntityShapes] {
    var shapes: [EntityShapes] = []
    for (kind, names) in zip(header.kinds, header.fieldNames) {
      shapes.append(
        try EntityShapes(
          ArchivedClass(SnapshotLayout.className(ofKind: kind)), SnapshotLayout.fields(names), &archive))
    }
    return shapes
  }

  private mutating func root(
    _ parts: StateParts, _ header: SnapshotHeader, _ shapes: [EntityShapes]
  ) throws -> KeyedArchiveWriter.Reference {
    typealias Root = SnapshotLayout.Root
    try archive.beginDictionary()
    try archive.append(string: Root.about)
    try archive.append(string: SnapshotLayout.about)
    try archive.append(string: Root.format)
    try archive.append(integer: Int64(SnapshotLayout.version))
    try archive.append(string: Root.journal)
    try archive.append(string: header.journal.description)
    try archive.append(string: Root.schema)
    try archive.append(string: header.schema)
    try archive.append(string: Root.revision)
    try archive.append(integer: Int64(header.head.revision))
    try archive.append(string: Root.date)
    try archive.append(date: header.head.date)
    try archive.append(string: Root.digest)
    try archive.append(string: header.head.digest.hex)
    try archive.append(string: Root.kinds)
    try append(texts: header.kinds)
    try archive.append(string: Root.fields)
    try appendDictionary(header.kinds, header.fieldNames) { writer, names throws in
      try writer.append(texts: names)
    }
    var remaining = shapes
    try archive.append(string: Root.entities)
    try appendDictionary(header.kinds, parts.tables) { writer, table throws in
      var shapes = remaining.removeFirst()
      try writer.archive.beginArray()
      // Going through a table that stands on a file is most of the work, so it is done once for both.
      writer.digest.begin(table)
      for (number, row) in table {
        writer.digest.append(number, row)
        try writer.append(number, row, &shapes)
      }
      writer.digest.end(table)
      try writer.archive.append(try writer.archive.end())
    }
    try archive.append(string: Root.highest)
    try appendDictionary(header.kinds, parts.tables) { writer, table throws in
      try writer.archive.append(integer: Int64(table.highest))
    }
    try archive.append(string: Root.deleted)
    try appendDictionary(header.kinds, parts.tables) { writer, table throws in
      try writer.append(pairs: table.goneEntities.map { ($0.number, $0.revision) })
    }
    try archive.append(string: Root.erased)
    try appendDictionary(header.kinds, parts.tables) { writer, table throws in
      try writer.append(pairs: table.erasedNumbers.map { ($0, table.revision(of: $0)) })
    }
    try archive.append(string: Root.indexes)
    try appendDictionary(parts.indexes.map(\.name), parts.indexes) { writer, index throws in
      try writer.append(pairs: index.index.lines.map { ($0.group, $0.member) })
    }
    try archive.append(string: Root.lists)
    try appendDictionary(parts.lists.map(\.name), parts.lists) { writer, list throws in
      try writer.append(texts: list.texts)
    }
    return try archive.end()
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

  /// Appends `SnapshotPairs`.
  private mutating func append(pairs: [(Int, Int)]) throws {
    let isNarrow = pairs.allSatisfy { UInt32(exactly: $0.0) != nil && UInt32(exactly: $0.1) != nil }
    var bytes: [UInt8] = [isNarrow ? 4 : 8]
    bytes.reserveCapacity(1 + pairs.count * (isNarrow ? 8 : 16))
    for pair in pairs {
      if isNarrow {
        bytes.append(bigEndian: UInt32(pair.0))
        bytes.append(bigEndian: UInt32(pair.1))
      } else {
        bytes.append(bigEndian: UInt64(truncatingIfNeeded: pair.0))
        bytes.append(bigEndian: UInt64(truncatingIfNeeded: pair.1))
      }
    }
    try archive.append(try archive.data(bytes))
  }
}
