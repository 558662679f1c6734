import CBOR
import PropertyLists
import Synchronization

/// The archive of a layer or snapshot, which is read on demand.
///
/// Safe to use from any thread.
final class LayerFile: LayerContents {
  private let tables: [LayerEntities]
  private let indexes: [PackedNumbers]
  private let lists: [[String]]
  private let valueIndexes: [(definition: IndexDefinition, lines: PackedValueLines)]
  private let bytes: ArchiveBytes
  /// The newest revision of the layer.
  private let revision: Revision
  private let shape: StateShape
  private let hasBeenRetired = Atomic<Bool>(false)

  /// - Parameters:
  ///   - revision: the newest revision of the layer.
  ///   - shape: the shape of the model's states.
  init(_ bytes: ArchiveBytes, revision: Revision, shape: StateShape) throws(ArchiveError) {
    typealias Root = LayerLayout.Root
    let list = try PropertyList(binary: bytes)
    let reader = try LayerReader(list)
    let root = try reader.members(ofDictionary: reader.root)
    func member(_ key: String) throws(ArchiveError) -> ObjectHeader {
      guard let number = root[key] else { throw LayerReader.foreign(at: 0) }
      return try reader.resolve(number)
    }
    func members(_ key: String) throws(ArchiveError) -> (String) throws(ArchiveError) -> ObjectHeader {
      let members = try reader.members(ofDictionary: member(key))
      return { (name) throws(ArchiveError) in
        guard let number = members[name] else { throw LayerReader.foreign(at: 0) }
        return try reader.resolve(number)
      }
    }
    func names(_ key: String) throws(ArchiveError) -> Set<String> {
      Set(try reader.members(ofDictionary: member(key)).keys)
    }
    let version = try reader.count(member(Root.format))
    let known = [
      LayerLayout.unmarkedObjectsVersion, LayerLayout.blocksVersion, LayerLayout.objectsVersion,
    ]
    guard known.contains(version) else { throw LayerReader.foreign(at: 0) }
    guard try reader.texts(member(Root.kinds)).elementsEqual(shape.kinds),
      try names(Root.indexes).isSuperset(of: shape.indexes), try names(Root.lists).isSuperset(of: shape.lists)
    else { throw ArchiveError(.unsupportedFormat, StateShape.advice) }

    let deleted = try members(Root.deleted)
    let erased = try members(Root.erased)
    let highest = try members(Root.highest)
    var tables: [LayerEntities] = []
    func append(_ versions: any LayerVersions, _ kind: String, highest: Int) throws(ArchiveError) {
      tables.append(
        try LayerEntities(
          versions, deletions: PackedNumbers(reader, try deleted(kind), columns: 2, isByEntity: true),
          erased: PackedNumbers(reader, try erased(kind), columns: 2, isByEntity: true), highest: highest,
          revision: revision))
    }
    if version == LayerLayout.blocksVersion {
      let blocks = try members(Root.blocks)
      let keys = try members(Root.keys)
      for kind in shape.kinds {
        let highest = try reader.number(try highest(kind))
        let versions = try EntityBlocks(
          reader, directory: try blocks(kind), keyLists: try reader.keyLists(try keys(kind)),
          highest: highest,
          revision: revision)
        try append(versions, kind, highest: highest)
      }
    } else {
      let fieldKeys = try reader.fieldKeys(shape.fieldNames.map(LayerLayout.fields))
      let entities = try members(Root.entities)
      let versions = try members(Root.versions)
      let keyLists = ObjectKeyLists(areMarked: version == LayerLayout.objectsVersion)
      for (index, kind) in shape.kinds.enumerated() {
        let highest = try reader.number(try highest(kind))
        let versions = try ArchivedObjects(
          reader, try entities(kind),
          versions: PackedNumbers(reader, try versions(kind), columns: 2, isByEntity: true), highest: highest,
          revision: revision, fieldKeys: fieldKeys[index], keyLists: keyLists)
        try append(versions, kind, highest: highest)
      }
    }
    self.tables = tables
    let indexes = try members(Root.indexes)
    var packed: [PackedNumbers] = []
    for name in shape.indexes {
      packed.append(try PackedNumbers(reader, try indexes(name), columns: 3, isByEntity: false))
    }
    self.indexes = packed
    let lists = try members(Root.lists)
    var texts: [[String]] = []
    for name in shape.lists { texts.append(try reader.texts(try lists(name))) }
    self.lists = texts
    self.bytes = bytes
    self.revision = revision
    self.shape = shape
    var valueIndexes: [(IndexDefinition, PackedValueLines)] = []
    if let number = root[Root.valueIndexes] {
      let elements = try reader.elements(of: try reader.resolve(number))
      guard elements.count <= Self.valueIndexLimit else { throw LayerReader.foreign(at: elements.offset) }
      for index in 0..<elements.count {
        let header = try reader.resolve(try list.reference(elements, index))
        valueIndexes.append(try Self.valueIndex(reader, header, tables, shape, revision))
      }
    }
    self.valueIndexes = valueIndexes
  }

