import KeyedArchiving

/// What is in the archive of a snapshot, found but not read.
struct SnapshotContents: Sendable {
  let tables: [SnapshotEntities]
  let indexes: [(name: String, pairs: SnapshotPairs)]
  let lists: [(name: String, texts: [String])]

  /// - Parameters:
  ///   - revision: what the snapshot is as of.
  ///   - kinds: the names of the kinds that the model has.
  ///   - fieldNames: the names of their numbered fields.
  init(
    _ bytes: ArchiveBytes, revision: Revision, kinds: [String], fieldNames: [[String]]
  ) throws(ArchiveError) {
    typealias Root = SnapshotLayout.Root
    // Of the other forms that an archive can have, one is read as a whole.
    guard try DataFormat(of: bytes) == .binaryPropertyList else { throw SnapshotReader.foreign(at: 0) }
    // The log says how large the file is, and nothing of it is read before it is asked for.
    var limits = ArchiveLimits()
    limits.byteCount = .max
    let list = try PropertyList(bytes, limits: limits)
    let reader = try SnapshotReader(list)
    let root = try reader.members(ofDictionary: reader.root)
    func member(_ key: String) throws(ArchiveError) -> ObjectHeader {
      guard let number = root[key] else { throw SnapshotReader.foreign(at: 0) }
      return try reader.resolve(number)
    }
    guard try reader.count(member(Root.format)) == SnapshotLayout.version,
      try reader.texts(member(Root.kinds)).elementsEqual(kinds)
    else { throw SnapshotReader.foreign(at: 0) }

    let fields = fieldNames.map(SnapshotLayout.fields)
    let keys = try reader.fieldKeys(fields)
    let entities = try reader.members(ofDictionary: member(Root.entities))
    let deleted = try reader.members(ofDictionary: member(Root.deleted))
    let erased = try reader.members(ofDictionary: member(Root.erased))
    let highest = try reader.members(ofDictionary: member(Root.highest))
    var tables: [SnapshotEntities] = []
    for (index, kind) in kinds.enumerated() {
      guard let entities = entities[kind], let deleted = deleted[kind], let erased = erased[kind],
        let highest = highest[kind]
      else {
        throw SnapshotReader.foreign(at: 0)
      }
      tables.append(
        try SnapshotEntities(
          reader, try reader.resolve(entities),
          deletions: SnapshotPairs(reader, try reader.resolve(deleted)),
          erased: SnapshotPairs(reader, try reader.resolve(erased)),
          highest: try reader.count(try reader.resolve(highest)), revision: revision, fieldKeys: keys[index]))
    }
    self.tables = tables
    var indexes: [(name: String, pairs: SnapshotPairs)] = []
    for (name, number) in try reader.members(ofDictionary: member(Root.indexes)) {
      indexes.append((name, try SnapshotPairs(reader, try reader.resolve(number))))
    }
    self.indexes = indexes
    var lists: [(name: String, texts: [String])] = []
    for (name, number) in try reader.members(ofDictionary: member(Root.lists)) {
      lists.append((name, try reader.texts(try reader.resolve(number))))
    }
    self.lists = lists
  }
}

extension SnapshotReader {
  /// The object numbers of the names of fields: they are among the first objects of the archive.
  func fieldKeys(_ fields: [[String]]) throws(ArchiveError) -> [[Int]] {
    var numbers: [[UInt8]: Int] = [:]
    let bound = min(list.objectCount, 64 + fields.reduce(0) { $0 + $1.count + 8 })
    for number in 0..<bound {
      let header = try list.header(number)
      guard header.kind.isString else { continue }
      let text = Array(try list.string(header).utf8)
      if numbers[text] == nil { numbers[text] = number }
    }
    var keys: [[Int]] = []
    for names in fields {
      var found: [Int] = []
      for name in names {
        guard let number = numbers[Array(name.utf8)] else { throw Self.foreign(at: 0) }
        found.append(number)
      }
      keys.append(found)
    }
    return keys
  }
}
