import CBOR
import Foundation
import JSON
import TestSupport
import Testing

@Suite struct WritingTests {
  @Test(
    arguments: [
      (.null, "null"), (.bool(true), "true"), (.integer(.min), "-9223372036854775808"),
      (.unsigned(.max), "18446744073709551615"), (.double(1), "1.0"), (.double(0.1), "0.1"),
      (.double(1e300), "1e+300"), (.double(-0.0), "-0.0"), (.double(.leastNonzeroMagnitude), "5e-324"),
      (.double(.nan), #"{"$double":"nan"}"#), (.double(-.infinity), #"{"$double":"-inf"}"#),
      (.string("a\"\\/\n\u{1}\u{7F}é😀"), "\"a\\\"\\\\/\\n\\u0001\u{7F}é😀\""),
      (.data(Data("hello".utf8)), #"{"$data":"aGVsbG8="}"#),
      (.date(Date(timeIntervalSince1970: 1_785_578_400)), #"{"$date":"2026-08-01T10:00:00.000000Z"}"#),
      (.array([]), "[]"), (.array([.array([.null]), .dictionary([:])]), "[[null],{}]"),
      (.dictionary(["$date": .null]), #"{"$$date":null}"#),
      (.dictionary(["$$data": .null]), #"{"$$$data":null}"#),
      (.dictionary(["$dates": .null]), #"{"$dates":null}"#),
      (.dictionary(["$date": .null, "a": .null]), #"{"$date":null,"a":null}"#),
    ] as [(FieldValue, String)])
  func everyKindOfValueIsWritten(value: FieldValue, text: String) {
    #expect(value.json == text)
  }

  // Foundation's description of such a date ends the process, so no test may have one as an argument.
  @Test func aDateOutsideOfFourDigitYearsIsWrittenAsSeconds() throws {
    for (seconds, text) in [(1e12, "1000000000000.0"), (-6.4e10, "-64000000000.0"), (.infinity, "inf")] {
      let value = FieldValue.date(Date(timeIntervalSinceReferenceDate: seconds))
      #expect(value.json == "{\"$date\":\"\(text)\"}")
      let isSame = try FieldValue(json: value.json, decodingWrappers: true) == value
      #expect(isSame)
    }
    #expect(FieldValue.date(Date(timeIntervalSinceReferenceDate: .nan)).json == #"{"$date":"nan"}"#)
    guard case .date(let date) = try FieldValue(json: #"{"$date":"nan"}"#, decodingWrappers: true) else {
      Issue.record("no date")
      return
    }
    #expect(date.timeIntervalSinceReferenceDate.isNaN)
  }

  /// The first was written as seconds, because it was rounded into the year 10000.
  @Test func datesAreNotRoundedIntoTheNextSecond() throws {
    for (json, text) in [
      (#"{"$date":"9999-12-31T23:59:59.999999Z"}"#, #"{"$date":"9999-12-31T23:59:59.999969Z"}"#),
      (#"{"$date":"-1e-07"}"#, #"{"$date":"2000-12-31T23:59:59.999999Z"}"#),
    ] {
      let value = try FieldValue(json: json, decodingWrappers: true)
      #expect(value.json == text)
      #expect(try FieldValue(json: text, decodingWrappers: true).json == text)
    }
  }

  @Test func keysAreSortedByTheirBytes() {
    let keys = ["b", "a", "", "Z", "é", "ab", "\u{FFFF}", "😀", "10", "9"]
    let value = FieldValue.dictionary(Dictionary(uniqueKeysWithValues: keys.map { ($0, .null) }))
    let sorted = ["", "10", "9", "Z", "a", "ab", "b", "é", "\u{FFFF}", "😀"]
    #expect(value.json == "{" + sorted.map { "\"\($0)\":null" }.joined(separator: ",") + "}")
  }

  @Test func aWrittenValueIsReadBackAsTheSameValue() throws {
    var generator = SeededGenerator()
    for _ in 0..<5_000 {
      let value = FieldValue.random(using: &generator)
      let isSame = try FieldValue(json: value.json, decodingWrappers: true) == value
      #expect(isSame, "\(value.json)")
      // The text is also valid plain JSON.
      #expect(throws: Never.self) { try FieldValue(json: value.json) }
    }
  }

  @Test func notANumberIsReadBack() throws {
    guard
      case .double(let number) = try FieldValue(json: FieldValue.double(.nan).json, decodingWrappers: true)
    else {
      Issue.record("no double")
      return
    }
    #expect(number.isNaN)
  }

  @Test func wrappersAreDictionariesUnlessRequested() throws {
    #expect(try FieldValue(json: #"{"$data":""}"#) == .dictionary(["$data": .string("")]))
  }

  @Test func datesInEverydayFormsAreAccepted() throws {
    #expect(
      try FieldValue(json: #"[{"$date":"2026-08-01"}]"#, decodingWrappers: true)
        == .array([.date(Date(timeIntervalSince1970: 1_785_542_400))]))
  }

  @Test(arguments: [
    #"{"$date":"2026-02-30"}"#, #"{"$date":"2026"}"#, #"{"$date":5}"#, #"{"$data":"a"}"#, #"{"$double":"1"}"#,
    #"{"$double":1.5}"#, #"{"$data":null}"#,
  ])
  func aWrapperWithTheWrongContentIsRejected(text: String) {
    let error = #expect(throws: JSONError.self) {
      try FieldValue(json: "[0," + text + "]", decodingWrappers: true)
    }
    #expect(error?.code == .invalidWrapper)
    #expect(error?.offset == 3)
  }

  @Test func aValueAsDeepAsAReaderMakesIsWritten() throws {
    let text = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
    #expect(try FieldValue(json: text).json == text)
  }

  @Test func objectsAreStreamedInTheOrderOfTheCalls() throws {
    var writer = JSONWriter()
    for id in 1...2 {
      writer.beginObject()
      let rest: JSONObject = [
        "deleted": false, "left out": ifAny(nil as Int?), "date": Timestamp(microseconds: 0).description,
      ]
      writer.members(["id": id, "name": id == 1 ? "Europe" : nil, .members: rest])
      writer.member("attributes", FieldValue.dictionary(["b": .integer(1), "a": .double(.infinity)]))
      writer.key("images")
      writer.beginArray()
      writer.value(FieldValue.unsigned(.max))
      writer.beginArray()
      writer.endArray()
      writer.value("\"")
      writer.value(nil as Int?)
      writer.value(true)
      writer.endArray()
      writer.endObject()
      writer.newline()
    }
    let date = "1970-01-01T00:00:00.000000Z"
    let rest =
      #""deleted":false,"date":"\#(date)","attributes":{"a":{"$double":"inf"},"b":1},"images":[18446744073709551615,[],"\"",null,true]}"#
    #expect(writer.text == "{\"id\":1,\"name\":\"Europe\",\(rest)\n{\"id\":2,\"name\":null,\(rest)\n")
  }

  @Test func aStreamContinuesAfterItsFirstBytesAreTaken() {
    var writer = JSONWriter()
    writer.beginArray()
    writer.value(1)
    let start = writer.text
    writer.removeAll()
    writer.value(2)
    writer.endArray()
    #expect(start + writer.text == "[1,2]")
  }
}
