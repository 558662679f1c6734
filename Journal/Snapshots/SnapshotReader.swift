import CBOR
import KeyedArchiving
import Locks

/// Reads the archive of a snapshot where it stands: nothing is decoded before it is asked for, and nothing is
/// kept but some lists of keys.
///
/// It reads what `SnapshotWriter` writes and refuses anything else, so that a value is either exactly the one
/// that was written or an error.
struct SnapshotReader: Sendable {
  let list: PropertyList
  /// The array of all archived objects; UIDs are positions in it.
  private let objects: ObjectHeader
  /// Where the root is: an `NSDictionary`.
  let root: ObjectHeader
  /// The object numbers of the names of fields. A writer writes each name once, so that whoever knows its number
  /// need not compare texts.
  private let keysField: Int
  private let valuesField: Int
  private let keyLists = KeyListCache()

  /// How many members the dictionaries have that are read at once: kinds, indexes and lists, by their names.
  private static let memberLimit = 4096
  /// How many bytes the texts of a list have, which is read at once too.
  private static let textLimit = 256 << 20

  init(_ list: PropertyList) throws(ArchiveError) {
    self.list = list
    let top = try list.header(list.top)
    guard let objectsNumber = try list.member("$objects", of: top),
      let topNumber = try list.member("$top", of: top),
      let rootNumber = try list.member("root", of: list.header(topNumber))
    else { throw SnapshotReader.foreign(at: top.offset) }
    objects = try list.header(objectsNumber)
    guard objects.kind == .array else { throw SnapshotReader.foreign(at: objects.offset) }
    let reference = try list.header(rootNumber)
    guard reference.kind == .uid else { throw SnapshotReader.foreign(at: reference.offset) }
    root = try list.header(try list.reference(objects, Int(try list.uid(reference))))
    guard root.kind == .dictionary, root.count == 3 else { throw SnapshotReader.foreign(at: root.offset) }
    keysField = try list.reference(root, 1)
    valuesField = try list.reference(root, 2)
    guard try list.isString(list.header(keysField), "NS.keys"),
      try list.isString(list.header(valuesField), "NS.objects")
    else { throw SnapshotReader.foreign(at: root.offset) }
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

  /// The members of an archived `NSDictionary` whose keys are texts: object numbers of the values.
  func members(ofDictionary header: ObjectHeader) throws(ArchiveError) -> [String: Int] {
    let (keys, values) = try pairs(of: header)
    // A long text can be the key of any number of members, so it is not their bytes that bound the work.
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
    // Behind three keys: the class, the keys, the values.
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
    case .asciiString, .utf16String: try appendText(header, to: &writer)
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

  /// Appends a string that is not `NS.string`'s.
  private func appendText(_ header: ObjectHeader, to writer: inout CBORWriter) throws(ArchiveError) {
    if header.kind == .asciiString {
      // Were it not ASCII, the check of the record would find out.
      try unsafe list.withContent(of: header) { (utf8) throws(ArchiveError) in
        unsafe writer.append(utf8: utf8)
      }
    } else {
      writer.append(text: try string(header))
    }
  }

  /// Appends an object that is not stored bare. Its fields tell which of the few classes it is of.
  private func appendObject(
    _ header: ObjectHeader, to writer: inout CBORWriter, depth: Int
  ) throws(ArchiveError) {
    if try isDictionary(header) {
      writer.appendMapHead(count: try pairs(of: header).keys.count)
      return try appendPairs(of: header, to: &writer, depth: depth)
    }
    // An `NSNull` has no field but its class, and all others have one.
    if header.count == 1 { return writer.appendNull() }
    guard header.count == 2 else { throw Self.foreign(at: header.offset) }
    let field = try list.reference(header, 1)
    if field == valuesField {
      let elements = try elements(of: header)
      writer.appendArrayHead(count: elements.count)
      for index in 0..<elements.count {
        try append(try list.reference(elements, index), to: &writer, depth: depth + 1)
      }
    } else if try list.isString(list.header(field), "NS.time") {
      guard let seconds = try list.double(try list.header(try list.reference(header, 3))) else {
        throw Self.foreign(at: header.offset)
      }
      writer.append(foundationDate: seconds)
    } else {
      writer.append(text: try string(header))
    }
  }

  /// Appends the keys and the values of an `NSDictionary` to a map, whose head is there already.
  func appendPairs(
    of header: ObjectHeader, to writer: inout CBORWriter, depth: Int
  ) throws(ArchiveError) {
    let values = try pairs(of: header).values
    let keys = try keyLists.list(at: try list.reference(header, 4), in: self)
    for index in 0..<values.count {
      keys.append(index, to: &writer)
      try append(try list.reference(values, index), to: &writer, depth: depth + 1)
    }
  }
}

/// The keys of a dictionary, as the log encodes them.
private final class KeyList: Sendable {
  /// The object number of the array of keys.
  let number: Int
  /// All keys, one behind the other.
  let bytes: [UInt8]
  /// Where each of them ends.
  private let ends: [Int]

  init(at number: Int, in reader: SnapshotReader) throws(ArchiveError) {
    self.number = number
    let keys = try reader.list.header(number)
    var writer = CBORWriter()
    var ends: [Int] = []
    for index in 0..<keys.count {
      guard writer.bytes.count <= Record.byteLimit else { throw SnapshotReader.foreign(at: keys.offset) }
      writer.append(text: try reader.string(try reader.resolve(try reader.list.reference(keys, index))))
      ends.append(writer.bytes.count)
    }
    bytes = writer.finish()
    self.ends = ends
  }

  func append(_ index: Int, to writer: inout CBORWriter) {
    let start = index == 0 ? 0 : ends[index - 1]
    unsafe bytes.withUnsafeBytes { bytes in
      unsafe writer.append(encoded: UnsafeRawBufferPointer(rebasing: bytes[start..<ends[index]]))
    }
  }
}

/// Keeps some lists of keys: dictionaries share them, and decoding the keys of each would be half of the work.
///
/// Safe to use from many threads.
private final class KeyListCache: Sendable {
  private static let slotCount = 64
  /// A longer list is decoded each time.
  private static let byteLimit = 4_096

  private let slots = Lock([KeyList?](repeating: nil, count: slotCount))

  func list(at number: Int, in reader: SnapshotReader) throws(ArchiveError) -> KeyList {
    let slot = number % Self.slotCount
    if let known = slots.withLock({ $0[slot] }), known.number == number { return known }
    let list = try KeyList(at: number, in: reader)
    if list.bytes.count <= Self.byteLimit { slots.withLock { $0[slot] = list } }
    return list
  }
}
