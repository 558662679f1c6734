import CBOR
import Foundation
import KeyedArchiving

/// The shapes of the entities of one kind: a class with those of its fields that an entity has.
struct EntityShapes {
  private let archivedClass: ArchivedClass
  private let fields: [String]
  /// By the fields that an entity has: bit *n* for the field of number *n*, the next bit for attributes.
  private var shapes: [UInt32: KeyedArchiveWriter.Shape] = [:]

  init(
    _ archivedClass: ArchivedClass, _ fields: [String], _ archive: inout KeyedArchiveWriter
  ) throws(ArchiveError) {
    self.archivedClass = archivedClass
    self.fields = fields
    // Writes all names, even if no entity has all fields.
    _ = try archive.shape(archivedClass, keys: fields)
  }

  static let attributesBit: UInt32 = 1 << 24

  mutating func shape(
    _ mask: UInt32, _ archive: inout KeyedArchiveWriter
  ) throws(ArchiveError) -> KeyedArchiveWriter.Shape {
    if let shape = shapes[mask] { return shape }
    let leadingCount = SnapshotLayout.leadingFields.count
    let keys = fields.enumerated().filter { index, _ in
      index < leadingCount || mask >> UInt32(index - leadingCount) & 1 == 1
    }
    let shape = try archive.shape(archivedClass, keys: keys.map(\.element))
    shapes[mask] = shape
    return shape
  }
}

/// The values of a version of an entity as the archive has them. The next version shares those that did not change,
/// which are most.
struct VersionValues {
  typealias Value = KeyedArchiveWriter.Value

  private let record: EntityRecord
  /// For each part of the record, in the order of its bytes, as far as it was written.
  private var values: [Value] = []
  /// The dictionary of its attributes.
  private var attributes: (count: Int, value: Value)?
  /// For each part, the value that the version before has too.
  private let sharedValues: [Value?]
  private let previousAttributes: (count: Int, value: Value)?

  init(_ record: EntityRecord, after previous: VersionValues?) {
    self.record = record
    let equalParts = previous.map { record.equalParts(in: $0.record) } ?? []
    sharedValues = equalParts.map { part in part.flatMap { previous?.values[$0] } }
    previousAttributes = previous?.attributes
  }

  /// The value of the next part, if the version before has it too.
  var sharedValue: Value? { values.count < sharedValues.count ? sharedValues[values.count] : nil }

  /// The dictionary of the next parts, if it is the same in the version before.
  func sharedAttributes(count: Int) -> Value? {
    guard let previousAttributes, previousAttributes.count == count,
      sharedValues.suffix(count).allSatisfy({ $0 != nil })
    else { return nil }
    return previousAttributes.value
  }

  mutating func append(_ value: Value) { values.append(value) }

  mutating func append(attributes value: Value, count: Int) {
    attributes = (count, value)
    if values.count < sharedValues.count { values += sharedValues[values.count...].compactMap(\.self) }
  }
}

// Converts the encoded record directly: decoding values would be wasted, and a Swift dictionary treats names as equal
// that differ in their bytes.
extension SnapshotWriter {
  /// - Parameter isOnly: whether the archive has no other version of the entity.
  mutating func append(
    _ number: Int, _ row: EntityRow, _ shapes: inout EntityShapes, isOnly: Bool
  ) throws {
    var values = isOnly ? nil : VersionValues(row.record, after: previous)
    try unsafe row.record.bytes.withUnsafeBytes { bytes in
      var reader = unsafe CBORReader(bytes)
      let count = try reader.readMapHead()
      let (mask, fieldCount) = try Self.outline(reader, count)
      archive.beginObject(try shapes.shape(mask, &archive))
      try archive.append(try value(number, of: .number))
      try archive.append(try value(row.created, of: .created))
      try archive.append(try value(row.modified, of: .modified))
      for _ in 0..<fieldCount {
        _ = try reader.readUnsigned()
        try append(&reader, of: &values)
      }
      if count > fieldCount { try appendAttributes(&reader, count: count - fieldCount, of: &values) }
      try archive.append(try archive.end())
    }
    previous = values
  }

