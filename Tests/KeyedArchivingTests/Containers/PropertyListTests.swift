import Foundation
import KeyedArchiving
import Testing

@Suite struct PropertyListTests {
  private func value(_ raw: RawPropertyList, _ limits: ArchiveLimits = .init()) throws -> PropertyListValue {
    try PropertyList(ArchiveBytes(raw.bytes), limits: limits).value()
  }

  private func value(_ object: [UInt8]) throws -> PropertyListValue { try value(RawPropertyList(object)) }

  private func code(_ raw: RawPropertyList, _ limits: ArchiveLimits = .init()) -> ArchiveError.Code? {
    do {
      _ = try value(raw, limits)
      return nil
    } catch { return (error as? ArchiveError)?.code }
  }

  @Test func theSmallestPropertyListHolds42Bytes() throws {
    #expect(RawPropertyList([0x08]).bytes.count == 42)
    #expect(try value([0x08]) == .bool(false))
  }

  @Test func integersOfOneToFourBytesHaveNoSignAndLongerOnesDo() throws {
    #expect(try value([0x10, 0xFF]) == .integer(255))
    #expect(try value([0x11, 0xFF, 0xFF]) == .integer(65535))
    #expect(try value([0x12, 0xFF, 0xFF, 0xFF, 0xFF]) == .integer(4_294_967_295))
    #expect(try value([0x13] + [UInt8](repeating: 0xFF, count: 8)) == .integer(-1))
  }

  @Test func integersOfSixteenBytesKeepAllTheirBits() throws {
    let zeros = [UInt8](repeating: 0, count: 8)
    let ones = [UInt8](repeating: 0xFF, count: 8)
    #expect(try value([0x14] + zeros + ones) == .unsigned(.max))
    #expect(try value([0x14] + ones + ones) == .integer(-1))
    #expect(try value([0x14] + ones + zeros) == .bigInteger(-(1 << 64)))
    #expect(try value([0x14] + zeros.dropLast() + [1] + zeros) == .bigInteger(1 << 64))
  }

  @Test func realsAreOfSingleOrDoublePrecision() throws {
    #expect(try value([0x22, 0x3F, 0, 0, 0]) == .real(0.5))
    #expect(try value([0x23, 0xBF, 0xE0, 0, 0, 0, 0, 0, 0]) == .real(-0.5))
    #expect(code(RawPropertyList([0x21, 0x3F, 0])) == .malformed)
  }

  @Test func utf8InAStringMarkedAsASCIIIsRead() throws {
    #expect(try value([0x52, 0xC2, 0xA9]) == .string("©"))
    #expect(try value([0x52, 0xA9, 0x41]) == .string("©A"))
  }

  @Test func halfASurrogatePairIsReplaced() throws {
    #expect(try value([0x62, 0xD8, 0x3D, 0xDE, 0x00]) == .string("😀"))
    #expect(try value([0x62, 0xD8, 0x3D, 0x00, 0x41]) == .string("\u{FFFD}A"))
  }

  @Test func aLengthMayBeAnIntegerOfAnyWidth() throws {
    #expect(try value([0x4F, 0x10, 0x01, 7]) == .data(Data([7])))
    #expect(try value([0x4F, 0x13, 0, 0, 0, 0, 0, 0, 0, 1, 7]) == .data(Data([7])))
    #expect(try value([0x4F, 0x14] + bigEndian(1, 16) + [7]) == .data(Data([7])))
  }

  @Test func aLengthBeyondTheObjectsIsRefusedBeforeMemoryIsTaken() {
    for kind: UInt8 in [0x4F, 0x5F, 0x6F, 0xAF, 0xCF, 0xDF] {
      for length: [UInt8] in [
        [0x10, 2], [0x12, 0x80, 0, 0, 0], [0x13, 0x40, 0, 0, 0, 0, 0, 0, 0],
        [0x13, 0x7F] + [UInt8](repeating: 0xFF, count: 7), [0x13, 0x80, 0, 0, 0, 0, 0, 0, 0],
        [0x13] + [UInt8](repeating: 0xFF, count: 8), [0x14, 1] + [UInt8](repeating: 0, count: 15), [0x08],
        [0x15], [],
      ] {
        #expect(code(RawPropertyList([kind] + length)) == .malformed, "\(kind) \(length)")
      }
    }
  }

