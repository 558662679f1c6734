import Foundation
import TestSupport
import Testing

@testable import KeyedArchiving
@testable import PropertyLists

/// A tree to be written, and the text that `pythonTexts` gives for it.
private enum Tree {
  case bool(Bool)
  case integer(Int64)
  case unsigned(UInt64)
  case real(Double)
  case float(Float)
  case date(Int)
  case data([UInt8])
  case string(String)
  case uid(UInt32)
  case array([Tree])
  case dictionary([(String, Tree)])

  static func random(depth: Int = 0, using generator: inout SeededGenerator) -> Tree {
    switch Int.random(in: 0..<(depth < 4 ? 13 : 9), using: &generator) {
    case 0: .bool(.random(using: &generator))
    case 1: .integer(Int64(bitPattern: generator.next()) >> Int64.random(in: 0..<64, using: &generator))
    case 2: .unsigned(generator.next() >> UInt64.random(in: 0..<2, using: &generator))
    case 3: .real(Double(Int.random(in: -1_000...1_000, using: &generator)) / 100)
    case 4: .float(Float(Int.random(in: -1_000...1_000, using: &generator)) / 100)
    case 5: .date(Int.random(in: -3_000_000_000...3_000_000_000, using: &generator))
    case 6: .data(generator.bytes(Int.random(in: 0..<40, using: &generator)))
    case 7: .string(randomString(using: &generator))
    case 8:
      .uid(
        UInt32.random(in: 0...UInt32.max, using: &generator) >> UInt32.random(in: 0..<32, using: &generator))
    case 9, 10: .array(children(depth: depth, using: &generator))
    default:
      .dictionary(
        children(depth: depth, using: &generator).enumerated().map { index, child in
          ("\(index)=" + randomString(using: &generator), child)
        })
    }
  }

  private static func children(depth: Int, using generator: inout SeededGenerator) -> [Tree] {
    (0..<Int.random(in: 0..<(depth == 0 ? 40 : 6), using: &generator)).map { _ in
      random(depth: depth + 1, using: &generator)
    }
  }

  func write(to writer: inout BinaryPropertyListWriter) throws(ArchiveError) -> Int {
    switch self {
    case .bool(let value): return try writer.bool(value)
    case .integer(let value): return try writer.integer(value)
    case .unsigned(let value): return try writer.unsigned(value)
    case .real(let value): return try writer.real(value)
    case .float(let value): return try writer.float(value)
    case .date(let value): return try writer.date(Double(value))
    case .data(let value): return try writer.data(value)
    case .string(let value): return try writer.string(value)
    case .uid(let value): return try writer.uid(value)
    case .array(let elements):
      var numbers: [Int] = []
      for element in elements { numbers.append(try element.write(to: &writer)) }
      return try writer.array(numbers)
    case .dictionary(let members):
      var keys: [Int] = []
      var values: [Int] = []
      for (key, value) in members {
        keys.append(try writer.string(key))
        values.append(try value.write(to: &writer))
      }
      return try writer.dictionary(keys: keys, values: values)
    }
  }

  func bytes(maximumObjectCount: Int = 70_000) throws -> [UInt8] {
    try BinaryPropertyListWriter.bytes(maximumObjectCount: maximumObjectCount) {
      (writer) throws(ArchiveError) in try write(to: &writer)
    }
  }

  var text: String {
    switch self {
    case .bool(let value): value ? "b1" : "b0"
    case .integer(let value): "i\(value)"
    case .unsigned(let value): "i\(value)"
    case .real(let value): "r" + hex(value.bitPattern, digits: 16)
    case .float(let value): "r" + hex(Double(value).bitPattern, digits: 16)
    case .date(let value): "d\(value)"
    case .data(let value): "D" + value.map { hex(UInt64($0), digits: 2) }.joined()
    case .string(let value): pythonText(value)
    case .uid(let value): "u\(value)"
    case .array(let elements): "[" + elements.map(\.text).joined(separator: " ") + "]"
    case .dictionary(let members):
      "{" + members.map { Tree.string($0).text + "=" + $1.text }.sorted().joined(separator: " ") + "}"
    }
  }
}

private func randomString(using generator: inout SeededGenerator) -> String {
  let pool: [Unicode.Scalar] = [
    "a", "Z", "0", " ", "\u{0}", "\u{7F}", "\u{80}", "é", "\u{7FF}", "\u{800}", "€", "\u{D7FF}", "\u{E000}",
    "\u{FFFF}", "\u{10000}", "😀", "\u{10FFFF}",
  ]
  let isASCII = Bool.random(using: &generator)
  var text = String.UnicodeScalarView()
  for _ in 0..<Int.random(in: 0..<40, using: &generator) {
    text.append(pool[Int.random(in: 0..<(isASCII ? 6 : pool.count), using: &generator)])
  }
  return String(text)
}

