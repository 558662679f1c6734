import CBOR
import Foundation
import TestSupport
import Testing

@Suite struct EncodingTests {
  private func encoded(_ value: FieldValue) -> String {
    var writer = CBORWriter()
    writer.append(value)
    return hex(writer.finish())
  }

  private func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  private func bytes(_ hex: String) -> [UInt8] {
    let digits = Array(hex)
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(String(digits[$0...$0 + 1]), radix: 16)! }
  }

  private func decoded(_ hex: String) throws(CBORError) -> FieldValue {
    let bytes = bytes(hex)
    let result: Result<FieldValue, CBORError> = unsafe bytes.withUnsafeBytes { buffer in
      Result { () throws(CBORError) in
        var reader = unsafe CBORReader(buffer)
        let value = try reader.readValue()
        try reader.expectEnd()
        return value
      }
    }
    return try result.get()
  }

  /// Fails unless the bytes are one item that a record may hold.
  private func check(_ hex: String) throws(CBORError) {
    let bytes = bytes(hex)
    let result: Result<Void, CBORError> = unsafe bytes.withUnsafeBytes { buffer in
      Result { () throws(CBORError) in
        var reader = unsafe CBORReader(buffer)
        try reader.skip()
        try reader.expectEnd()
      }
    }
    try result.get()
  }

  // The examples of RFC 8949, appendix A, that have a value here.
  @Test(arguments: [
    (FieldValue.integer(0), "00"), (.integer(1), "01"), (.integer(10), "0a"), (.integer(23), "17"),
    (.integer(24), "1818"), (.integer(25), "1819"), (.integer(100), "1864"), (.integer(1000), "1903e8"),
    (.integer(1_000_000), "1a000f4240"), (.integer(1_000_000_000_000), "1b000000e8d4a51000"),
    (.unsigned(18_446_744_073_709_551_615), "1bffffffffffffffff"), (.integer(-1), "20"),
    (.integer(-10), "29"),
    (.integer(-100), "3863"), (.integer(-1000), "3903e7"), (.double(0), "f90000"), (.double(-0.0), "f98000"),
    (.double(1), "f93c00"), (.double(1.1), "fb3ff199999999999a"), (.double(1.5), "f93e00"),
    (.double(65504), "f97bff"), (.double(100_000), "fa47c35000"),
    (.double(3.4028234663852886e+38), "fa7f7fffff"), (.double(1.0e+300), "fb7e37e43c8800759c"),
    (.double(5.960464477539063e-8), "f90001"), (.double(0.00006103515625), "f90400"), (.double(-4), "f9c400"),
    (.double(-4.1), "fbc010666666666666"), (.double(.infinity), "f97c00"), (.double(-.infinity), "f9fc00"),
    (.bool(false), "f4"), (.bool(true), "f5"), (.null, "f6"), (.data(Data()), "40"),
    (.data(Data([1, 2, 3, 4])), "4401020304"), (.string(""), "60"), (.string("a"), "6161"),
    (.string("IETF"), "6449455446"), (.string("\"\\"), "62225c"), (.string("\u{00fc}"), "62c3bc"),
    (.string("\u{6c34}"), "63e6b0b4"), (.string("\u{10151}"), "64f0908591"), (.array([]), "80"),
    (.array([.integer(1), .integer(2), .integer(3)]), "83010203"), (.dictionary([:]), "a0"),
    (.dictionary(["a": .integer(1), "b": .array([.integer(2), .integer(3)])]), "a26161016162820203"),
  ])
  func valuesHaveTheBytesOfTheStandard(_ value: FieldValue, _ hex: String) throws {
    #expect(encoded(value) == hex)
    #expect(try decoded(hex) == value)
    try check(hex)
  }

  @Test func everyNaNIsTheSame() throws {
    #expect(encoded(.double(.nan)) == "f97e00")
    #expect(encoded(.double(Double(nan: 5, signaling: true))) == "f97e00")
    guard case .double(let back) = try decoded("f97e00") else { return #expect(Bool(false)) }
    #expect(back.isNaN)
  }

  @Test func aDateKeepsAllBitsOfFoundationsDate() throws {
    for interval in [0.0, 0.1, -1e9 / 3, 785_542_400.123_456_7, .leastNonzeroMagnitude, .infinity] {
      let date = Date(timeIntervalSinceReferenceDate: interval)
      guard case .date(let back) = try decoded(encoded(.date(date))) else { return #expect(Bool(false)) }
      #expect(back.timeIntervalSinceReferenceDate.bitPattern == interval.bitPattern)
    }
  }

  @Test func keysAreSortedByTheirBytes() {
    // Shorter first, then by bytes (RFC 8949 §4.2.1).
    #expect(
      encoded(.dictionary(["aa": .null, "b": .null, "": .null, "ab": .null]))
        == "a460f66162f6626161f6626162f6")
  }

  @Test(arguments: [
    ("1800", CBORError.Code.notDeterministic), ("190017", .notDeterministic),
    ("1a0000ffff", .notDeterministic),
    ("1b00000000ffffffff", .notDeterministic), ("fa3f800000", .notDeterministic),
    ("fb3ff0000000000000", .notDeterministic), ("f97e01", .notDeterministic),
    ("fb7ff8000000000000", .notDeterministic),
    ("a2616201616101", .notDeterministic), ("a2616101616102", .notDeterministic), ("5801", .notDeterministic),
    ("", .truncated), ("18", .truncated), ("62c3", .truncated), ("fb00", .truncated), ("8201", .truncated),
    ("a161", .truncated), ("9b7fffffffffffffff", .truncated), ("bb7fffffffffffffff", .truncated),
    ("5b7fffffffffffffff", .truncated), ("5bffffffffffffffff", .truncated), ("62c328", .invalidText),
    ("63eda080", .invalidText), ("9f01ff", .unsupported), ("5f4101ff", .unsupported), ("ff", .unsupported),
    ("1c", .unsupported), ("f7", .unsupported), ("f0", .unsupported), ("f820", .unsupported),
    ("c001", .unsupported), ("d9d9f700", .unsupported), ("3bffffffffffffffff", .unsupported),
    ("d907d101", .unexpectedItem), ("a10102", .unexpectedItem), ("0000", .trailingBytes),
  ])
  func invalidBytesAreRefusedWithACodeAndAnOffset(_ hex: String, _ code: CBORError.Code) {
    let error = #expect(throws: CBORError.self) { try check(hex) }
    #expect(error?.code == code)
    #expect((0...hex.count / 2).contains(error?.offset ?? -1))
  }

  @Test func nestingBeyondTheLimitIsAnErrorAndNoStackOverflow() throws {
    let deepest = String(repeating: "81", count: CBORLimits.depth) + "00"
    try check(deepest)
    _ = try decoded(deepest)
    for depth in [CBORLimits.depth + 1, 100_000] {
      let hex = String(repeating: "81", count: depth) + "00"
      let error = #expect(throws: CBORError.self) { try check(hex) }
      #expect(error?.code == .tooDeep)
      #expect(throws: CBORError.self) { try decoded(hex) }
    }
  }

  @Test func randomValuesComeBackAndHaveOnlyOneEncoding() throws {
    var generator = SeededGenerator()
    for _ in 0..<5000 {
      let value = FieldValue.random(using: &generator)
      let hex = encoded(value)
      try check(hex)
      #expect(encoded(try decoded(hex)) == hex, "seed \(generator.seed)")
    }
  }

  @Test func theBytesAreTheSameHoweverMuchRoomIsReserved() {
    var generator = SeededGenerator()
    for _ in 0..<3000 {
      let values = (0..<3).map { _ in FieldValue.random(using: &generator) }
      let expected = values.map(encoded).joined()
      let room = Int.random(in: 0...expected.utf8.count, using: &generator)
      let bytes = CBORWriter.bytes(reserving: room) { writer in
        for value in values { writer.append(value) }
      }
      #expect(hex(bytes) == expected, "seed \(generator.seed)")
    }
  }

  @Test func bytesThatPassTheCheckAreWhatTheirValueEncodesTo() throws {
    var generator = SeededGenerator()
    var passed = 0
    for _ in 0..<20_000 {
      var writer = CBORWriter()
      writer.append(FieldValue.random(using: &generator))
      var altered = writer.finish()
      for _ in 0..<Int.random(in: 1...3, using: &generator) {
        altered[Int.random(in: 0..<altered.count, using: &generator)] = UInt8(
          truncatingIfNeeded: generator.next())
      }
      let hex = hex(altered)
      guard (try? check(hex)) != nil else { continue }
      passed += 1
      // Texts that differ only in normalization are one key of a Swift dictionary.
      let value = try decoded(hex)
      if encoded(value).count == hex.count { #expect(encoded(value) == hex, "seed \(generator.seed)") }
    }
    #expect(passed > 100)
  }
}
