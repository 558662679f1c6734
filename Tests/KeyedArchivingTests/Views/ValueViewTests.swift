import Foundation
import Testing

@testable import KeyedArchiving
@testable import PropertyLists

/// The views on single values of classes that are written here as Apple's archivers write them.
@Suite struct ValueViewTests {
  private func root(_ fields: KeyValuePairs<String, String>, _ chain: String..., also: String...) throws
    -> ArchivedValue
  {
    let description =
      "<dict>" + key("$classname") + text(chain[0]) + key("$classes")
      + "<array>\((chain + ["NSObject"]).map(text).joined())</array></dict>"
    let archive = try makeArchive(topText: key("root") + uid(1), [object(2, fields), description] + also)
    return try #require(try archive.root)
  }

  @Test func integralNumbersOfAnyKindAreIntegers() {
    #expect(ArchivedValue.real(3).integer == 3)
    #expect(ArchivedValue.real(3.5).integer == nil)
    #expect(ArchivedValue.real(.nan).integer == nil)
    #expect(ArchivedValue.real(1e300).integer == nil)
    #expect(ArchivedValue.unsigned(.max).integer == nil)
    #expect(ArchivedValue.bool(true).integer == 1)
    #expect(ArchivedValue.integer(1).bool == true)
    #expect(ArchivedValue.real(0).bool == false)
    #expect(ArchivedValue.integer(2).bool == nil)
    #expect(ArchivedValue.string("1").integer == nil)
  }

