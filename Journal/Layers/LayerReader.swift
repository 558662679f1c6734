import CBOR
import PropertyLists

/// Reads the archive of a layer in place: everything is decoded on demand.
///
/// This reader takes what `LayerWriter` writes and refuses anything else, so a value is either exactly the one that was
/// written or an error.
struct LayerReader: Sendable {
  let list: PropertyList
  /// The array of all archived objects; UIDs are positions in it.
  private let objects: ObjectHeader

  /// The most members of the dictionaries that are read at once: kinds, indexes and lists, by name.
  private static let memberLimit = 4096
  /// The most bytes of the texts of a list, which is also read at once.
  private static let textLimit = 256 << 20

  init(_ list: PropertyList) throws(ArchiveError) {
    self.list = list
    guard let number = try list.member("$objects", of: list.header(list.top)) else {
      throw LayerReader.foreign(at: 0)
    }
    objects = try list.header(number)
    guard objects.kind == .array else { throw LayerReader.foreign(at: objects.offset) }
  }

  func root() throws(ArchiveError) -> ArchivedMembers {
    guard let top = try list.member("$top", of: list.header(list.top)),
      let root = try list.member("root", of: list.header(top))
    else { throw Self.foreign(at: 0) }
    return try members(of: resolve(root))
  }

  /// The error for something that `LayerWriter` does not write.
  static func foreign(at offset: Int) -> ArchiveError {
    ArchiveError(.malformed, "this does not have the layout of a layer or snapshot", offset: offset)
  }

  // MARK: Objects

  /// The object of a value: the one that a UID names, or the value itself.
  func resolve(_ number: Int) throws(ArchiveError) -> ObjectHeader {
    let header = try list.header(number)
    guard header.kind == .uid else { return header }
    return try list.header(try list.reference(objects, Int(try list.uid(header))))
  }

  /// The members of an archived `NSDictionary` whose keys are texts.
  func members(of header: ObjectHeader) throws(ArchiveError) -> ArchivedMembers {
    guard header.kind == .dictionary, let keysNumber = try list.member("NS.keys", of: header) else {
      throw Self.foreign(at: header.offset)
    }
    let (keys, values) = (try list.header(keysNumber), try elements(of: header))
    // One long text can be the key of many members, so their number needs a limit that the file's size does not give.
    guard keys.kind == .array, keys.count == values.count, keys.count <= Self.memberLimit else {
      throw Self.foreign(at: header.offset)
    }
    var numbers: [String: Int] = [:]
    for index in 0..<keys.count {
      let key = try resolve(try list.reference(keys, index))
      guard key.kind.isString else { throw Self.foreign(at: key.offset) }
      numbers[try list.string(key)] = try list.reference(values, index)
    }
    return ArchivedMembers(reader: self, numbers: numbers)
  }

  /// The elements of an archived `NSArray`, or the values of an `NSDictionary`.
  func elements(of header: ObjectHeader) throws(ArchiveError) -> ObjectHeader {
    guard let number = try list.member("NS.objects", of: header) else {
      throw Self.foreign(at: header.offset)
    }
    let elements = try list.header(number)
    guard elements.kind == .array else { throw Self.foreign(at: elements.offset) }
    return elements
  }

  func count(_ header: ObjectHeader) throws(ArchiveError) -> Int {
    guard let number = try list.int64(header), number >= 0 else { throw Self.foreign(at: header.offset) }
    return Int(number)
  }

  func texts(_ header: ObjectHeader) throws(ArchiveError) -> [String] {
    let elements = try elements(of: header)
    var texts: [String] = []
    var byteCount = 0
    for index in 0..<elements.count {
      let text = try string(try resolve(try list.reference(elements, index)))
      byteCount += text.utf8.count
      guard byteCount <= Self.textLimit else { throw Self.foreign(at: elements.offset) }
      texts.append(text)
    }
    return texts
  }

  func string(_ header: ObjectHeader) throws(ArchiveError) -> String {
    if header.kind.isString { return try list.string(header) }
    // Only the text that stands for nil in archives must be boxed.
    guard header.kind == .dictionary, let number = try list.member("NS.string", of: header) else {
      throw Self.foreign(at: header.offset)
    }
    return try list.string(try list.header(number))
  }

  /// Reads the highest number that was given to an entity.
  func number(_ header: ObjectHeader) throws(ArchiveError) -> Int {
    let number = try count(header)
    guard number <= LayerEntities.numberLimit else { throw Self.foreign(at: header.offset) }
    return number
  }

  /// The lists of keys of the records in blocks.
  func keyLists(_ header: ObjectHeader) throws(ArchiveError) -> [RecordKeys] {
    let elements = try elements(of: header)
    guard elements.count <= RecordPacker.listLimit else { throw Self.foreign(at: header.offset) }
    var lists: [RecordKeys] = []
    var byteCount = 0
    for index in 0..<elements.count {
      let keys = try self.elements(of: try resolve(try list.reference(elements, index)))
      var writer = CBORWriter()
      for index in 0..<keys.count {
        let key = try resolve(try list.reference(keys, index))
        if key.kind == .integer {
          writer.append(unsigned: UInt64(try count(key)))
        } else {
          writer.append(text: try string(key))
        }
        guard byteCount + writer.count <= RecordPacker.keyByteLimit else {
          throw Self.foreign(at: keys.offset)
        }
      }
      byteCount += writer.count
      do throws(CBORError) { lists.append(try RecordKeys(writer.finish())) } catch {
        throw Self.foreign(at: keys.offset)
      }
    }
    return lists
  }
}

struct ArchivedMembers {
  fileprivate let reader: LayerReader
  /// The object number of each member's value.
  fileprivate let numbers: [String: Int]

  var names: Set<String> { Set(numbers.keys) }

  func optional(_ name: String) throws(ArchiveError) -> ObjectHeader? {
    guard let number = numbers[name] else { return nil }
    return try reader.resolve(number)
  }

  func header(_ name: String) throws(ArchiveError) -> ObjectHeader {
    guard let header = try optional(name) else { throw LayerReader.foreign(at: 0) }
    return header
  }

  func members(_ name: String) throws(ArchiveError) -> ArchivedMembers {
    try reader.members(of: header(name))
  }
}