@Suite struct BinaryPropertyListWriterTests {
  @Test func theSmallestListHas42Bytes() throws {
    let bytes = try Tree.bool(false).bytes(maximumObjectCount: 1)
    #expect(
      bytes == Array("bplist00".utf8) + [8, 8] + [0, 0, 0, 0, 0, 0, 1, 1]
        + [0, 0, 0, 0, 0, 0, 0, 1] + [UInt8](repeating: 0, count: 15) + [9])
    try expectSound(bytes)
  }

  @Test(.enabled(if: OtherReader.python != nil, "python3 is missing"))
  func pythonReadsWhatWasWritten() throws {
    var generator = SeededGenerator()
    var trees = (0..<150).map { _ in Tree.random(using: &generator) }
    trees += [.array((0..<300).map { .integer($0) }), .string(String(repeating: "€😀x", count: 70_000))]
    trees += [Int64.min, -1, 0, 255, 256, 65_535, 65_536, 1 << 32 - 1, 1 << 32, .max].map { .integer($0) }
    trees += [UInt64.max, 1 << 63, 1 << 63 - 1].map { .unsigned($0) }
    let lists = try trees.map { try $0.bytes() }
    let texts = try pythonTexts(lists)
    #expect(texts.count == trees.count)
    for (text, tree) in zip(texts, trees) { #expect(text == tree.text) }
  }

  @Test func aSinkGetsTheSameBytesInPieces() throws {
    var generator = SeededGenerator()
    let parts: [Tree] = (0..<2_000).map { _ in .random(depth: 3, using: &generator) }
    let tree = Tree.array(
      parts + [.data(generator.bytes(200_000)), .string(String(repeating: "x", count: 300_000))])
    var collected: [UInt8] = []
    var pieceCount = 0
    var writer = unsafe BinaryPropertyListWriter(maximumObjectCount: 70_000) { bytes in
      unsafe collected.append(contentsOf: bytes)
      pieceCount += 1
    }
    let top = try tree.write(to: &writer)
    try writer.finish(top: top)
    let whole = try tree.bytes()
    #expect(collected == whole)
    #expect(pieceCount >= 3)
  }

  @Test(arguments: [(255, 1), (65_535, 2), (65_536, 4)])
  func referencesAreAsNarrowAsTheNumberOfObjectsAllows(limit: Int, width: Int) throws {
    let count = min(limit, 66_000)
    let bytes = try BinaryPropertyListWriter.bytes(maximumObjectCount: limit) {
      (writer) throws(ArchiveError) in
      var numbers: [Int] = []
      for value in 0..<(count - 1) { numbers.append(try writer.integer(Int64(value))) }
      return try writer.array(numbers)
    }
    #expect(Int(bytes[bytes.count - 25]) == width)
    let list = unsafe try PropertyListSerialization.propertyList(from: Data(bytes), format: nil)
    let numbers = try #require(list as? [Int])
    #expect(numbers == Array(0..<(count - 1)))
  }

  @Test func oneObjectTooManyIsAnError() throws {
    let error = #expect(throws: ArchiveError.self) {
      try Tree.array((0..<3).map { .integer($0) }).bytes(maximumObjectCount: 3)
    }
    #expect(error?.code == .limitExceeded)
  }

  @Test func aReferenceToAnObjectThatWasNotWrittenIsAnError() throws {
    for (reference, top) in [(1, 1), (7, 1), (0, 2), (0, -1)] {
      let error = #expect(throws: ArchiveError.self) {
        try BinaryPropertyListWriter.bytes { (writer) throws(ArchiveError) in
          _ = try writer.bool(true)
          _ = try writer.array([reference])
          return top
        }
      }
      #expect(error?.code == .danglingReference)
    }
  }

  @Test func anErrorOfTheSinkIsRethrown() throws {
    var calls = 0
    var writer = unsafe BinaryPropertyListWriter { (_) throws(ArchiveError) in
      calls += 1
      if calls == 3 { throw ArchiveError(.io, "the disk is full") }
    }
    var thrown: ArchiveError?
    do throws(ArchiveError) {
      for _ in 0..<100_000 { _ = try writer.string("ten bytes.") }
    } catch {
      thrown = error
    }
    #expect(thrown?.code == .io)
    #expect(calls == 3)
  }
}