  private mutating func appendAttributes(
    _ reader: inout CBORReader, count: Int, of values: inout VersionValues?
  ) throws {
    if let shared = values?.sharedAttributes(count: count) {
      try archive.append(shared)
    } else {
      try appendMap(&reader, count: count, of: &values)
    }
    if let value = archive.newestValue { values?.append(attributes: value, count: count) }
  }

  /// The fields of a record, and how many of them are numbered.
  private static func outline(
    _ reader: CBORReader, _ count: Int
  ) throws(CBORError) -> (mask: UInt32, fieldCount: Int) {
    var reader = reader
    var mask: UInt32 = 0
    for index in 0..<count {
      guard try reader.kind() == .unsigned else { return (mask | EntityShapes.attributesBit, index) }
      let number = try reader.readUnsigned()
      guard number < 24 else { throw CBORError(.unexpectedItem, at: reader.offset) }
      mask |= 1 << UInt32(number)
      try reader.skip()
    }
    return (mask, count)
  }

  private mutating func value(
    _ number: Int, of field: LeadingField
  ) throws(ArchiveError) -> KeyedArchiveWriter.Value {
    let known = leading.first { $0?.number == number } ?? nil
    let value = if let known { known.value } else { try archive.value(Int64(number)) }
    leading[field.rawValue - 1] = (number, value)
    return value
  }

  /// Appends the next part of a record, which the version before may have too.
  private mutating func append(_ reader: inout CBORReader, of values: inout VersionValues?) throws {
    if let shared = values?.sharedValue {
      try reader.skip()
      try archive.append(shared)
    } else {
      try append(&reader)
    }
    if let value = archive.newestValue { values?.append(value) }
  }

  /// Appends the next item: numbers and booleans are stored in the field itself, everything else is an object.
  private mutating func append(_ reader: inout CBORReader) throws {
    switch try reader.kind() {
    case .unsigned: try archive.append(unsigned: try reader.readUnsigned())
    case .negative: try archive.append(integer: try reader.readInteger())
    case .double: try archive.append(real: try reader.readDouble())
    case .bool: try archive.append(bool: try reader.readBool())
    case .text: try archive.append(try unsafe texts.reference(to: try reader.readTextBytes(), in: &archive))
    case .bytes: try archive.append(try unsafe archive.data(try reader.readBytes()))
    case .date: try archive.append(try archive.date(try reader.readDate()))
    case .null:
      try reader.readNull()
      try archive.append(try nullObject())
    case .array:
      let count = try reader.readArrayHead()
      try archive.beginArray()
      for _ in 0..<count { try append(&reader) }
      try archive.append(try archive.end())
    case .map:
      var values: VersionValues?
      try appendMap(&reader, count: try reader.readMapHead(), of: &values)
    }
  }

  /// Appends an `NSDictionary` of the next members.
  /// - Parameter values: nil if they are no parts of a record.
  private mutating func appendMap(
    _ reader: inout CBORReader, count: Int, of values: inout VersionValues?
  ) throws {
    let start = keys.count
    try archive.beginDictionaryValues()
    for _ in 0..<count {
      let key = reader.offset
      try reader.skipText()
      unsafe keys.append(contentsOf: reader.passed(key..<reader.offset))
      try append(&reader, of: &values)
    }
    let list = try keyLists.list(of: keys[start...], &texts, in: &archive)
    keys.removeSubrange(start...)
    try archive.append(try archive.end(keys: list))
  }

  private mutating func nullObject() throws -> KeyedArchiveWriter.Reference {
    if let null { return null }
    archive.beginObject(try archive.shape(.null, keys: []))
    let reference = try archive.end()
    null = reference
    return reference
  }
}
