import Foundation
import KeyedArchiving
import TestSupport
import Testing

@Suite struct XMLPropertyListTests {
  private func value(_ bytes: [UInt8]) throws -> PropertyListValue {
    try PropertyList(ArchiveBytes(bytes)).value()
  }

  private func value(_ xml: String) throws -> PropertyListValue { try value(Array(xml.utf8)) }

  private func error(_ xml: String, _ limits: ArchiveLimits = .init()) -> ArchiveError? {
    do {
      _ = try PropertyList(ArchiveBytes(Array(xml.utf8)), limits: limits).value()
      return nil
    } catch { return error }
  }

  @Test func everyElementHasItsValue() throws {
    let xml = """
      <?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
      <plist version="1.0">
      <dict>
        <key>a</key><array><true/><false/><true></true><string/><array/><dict/></array>
        <key>b</key><integer> -12 </integer>
        <key/><real>1.5</real>
        <key>c</key><date>2001-01-02T00:00:01Z</date>
        <key>d</key><data> AQ
          ID </data>
      </dict>
      </plist>
      """
    func member(_ key: String, _ value: PropertyListValue) -> PropertyListValue.Member {
      .init(key: .string(key), value: value)
    }
    #expect(
      try value(xml)
        == .dictionary([
          member(
            "a", .array([.bool(true), .bool(false), .bool(true), .string(""), .array([]), .dictionary([])])),
          member("b", .integer(-12)), member("", .real(1.5)), member("c", .date(86_401)),
          member("d", .data(Data([1, 2, 3]))),
        ]))
    #expect(try PropertyList(ArchiveBytes(Array(xml.utf8))).format == .xml)
  }

  @Test func everyEncodingWithAMarkIsRead() throws {
    let xml = "<plist><string>aé€😀</string></plist>"
    let expected = PropertyListValue.string("aé€😀")
    #expect(try value([0xEF, 0xBB, 0xBF] + Array(xml.utf8)) == expected)
    #expect(try value([0xFE, 0xFF] + xml.utf16.flatMap { bigEndian(Int($0), 2) }) == expected)
    #expect(try value([0xFF, 0xFE] + xml.utf16.flatMap { bigEndian(Int($0), 2).reversed() }) == expected)
    let scalars = xml.unicodeScalars.map { Int($0.value) }
    #expect(try value([0, 0, 0xFE, 0xFF] + scalars.flatMap { bigEndian($0, 4) }) == expected)
    #expect(try value([0xFF, 0xFE, 0, 0] + scalars.flatMap { bigEndian($0, 4).reversed() }) == expected)
  }

  @Test func declaredWesternEncodingsAreRead() throws {
    let start = Array("<?xml version='1.0' encoding='ISO-8859-1'?><string>".utf8)
    #expect(try value(start + [0xE9] + Array("</string>".utf8)) == .string("é"))
  }

  @Test func textInAWrongEncodingIsRefusedWithItsPlace() throws {
    let start = Array("<plist>\n<string>é".utf8)
    let cases: [([UInt8], Int)] = [
      (start + [0xE9] + Array("</string></plist>".utf8), start.count),
      ([0xFE, 0xFF, 0, 0x3C, 0, 0xE9, 0xD8, 0, 0, 0x41], 6),
      ([0, 0, 0xFE, 0xFF] + bigEndian(0x3C, 4) + bigEndian(0x11_0000, 4), 8),
      ([0xFE, 0xFF, 0, 0x3C, 0], 4),
      ([0, 0x3C, 0, 0x64], 0),
    ]
    for (bytes, offset) in cases {
      do {
        _ = try value(bytes)
        Issue.record("\(bytes) is read")
      } catch let error as ArchiveError {
        #expect(error.code == .malformed)
        #expect(error.offset == offset, "\(error)")
      }
    }
  }

  @Test func entitiesCommentsAndSectionsMakeOneText() throws {
    #expect(
      try value("<string>&lt;&amp;&gt;&quot;&apos;&#65;&#x1F600;&#x00e9;</string>") == .string("<&>\"'A😀é"))
    #expect(
      try value("<string>a<![CDATA[<b>&amp;]]>c<!-- -- d --><?e f?>g</string>") == .string("a<b>&amp;cg"))
    // Foundation reads and writes it like this, whatever XML says about the ends of lines.
    #expect(
      try value("<string>a\r\nb\rc\nd&#13;<![CDATA[\r\n]]></string>") == .string("a\r\nb\rc\nd\r\r\n"))
    // Apple's writer leaves control characters as they are, as in the key bindings of Terminal.
    #expect(try value("<string>\u{1B}[A</string>") == .string("\u{1B}[A"))
  }

  @Test func commentsAndInstructionsAroundTheValueAreSkipped() throws {
    let subset = """
      <!DOCTYPE plist [ <!-- ' ]> --> <?a ]> ?> <!ENTITY b "]>"> <!ELEMENT c (#PCDATA)> ] >
      """
    #expect(
      try value("\n <!-- a -- --> <?xml version='1.0'?> \(subset) <plist a = '>'><true/></plist>\n<!---->")
        == .bool(true))
    #expect(try value("<true/>") == .bool(true))
  }

  @Test func entitiesOfADocumentTypeAreNotExpanded() {
    let error = error(
      "<!DOCTYPE plist [<!ENTITY a 'aaaa'><!ENTITY b SYSTEM 'file:///etc/passwd'>]><plist><string>&a;</string></plist>"
    )
    #expect(error?.code == .malformed)
    #expect(error?.message.contains("&a;") == true)
  }

  @Test(
    arguments: [
      ("0", .integer(0)), ("-0", .integer(0)), ("+7", .integer(7)), ("007", .integer(7)),
      ("0x1F", .integer(31)), ("-0X10", .integer(-16)), ("9223372036854775807", .integer(.max)),
      ("-9223372036854775808", .integer(.min)), ("9223372036854775808", .unsigned(1 << 63)),
      ("18446744073709551615", .unsigned(.max)), ("\n\t12\r\n", .integer(12)),
    ] as [(String, PropertyListValue)])
  func integersAreDecimalOrHexadecimal(_ text: String, _ expected: PropertyListValue) throws {
    #expect(try value("<integer>\(text)</integer>") == expected)
  }

  @Test(arguments: [
    "", " ", "-", "0x", "1.0", "1 2", "12a", "1_0", "18446744073709551616", "-9223372036854775809", "0xG",
    "--1", "１",
  ])
  func invalidIntegersAreRefused(_ text: String) {
    #expect(error("<integer>\(text)</integer>")?.code == .malformed)
  }

  @Test(
    arguments: [
      ("1", 1), ("-1.5e3", -1500), (".5", 0.5), ("5.", 5), ("+2E-1", 0.2), ("inf", .infinity),
      ("-Infinity", -.infinity), ("+infinity", .infinity), ("0.10000000000000001", 0.1), ("1e400", .infinity),
    ] as [(String, Double)])
  func realsAreDecimalOrInfinite(_ text: String, _ expected: Double) throws {
    #expect(try value("<real>\(text)</real>") == .real(expected))
  }

  @Test(arguments: ["nan", "NaN", "-nan", "+nan", "-nan(ind)"]) func aRealMayBeNoNumber(_ text: String) throws
  {
    guard case .real(let real) = try value("<real>\(text)</real>") else { throw Unexpected() }
    #expect(real.isNaN)
  }

  @Test(arguments: ["", "1,5", "0x1p3", "1e", "e", "1.5.2", "nan(1)", "--1", "1 2"])
  func invalidRealsAreRefused(_ text: String) { #expect(error("<real>\(text)</real>")?.code == .malformed) }

  @Test(
    arguments: [
      ("2001-01-01T00:00:00Z", 0), ("2000-12-31T23:59:59Z", -1), ("1970-01-01T00:00:00Z", -978_307_200),
      ("2000-02-29T12:00:00Z", -26_481_600), ("0000-12-30T00:00:00Z", -63_114_076_800),
      ("4001-01-01T00:00:00Z", 63_113_904_000), ("-0001-01-01T00:00:00Z", -63_177_062_400),
      ("12024-07-01T00:00:00Z", 316_311_004_800),
    ] as [(String, Double)])
  func datesAreOfTheGregorianCalendarInUTC(_ text: String, _ expected: Double) throws {
    #expect(try value("<date>\(text)</date>") == .date(expected))
  }

  @Test func datesAcrossFourCenturiesAgreeWithTheCalendar() throws {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = TimeZone(identifier: "UTC")!
    for day in stride(from: 0, to: 146_097 + 400, by: 61) {
      let seconds = Double(day) * 86_400
      let parts = calendar.dateComponents(
        [.year, .month, .day], from: Date(timeIntervalSinceReferenceDate: seconds))
      let text = "\(parts.year!)-\(padded(parts.month!))-\(padded(parts.day!))T00:00:00Z"
      #expect(try value("<date>\(text)</date>") == .date(seconds), "\(text)")
    }
  }

  private func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

  @Test(arguments: [
    "", "2001-01-01", "2001-01-01T00:00:00", "2001-13-01T00:00:00Z", "2001-02-29T00:00:00Z",
    "1900-02-29T00:00:00Z", "2001-00-01T00:00:00Z", "2001-01-00T00:00:00Z", "2001-01-01T24:00:00Z",
    "2001-01-01T00:60:00Z", "2001-01-01T00:00:60Z", "201-01-01T00:00:00Z", "2001-1-01T00:00:00Z",
    "2001-01-01 00:00:00Z", "9999999999-01-01T00:00:00Z", "--001-01-01T00:00:00Z", "+2001-01-01T00:00:00Z",
    "Z",
  ])
  func invalidDatesAreRefused(_ text: String) { #expect(error("<date>\(text)</date>")?.code == .malformed) }

  @Test func dataMustBeCompleteBase64() throws {
    #expect(try value("<data>\n\tAA==\n</data>") == .data(Data([0])))
    #expect(try value("<data>+/8=</data>") == .data(Data([0xFB, 0xFF])))
    #expect(try value("<data/>") == .data(Data()))
    // Foundation and Python ignore these characters.
    let lax: [(text: String, bytes: [UInt8])] = [
      ("AA-*BB", [0, 0, 0x41]), ("AA!A=", [0, 0]), ("A\u{C}AAA", [0, 0, 0]), ("AAA==", [0, 0]),
    ]
    for (text, bytes) in lax {
      #expect(try value("<data>\(text)</data>") == .data(Data(bytes)), "\(text)")
    }
    for text in ["A", "AA", "AAA", "AA=", "AA=A", "A===", "====", "=", "AA==AA==", "A-_A", "AAAAA"] {
      #expect(error("<data>\(text)</data>")?.code == .malformed, "\(text)")
    }
  }

  @Test(arguments: [
    "<plist>", "<plist/>", "<plist></plist>", "<plist><true/>", "<plist><true/><true/></plist>",
    "<plist><true/></plist><plist/>", "<plist><true/></plist>x", "<plist>x<true/></plist>", "<true/><true/>",
    "<dict><key>a</key></dict>", "<dict><true/></dict>", "<dict><key>a</key><key>b</key><true/></dict>",
    "<dict><key>a</key><true/><true/></dict>", "<array><key>a</key></array>", "<key>a</key>",
    "<array><true/></dict>", "<array>", "</array>", "<array", "<", "<>", "< true/>", "<true / >", "<truer/>",
    "<True/>", "<true a/>", "<true a=b/>", "<true a='/>", "<true/ >", "<string>a", "<string>a</strin>",
    "<string><b/></string>", "<string>&</string>", "<string>&amp</string>", "<string>&#0;</string>",
    "<string>&#xD800;</string>", "<string>&#x110000;</string>", "<string>&#-1;</string>",
    "<string>&#;</string>",
    "<string>&#x;</string>", "<string>\u{0}</string>", "<string><![CDATA[a</string>", "<!-- a", "<!-->",
    "<?xml",
    "<!DOCTYPE plist", "<!DOCTYPE plist [ <true/>", "<true><!DOCTYPE a></true>", "<true>x</true>",
    "<array><!DOCTYPE a></array>", "<plist><plist><true/></plist></plist>", "<set/>", "<string a='1'b='2'/>x",
  ])
  func otherFilesThanPropertyListsAreRefused(_ xml: String) {
    #expect(error(xml)?.code == .malformed)
  }

  @Test func anErrorNamesTheLineAndTheByte() {
    let error = error("<plist>\n<string>é</string>\n</plist>\n")
    #expect(error == nil)
    let other = self.error("<plist>\n<array>é\n")
    #expect(other?.description == "line 2 of the XML: there is text in the place of a tag (byte 15)")
  }

  @Test func theLastValueOfARepeatedKeyCounts() throws {
    let twice =
      "<dict><key>a</key><true/><key>b</key><integer>1</integer><key>a</key><integer>2</integer></dict>"
    let value = try value(twice)
    #expect(value["a"] == .integer(2))
    #expect(
      value
        == .dictionary([
          .init(key: .string("a"), value: .integer(2)), .init(key: .string("b"), value: .integer(1)),
        ]))
    #expect(error("<dict><key>a</key><true/><key>a</key></dict>")?.code == .malformed)
    #expect(error("<dict><key>a</key><true/><key>a</key><key>b</key><true/></dict>")?.code == .malformed)
  }

  @Test(arguments: ["UTF-8", "utf-8", "US-ASCII", "ISO-8859-1"]) func encodingsThatAreReadMayBeDeclared(
    _ name: String
  ) throws {
    let xml = "<!-- a -->\n<?xml version='1.0' encoding = '\(name)'?><string>a</string>"
    #expect(try value(xml) == .string("a"))
  }

  @Test(arguments: ["windows-1252", "macintosh", "x-nonsense", "Shift_JIS", "UTF-16", "UTF-32BE"])
  func textsThatDeclareAnotherEncodingAreRefused(_ name: String) {
    let error = error("<?xml version=\"1.0\" encoding=\"\(name)\"?><string>a</string>")
    #expect(error?.code == .unsupportedFormat)
    #expect(error?.message.contains(name) == true)
  }

  @Test func textDeclaredAsASCIIWithOtherBytesIsRefused() {
    #expect(error("<?xml version=\"1.0\" encoding=\"US-ASCII\"?><string>é</string>")?.code == .malformed)
  }

  @Test func anErrorInAnArchiveThatIsXMLNamesTheFileAndNoByteOfAnotherForm() throws {
    try withTemporaryFolder { folder in
      let url = folder.url.appending(path: "archive.plist")
      let xml =
        "<plist><dict><key>$archiver</key><string>A</string><key>$top</key><dict><key>root</key>"
        + uid(1) + "</dict><key>$objects</key><array><string>$null</string>" + object(7)
        + "</array></dict></plist>"
      try Data(xml.utf8).write(to: url)
      let archive = try KeyedArchive(ArchiveBytes(contentsOf: url))
      do {
        _ = try archive.root
        Issue.record("it was read")
      } catch let error as ArchiveError {
        #expect(error.path == url.path)
        #expect(error.offset == nil)
      }
    }
  }

  @Test func nestingIsLimitedWhileReading() {
    var limits = ArchiveLimits()
    limits.depth = 3
    #expect(error("<array><array><array/></array></array>", limits) == nil)
    #expect(error("<array><array><array></array></array></array>", limits) == nil)
    let deep = error("<array><array><array><array/></array></array></array>", limits)
    #expect(deep?.code == .limitExceeded)
    let hostile = String(repeating: "<array>", count: 200_000)
    #expect(error(hostile)?.code == .limitExceeded)
  }

  @Test func aDictionaryThatLooksLikeAUIDStaysADictionary() throws {
    let value = try value("<dict><key>CF$UID</key><integer>5</integer></dict>")
    #expect(value["CF$UID"] == .integer(5))
  }

  /// Memory for XML is bounded by the size of the binary form.
  @Test func theBinaryFormOfXMLIsAtMostOneAndAHalfTimesAsLarge() throws {
    let nested = String(repeating: "<array>", count: 100) + String(repeating: "</array>", count: 100)
    let parts = [
      "<true/>", "<dict/>", "<data/>", "<string/>", "<integer>1</integer>", "<real>1</real>",
      "<string>ä</string>", "<string>&amp;&#228;</string>", "<dict><key/><true/></dict>",
      "<dict><key>a</key><string>b</string></dict>", nested,
    ]
    for part in parts {
      let xml = "<array>" + String(repeating: part, count: 100_000 / part.utf8.count) + "</array>"
      let binary = try PropertyList(ArchiveBytes(Array(xml.utf8))).bytes.count
      #expect(2 * binary <= 3 * xml.utf8.count, "\(part.prefix(30)): \(binary) of \(xml.utf8.count) bytes")
    }
  }

  @Test func eachKeyOfALongDictionaryTakesTheSameTime() throws {
    func time(_ count: Int) throws -> Double {
      let members = (0..<count).map { "<key>\($0)</key><true/>" }.joined()
      let bytes = Array("<plist><dict>\(members)</dict></plist>".utf8)
      return try processorTime { _ = try PropertyList(ArchiveBytes(bytes)) } / .seconds(1)
    }
    var best = Double.infinity
    for _ in 0..<3 { best = min(best, try time(16_000) / time(4_000)) }
    #expect(best < 8)
  }
}
