import Foundation
import TestSupport
import Testing

@testable import KeyedArchiving
@testable import PropertyLists

/// The decoder reads back what the encoder writes, for Foundation's types too.
@Suite struct FoundationTypesTests {
  private enum Suit: String, Codable { case hearts, spades }

  private struct Things: Codable, Equatable {
    var price: Decimal
    var path: IndexPath
    var selection: IndexSet
    var sizes: Set<CGFloat>
    var bySuit: [Suit: Int]
    var byNumber: [UInt8: String?]
    var byPath: [IndexPath: Suit]
    var prices: [Decimal]
    var nested: [Suit: [Suit: IndexSet]]
  }

  private func things(_ generator: inout SeededGenerator) -> Things {
    func number() -> Double { Double(Int64(truncatingIfNeeded: generator.next()) >> 20) / 1024 }
    func decimal() -> Decimal {
      let digits = Decimal(string: "\(generator.next())\(generator.next() >> 8)")!
      let scaled = Decimal(
        sign: generator.chance(1, in: 2) ? .minus : .plus,
        exponent: Int.random(in: -40...40, using: &generator),
        significand: digits)
      return generator.chance(1, in: 8) ? 0 : scaled
    }
    func path() -> IndexPath {
      IndexPath(
        indexes: (0..<Int.random(in: 0..<4, using: &generator)).map { _ in
          Int(truncatingIfNeeded: generator.next() >> UInt64.random(in: 1..<64, using: &generator))
        })
    }
    func indexes() -> IndexSet {
      var set = IndexSet()
      for _ in 0..<Int.random(in: 0..<4, using: &generator) {
        set.insert(
          integersIn: Range(start: Int(generator.next() >> 40), length: 1 + Int(generator.next() >> 54))!)
      }
      return set
    }
    return Things(
      price: decimal(), path: path(), selection: indexes(), sizes: [number(), number()],
      bySuit: [.hearts: 1, .spades: 2], byNumber: [1: "a", 255: nil],
      byPath: [path(): .hearts], prices: [decimal(), decimal(), 0.1],
      nested: [.hearts: [.spades: indexes()], .spades: [:]])
  }

  @Test(arguments: [false, true]) func encodedValuesAreDecodedUnchanged(isNamed: Bool) throws {
    var generator = SeededGenerator()
    var encoder = KeyedArchiveEncoder()
    if isNamed { encoder.name(Things.self, ArchivedClass("OldThings")) }
    for _ in 0..<50 {
      let things = things(&generator)
      let archive = try KeyedArchive(ArchiveBytes(encoder.encode(things)))
      #expect(try KeyedArchiveDecoder().decode(Things.self, from: archive) == things)
    }
  }

  @Test func aDecimalNumberAsADoubleIsTheNearestOne() throws {
    var generator = SeededGenerator()
    for _ in 0..<1_000 {
      let text = "\(Int.random(in: -9_999...9_999, using: &generator)).\(generator.next() % 100_000)"
      let decimal = try #require(Decimal(string: text))
      let archive = try KeyedArchive(ArchiveBytes(ArchiveNode.decimal(decimal).archived()))
      #expect(try archive.root?.double == Double(text), "\(text)")
      #expect(try KeyedArchiveDecoder().decode(Double.self, from: archive) == Double(text), "\(text)")
    }
    let archive = try KeyedArchive(ArchiveBytes(ArchiveNode.decimal(.nan).archived()))
    #expect(try archive.root?.double?.isNaN == true)
  }

  @Test func aRealAsADecimalHasItsShortestDigits() throws {
    func decoded(_ real: Double) throws -> Decimal {
      let archive = try KeyedArchive(ArchiveBytes(ArchiveNode.number(real).archived()))
      return try KeyedArchiveDecoder().decode(Decimal.self, from: archive)
    }
    for text in ["0.1", "0.30000000000000004", "43.3281", "-2500", "1e-128", "1e127"] {
      #expect(try decoded(Double(text)!) == Decimal(string: text), "\(text)")
    }
    #expect(try decoded(.nan).isNaN)
    for real in [1e300, -1e300, 1e-300, .infinity] {
      #expect(throws: DecodingError.self, "\(real)") { _ = try decoded(real) }
    }
  }