  @Test func uidsHaveOneToSixteenBytesAndFitInto32Bits() throws {
    #expect(try value([0x80, 7]) == .uid(7))
    #expect(try value([0x83, 0xFF, 0xFF, 0xFF, 0xFF]) == .uid(.max))
    #expect(try value([0x8F] + bigEndian(9, 16)) == .uid(9))
    #expect(code(RawPropertyList([0x84, 1, 0, 0, 0, 0])) == .malformed)
    #expect(code(RawPropertyList([0x8F, 1] + bigEndian(0, 15))) == .malformed)
  }

  @Test(arguments: 1...9) func referencesAndOffsetsHaveAnyWidth(_ width: Int) throws {
    var raw = RawPropertyList([0xA2] + bigEndian(1, width) + bigEndian(2, width), [0x10, 7], [0x09])
    raw.referenceWidth = width
    raw.offsetWidth = width
    #expect(try value(raw) == .array([.integer(7), .bool(true)]))
  }

  @Test func aReferenceWiderThanANumberMustHaveZerosInFront() {
    var raw = RawPropertyList([0xA1, 1] + bigEndian(1, 8), [0x09])
    raw.referenceWidth = 9
    #expect(code(raw) == .malformed)
  }

  @Test func aReferenceToNoObjectIsNamed() throws {
    #expect(code(RawPropertyList([0xA1, 9])) == .danglingReference)
  }