  /// More indexes than any app declares.
  static let valueIndexLimit = 4096

  private static func valueIndex(
    _ reader: LayerReader, _ header: ObjectHeader, _ tables: [LayerEntities], _ shape: StateShape,
    _ revision: Revision
  ) throws(ArchiveError) -> (IndexDefinition, PackedValueLines) {
    typealias Member = LayerLayout.ValueIndex
    let members = try reader.members(ofDictionary: header)
    func member(_ key: String) throws(ArchiveError) -> ObjectHeader {
      guard let number = members[key] else { throw LayerReader.foreign(at: header.offset) }
      return try reader.resolve(number)
    }
    let kind = try reader.string(try member(Member.kind))
    let path = try reader.texts(try member(Member.path))
    guard let table = shape.kinds.firstIndex(of: kind), !path.isEmpty else {
      throw LayerReader.foreign(at: header.offset)
    }
    let scope = IndexScope(
      table: table, field: try reader.count(try member(Member.field)),
      text: try reader.string(try member(Member.text)))
    let lines = try PackedValueLines(
      reader, lines: try member(Member.lines), rests: try member(Member.rests),
      highest: tables[table].highest, revision: revision)
    return (IndexDefinition(scope, AttributePath(path)), lines)
  }

  /// The same file without its pages, which are read again. Itself if it is in memory, or if the system lacks the
  /// resources, because that is no fault of the file.
  func reopened() throws(ArchiveError) -> LayerFile {
    guard let reopened = try? bytes.reopened(), reopened !== bytes else { return self }
    return try LayerFile(reopened, revision: revision, shape: shape)
  }

  /// How many bytes of its pages are in memory; 0 if all of it is.
  var pageByteCount: Int { bytes.pageByteCount }

  /// Frees the memory of its pages. Unsafe unless no other thread reads.
  @unsafe func unload() { unsafe bytes.unload() }

  var isRetired: Bool { hasBeenRetired.load(ordering: .relaxed) }
  /// Called when the layer uses the same file, opened once more.
  func retire() { hasBeenRetired.store(true, ordering: .relaxed) }

  /// The declared indexes that the file has.
  var definitions: [IndexDefinition] { valueIndexes.map(\.definition) }

  func hasIndex(_ definition: IndexDefinition) -> Bool { definitions.contains(definition) }

  func valueLines(_ definition: IndexDefinition) -> (any LayerValueLines)? {
    valueIndexes.first { $0.definition == definition }?.lines
  }

  // MARK: Writing

  func versions(_ kind: Int) throws(ArchiveError) -> VersionCursor {
    try tables[kind].cursor(from: 0, asOf: nil)
  }

  func rows(_ kind: Int) -> RowReader { tables[kind].rows() }

  func lines(_ index: Int) throws(ArchiveError) -> LineCursor {
    var position = 0
    let list = indexes[index]
    return { () throws(ArchiveError) in
      guard position < list.count else { return nil }
      position += 1
      return try self.line(list, at: position - 1)
    }
  }

  func texts(_ list: Int) -> [String] { lists[list] }

  // MARK: Looking up

  func version(
    _ kind: Int, _ number: Int, asOf revision: Revision
  ) throws(ArchiveError) -> EntityVersion? {
    try tables[kind].version(number, asOf: revision)
  }

  func row(_ kind: Int, _ version: EntityVersion) throws(ArchiveError) -> EntityRow? {
    try tables[kind].row(version)
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

  func newestLines(
    _ index: Int, from key: IndexKey, asOf revision: Revision
  ) throws(ArchiveError) -> LineCursor {
    let list = indexes[index]
    var position = try list.position(of: (key.words.0, key.words.1, 0))
    return { () throws(ArchiveError) in
      while position < list.count {
        let (newest, end) = try list.newest(at: position, notAfter: Self.time(behind: revision) - 1)
        position = end
        if let newest { return try self.line(list, at: newest) }
      }
      return nil
    }
  }

  /// A line's time is its revision, and in the lowest bit whether it exists.
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
  /// The two numbers in the order in which keys are compared.
  var words: (UInt64, UInt64) {
    (UInt64(truncatingIfNeeded: group), UInt64(truncatingIfNeeded: member))
  }
}
