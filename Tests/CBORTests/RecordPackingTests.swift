import Foundation
import TestSupport
import Testing

@testable import CBOR

/// Records that are packed next to each other come back as they were.
struct RecordPackingTests {
  /// Packs records, and starts over before some of them.
  private static func pack(
    _ records: [EntityRecord], startingOverAt starts: Set<Int> = []
  ) -> (bytes: [UInt8], parts: [Range<Int>], lists: [RecordKeys]) {
    var packer = RecordPacker()
    var writer = CBORWriter()
    var parts: [Range<Int>] = []
    for (index, record) in records.enumerated() {
      if starts.contains(index) { packer.startOver() }
      let start = writer.count
      packer.append(record, to: &writer)
      parts.append(start..<writer.count)
    }
    return (writer.finish(), parts, packer.lists)
  }

  private static func unpack(
    _ bytes: [UInt8], _ parts: [Range<Int>], _ lists: [RecordKeys], startingOverAt starts: Set<Int> = [],
    byteLimit: Int = 16 << 20
  ) throws -> [EntityRecord] {
    var unpacker = RecordUnpacker(lists)
    return try unsafe bytes.withUnsafeBytes { bytes in
      try parts.enumerated().map { index, part in
        if starts.contains(index) { unpacker.startOver() }
        try unsafe unpacker.advance(in: bytes, part)
        return try unsafe unpacker.record(in: bytes, byteLimit: byteLimit)
      }
    }
  }

  private static func value(_ random: inout SeededGenerator, depth: Int = 0) -> FieldValue {
    switch Int.random(in: 0..<(depth < 3 ? 12 : 10), using: &random) {
    case 0: .null
    case 1: .bool(.random(using: &random))
    case 2: .integer(.random(in: -30...30, using: &random))
    case 3: .integer(.random(in: .min ... .max, using: &random))
    case 4: .unsigned(.random(in: UInt64(Int64.max) + 1 ... .max, using: &random))
    case 5: .double(.random(in: -1e9...1e9, using: &random))
    case 6: .string(String(repeating: "é", count: .random(in: 0...40, using: &random)))
    case 7: .string("")
    case 8: .data(Data(repeating: 7, count: .random(in: 0...300, using: &random)))
    case 9: .date(Date(timeIntervalSinceReferenceDate: .random(in: 0...1e9, using: &random)))
    case 10: .array((0..<Int.random(in: 0...4, using: &random)).map { _ in value(&random, depth: depth + 1) })
    default: .dictionary(["a": value(&random, depth: depth + 1), "\(random.next())": .integer(1)])
    }
  }

  /// Versions of a few entities, as a layer has them.
  private static func records(_ count: Int, _ random: inout SeededGenerator) -> [EntityRecord] {
    var fields: [UInt8: FieldValue] = [:]
    var attributes: [String: FieldValue] = [:]
    return (0..<count).map { _ in
      switch Int.random(in: 0..<10, using: &random) {
      case 0: (fields, attributes) = ([:], [:])
      case 1: fields[.random(in: 0...23, using: &random)] = value(&random)
      case 2: attributes.removeValue(forKey: attributes.keys.randomElement(using: &random) ?? "")
      default: attributes["attribute \(Int.random(in: 0..<45, using: &random))"] = value(&random)
      }
      return EntityRecord(attributes, fields: fields)
    }
  }

  @Test func recordsComeBackAsTheyWere() throws {
    var random = SeededGenerator(#function)
    for _ in 0..<30 {
      let records = Self.records(200, &random)
      let starts = Set((0..<10).map { _ in Int.random(in: 0..<200, using: &random) })
      let packed = Self.pack(records, startingOverAt: starts)
      let found = try Self.unpack(packed.bytes, packed.parts, packed.lists, startingOverAt: starts)
      #expect(found == records)
      let keys = try packed.lists.map { try RecordKeys($0.bytes) }
      #expect(keys == packed.lists && keys.map(\.count) == packed.lists.map(\.count))
    }
  }

  @Test func whatTheRecordBeforeHasTakesAByte() {
    let attributes = Dictionary(
      uniqueKeysWithValues: (10..<30).map { ("name \($0)", FieldValue.integer($0 * 1000)) })
    let record = EntityRecord(attributes)
    var changed = attributes
    changed["name 29"] = .integer(5)
    let packed = Self.pack([record, record, EntityRecord(changed)])
    // The number of the keys, and a mark for twenty values.
    #expect(packed.parts[1].count == 2)
    // A mark for nineteen, and the value.
    #expect(packed.parts[2].count == 3)
  }

  @Test func aRecordWithoutSharedKeysHasItsOwn() throws {
    let records = (0..<RecordPacker.listLimit + 10).map {
      EntityRecord(["own \($0)": .integer(1), "all": .null])
    }
    let long = EntityRecord([String(repeating: "n", count: RecordPacker.keyByteLimit): .bool(true)])
    let all = records + [long, records[0], EntityRecord(), long, EntityRecord()]
    let packed = Self.pack(all)
    #expect(packed.lists.count == RecordPacker.listLimit)
    #expect(try Self.unpack(packed.bytes, packed.parts, packed.lists) == all)
  }

  @Test func alteredBytesGiveAnErrorOrAValidRecord() {
    var random = SeededGenerator(#function)
    var failureCount = 0
    for _ in 0..<20 {
      let records = Self.records(20, &random)
      let packed = Self.pack(records)
      for _ in 0..<500 {
        var bytes = packed.bytes
        let place = Int.random(in: bytes.indices, using: &random)
        bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        do {
          for record in try Self.unpack(bytes, packed.parts, packed.lists) { try record.checkEncoding() }
        } catch {
          #expect(error is CBORError)
          failureCount += 1
        }
      }
    }
    #expect(failureCount > 1000)
  }

  @Test func fewBytesDoNotMakeALargeRecord() throws {
    let text = FieldValue.string(String(repeating: "x", count: 1000))
    let record = EntityRecord(["a": text, "b": text])
    let packed = Self.pack([record, record])
    for count in 1...2 {
      #expect(throws: CBORError.self) {
        try Self.unpack(packed.bytes, Array(packed.parts.prefix(count)), packed.lists, byteLimit: 2000)
      }
    }
    #expect(try Self.unpack(packed.bytes, packed.parts, packed.lists) == [record, record])
  }

  @Test(arguments: [
    [0x61, 0x62, 0x61, 0x61], [0x01, 0x01], [0x18, 0x20], [0x61, 0xFF], [0x80], [0x62, 0x61],
    [0x61, 0x61, 0x01],
  ])
  func keysOfNoRecordAreRefused(_ bytes: [UInt8]) {
    #expect(throws: CBORError.self) { try RecordKeys(bytes) }
  }
}
