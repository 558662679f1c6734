import CBOR
import PropertyLists

/// The first fields of each entity, after its class.
enum LeadingField: Int {
  case number = 1
  case created
  case modified
}

/// Decodes entities that are objects of a snapshot into rows of a table, one after the other.
///
/// Errors are noted during reading, and thrown when the result is used. Used by one thread. It holds what all entities
/// need: two threads that count references to the same objects slow each other down.
struct ObjectRows: ~Copyable {
  private let entities: ArchivedObjects
  private let elements: ObjectHeader
  private let objects: ObjectHeader
  private let fieldKeys: [Int]
  private var cursor: ObjectCursor
  /// Writes one record after the other, so that each needs no memory but its own.
  private var writer = CBORWriter(reserving: 256)
  /// The keys of the newest dictionary. Dictionaries mostly have the same.
  private var keyList: ObjectKeys?
  /// The current entity: the numbers of the names of its fields, and then of their values.
  private var fields = ObjectHeader.nothing
  private var members = MemberNumbers.none

  init(_ entities: ArchivedObjects) {
    self.entities = entities
    elements = entities.elements
    objects = entities.reader.objects
    fieldKeys = entities.fieldKeys
    cursor = ObjectCursor(entities.reader.list)
  }

  /// The row of an entity's version at a position.
  mutating func row(_ version: EntityVersion, at position: Int) throws(ArchiveError) -> EntityRow {
    guard position < elements.count else { throw entities.foreign }
    if cursor.hasFailed { cursor.clear() }
    fields = cursor.resolved(cursor.reference(elements, position), in: objects)
    members = cursor.members(fields)
    if fields.kind != .dictionary || fields.count <= LayerLayout.leadingFields.count {
      fail(at: fields)
    }
    let number = leading(.number)
    let created = leading(.created)
    let modified = leading(.modified)
    if number != version.number || modified != version.revision || created > modified { fail(at: fields) }
    writer.removeAll()
    appendRecord()
    try cursor.check()
    let record = EntityRecord(trusted: unsafe writer.withBytes { unsafe [UInt8]($0) })
    assert((try? record.checkEncoding()) != nil)
    return EntityRow(record: record, created: created, modified: modified)
  }

  private var reader: LayerReader { entities.reader }

  private mutating func fail(at header: ObjectHeader) {
    cursor.fail(LayerReader.foreign(at: header.offset))
  }

  private mutating func leading(_ field: LeadingField) -> Int {
    if cursor.hasFailed { return 0 }
    if members[field.rawValue] != fieldKeys[field.rawValue - 1] { fail(at: fields) }
    let value = cursor.integer(members[fields.count + field.rawValue])
    if value <= 0 || value > (field == .number ? entities.highest : entities.revision) { fail(at: fields) }
    return value
  }

  /// Appends the fields of the model, then the attributes, as the log encodes them.
  private mutating func appendRecord() {
    // The class and the leading fields come first, the attributes last, and absent fields are omitted.
    let leadingCount = LayerLayout.leadingFields.count
    let start = leadingCount + 1
    var end = fields.count
    if cursor.hasFailed || end < start { return }
    var attributes: ObjectHeader?
    if end > start, members[end - 1] == fieldKeys[fieldKeys.count - 1] {
      attributes = cursor.resolved(members[2 * fields.count - 1], in: objects)
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
      append(members[fields.count + position], depth: 1)
      index += 1
    }
    if let attributes, let attributeKeys { appendPairs(of: attributes, attributeKeys, depth: 0) }
  }

  // MARK: Values

  private mutating func append(_ number: Int, depth: Int) {
    let header = cursor.resolved(number, in: objects)
    if cursor.hasFailed { return }
    guard depth <= CBORLimits.depth, writer.count <= EntityRecord.byteLimit else {
      return fail(at: header)
    }
    switch header.kind {
    case .bool: writer.append(bool: header.count == 1)
    case .integer where header.count <= 8: writer.append(integer: Int64(cursor.integer(header)))
    case .integer: appendLongInteger(header)
    case .real: writer.append(double: cursor.real(header))
    case .data: unsafe writer.append(bytes: cursor.content(header))
    case .asciiString:
      if !(unsafe writer.append(ascii: cursor.content(header))) { fail(at: header) }
    case .utf16String: writer.append(text: cursor.string(header))
    case .dictionary: appendObject(header, depth: depth)
    default: fail(at: header)
    }
  }

  private mutating func appendLongInteger(_ header: ObjectHeader) {
    guard let integer = try? reader.list.integer(header), let unsigned = UInt64(exactly: integer) else {
      return fail(at: header)
    }
    writer.append(unsigned: unsigned)
  }

  /// Appends a value that is stored as an object of a class. Its fields identify the class.
  private mutating func appendObject(_ header: ObjectHeader, depth: Int) {
    switch header.count {
    case 1:
      // An `NSNull` has no field but its class, and all others have one.
      writer.appendNull()
    case 2:
      let field = cursor.reference(header, 1)
      let value = cursor.header(cursor.reference(header, 3))
      if field == reader.valuesField {
        appendArray(value, depth: depth)
      } else if value.kind == .real {
        // An `NSDate` has its time as a number. A text that needs an object (`$null`) has a string.
        writer.append(foundationDate: cursor.real(value))
      } else if value.kind.isString {
        writer.append(text: cursor.string(value))
      } else {
        fail(at: header)
      }
    default:
      guard depth < CBORLimits.depth, let keys = keys(of: header) else { return fail(at: header) }
      writer.appendMapHead(count: keys.count)
      appendPairs(of: header, keys, depth: depth)
    }
  }

  private mutating func appendArray(_ elements: ObjectHeader, depth: Int) {
    guard elements.kind == .array, depth < CBORLimits.depth else { return fail(at: elements) }
    writer.appendArrayHead(count: elements.count)
    for index in 0..<elements.count {
      if cursor.hasFailed { return }
      append(cursor.reference(elements, index), depth: depth + 1)
    }
  }

  /// The keys of an `NSDictionary`; nil, and noted, if it is not one.
  private mutating func keys(of header: ObjectHeader) -> ObjectKeys? {
    guard header.kind == .dictionary, header.count == 3, cursor.reference(header, 1) == reader.keysField,
      cursor.reference(header, 2) == reader.valuesField
    else {
      fail(at: header)
      return nil
    }
    let number = cursor.reference(header, 4)
    if let keyList, keyList.number == number { return keyList }
    do throws(ArchiveError) {
      let found = try entities.keyLists.list(at: number, in: reader)
      keyList = found
      return found
    } catch {
      cursor.fail(error)
      return nil
    }
  }

  /// Appends the keys and the values of an `NSDictionary` to a map, whose head is already written.
  private mutating func appendPairs(
    of header: ObjectHeader, _ keys: ObjectKeys, depth: Int
  ) {
    let values = cursor.header(cursor.reference(header, 5))
    guard values.kind == .array, values.count == keys.count else { return fail(at: header) }
    let members = cursor.members(values)
    for index in 0..<values.count {
      if cursor.hasFailed { return }
      keys.append(index, to: &writer)
      append(members[index], depth: depth + 1)
    }
  }
}
