import CBOR
import Foundation
import PropertyLists

/// The first fields of each entity, after its class.
enum LeadingField: Int {
  case number = 1
  case created
  case modified
}

/// The shapes of the entities of one kind: a class with those of its fields that an entity has.
struct EntityShapes {
  private let archivedClass: ArchivedClass
  private let fields: [String]
  /// The shapes by the fields that an entity has: bit *n* for the field of number *n*, bit 24 for the attributes.
  private var shapes: [UInt32: KeyedArchiveWriter.Shape] = [:]

  init(
    _ archivedClass: ArchivedClass, _ fields: [String], _ archive: inout KeyedArchiveWriter
  ) throws(ArchiveError) {
    self.archivedClass = archivedClass
    self.fields = fields
    // This writes all names, even if no entity has all fields.
    _ = try archive.shape(archivedClass, keys: fields)
  }

  static let attributesBit: UInt32 = 1 << 24

  mutating func shape(
    _ mask: UInt32, _ archive: inout KeyedArchiveWriter
  ) throws(ArchiveError) -> KeyedArchiveWriter.Shape {
    if let shape = shapes[mask] { return shape }
    let leadingCount = LayerLayout.leadingFields.count
    let keys = fields.enumerated().filter { index, _ in
      index < leadingCount || mask >> UInt32(index - leadingCount) & 1 == 1
    }
    let shape = try archive.shape(archivedClass, keys: keys.map(\.element))
    shapes[mask] = shape
    return shape
  }
}

// The encoded record is converted directly. Decoding its values would be wasted, and a Swift dictionary treats names as
// equal that differ in their bytes.
extension LayerWriter {
  mutating func append(_ number: Int, _ row: EntityRow, _ shapes: inout EntityShapes) throws {
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
        try append(&reader)
      }
      if count > fieldCount { try appendMap(&reader, count: count - fieldCount) }
      try archive.append(try archive.end())
    }
  }

  /// The fields of a record as a mask, and the number of its numbered fields.
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
      try appendMap(&reader, count: try reader.readMapHead())
    }
  }

  private mutating func appendMap(_ reader: inout CBORReader, count: Int) throws {
    let start = keys.count
    try archive.beginDictionaryValues()
    for _ in 0..<count {
      let key = reader.offset
      try reader.skipText()
      unsafe keys.append(contentsOf: reader.passed(key..<reader.offset))
      try append(&reader)
    }
    let list = try keyLists.list(of: keys[start...], &texts, in: &archive)
    keys.removeLast(keys.count - start)
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
