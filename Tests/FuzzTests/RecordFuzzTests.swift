import CBOR
import Foundation
import TestSupport
import Testing

/// Altered records are refused, or they are valid records: their decoded values encode to the same bytes.
@Suite struct RecordFuzzTests {
  @Test func anAcceptedRecordHasTheBytesThatItWouldBeWrittenWith() {
    var mutator = Mutator()
    var accepted = 0
    for _ in cases(20_000) {
      let bytes = mutator.mutate(Self.random(&mutator.random).bytes)
      guard let record = self.record(bytes) else { continue }
      accepted += 1
      expectSameBytes(record, bytes)
      expectSameDecoding(record)
    }
    #expect(accepted > 100)
  }

  /// Expects the decoded values of an accepted record to encode to its bytes.
  private func expectSameBytes(_ record: EntityRecord, _ bytes: [UInt8]) {
    var (attributes, fields): ([String: FieldValue], [UInt8: FieldValue]) = ([:], [:])
    func note(_ key: FieldKey, _ value: FieldValue) {
      switch key {
      case .attribute(let name): attributes[name] = value
      case .field(let number): fields[number] = value
      }
    }
    record.visit(note)
    // Texts that are canonically equal are one key of a dictionary, and two of a record.
    guard attributes.count + fields.count == count(of: record) else { return }
    #expect(EntityRecord(attributes, fields: fields).bytes == bytes)
    for name in attributes.keys { #expect(record[name] != nil) }
  }

  /// Expects what the containers of a decoder have to be what the record has.
  private func expectSameDecoding(_ record: EntityRecord) {
    let expected = Anything.value(of: .dictionary(record.attributes))
    let decoded = try? ValueDecoder().decode(Anything.self, fromAttributesOf: record).value
    #expect(expected.isIdentical(to: decoded))
  }

  /// Any value, decoded as an app's type would be.
  private struct Anything: Decodable {
    let value: FieldValue

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if container.decodeNil() {
        value = .null
      } else if let members = try? container.decode([String: Anything].self) {
        value = .dictionary(members.mapValues(\.value))
      } else if let elements = try? container.decode([Anything].self) {
        value = .array(elements.map(\.value))
      } else if let bool = try? container.decode(Bool.self) {
        value = .bool(bool)
      } else if let number = try? container.decode(Int64.self) {
        value = .integer(number)
      } else if let number = try? container.decode(UInt64.self) {
        value = .unsigned(number)
      } else if let number = try? container.decode(Double.self) {
        value = .double(number)
      } else if let date = try? container.decode(Date.self) {
        value = .date(date)
      } else if let data = try? container.decode(Data.self) {
        value = .data(data)
      } else {
        value = .string(try container.decode(String.self))
      }
    }

    /// The value that is decoded: a number without a fraction is an integer.
    static func value(of value: FieldValue) -> FieldValue {
      switch value {
      case .double(let number):
        if let integer = Int64(exactly: number) { return .integer(integer) }
        return UInt64(exactly: number).map { .unsigned($0) } ?? value
      case .array(let elements): return .array(elements.map { Self.value(of: $0) })
      case .dictionary(let members): return .dictionary(members.mapValues { Self.value(of: $0) })
      default: return value
      }
    }
  }

  @Test func applyingAcceptedChangesGivesAValidRecord() {
    var mutator = Mutator()
    var accepted = 0
    for _ in cases(20_000) {
      let (old, new) = (Self.random(&mutator.random), Self.random(&mutator.random))
      guard let between = old.changes(to: new) else { continue }
      #expect(old.applying(between) == new)
      let bytes = mutator.mutate(between.bytes)
      guard let changes = self.changes(bytes) else { continue }
      accepted += 1
      // Applying accepted changes always gives a valid record.
      let applied = old.applying(changes)
      #expect(record(applied.bytes) == applied)
      // The difference of the two records leads to the same result.
      if let again = old.changes(to: applied) { #expect(old.applying(again) == applied) }
    }
    #expect(accepted > 100)
  }

  @Test func randomBytesAreRefusedOrComeBackTheSame() {
    var random = SeededGenerator()
    var accepted = 0
    for _ in cases(20_000) {
      // Half of them begin as a record of few fields, which the rest seldom has.
      let head = random.chance(1, in: 2) ? [0xA0 | UInt8.random(in: 0...2, using: &random)] : []
      let bytes = head + random.bytes(Int.random(in: 0..<40, using: &random))
      if let record = self.record(bytes) {
        accepted += 1
        expectSameBytes(record, bytes)
      }
      if let changes = self.changes(bytes) {
        let applied = EntityRecord().applying(changes)
        #expect(self.record(applied.bytes) == applied)
      }
    }
    #expect(accepted > 10)
  }

  @Test func deepNestingIsRefusedAndNotFollowed() {
    for opening in [[0x81], [0xA1, 0x61, 0x61]] as [[UInt8]] {
      let bytes = [0xA1, 0x61, 0x61] + Array(repeatElement(opening, count: 1_000_000).joined())
      #expect(record(bytes) == nil)
    }
  }

  private func record(_ bytes: [UInt8]) -> EntityRecord? { try? EntityRecord(checking: bytes) }

  private func changes(_ bytes: [UInt8]) -> RecordChanges? { try? RecordChanges(checking: bytes) }

  private func count(of record: EntityRecord) -> Int {
    var count = 0
    func note(_: FieldKey, _: FieldValue) { count += 1 }
    record.visit(note)
    return count
  }

  private static func random(_ random: inout SeededGenerator) -> EntityRecord {
    var (attributes, fields): ([String: FieldValue], [UInt8: FieldValue]) = ([:], [:])
    for _ in 0..<Int.random(in: 0..<4, using: &random) {
      let name = String(decoding: random.bytes(Int.random(in: 0..<4, using: &random)), as: UTF8.self)
      attributes[name] = .random(using: &random)
    }
    for _ in 0..<Int.random(in: 0..<3, using: &random) {
      fields[UInt8.random(in: 0..<24, using: &random)] = .random(using: &random)
    }
    return EntityRecord(attributes, fields: fields)
  }
}
