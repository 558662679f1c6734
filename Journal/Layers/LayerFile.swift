import CBOR
import PropertyLists

/// The archive of a layer, which is read on demand.
///
/// Safe to use from any thread.
final class LayerFile: LayerContents {
  private let tables: [LayerEntities]
  private let indexes: [PackedNumbers]
  private let lists: [[String]]
  private let valueIndexes: [(definition: IndexDefinition, lines: PackedValueLines)]
  private let wordIndexes: [(definition: IndexDefinition, words: TextSegment)]
  let bytes: ArchiveBytes
  /// The newest revision of the layer.
  private let revision: Revision
  private let shape: StateShape

  init(_ bytes: ArchiveBytes, revision: Revision, shape: StateShape) throws(ArchiveError) {
    typealias Root = LayerLayout.Root
    let list = try PropertyList(binary: bytes)
    let reader = try LayerReader(list)
    let root = try reader.root()
    guard try reader.count(root.header(Root.format)) == LayerLayout.blocksVersion else {
      throw ArchiveError(.unsupportedFormat, "it has another form than this version reads")
    }
    try shape.check(root, reader)
    let (indexes, lists) = (try root.members(Root.indexes), try root.members(Root.lists))
    let (deleted, erased) = (try root.members(Root.deleted), try root.members(Root.erased))
    let (blocks, keys) = (try root.members(Root.blocks), try root.members(Root.keys))
    let highest = try root.members(Root.highest)
    var tables: [LayerEntities] = []
    for kind in shape.kinds {
      let highest = try reader.number(try highest.header(kind))
      let versions = try EntityBlocks(
        reader, directory: try blocks.header(kind), keyLists: try reader.keyLists(try keys.header(kind)),
        highest: highest, revision: revision)
      tables.append(
        try LayerEntities(
          versions, deletions: PackedNumbers(reader, try deleted.header(kind), columns: 2),
          erased: PackedNumbers(reader, try erased.header(kind), columns: 2), highest: highest,
          revision: revision))
    }
    self.tables = tables
    self.indexes = try shape.indexes.map { (name) throws(ArchiveError) in
      try PackedNumbers(reader, indexes.header(name), columns: 3)
    }
    self.lists = try shape.lists.map { (name) throws(ArchiveError) in
      try reader.texts(lists.header(name))
    }
    self.bytes = bytes
    self.revision = revision
    self.shape = shape
    valueIndexes = try Self.indexes(ofWords: false, root, reader, shape).map {
      (definition, members) throws(ArchiveError) in
      typealias Member = LayerLayout.ValueIndex
      let lines = try PackedValueLines(
        reader, lines: try members.header(Member.lines), rests: try members.header(Member.rests),
        highest: tables[definition.scope.table].highest, revision: revision)
      return (definition, lines)
    }
    wordIndexes = try Self.indexes(ofWords: true, root, reader, shape).map {
      (definition, members) throws(ArchiveError) in
      typealias Member = LayerLayout.ValueIndex
      let words = try TextSegment(
        documents: ArchiveSlice(reader, members.header(Member.documents)),
        words: ArchiveSlice(reader, members.header(Member.words)),
        blocks: ArchiveSlice(reader, members.header(Member.blocks)),
        postings: ArchiveSlice(reader, members.header(Member.postings)),
        highest: tables[definition.scope.table].highest, revision: revision)
      return (definition, words)
    }
  }

  /// The most declared indexes of values, and of words, in a file: more than any app declares.
  static let indexLimit = 4096

  /// The declared indexes that a layer or snapshot has.
  static func indexes(
    ofWords: Bool, _ root: ArchivedMembers, _ reader: LayerReader, _ shape: StateShape
  ) throws(ArchiveError) -> [(IndexDefinition, ArchivedMembers)] {
    typealias Member = LayerLayout.ValueIndex
    let key = ofWords ? LayerLayout.Root.wordIndexes : LayerLayout.Root.valueIndexes
    guard let header = try root.optional(key) else { return [] }
    let elements = try reader.elements(of: header)
    guard elements.count <= Self.indexLimit else { throw LayerReader.foreign(at: elements.offset) }
    var indexes: [(IndexDefinition, ArchivedMembers)] = []
    for index in 0..<elements.count {
      let header = try reader.resolve(try reader.list.reference(elements, index))
      let members = try reader.members(of: header)
      let rules = ofWords ? try reader.count(members.header(Member.rules)) : nil
      // An index with words of other rules is made again.
      guard let content = rules.map(IndexDefinition.Content.init(rules:)) ?? .values else { continue }
      let kind = try reader.string(members.header(Member.kind))
      let path = try reader.texts(members.header(Member.path))
      guard let table = shape.kinds.firstIndex(of: kind), !path.isEmpty else {
        throw LayerReader.foreign(at: header.offset)
      }
      let scope = IndexScope(
        table: table, field: try reader.count(members.header(Member.field)),
        text: try reader.string(members.header(Member.text)))
      indexes.append((IndexDefinition(scope, AttributePath(path), content), members))
    }
    return indexes
  }

