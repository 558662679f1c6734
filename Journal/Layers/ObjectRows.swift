import CBOR
import PropertyLists

/// The first fields of each entity, after its class.
enum LeadingField: Int {
  case number = 1
  case created
  case modified
}

/// Decodes entities that are objects of a snapshot into rows of a table, one after the other. Used by one thread.
struct ObjectRows: ~Copyable {
  private let entities: ArchivedObjects
  private let reader: LayerReader
  private let list: PropertyList
  /// Writes one record after the other, so that each needs no memory but its own.
  private var writer = CBORWriter(reserving: 256)
  /// The keys of the newest dictionary. Dictionaries mostly have the same.
  private var keyList: ObjectKeys?

  init(_ entities: ArchivedObjects) {
    self.entities = entities
    reader = entities.reader
    list = entities.reader.list
  }

  /// The row of a version of an entity, which is at that position.
  mutating func row(_ version: EntityVersion, at position: Int) throws(ArchiveError) -> EntityRow {
    guard position < entities.elements.count else { throw entities.foreign }
    let fields = try reader.resolve(list.reference(entities.elements, position))
    guard fields.kind == .dictionary, fields.count > LayerLayout.leadingFields.count else {
      throw foreign(fields)
    }
    let number = try leading(.number, of: fields)
    let created = try leading(.created, of: fields)
    let modified = try leading(.modified, of: fields)
    guard number == version.number, modified == version.revision, created <= modified else {
      throw foreign(fields)
    }
    writer.removeAll()
    try appendRecord(of: fields)
    let record = EntityRecord(trusted: unsafe writer.withBytes { unsafe [UInt8]($0) })
    assert((try? record.checkEncoding()) != nil)
    return EntityRow(record: record, created: created, modified: modified)
  }

  private func foreign(_ header: ObjectHeader) -> ArchiveError { LayerReader.foreign(at: header.offset) }

  private func leading(_ field: LeadingField, of fields: ObjectHeader) throws(ArchiveError) -> Int {
    let value = try list.int64(list.header(list.reference(fields, fields.count + field.rawValue)))
    let limit = field == .number ? entities.highest : entities.revision
    guard try list.reference(fields, field.rawValue) == entities.fieldKeys[field.rawValue - 1],
      let value, value > 0, value <= limit
    else { throw foreign(fields) }
    return Int(value)
  }

  /// Appends the fields of the model, then the attributes, as the log encodes them.
  private mutating func appendRecord(of fields: ObjectHeader) throws(ArchiveError) {
    // The class and the leading fields come first, the attributes last, and absent fields are omitted.
    let fieldKeys = entities.fieldKeys
    let leadingCount = LayerLayout.leadingFields.count
    let start = leadingCount + 1
    var end = fields.count
    var attributes: (header: ObjectHeader, keys: ObjectKeys)?
    if end > start, try list.reference(fields, end - 1) == fieldKeys[fieldKeys.count - 1] {
      let header = try reader.resolve(list.reference(fields, 2 * fields.count - 1))
      attributes = (header, try keys(of: header))
      end -= 1
    }
    writer.appendMapHead(count: end - start + (attributes?.keys.count ?? 0))
    var index = leadingCount
    for position in start..<end {
      let key = try list.reference(fields, position)
      while index < fieldKeys.count - 1, fieldKeys[index] != key { index += 1 }
      guard index < fieldKeys.count - 1 else { throw foreign(fields) }
      writer.append(unsigned: UInt64(index - leadingCount))
      try append(list.reference(fields, fields.count + position), depth: 1)
      index += 1
    }
    if let attributes { try appendPairs(of: attributes.header, attributes.keys, depth: 0) }
  }

  // MARK: Values

  private mutating func append(_ number: Int, depth: Int) throws(ArchiveError) {
    let header = try reader.resolve(number)
    guard depth <= CBORLimits.depth, writer.count <= EntityRecord.byteLimit else { throw foreign(header) }
    switch header.kind {
    case .bool: writer.append(bool: header.count == 1)
    case .integer:
      if header.count <= 8, let integer = try list.int64(header) {
        writer.append(integer: integer)
      } else if let unsigned = UInt64(exactly: try list.integer(header)) {
        writer.append(unsigned: unsigned)
      } else {
        throw foreign(header)
      }
    case .real: writer.append(double: try list.real(header))
    case .data:
      try unsafe list.withContent(of: header) { (bytes) throws(ArchiveError) in
        unsafe writer.append(bytes: bytes)
      }
    case .asciiString:
      let isASCII = try unsafe list.withContent(of: header) { (bytes) throws(ArchiveError) in
        unsafe writer.append(ascii: bytes)
      }
      guard isASCII else { throw foreign(header) }
    case .utf16String: writer.append(text: try list.string(header))
    case .dictionary: try appendObject(header, depth: depth)
    default: throw foreign(header)
    }
  }

  /// Appends a value that is stored as an object of a class. Its fields identify the class.
  private mutating func appendObject(_ header: ObjectHeader, depth: Int) throws(ArchiveError) {
    switch header.count {
    case 1:
      // An `NSNull` has no field but its class, and all others have one.
      writer.appendNull()
    case 2:
      let value = try list.header(list.reference(header, 3))
      if try list.reference(header, 1) == reader.valuesField {
        try appendArray(value, depth: depth)
      } else if value.kind == .real {
        // An `NSDate` has its time as a number. A text that needs an object (`$null`) has a string.
        writer.append(foundationDate: try list.real(value))
      } else if value.kind.isString {
        writer.append(text: try list.string(value))
      } else {
        throw foreign(header)
      }
    default:
      let keys = try keys(of: header)
      guard depth < CBORLimits.depth else { throw foreign(header) }
      writer.appendMapHead(count: keys.count)
      try appendPairs(of: header, keys, depth: depth)
    }
  }

  private mutating func appendArray(_ elements: ObjectHeader, depth: Int) throws(ArchiveError) {
    guard elements.kind == .array, depth < CBORLimits.depth else { throw foreign(elements) }
    writer.appendArrayHead(count: elements.count)
    for index in 0..<elements.count { try append(list.reference(elements, index), depth: depth + 1) }
  }

  /// The keys of an `NSDictionary`.
  private mutating func keys(of header: ObjectHeader) throws(ArchiveError) -> ObjectKeys {
    guard try reader.isDictionary(header) else { throw foreign(header) }
    let number = try list.reference(header, 4)
    if let keyList, keyList.number == number { return keyList }
    let found = try entities.keyLists.list(at: number, in: reader)
    keyList = found
    return found
  }

  /// Appends the keys and the values of an `NSDictionary` to a map, whose head is already written.
  private mutating func appendPairs(
    of header: ObjectHeader, _ keys: ObjectKeys, depth: Int
  ) throws(ArchiveError) {
    let values = try list.header(list.reference(header, 5))
    guard values.kind == .array, values.count == keys.count else { throw foreign(header) }
    for index in 0..<values.count {
      keys.append(index, to: &writer)
      try append(list.reference(values, index), depth: depth + 1)
    }
  }
}
