import CBOR
import KeyedArchiving

/// The first fields of each entity, after its class.
enum LeadingField: Int {
  case number = 1
  case created
  case modified
}

/// Decodes one entity of a snapshot into a row of a table.
///
/// Errors are noted during reading, and thrown when the result is used.
struct SnapshotRow: ~Copyable {
  private let entities: SnapshotEntities
  private var cursor: ObjectCursor
  private let fields: ObjectHeader
  /// The numbers of the names of its fields, and then of their values.
  private let members: MemberNumbers
  /// Large enough for most records, so that they need not be reallocated while they grow.
  private static let typicalByteCount = 256

  /// Finds the entity at a position. Valid as long as the entities are.
  init(at position: Int, of entities: SnapshotEntities) {
    self.entities = entities
    cursor = ObjectCursor(entities.reader.list)
    let element = cursor.reference(entities.elements, position)
    fields = cursor.resolved(element, in: entities.reader.objects)
    members = cursor.members(fields)
    if fields.kind != .dictionary || fields.count <= SnapshotLayout.leadingFields.count {
      fail(at: fields)
    }
  }

  private var reader: SnapshotReader { entities.reader }

  private mutating func fail(at header: ObjectHeader) {
    cursor.fail(SnapshotReader.foreign(at: header.offset))
  }

  /// The number of the entity, or the revision that added or changed it.
  mutating func value(_ field: LeadingField) throws(ArchiveError) -> Int {
    let value = leading(field)
    try cursor.check()
    return value
  }

  private mutating func leading(_ field: LeadingField) -> Int {
    if cursor.hasFailed { return 0 }
    if members[field.rawValue] != entities.fieldKeys[field.rawValue - 1] { fail(at: fields) }
    let value = cursor.integer(members[fields.count + field.rawValue])
    if value <= 0 || value > (field == .number ? entities.highest : entities.revision) { fail(at: fields) }
    return value
  }

  /// The whole entity.
  mutating func row() throws(ArchiveError) -> EntityRow {
    let created = leading(.created)
    let modified = leading(.modified)
    var writer = CBORWriter(reserving: Self.typicalByteCount)
    appendRecord(to: &writer)
    try cursor.check()
    do throws(CBORError) {
      return EntityRow(
        record: try EntityRecord(checking: writer.finish()), created: created, modified: modified)
    } catch {
      throw SnapshotReader.foreign(at: fields.offset)
    }
  }

  /// Appends the fields of the model, then the attributes, as the log encodes them.
  private mutating func appendRecord(to writer: inout CBORWriter) {
    // The class and the leading fields come first, the attributes last, and absent fields are omitted.
    let leadingCount = SnapshotLayout.leadingFields.count
    let fieldKeys = entities.fieldKeys
    let start = leadingCount + 1
    var end = fields.count
    if cursor.hasFailed || end < start { return }
    var attributes: ObjectHeader?
    if end > start, members[end - 1] == fieldKeys[fieldKeys.count - 1] {
      attributes = cursor.resolved(members[2 * fields.count - 1], in: reader.objects)
      end -= 1
    }
    let attributeKeys = attributes.flatMap { keys(of: $0) }

    writer.appendMapHead(count: end - start + (attributeKeys?.count ?? 0))
    var index = leadingCount
    for position in start..<end {
      let key = members[position]
      while index < fieldKeys.count - 1, fieldKeys[index] != key { index += 1 }
      if cursor.hasFailed || index == fieldKeys.count - 1 { return fail(at: fields) }
      writer.append(unsigned: UInt64(index - leadingCount))
      append(members[fields.count + position], to: &writer, depth: 1)
      index += 1
    }
    if let attributes, let attributeKeys { appendPairs(of: attributes, attributeKeys, to: &writer, depth: 0) }
  }

  // MARK: Values

  private mutating func append(_ number: Int, to writer: inout CBORWriter, depth: Int) {
    let header = cursor.resolved(number, in: reader.objects)
    if cursor.hasFailed { return }
    guard depth <= CBORLimits.depth, writer.bytes.count <= EntityRecord.byteLimit else {
      return fail(at: header)
    }
    switch header.kind {
    case .bool: writer.append(bool: header.count == 1)
    case .integer where header.count <= 8: writer.append(integer: Int64(cursor.integer(header)))
    case .integer: appendLongInteger(header, to: &writer)
    case .real: writer.append(double: cursor.real(header))
    case .data: unsafe writer.append(bytes: cursor.content(header))
    // If it were not ASCII, the check of the record would detect it.
    case .asciiString: unsafe writer.append(utf8: cursor.content(header))
    case .utf16String: writer.append(text: cursor.string(header))
    case .dictionary: appendObject(header, to: &writer, depth: depth)
    default: fail(at: header)
    }
  }

  private mutating func appendLongInteger(_ header: ObjectHeader, to writer: inout CBORWriter) {
    guard let integer = try? reader.list.integer(header), let unsigned = UInt64(exactly: integer) else {
      return fail(at: header)
    }
    writer.append(unsigned: unsigned)
  }

  /// Appends a value that is stored as an object of a class. Its fields identify the class.
  private mutating func appendObject(_ header: ObjectHeader, to writer: inout CBORWriter, depth: Int) {
    switch header.count {
    case 1:
      // An `NSNull` has no field but its class, and all others have one.
      writer.appendNull()
    case 2:
      let field = cursor.reference(header, 1)
      let value = cursor.header(cursor.reference(header, 3))
      if field == reader.valuesField {
        appendArray(value, to: &writer, depth: depth)
      } else if value.kind == .real {
        // An `NSDate` has its time as a number. A text that needs an object (`$null`) has a string.
        writer.append(foundationDate: cursor.real(value))
      } else if value.kind.isString {
        writer.append(text: cursor.string(value))
      } else {
        fail(at: header)
      }
    default:
      guard let keys = keys(of: header) else { return }
      writer.appendMapHead(count: keys.count)
      appendPairs(of: header, keys, to: &writer, depth: depth)
    }
  }

  private mutating func appendArray(_ elements: ObjectHeader, to writer: inout CBORWriter, depth: Int) {
    guard elements.kind == .array else { return fail(at: elements) }
    writer.appendArrayHead(count: elements.count)
    for index in 0..<elements.count {
      if cursor.hasFailed { return }
      append(cursor.reference(elements, index), to: &writer, depth: depth + 1)
    }
  }

  /// The keys of an `NSDictionary`; nil, and noted, if it is not one.
  private mutating func keys(of header: ObjectHeader) -> SnapshotKeyList? {
    guard header.kind == .dictionary, header.count == 3, cursor.reference(header, 1) == reader.keysField,
      cursor.reference(header, 2) == reader.valuesField
    else {
      fail(at: header)
      return nil
    }
    do throws(ArchiveError) {
      return try reader.keyLists.list(at: cursor.reference(header, 4), in: reader)
    } catch {
      cursor.fail(error)
      return nil
    }
  }

  /// Appends the keys and the values of an `NSDictionary` to a map, whose head is already written.
  private mutating func appendPairs(
    of header: ObjectHeader, _ keys: SnapshotKeyList, to writer: inout CBORWriter, depth: Int
  ) {
    let values = cursor.header(cursor.reference(header, 5))
    guard values.kind == .array, values.count == keys.count else { return fail(at: header) }
    let members = cursor.members(values)
    for index in 0..<values.count {
      if cursor.hasFailed { return }
      keys.append(index, to: &writer)
      append(members[index], to: &writer, depth: depth + 1)
    }
  }
}
