import CBOR
import Foundation
import JSON
import TestSupport
import Testing

@Suite struct ReadingTests {
  @Test func everyKindOfValueIsRead() throws {
    let text = """
      \u{FEFF} { "null" : null, "truth": [ true , false ],
        "numbers": [0, -1, 1.5], "text": "\\u00e9", "nested": { "empty": [ ], "none": {} } }\r\n\t
      """
    #expect(
      try FieldValue(json: text)
        == .dictionary([
          "null": .null, "truth": .array([.bool(true), .bool(false)]),
          "numbers": .array([.integer(0), .integer(-1), .double(1.5)]), "text": .string("é"),
          "nested": .dictionary(["empty": .array([]), "none": .dictionary([:])]),
        ]))
  }

  @Test(
    arguments: [
      ("0", .integer(0)), ("-0", .integer(0)), ("1", .integer(1)), ("1.0", .double(1)), ("1e0", .double(1)),
      ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
      ("9223372036854775808", .unsigned(9_223_372_036_854_775_808)),
      ("18446744073709551615", .unsigned(.max)),
      ("18446744073709551616", .double(18_446_744_073_709_551_616)),
      ("-9223372036854775809", .double(-9_223_372_036_854_775_808)),
      ("10000000000000000000", .unsigned(10_000_000_000_000_000_000)),
    ] as [(String, FieldValue)])
  func numbersKeepTheirKind(text: String, value: FieldValue) throws {
    #expect(try FieldValue(json: text) == value)
  }

  @Test(
    arguments: [
      ("0.1", 0.1), ("-0.0", -0.0), ("123456789.123456789", 123456789.123456789), ("1E+2", 100),
      ("1e22", 1e22),
      ("1e23", 1e23), ("9007199254740993.0", 9_007_199_254_740_992),
      ("9007199254740993.00000000001", 9_007_199_254_740_994),
      ("2.2250738585072011e-308", .leastNormalMagnitude.nextDown), ("5e-324", .leastNonzeroMagnitude),
      ("1e-400", 0),
      ("0e999999999999", 0),
      ("1.7976931348623157e308", .greatestFiniteMagnitude),
      ("179769313486231570e291", .greatestFiniteMagnitude),
      ("0.00000000000000000000000000000000012345678901234567890", 1.2345678901234567890e-34),
      ("1" + String(repeating: "0", count: 308), 1e308),
      ("0." + String(repeating: "0", count: 2_000) + "1e2001", 1),
    ] as [(String, Double)])
  func doublesAreTheNearestOnes(text: String, number: Double) throws {
    guard case .double(let read) = try FieldValue(json: text) else {
      Issue.record("\(text) is not read as a double")
      return
    }
    #expect(read.bitPattern == number.bitPattern)
  }

  @Test(arguments: [
    (#""""#, ""), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"), (#""\u0000A\u00DF""#, "\u{0}Aß"),
    (#""\uD83D\uDE00""#, "😀"), (#""😀 é ß""#, "😀 é ß"), (#""\ud83d""#, "\u{FFFD}"),
    (#""\ude00x""#, "\u{FFFD}x"),
    (#""\ud83d\ud83d\ude00""#, "\u{FFFD}😀"), (#""\ud83d\n""#, "\u{FFFD}\n"),
    (#""\ud83dabcdefgh\u0041""#, "\u{FFFD}abcdefghA"), ("\"\u{7F}\u{2028}\"", "\u{7F}\u{2028}"),
  ])
  func stringsAreUnescaped(text: String, string: String) throws {
    guard case .string(let read) = try FieldValue(json: text) else {
      Issue.record("\(text) is not read as a string")
      return
    }
    #expect(Array(read.utf8) == Array(string.utf8))
  }

  /// Each is read as the nearest value otherwise.
  @Test(
    arguments: [
      ("18446744073709551617", 0), ("[-9223372036854775809]", 1), ("9007199254740993.0", 0), ("1e-400", 0),
      ("3.141592653589793238", 0), ("1.23456789012345e-320", 0),
      ("[0." + String(repeating: "1", count: 800) + "]", 1),
      (#"{"a":1,"a":1}"#, 0), (#"[{"a":{},"\u0061":2}]"#, 1), (#"["\ud83d"]"#, 2),
      (#"{"\\\ude00":1}"#, 4), (#""\ud83d\ud83d\ude00""#, 1),
    ] as [(String, Int)])
  func whatCanNotBeKeptExactlyIsFound(text: String, offset: Int) throws {
    _ = try FieldValue(json: text)
    let error = #expect(throws: JSONError.self) { try FieldValue(json: text, exactly: true) }
    #expect(error?.code == .inexactValue)
    #expect(error?.offset == offset)
  }

  @Test(
    arguments: [
      "18446744073709551615", "18446744073709551616", "100000000000000000000000000", "1e23", "-0.0", "0e9",
      "5e-324",
      "0.1", "0.10000000000000001", "0.1000000000000000055511151231257827021181583404541015625", "1.50",
      "9007199254740992.0", "179769313486231570e291", #"["\ud83d\ude00\\ud83d\uFFFD"]"#,
      #"[{"a":1},{"a":2}]"#,
    ])
  func whatCanBeKeptExactlyIsRead(text: String) throws {
    #expect(try FieldValue(json: text, exactly: true) == FieldValue(json: text))
  }

  @Test func theLastOfEqualKeysWins() throws {
    #expect(
      try FieldValue(json: #"{"a":1,"b":2,"\u0061":3}"#) == .dictionary(["a": .integer(3), "b": .integer(2)]))
  }

  @Test(
    arguments: [
      ("", .unexpectedEnd, 0), ("  ", .unexpectedEnd, 2), ("\u{FEFF}", .unexpectedEnd, 3),
      ("[1,]", .unexpectedCharacter, 3),
      ("[1 2]", .unexpectedCharacter, 3), ("[", .unexpectedEnd, 1), ("[1", .unexpectedEnd, 2),
      ("{", .unexpectedEnd, 1),
      ("{\"a\"", .unexpectedEnd, 4), ("{\"a\":", .unexpectedEnd, 5), ("{\"a\":1,}", .unexpectedCharacter, 7),
      ("{a:1}", .unexpectedCharacter, 1), ("{\"a\" 1}", .unexpectedCharacter, 5),
      ("{1:1}", .unexpectedCharacter, 1),
      ("[}", .unexpectedCharacter, 1), ("{\"a\":1]", .unexpectedCharacter, 6), ("]", .unexpectedCharacter, 0),
      ("[,1]", .unexpectedCharacter, 1), ("1 2", .trailingText, 2), ("{}{}", .trailingText, 2),
      ("1,", .trailingText, 1),
      ("[]\u{0}", .trailingText, 2), ("tru", .unexpectedEnd, 3), ("trux", .unexpectedCharacter, 3),
      ("True", .unexpectedCharacter, 0),
      ("truee", .trailingText, 4), ("nan", .unexpectedCharacter, 1), ("NaN", .unexpectedCharacter, 0),
      ("'a'", .unexpectedCharacter, 0),
      ("+1", .unexpectedCharacter, 0), (".5", .unexpectedCharacter, 0), ("01", .invalidNumber, 0),
      ("-01", .invalidNumber, 0),
      ("-", .unexpectedEnd, 1), ("-a", .invalidNumber, 1), ("1.", .unexpectedEnd, 2),
      ("1.e1", .invalidNumber, 2), ("1e", .unexpectedEnd, 2),
      ("1e+", .unexpectedEnd, 3), ("[1e-]", .invalidNumber, 4), ("0x1", .trailingText, 1),
      ("1e309", .numberOutOfRange, 0),
      ("[-1e99999999999999999999]", .numberOutOfRange, 1),
      ("1" + String(repeating: "0", count: 309), .numberOutOfRange, 0),
      ("\"abc", .unexpectedEnd, 0), ("\"abc\\", .invalidString, 4), ("\"\\x\"", .invalidString, 1),
      ("\"\\u12G4\"", .invalidString, 1),
      ("\"\\u12", .invalidString, 1), ("\"a\nb\"", .invalidString, 2), ("\"\t\"", .invalidString, 1),
      ("\"abcdefghijk\u{0}\"", .invalidString, 12),
      ("/* */ 1", .unexpectedCharacter, 0), ("\u{A0}1", .unexpectedCharacter, 0),
      ("[1]\u{FEFF}", .trailingText, 3), ("[{\"\u{E9}\":1,\"e\u{301}\":2}]", .equivalentKeys, 1),
      ("[{\"\\u00e9\":{\"a\":[]},\"e\\u0301\":2}]", .equivalentKeys, 1),
      ("[{\"K\":1,\"\u{212A}\":2}]", .equivalentKeys, 1),
    ] as [(String, JSONError.Code, Int)])
  func brokenTextIsRejectedWithItsPlace(text: String, code: JSONError.Code, offset: Int) throws {
    let error = #expect(throws: JSONError.self) { try FieldValue(json: text) }
    #expect(error?.code == code)
    #expect(error?.offset == offset)
    // The elements of an array are read one by one, so it may have what a value can't have.
    if [.numberOutOfRange, .tooDeep, .equivalentKeys].contains(code) {
      let isSplit = (try? JSONArray(Array(text.utf8))) != nil
      #expect(isSplit == text.hasPrefix("["))
      return
    }
    let splitting = #expect(throws: JSONError.self) { try JSONArray(Array(text.utf8)) }
    #expect(splitting == error)
  }

  @Test func everyPrefixOfAValidTextIsRejected() throws {
    let text = Array(#"{"a":[1.5e3,true,null,"\ud83d\ude00é"],"b":{}}"#.utf8)
    _ = try FieldValue(json: text)
    for count in 0..<text.count {
      #expect(throws: JSONError.self) { try FieldValue(json: text[..<count]) }
    }
  }

  @Test(
    arguments: [
      [0x80], [0xC3], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80], [0xE2, 0x82],
      [0xE2, 0x28, 0xA1],
      [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xF0, 0x9F, 0x98],
      [0xFF],
    ] as [[UInt8]])
  func invalidUTF8IsRejected(bytes: [UInt8]) throws {
    for text in [
      [0x22] + bytes + [0x22], [0x22, 0x61, 0x61, 0x61, 0x61, 0x61, 0x61, 0x61, 0x61] + bytes + [0x22],
    ] {
      let error = #expect(throws: JSONError.self) { try FieldValue(json: text) }
      #expect(error?.code == .invalidUTF8)
      #expect(error?.offset == text.count - bytes.count - 1)
    }
  }

  @Test func everyUnicodeScalarIsReadUnchanged() throws {
    for value in stride(from: UInt32(0x20), through: 0x10FFFF, by: 7) {
      guard let scalar = Unicode.Scalar(value), scalar != "\"", scalar != "\\" else { continue }
      #expect(try FieldValue(json: Array("\"\(scalar)\"".utf8)) == .string(String(scalar)))
    }
  }

  @Test func nestingIsLimitedAndNeverExhaustsTheStack() throws {
    func nested(_ depth: Int, _ open: String, _ close: String) -> String {
      String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
    }
    _ = try FieldValue(json: nested(512, "[", "]"))
    _ = try FieldValue(json: nested(512, "{\"a\":", "}"))
    for text in [
      nested(513, "[", "]"), nested(513, "{\"a\":", "}"), String(repeating: "[", count: 1_000_000),
    ] {
      let error = #expect(throws: JSONError.self) { try FieldValue(json: text) }
      #expect(error?.code == .tooDeep)
    }
  }

  @Test func anErrorNamesLineAndColumnAndSaysWhatWouldBeRight() throws {
    let error = #expect(throws: JSONError.self) { try FieldValue(json: "{\n  \"é\": tru,\n}") }
    #expect(error?.line == 2)
    #expect(error?.column == 11)
    #expect(error?.description == "line 2, column 11 (byte 13): ',' where the rest of 'true' should be")
  }

  @Test func bytesAreReadFromAnyContiguousMemory() throws {
    let bytes = Array("[1]".utf8)
    let value = FieldValue.array([.integer(1)])
    #expect(try FieldValue(json: bytes) == value)
    #expect(try FieldValue(json: ([0x20] + bytes)[1...]) == value)
    #expect(try FieldValue(json: Data(bytes)) == value)
    #expect(unsafe try bytes.withUnsafeBytes { try unsafe FieldValue(json: $0) } == value)
    #expect(throws: JSONError.self) { try FieldValue(json: Data()) }
  }

  @Test func doublesAreReadAsTheStandardLibraryReadsThem() throws {
    var generator = SeededGenerator()
    for _ in 0..<20_000 {
      let digits = String(generator.next()).prefix(Int.random(in: 1...20, using: &generator))
      let more = String(generator.next()).prefix(Int.random(in: 1...20, using: &generator))
      let text = "\(digits).\(more)e\(Int.random(in: -340...280, using: &generator))"
      #expect(try FieldValue(json: text) == .double(Double(text)!), "\(text)")
    }
  }

  @Test func anExponentOfMillionsIsReadWithAsManyZeros() throws {
    let zeros = String(repeating: "0", count: 1_000_000)
    #expect(try FieldValue(json: "0.\(zeros)25e1000010") == .double(2.5e9))
    #expect(try FieldValue(json: "-0.\(zeros)25e1000001") == .double(-2.5))
    #expect(try FieldValue(json: "0.\(zeros)25e1000308") == .double(2.5e307))
    #expect(throws: JSONError.self) { _ = try FieldValue(json: "0.\(zeros)25e1000311") }
    #expect(try FieldValue(json: "25\(zeros).0e-1000001") == .double(2.5))
    #expect(try FieldValue(json: "1e-\(Int.max)0") == .double(0))
  }
}
