import CBOR
import PropertyLists

/// Reads the archive of a layer or snapshot in place: everything is decoded on demand, and only some lists of keys are
/// cached.
///
/// This reader takes what `LayerWriter` writes and refuses anything else, so a value is either exactly the one that was
/// written or an error.
final class LayerReader: Sendable {
  let list: PropertyList
  /// The array of all archived objects; UIDs are positions in it.
  let objects: ObjectHeader
  /// The root, an `NSDictionary`.
  let root: ObjectHeader
  /// The object numbers of the names of fields. A writer writes each name once, so numbers can be compared instead of
  /// texts.
  let keysField: Int
  let valuesField: Int

  /// The most members of the dictionaries that are read at once: kinds, indexes and lists, by name.
  private static let memberLimit = 4096
  /// The most bytes of the texts of a list, which is also read at once.
  private static let textLimit = 256 << 20

  init(_ list: PropertyList) throws(ArchiveError) {
    self.list = list
    let top = try list.header(list.top)
    guard let objectsNumber = try list.member("$objects", of: top),
      let topNumber = try list.member("$top", of: top),
      let rootNumber = try list.member("root", of: list.header(topNumber))
    else { throw LayerReader.foreign(at: top.offset) }
    objects = try list.header(objectsNumber)
    guard objects.kind == .array else { throw LayerReader.foreign(at: objects.offset) }
    let reference = try list.header(rootNumber)
    guard reference.kind == .uid else { throw LayerReader.foreign(at: reference.offset) }
    root = try list.header(try list.reference(objects, Int(try list.uid(reference))))
    guard root.kind == .dictionary, root.count == 3 else { throw LayerReader.foreign(at: root.offset) }
    keysField = try list.reference(root, 1)
    valuesField = try list.reference(root, 2)
    guard try list.isString(list.header(keysField), "NS.keys"),
      try list.isString(list.header(valuesField), "NS.objects")
    else { throw LayerReader.foreign(at: root.offset) }
  }

  /// The error for something that `LayerWriter` does not write.
  static func foreign(at offset: Int) -> ArchiveError {
    ArchiveError(.malformed, "this does not have the layout of a layer or snapshot", offset: offset)
  }

  // MARK: Objects

  /// The object of a value: the one that a UID names, or the value itself.
  func resolve(_ number: Int) throws(ArchiveError) -> ObjectHeader {
    var cursor = ObjectCursor(list)
    let header = cursor.resolved(number, in: objects)
    try cursor.check()
    return header
  }

  /// The members of an archived `NSDictionary` whose keys are texts: object numbers of the values.
  func members(ofDictionary header: ObjectHeader) throws(ArchiveError) -> [String: Int] {
    let (keys, values) = try pairs(of: header)
    // One long text can be the key of many members, so their bytes do not bound the work.
    guard keys.count <= Self.memberLimit else { throw Self.foreign(at: header.offset) }
    var members: [String: Int] = [:]
    for index in 0..<keys.count {
      let key = try resolve(try list.reference(keys, index))
      guard key.kind.isString else { throw Self.foreign(at: key.offset) }
      members[try list.string(key)] = try list.reference(values, index)
    }
    return members
  }

  /// The keys and the values of an archived `NSDictionary`.
  func pairs(of header: ObjectHeader) throws(ArchiveError) -> (keys: ObjectHeader, values: ObjectHeader) {
    guard try isDictionary(header) else { throw Self.foreign(at: header.offset) }
    // After three keys: the class, the keys, the values.
    let keys = try list.header(try list.reference(header, 4))
    let values = try list.header(try list.reference(header, 5))
    guard keys.kind == .array, values.kind == .array, keys.count == values.count else {
      throw Self.foreign(at: header.offset)
    }
    return (keys, values)
  }

  private func isDictionary(_ header: ObjectHeader) throws(ArchiveError) -> Bool {
    guard header.kind == .dictionary, header.count == 3 else { return false }
    guard try list.reference(header, 1) == keysField else { return false }
    return try list.reference(header, 2) == valuesField
  }

  /// The elements of an archived `NSArray`.
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
}