  @Test func dictionariesKeepTheirOrderAndRepeatedKeys() throws {
    let raw = RawPropertyList(
      [0xD3, 1, 2, 1, 3, 4, 5], [0x51, 0x62], [0x51, 0x61], [0x10, 1], [0x10, 2], [0x09])
    let value = try value(raw)
    let b = PropertyListValue.string("b")
    #expect(
      value
        == .dictionary([
          .init(key: b, value: .integer(1)), .init(key: .string("a"), value: .integer(2)),
          .init(key: b, value: .bool(true)),
        ]))
    #expect(value["b"] == .integer(1))
    #expect(value["c"] == nil)
  }

  @Test func aKeyMayBeAnyScalarButNoCollection() throws {
    let raw = RawPropertyList([0xD1, 1, 1], [0x10, 1])
    #expect(try value(raw) == .dictionary([.init(key: .integer(1), value: .integer(1))]))
    #expect(code(RawPropertyList([0xD1, 1, 2], [0xA0], [0x10, 1])) == .malformed)
    // The same is true if the collection was read before.
    #expect(code(RawPropertyList([0xA2, 1, 2], [0xA0], [0xD1, 1, 1])) == .malformed)
  }

  @Test func aCollectionThatContainsItselfHasObjectsButNoTree() throws {
    let raw = RawPropertyList([0xA1, 1], [0xD1, 2, 0], [0x51, 0x61])
    #expect(code(raw) == .cyclic)
    let list = try PropertyList(ArchiveBytes(raw.bytes))
    guard case .array(let members) = try list.object(0) else { throw Unexpected() }
    #expect(try members.number(at: 0) == 1)
  }

  @Test func aSharedCollectionCountsAsOftenAsItOccurs() throws {
    // Each array holds the next one twice: 2ⁿ⁺¹ - 1 values.
    var objects = (1...15).map { [0xA2, UInt8($0), UInt8($0)] }
    objects.append([0x09])
    var limits = ArchiveLimits()
    limits.valueCount = 1 << 16 - 1
    #expect(code(RawPropertyList(objects: objects), limits) == nil)
    limits.valueCount -= 1
    #expect(code(RawPropertyList(objects: objects), limits) == .limitExceeded)
  }

  @Test func aStringMayBeUsedMoreOftenThanItsBytesAre() throws {
    for length in [15, 16, 400] {
      let string = [0x5F, 0x11] + bigEndian(length, 2) + [UInt8](repeating: 0x61, count: length)
      let raw = RawPropertyList(
        [0xAF, 0x12] + bigEndian(50_000, 4) + [UInt8](repeating: 1, count: 50_000), string)
      var wide = raw
      wide.offsetWidth = 4
      guard case .array(let members) = try value(wide) else { throw Unexpected() }
      #expect(members == Array(repeating: .string(String(repeating: "a", count: length)), count: 50_000))
    }
  }

  @Test func stringsThatOverlapAreReadWithinBounds() throws {
    // Each string begins in the one before it and reaches nearly to the end, and looks like a string itself.
    let unit: [UInt8] = [0x5F, 0x11, 0x4E, 0x20]
    let count = 10_000
    var raw = RawPropertyList(objects: [])
    let strings = (0..<count).flatMap { _ in unit } + [UInt8](repeating: 0x20, count: 20_010)
    let numbers = (1...count).flatMap { bigEndian($0, 4) }
    raw.objects = [[0xAF, 0x12] + bigEndian(count, 4) + numbers, strings]
    raw.objects += [[UInt8]](repeating: [], count: count - 1)
    let start = 8 + raw.objects[0].count
    raw.offsets = [8] + (0..<count).map { start + 4 * $0 }
    raw.referenceWidth = 4
    raw.offsetWidth = 4
    #expect(code(raw) == .limitExceeded)
    let list = try PropertyList(ArchiveBytes(raw.bytes))
    #expect(try list.value(count) == list.value(1 + count - 1))
  }

  @Test func offsetsPointToObjectsOnly() {
    for offset in [0, 7, 9, 10, 40, 255] {
      var raw = RawPropertyList([0x08])
      raw.offsets = [offset]
      #expect(code(raw) == .malformed, "\(offset)")
    }
  }

  @Test func errorsNameTheirPlace() throws {
    do {
      _ = try value(RawPropertyList([0xA1, 1], [0x7F]))
      throw Unexpected()
    } catch let error as ArchiveError {
      #expect(error.offset == 10)
      #expect(error.description == "0x7F is not an object marker of this format (byte 10)")
    }
  }

  @Test func stringsAreComparedWithoutBeingDecoded() throws {
    let raw = RawPropertyList(
      [0x53, 0x61, 0x62, 0x63], [0x62, 0x00, 0xE9, 0x20, 0xAC], [0x62, 0xD8, 0x3D, 0xDE, 0x00], [0x50],
      [0x60], [0x62, 0x00, 0x61, 0x00, 0x62], [0x10, 1])
    let list = try PropertyList(ArchiveBytes(raw.bytes))
    let texts: [StaticString] = ["abc", "é€", "😀", "", "", "ab"]
    for number in 0..<raw.objects.count {
      let header = try list.header(number)
      for (index, text) in texts.enumerated() {
        let isEqual = index == number || (number, index) == (3, 4) || (number, index) == (4, 3)
        #expect(try list.isString(header, text) == isEqual, "\(number) \(text)")
      }
    }
  }

  @Test func aMemberIsFoundByItsKey() throws {
    let raw = RawPropertyList([0xD2, 1, 2, 3, 4], [0x51, 0x61], [0x61, 0x00, 0x62], [0x08], [0x09])
    let list = try PropertyList(ArchiveBytes(raw.bytes))
    #expect(try list.member("b", of: list.header(0)) == 4)
    #expect(try list.member("c", of: list.header(0)) == nil)
    #expect(try list.member("a", of: list.header(1)) == nil)
  }

  @Test func membersBeyondACollectionAreMissing() throws {
    let list = try PropertyList(ArchiveBytes(RawPropertyList([0xA1, 0]).bytes))
    guard case .array(let members) = try list.object(0) else { throw Unexpected() }
    for index in [-1, 1, Int.max] {
      #expect(throws: ArchiveError.self) { try members.number(at: index) }
      #expect(throws: ArchiveError.self) { try list.reference(list.header(0), index) }
    }
    for number in [-1, 1, Int.max] {
      #expect(throws: ArchiveError.self) { try list.object(number) }
    }
  }

  @Test func aTrailerThatContradictsTheFileIsRefused() {
    let sound = RawPropertyList([0xA1, 1], [0x08]).bytes
    #expect((try? PropertyList(ArchiveBytes(sound))) != nil)
    for position in sound.count - 26..<sound.count {
      for change: UInt8 in [1, 0x7F, 0x80, 0xFF] {
        var bytes = sound
        bytes[position] ^= change
        // Another top object is valid too, and a wider reference is no contradiction if there is none to read.
        if position == sound.count - 9 && change == 1 || position == sound.count - 25 { continue }
        #expect(throws: ArchiveError.self, "byte \(position)") { try PropertyList(ArchiveBytes(bytes)) }
      }
    }
    for count in 0..<sound.count {
      #expect(throws: ArchiveError.self) {
        try PropertyList(ArchiveBytes(Array(sound.prefix(count)))).value()
      }
    }
  }

  @Test func limitsAreKept() {
    var limits = ArchiveLimits()
    limits.byteCount = 41
    #expect(code(RawPropertyList([0x08]), limits) == .limitExceeded)
    limits = ArchiveLimits()
    limits.depth = 1
    #expect(code(RawPropertyList([0xA1, 1], [0x08]), limits) == nil)
    #expect(code(RawPropertyList([0xA1, 1], [0xA0]), limits) == .limitExceeded)
  }
}

/// An outcome that a test does not expect.
struct Unexpected: Error {}