  /// Opens the file again, for one thread that reads from the start to the end, as a merge does. Returns this object if
  /// the file is in memory, or if the system lacks resources, which is no fault of the file.
  /// - Parameter pageLimit: the most bytes of pages in memory.
  func reopened(pageLimit: Int) throws(ArchiveError) -> LayerFile {
    guard let reopened = try? bytes.reopened(keeping: pageLimit), reopened !== bytes else { return self }
    return try LayerFile(reopened, revision: revision, shape: shape)
  }

  /// Opens the file again, so that the pages of this object stay in memory for readers.
  func sequential() throws(ArchiveError) -> any LayerSource { try reopened(pageLimit: 1 << 20) }

  var definitions: [IndexDefinition] { valueIndexes.map(\.definition) + wordIndexes.map(\.definition) }

  func hasIndex(_ definition: IndexDefinition) -> Bool { definitions.contains(definition) }

  func valueLines(_ definition: IndexDefinition) -> (any LayerValueLines)? {
    valueIndexes.first { $0.definition == definition }?.lines
  }

  func words(_ definition: IndexDefinition) -> TextSegment? {
    wordIndexes.first { $0.definition == definition }?.words
  }

  // MARK: Writing

  func versions(_ kind: Int) throws(ArchiveError) -> VersionCursor { try tables[kind].cursor(from: 0) }

  func rows(_ kind: Int) -> RowReader { tables[kind].rows() }

  func lines(_ index: Int) throws(ArchiveError) -> LineCursor {
    var lines = Lines(file: self, list: indexes[index], position: 0)
    return { () throws(ArchiveError) in try lines.next() }
  }

  func texts(_ list: Int) -> [String] { lists[list] }

  // MARK: Looking up

  func version(
    _ kind: Int, _ number: Int, asOf revision: Revision
  ) throws(ArchiveError) -> EntityVersion? {
    try tables[kind].version(number, asOf: revision)
  }

  func row(_ kind: Int, _ number: Int, asOf revision: Revision) throws(ArchiveError) -> EntityRow?? {
    try tables[kind].row(number, asOf: revision)
  }

  func newestVersions(
    _ kind: Int, from number: Int, asOf revision: Revision
  ) throws(ArchiveError) -> VersionCursor {
    try tables[kind].cursor(from: number, asOf: revision)
  }

  func line(_ index: Int, _ key: IndexKey, asOf revision: Revision) throws(ArchiveError) -> Bool? {
    let list = indexes[index]
    let position = try list.position(of: (key.words.0, key.words.1, Self.time(behind: revision))) - 1
    guard position >= 0 else { return nil }
    let line = try line(list, at: position)
    return line.key == key ? line.isThere : nil
  }

  func hasLines(_ index: Int, from first: IndexKey, through last: IndexKey) throws(ArchiveError) -> Bool {
    let list = indexes[index]
    let position = try list.position(of: (first.words.0, first.words.1, 0))
    guard position < list.count else { return false }
    return try line(list, at: position).key <= last
  }

  func newestLines(
    _ index: Int, from key: IndexKey, asOf revision: Revision
  ) throws(ArchiveError) -> LineCursor {
    let list = indexes[index]
    let position = try list.position(of: (key.words.0, key.words.1, 0))
    var newest = try NewestElements(Lines(file: self, list: list, position: position), asOf: revision)
    return { () throws(ArchiveError) in try newest.next() }
  }

  private struct Lines: ElementCursor {
    let file: LayerFile
    let list: PackedNumbers
    var position: Int
    var last: LineVersion?

    mutating func next() throws(ArchiveError) -> LineVersion? {
      guard position < list.count else { return nil }
      position += 1
      let line = try file.line(list, at: position - 1)
      // Readers rely on the order.
      if let last, (line.key, line.revision) <= (last.key, last.revision) { throw list.foreign }
      last = line
      return line
    }
  }

  /// The time of a line: its revision, and in the lowest bit whether the line exists.
  static func time(_ line: LineVersion) -> UInt64 { UInt64(line.revision) << 1 | (line.isThere ? 1 : 0) }

  private static func time(behind revision: Revision) -> UInt64 { (UInt64(revision) + 1) << 1 }

  private func line(_ list: PackedNumbers, at position: Int) throws(ArchiveError) -> LineVersion {
    let row = try list.row(at: position)
    let revision = row.2 >> 1
    guard revision > 0, revision <= UInt64(self.revision) else { throw list.foreign }
    return LineVersion(
      key: IndexKey(group: Int(truncatingIfNeeded: row.0), member: Int(truncatingIfNeeded: row.1)),
      revision: Int(revision), isThere: row.2 & 1 == 1)
  }
}

extension IndexKey {
  /// The group and the member as words, which compare in the order of keys.
  var words: (UInt64, UInt64) {
    (UInt64(truncatingIfNeeded: group), UInt64(truncatingIfNeeded: member))
  }
}