  @Test func stringsDataAndCollectionsOfDerivedClassesAreReadAsTheirBase() throws {
    #expect(
      try root(["NS.string": text("ü")], "OC_PythonUnicode", "NSMutableString", "NSString").string == "ü")
    #expect(try root(["NS.bytes": data(Array("ü".utf8))], "NSMutableString", "NSString").string == "ü")
    #expect(try root(["NS.data": uid(3)], "MyData", "NSData", also: data([1, 2])).data == Data([1, 2]))
    let array = try root(["NS.objects": list(uid(3), uid(0))], "MyArray", "NSArray", also: text("a")).array
    #expect(try array?.elements().count == 2)
    #expect(try array?[1].isNull == true)
    #expect(try root([:], "NSNull").isNull)
  }

  @Test func brokenStringsAndDataAreErrors() throws {
    #expect(code { _ = try root([:], "NSMutableString", "NSString").string } == .malformed)
    #expect(code { _ = try root(["NS.bytes": data([0xFF])], "NSString").string } == .malformed)
    #expect(code { _ = try root(["NS.string": int(1)], "NSString").string } == .malformed)
    #expect(code { _ = try root(["NS.data": text("x")], "NSData").data } == .malformed)
  }

  @Test func collectionsOfTheFirstArchiversAreRead() throws {
    let array = try root(["NS.object.1": text("b"), "NS.object.0": text("a")], "NSArray")
    #expect(try array.array?.elements().compactMap { try $0.string } == ["a", "b"])
    let pairs = try root(["NS.key.0": text("k"), "NS.object.0": int(5)], "NSDictionary").dictionary
    #expect(try pairs?["k"]?.integer == 5)
    #expect(try root([:], "NSDictionary").dictionary?.isEmpty == true)
    #expect(code { _ = try root(["NS.object.1": int(1)], "NSOrderedSet").set } == .malformed)
    #expect(code { _ = try root(["NS.key.0": int(1)], "NSDictionary").dictionary } == .malformed)
    #expect(code { _ = try root(["NS.objects": int(1)], "NSSet").set } == .malformed)
  }

  @Test func countedSetsGiveTheirCounts() throws {
    let set = try #require(
      try root(
        [
          "NS.count": int(2), "NS.object0": text("a"), "NS.count0": int(3), "NS.object1": text("b"),
          "NS.count1": int(1),
        ],
        "NSCountedSet", "NSMutableSet", "NSSet"
      ).countedSet)
    #expect(set.counts == [3, 1])
    #expect(try set.members[1].string == "b")
    for fields in [
      ["NS.count": int(2), "NS.object0": text("a"), "NS.count0": int(3)],
      ["NS.count": int(1), "NS.object0": text("a"), "NS.count0": int(0)],
      ["NS.count": int(1 << 40)],
    ] as [KeyValuePairs<String, String>] {
      #expect(code { _ = try root(fields, "NSCountedSet", "NSSet").countedSet } == .malformed)
    }
  }

  @Test func tablesEndWithNil() throws {
    let table = try root(
      ["$0": int(5), "$1": uid(3), "$2": uid(3), "$3": uid(0)], "NSHashTable", also: text("x"))
    #expect(try table.hashTable?.elements().compactMap { try $0.string } == ["x", "x"])
    #expect(code { _ = try root(["$0": int(5), "$1": text("x")], "NSHashTable").hashTable } == .malformed)
  }

  @Test func colorsAreReadFromTheMostExactOfTheirFields() throws {
    let exact = try root(
      [
        "UIRed": real("0.2"), "UIRed-Double": real("0.25"), "UIGreen": real("0.5"), "UIBlue": real("1"),
        "UIAlpha": real("0.5"), "NSRGB": data(Array("0.9 0.9 0.9".utf8)),
      ], "UIColor"
    ).color
    #expect(exact == ArchivedColor(space: .rgb, components: [0.25, 0.5, 1], alpha: 0.5))
    let calibrated = try root(
      ["NSColorSpace": int(1), "NSRGB": data(Array("1 0 0.5 0.25\0".utf8))], "NSColor")
    #expect(
      try calibrated.color == ArchivedColor(space: .calibratedRGB, components: [1, 0, 0.5], alpha: 0.25))
    let white = try #require(
      try root(["NSColorSpace": int(3), "NSWhite": data(Array("0.5\0".utf8))], "NSColor").color)
    #expect(white.space == .white && white.alpha == 1)
    #expect(white.rgba == (0.5, 0.5, 0.5, 1))
    let ink = try root(["NSColorSpace": int(5), "NSCMYK": data(Array("0 1 1 0.5 1".utf8))], "NSColor").color
    #expect(ink?.rgba ?? (0, 0, 0, 0) == (0.5, 0, 0, 1))
    let wide = try root(
      [
        "NSColorSpace": int(1), "NSRGB": data(Array("0.9 0 0\0".utf8)),
        "NSComponents": data(Array("1.1 0 0 0.5".utf8)),
      ], "NSColor"
    ).color
    #expect(wide?.components == [1.1, 0, 0])
    #expect(wide?.rgba ?? (0, 0, 0, 0) == (0.9, 0, 0, 0.5))
    let catalog = try root(
      ["NSColorSpace": int(6), "NSColorName": text("labelColor"), "NSColor": uid(3)], "NSColor",
      also: object(2, ["NSColorSpace": int(3), "NSWhite": data(Array("0".utf8))]))
    #expect(try catalog.color?.name == "labelColor")
    #expect(try catalog.color?.components == [0])
  }

  @Test func brokenColorsAreErrorsAndColorsWithoutComponentsAreNil() throws {
    #expect(code { _ = try root(["UIRed": real("1")], "UIColor").color } == .malformed)
    #expect(code { _ = try root(["NSRGB": data(Array("1 x 1".utf8))], "NSColor").color } == .malformed)
    #expect(code { _ = try root(["NSRGB": data(Array("1 1".utf8))], "NSColor").color } == .malformed)
    #expect(code { _ = try root(["NSWhite": data(Array("nan".utf8))], "NSColor").color } == .malformed)
    #expect(try root(["NSPattern": text("x")], "NSColor").color == nil)
    let endless = try root(["NSColorSpace": int(6), "NSColor": uid(1)], "NSColor")
    #expect(try endless.color == nil, "a color that is its own fallback")
  }

  @Test func cArraysHaveAsManyElementsAsTheySay() throws {
    func array(_ count: Int) throws -> ArchivedArray? {
      try root(
        ["NS.count": int(count), "NS.size": int(4), "NS.type": int(105), "$0": int(8), "$1": int(9)],
        "_NSKeyedCoderOldStyleArray"
      ).array
    }
    #expect(try array(2)?.elements().map(\.integer) == [8, 9])
    #expect(code { _ = try array(3) } == .malformed)
  }

  @Test func attributesCoverTheWholeText() throws {
    func string(_ info: [UInt8]) throws -> ArchivedAttributedString? {
      try root(
        [
          "NSString": text("a😀b"), "NSAttributes": list("<dict/>", "<dict>\(key("x"))\(int(1))</dict>"),
          "NSAttributeInfo": data(info),
        ], "NSAttributedString"
      ).attributedString
    }
    let runs = try string([1, 0, 3, 1])?.runs
    #expect(runs?.map(\.range) == [0..<1, 1..<4], "in UTF-16 units")
    #expect(try runs?[1].attributes["x"]?.integer == 1)
    for broken: [UInt8] in [[], [1, 0], [1, 0, 4, 1], [4, 2], [4], [0x80], [4, 0, 0x80]] {
      #expect(code { _ = try string(broken) } == .malformed, "\(broken)")
    }
    let plain = try root(["NSString": text("ab"), "NSAttributes": "<dict/>"], "NSAttributedString")
    #expect(try plain.attributedString?.runs.map(\.range) == [0..<2])
    #expect(try root(["NSString": text("")], "NSAttributedString").attributedString?.runs.isEmpty == true)
    #expect(
      code { _ = try root(["NSString": text("a")], "NSAttributedString").attributedString } == .malformed)
  }

  @Test func indexesAreCheckedAgainstTheirCount() throws {
    let packed = data([0x80, 0x01, 0x05])
    #expect(
      try root(["NSIndexPathLength": int(2), "NSIndexPathData": packed], "NSIndexPath").indexPath == [128, 5])
    #expect(
      try root(["NSIndexPathLength": int(1), "NSIndexPathValue": int(4)], "NSIndexPath").indexPath == [4])
    #expect(
      code {
        _ = try root(["NSIndexPathLength": int(3), "NSIndexPathData": packed], "NSIndexPath").indexPath
      }
        == .malformed)
    #expect(
      try root(["NSRangeCount": int(1), "NSLocation": int(3), "NSLength": int(4)], "NSIndexSet").indexSet == [
        3..<7
      ])
    #expect(
      code {
        _ = try root(
          ["NSRangeCount": int(1), "NSLocation": int(.max), "NSLength": int(1)], "NSIndexSet"
        ).indexSet
      } == .malformed)
    for broken: [UInt8] in [[5, 1, 2, 1], [1, 5, 3, 1], [1, 2, 3], [0xFF]] {
      #expect(
        code { _ = try root(["NSRangeCount": int(2), "NSRangeData": data(broken)], "NSIndexSet").indexSet }
          == .malformed, "\(broken)")
    }
  }

  @Test func placesAreReadWithTheirTimeAndFloor() throws {
    let place = try #require(
      try root(
        [
          "kCLLocationCodingKeyCoordinateLatitude": real("38.7"),
          "kCLLocationCodingKeyCoordinateLongitude": real("-9.1"),
          "kCLLocationCodingKeyFloor": int(0x7FFF_FFFF),
          "kCLLocationCodingKeyTimestamp": real("100"),
        ], "CLLocation"
      ).location)
    #expect(place.latitude == 38.7 && place.longitude == -9.1)
    #expect(place.floor == nil && place.altitude == nil)
    #expect(place.timestamp == Date(timeIntervalSinceReferenceDate: 100))
    #expect(code { _ = try root([:], "CLLocation").location } == .malformed)
  }

  @Test func decimalNumbersKeepEveryDigit() throws {
    func decimal(
      _ mantissa: [UInt8], _ exponent: Int, negative: String = no, order: Int = 1, length: Int? = nil
    ) throws
      -> ArchivedValue
    {
      try root(
        [
          "NS.exponent": int(exponent), "NS.length": int(length ?? mantissa.count / 2),
          "NS.negative": negative,
          "NS.compact": yes, "NS.mantissa.bo": int(order),
          "NS.mantissa": data(mantissa + [UInt8](repeating: 0, count: 16 - mantissa.count)),
        ], "NSDecimalNumber", "NSNumber", "NSValue")
    }
    let all = [UInt8](repeating: 0xFF, count: 16)
    #expect(try decimal(all, 0).decimal == Decimal(string: "340282366920938463463374607431768211455"))
    #expect(try decimal([25, 0], -1).decimal == Decimal(string: "2.5"))
    #expect(try decimal([25, 0], -1).double == 2.5)
    #expect(try decimal([0, 25], -2, negative: yes, order: 2).decimal == Decimal(string: "-0.25"))
    #expect(try decimal([1, 0, 2, 0], 3).decimal == Decimal(131_073_000))
    #expect(try decimal([], 0).decimal == 0)
    #expect(try decimal([], 0, negative: yes).decimal?.isNaN == true)
    #expect(code { _ = try decimal(all, 0, length: 9).decimal } == .malformed)
    #expect(code { _ = try decimal([1, 0], 300).decimal } == .malformed)
    #expect(code { _ = try root(["NS.exponent": int(1)], "NSDecimalNumber").double } == .malformed)
  }
}