  @Test func aDecimalThatIsNoNumberComesBack() throws {
    let archive = try KeyedArchive(ArchiveBytes(KeyedArchiveEncoder().encode([Decimal.nan])))
    #expect(try KeyedArchiveDecoder().decode([Decimal].self, from: archive)[0].isNaN)
  }

  /// Foundation's own reader confirms an `NSIndexSet`.
  @Test func foundationReadsTheIndexSetsThatAreWritten() throws {
    var generator = SeededGenerator()
    for _ in 0..<100 {
      let things = [IndexSet(), [7], things(&generator).selection, things(&generator).selection]
      let read = try unarchived([UInt8](KeyedArchiveEncoder().encode(things))) as? NSArray
      #expect(read?.compactMap { ($0 as? NSIndexSet).map { IndexSet($0) } } == things)
    }
  }

  /// On Apple's systems, Foundation's reader confirms an `NSDecimalNumber`. Foundation on Linux can't read what Apple's
  /// writes, because it expects an object where Apple has 16 bytes in place. So on Linux, Python's plistlib reads the
  /// archive, and its `decimal` makes the value from the fields as Apple's `initWithCoder:` does, with the same
  /// conditions. No archive of Apple's with this class was available.
  @Test(.enabled(if: OtherReader.python != nil, "python3 is missing"))
  func otherReadersReadTheDecimalNumbersThatAreWritten() throws {
    var generator = SeededGenerator()
    let largest = try #require(Decimal(string: "340282366920938463463374607431768211455"))
    var decimals: [Decimal] = [0, 1, -0.25, 65_535, 65_536, largest, -largest, .nan]
    decimals.append(Decimal(sign: .plus, exponent: 127, significand: 1))
    decimals.append(Decimal(sign: .minus, exponent: -127, significand: 3))
    for _ in 0..<100 { decimals += things(&generator).prices }
    let bytes = try [UInt8](KeyedArchiveEncoder().encode(decimals))
    #if canImport(Darwin)
      let read = (try unarchived(bytes) as? NSArray)?.compactMap { $0 as? NSDecimalNumber }
      #expect(read?.map(\.decimalValue.description) == decimals.map(\.description))
    #else
      let python = try #require(OtherReader.python)
      let script = """
        import plistlib, sys
        from decimal import Decimal, getcontext
        getcontext().prec = 60
        archive = plistlib.load(open(sys.argv[1], "rb"))
        objects = archive["$objects"]
        for uid in objects[archive["$top"]["root"].data]["NS.objects"]:
          fields = objects[uid.data]
          chain = objects[fields.pop("$class").data]
          assert chain["$classname"] == "NSDecimalNumber", chain
          assert chain["$classes"] == ["NSDecimalNumber", "NSNumber", "NSValue", "NSObject"], chain
          kinds = {"NS.exponent": int, "NS.length": int, "NS.negative": bool, "NS.compact": bool, "NS.mantissa.bo": int,
            "NS.mantissa": bytes}
          assert {key: type(value) for key, value in fields.items()} == kinds, fields
          mantissa, length = fields["NS.mantissa"], fields["NS.length"]
          assert len(mantissa) == 16 and 0 <= length <= 8 and -128 <= fields["NS.exponent"] <= 127, fields
          assert fields["NS.mantissa.bo"] == 1 and mantissa[2 * length:] == bytes(16 - 2 * length), fields
          digits = int.from_bytes(mantissa[:2 * length], "little")
          value = (-1 if fields["NS.negative"] else 1) * Decimal(digits).scaleb(fields["NS.exponent"])
          print("NaN" if length == 0 and fields["NS.negative"] else format(value, "f"))
        """
      let output = try withTemporaryFolder { folder in
        let path = folder.path("decimals.plist")
        try Data(bytes).write(to: URL(filePath: path))
        let (output, succeeded) = try python.run(["-c", script, path])
        try #require(succeeded, "\(output)")
        return output
      }
      let read = output.split(separator: "\n").map { Decimal(string: String($0))?.description ?? "\($0)" }
      #expect(read == decimals.map(\.description))
    #endif
  }
}
