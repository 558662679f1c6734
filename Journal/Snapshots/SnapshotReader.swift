import CBOR
import KeyedArchiving

/// Reads the archive of a snapshot where it stands: nothing is decoded before it is asked for, and nothing is
/// kept.
///
/// It reads what `SnapshotWriter` writes and refuses anything else, so that a value is either exactly the one
/// that was written or an error.
struct SnapshotReader: Sendable {
  let list: PropertyList
  /// The array of all archived objects; UIDs are positions in it.
  private let objects: ObjectHeader
  private var root: [String: Int] = [:]

  init(_ list: PropertyList) throws(ArchiveError) {
    self.list = list
    let top = try list.header(list.top)
    guard let objectsNumber = try list.member("$objects", of: top),
      let topNumber = try list.member("$top", of: top),
      let rootNumber = try list.member("root", of: list.header(topNumber))
    else { throw SnapshotReader.foreign(at: top.offset) }
    objects = try list.header(objectsNumber)
    guard objects.kind == .array else { throw SnapshotReader.foreign(at: objects.offset) }
    root = try members(ofDictionary: resolve(rootNumber))
  }

  /// What the archive would not hold if a snapshot had been written there.
  static func foreign(at offset: Int) -> ArchiveError {
    ArchiveError(.malformed, "This is not laid out as a snapshot is", offset: offset)
  }

  // MARK: Objects

  /// The object that a value is: the one that a UID names, or itself.
  @inline(__always)
  func resolve(_ number: Int) throws(ArchiveError) -> ObjectHeader {
    let header = try list.header(number)
    guard header.kind == .uid else { return header }
    return try list.header(try list.reference(objects, Int(try list.uid(header))))
  }

  /// Whether a value is nil: a UID that names the first object.
  func isNil(_ number: Int) throws(ArchiveError) -> Bool {
    let header = try list.header(number)
    guard header.kind == .uid else { return false }
    return try list.uid(header) == 0
  }

  /// The value under a key of the root.
  func root(_ key: String) throws(ArchiveError) -> ObjectHeader {
    guard let number = root[key] else { throw Self.foreign(at: 0) }
    return try resolve(number)
  }

  /// The members of an archived `NSDictionary` whose keys are texts: object numbers of the values.
  func members(ofDictionary header: ObjectHeader) throws(ArchiveError) -> [String: Int] {
    let (keys, values) = try pairs(of: header)
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
    guard let keysNumber = try list.member("NS.keys", of: header),
      let valuesNumber = try list.member("NS.objects", of: header)
    else { throw Self.foreign(at: header.offset) }
    let keys = try list.header(keysNumber)
    let values = try list.header(valuesNumber)
    guard keys.kind == .array, values.kind == .array, keys.count == values.count else {
      throw Self.foreign(at: header.offset)
    }
    return (keys, values)
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
    for index in 0..<elements.count {
      let text = try resolve(try list.reference(elements, index))
      texts.append(try string(text))
    }
    return texts
  }

  func string(_ header: ObjectHeader) throws(ArchiveError) -> String {
    if header.kind.isString { return try list.string(header) }
    // The one text that must be boxed is that of an archive's nil.
    guard header.kind == .dictionary, let number = try list.member("NS.string", of: header) else {
      throw Self.foreign(at: header.offset)
    }
    return try list.string(try list.header(number))
  }

  // MARK: Values

  /// Appends a value as the log encodes it.
  func append(_ number: Int, to writer: inout CBORWriter, depth: Int) throws(ArchiveError) {
    guard depth <= CBORLimits.depth, writer.bytes.count <= Record.byteLimit else {
      throw Self.foreign(at: try list.offset(of: number))
    }
    let header = try resolve(number)
    switch header.kind {
    case .bool: writer.append(bool: header.count == 1)
    case .integer: try appendInteger(header, to: &writer)
    case .real: writer.append(double: try list.real(header))
    case .data:
      try unsafe list.withContent(of: header) { (bytes) throws(ArchiveError) in
        unsafe writer.append(bytes: bytes)
      }
    case .asciiString, .utf16String: writer.append(text: try list.string(header))
    case .dictionary: try appendObject(header, to: &writer, depth: depth)
    default: throw Self.foreign(at: header.offset)
    }
  }

  private func appendInteger(_ header: ObjectHeader, to writer: inout CBORWriter) throws(ArchiveError) {
    if let integer = try list.int64(header) { return writer.append(integer: integer) }
    guard let unsigned = UInt64(exactly: try list.integer(header)) else {
      throw Self.foreign(at: header.offset)
    }
    writer.append(unsigned: unsigned)
  }

  /// Appends an object that is not stored bare. Its fields tell which of the few classes it is of.
  private func appendObject(
    _ header: ObjectHeader, to writer: inout CBORWriter, depth: Int
  ) throws(ArchiveError) {
    if let time = try list.member("NS.time", of: header) {
      guard let seconds = try list.double(try list.header(time)) else {
        throw Self.foreign(at: header.offset)
      }
      writer.append(foundationDate: seconds)
    } else if try list.member("NS.keys", of: header) != nil {
      let (keys, values) = try pairs(of: header)
      writer.appendMapHead(count: keys.count)
      try appendPairs(keys, values, to: &writer, depth: depth)
    } else if try list.member("NS.objects", of: header) != nil {
      let elements = try elements(of: header)
      writer.appendArrayHead(count: elements.count)
      for index in 0..<elements.count {
        try append(try list.reference(elements, index), to: &writer, depth: depth + 1)
      }
    } else if try list.member("NS.string", of: header) != nil {
      writer.append(text: try string(header))
    } else {
      // An `NSNull` has no field but its class.
      guard header.count == 1 else { throw Self.foreign(at: header.offset) }
      writer.appendNull()
    }
  }

  /// Appends keys and values of a map, whose head is there already.
  func appendPairs(
    _ keys: ObjectHeader, _ values: ObjectHeader, to writer: inout CBORWriter, depth: Int
  ) throws(ArchiveError) {
    for index in 0..<keys.count {
      writer.append(text: try string(try resolve(try list.reference(keys, index))))
      try append(try list.reference(values, index), to: &writer, depth: depth + 1)
    }
  }
}
