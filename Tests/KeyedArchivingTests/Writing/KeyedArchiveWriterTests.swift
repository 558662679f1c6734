import Foundation
import TestSupport
import Testing

@testable import KeyedArchiving
@testable import PropertyLists

@Suite struct KeyedArchiveWriterTests {
  private let bug = ArchivedClass("ScaryBugData")

  private func bugs(_ count: Int) throws -> [UInt8] {
    try KeyedArchiveWriter.bytes { (writer) throws(ArchiveError) in
      let shape = try writer.shape(bug, keys: ["Title", "Rating"])
      try writer.beginArray()
      for index in 0..<count {
        writer.beginObject(shape)
        try writer.append(string: "Bug \(index)")
        try writer.append(float: Float(index) / 2)
        try writer.append(writer.end())
      }
      return .root(try writer.end())
    }
  }

  @Test func foundationReadsObjectsOfAShape() throws {
    let archive = try bugs(1_000)
    let array = try unarchived(archive, classes: ["ScaryBugData": BugObject.self]) as? NSArray
    let objects = try #require(array).compactMap { $0 as? BugObject }
    let ratings: [Float] = (0..<1_000).map { Float($0) / 2 }
    #expect(objects.map(\.title) == (0..<1_000).map { "Bug \($0)" })
    #expect(objects.map(\.rating) == ratings)
    try expectSound(archive)
  }

  @Test(.enabled(if: OtherReader.python != nil, "python3 is missing"))
  func pythonReadsTheLayoutOfTheFormat() throws {
    let texts = try pythonTexts([bugs(1)])
    let s = pythonText
    func classText(_ name: String) -> String {
      "{"
        + [s("$classes") + "=[\(s(name)) \(s("NSObject"))]", s("$classname") + "=" + s(name)]
        .sorted().joined(separator: " ") + "}"
    }
    func objectText(_ fields: [(String, String)]) -> String {
      "{" + fields.map { s($0.0) + "=" + $0.1 }.sorted().joined(separator: " ") + "}"
    }
    let objects = [
      s("$null"), classText("ScaryBugData"), classText("NSArray"), s("Bug 0"),
      objectText([("$class", "u1"), ("Title", "u3"), ("Rating", "r0000000000000000")]),
      objectText([("$class", "u2"), ("NS.objects", "[u4]")]),
    ]
    #expect(
      texts == [
        objectText([
          ("$version", "i100000"), ("$archiver", s("NSKeyedArchiver")),
          ("$top", objectText([("root", "u5")])),
          ("$objects", "[" + objects.joined(separator: " ") + "]"),
        ])
      ])
  }

  @Test func aSinkGetsTheSameBytesAsMemory() throws {
    var collected: [UInt8] = []
    var writer = try unsafe KeyedArchiveWriter { bytes in unsafe collected.append(contentsOf: bytes) }
    let shape = try writer.shape(bug, keys: ["Title", "Rating"])
    try writer.beginArray()
    for index in 0..<20_000 {
      writer.beginObject(shape)
      try writer.append(string: "Bug \(index)")
      try writer.append(float: Float(index) / 2)
      let object = try writer.end()
      try writer.append(object)
    }
    let root = try writer.end()
    try writer.finish(.root(root))
    let whole = try bugs(20_000)
    #expect(collected == whole)
  }

  @Test func fieldsOfEveryKindAreReadBack() throws {
    let date = Date(timeIntervalSinceReferenceDate: 1_234.5)
    let bytes = try KeyedArchiveWriter.bytes { (writer) throws(ArchiveError) in
      let keys = [
        "flag", "integer", "real", "date", "data", "url", "uuid", "tags", "bug", "note", "$special",
      ]
      let record = try writer.shape(ArchivedClass("Record"), keys: keys)
      let bugShape = try writer.shape(bug, keys: ["Title", "Rating"])
      writer.beginObject(record)
      try writer.append(bool: true)
      try writer.append(integer: -5_000_000_000)
      try writer.append(real: 0.1)
      try writer.append(date: date)
      try writer.append(writer.object(writer.value(bytes: [1, 2, 3])))
      for _ in ["url", "uuid"] { try writer.appendNull() }
      try writer.beginArray()
      try writer.append(string: "é😀")
      try writer.append(string: "$null")
      try writer.append(writer.end())
      writer.beginObject(bugShape)
      try writer.append(string: "")
      try writer.append(float: .greatestFiniteMagnitude)
      try writer.append(writer.end())
      try writer.appendNull()
      try writer.append(string: "dollar")
      return .root(try writer.end())
    }
    let object = try unarchived(
      bytes, classes: ["Record": RecordObject.self, "ScaryBugData": BugObject.self])
    let read = try #require(object as? RecordObject)
    #expect(read.flag && read.integer == -5_000_000_000 && read.real == 0.1 && !read.hasNote)
    #expect(read.date?.timeIntervalSinceReferenceDate == 1_234.5)
    #expect(read.data == NSData(data: Data([1, 2, 3])))
    #expect(read.tags == ["é😀", "$null"])
    #expect(read.bug?.title == "" && read.bug?.rating == .greatestFiniteMagnitude)
    #expect(read.special == "dollar")
    try expectSound(bytes)
  }

  @Test(.enabled(if: OtherReader.python != nil, "python3 is missing"))
  func numbersInACollectionKeepTheirTypes() throws {
    let bytes = try KeyedArchiveWriter.bytes { (writer) throws(ArchiveError) in
      try writer.beginArray()
      try writer.append(bool: true)
      try writer.append(integer: 1)
      try writer.append(real: 1)
      try writer.append(unsigned: .max)
      try writer.append(integer: 1)
      return .root(try writer.end())
    }
    let text = try pythonTexts([bytes])[0]
    #expect(text.contains("b1 i1 r3ff0000000000000 i18446744073709551615 i1 {"))
    #expect(text.contains("[u2 u3 u4 u5 u6]"))
  }

  @Test func dictionariesKeepTheirMembers() throws {
    let bytes = try KeyedArchiveWriter.bytes { (writer) throws(ArchiveError) in
      try writer.beginDictionary()
      for index in 0..<300 {
        try writer.append(string: "key \(index)")
        try writer.append(integer: Int64(index))
      }
      return .root(try writer.end())
    }
    let read = try #require(unarchived(bytes) as? NSDictionary)
    #expect(read.count == 300)
    for index in 0..<300 { #expect((read["key \(index)"] as? NSNumber)?.intValue == index) }
  }

  @Test func severalNamesOfTheTopAreFound() throws {
    let bytes = try KeyedArchiveWriter.bytes { (writer) throws(ArchiveError) in
      ["Data": try writer.string("one").value, "count": try writer.value(Int64(2))]
    }
    let reader = try NSKeyedUnarchiver(forReadingFrom: Data(bytes))
    #expect(reader.decodeObject(forKey: "Data") as? String == "one")
    #expect(reader.decodeInteger(forKey: "count") == 2)
  }

  @Test func oneReferenceIsOneObjectAndEqualOnesAreTwo() throws {
    let bytes = try KeyedArchiveWriter.bytes { (writer) throws(ArchiveError) in
      let shape = try writer.shape(bug, keys: ["Title"])
      let title = try writer.string("a")
      writer.beginObject(shape)
      try writer.append(title)
      let shared = try writer.end()
      writer.beginObject(shape)
      try writer.append(title)
      let equal = try writer.end()
      try writer.beginArray()
      for reference in [shared, shared, equal] { try writer.append(reference) }
      return .root(try writer.end())
    }
    let array = try #require(unarchived(bytes, classes: ["ScaryBugData": BugObject.self]) as? NSArray)
    let bugs = array.compactMap { $0 as? BugObject }
    #expect(bugs.map(\.title) == ["a", "a", "a"])
    #expect(bugs[0] === bugs[1] && bugs[0] !== bugs[2])
  }

  @Test func aWrongOrderOfCallsIsAnError() throws {
    func code(_ body: (inout KeyedArchiveWriter) throws(ArchiveError) -> Void) -> ArchiveError.Code? {
      do {
        _ = try KeyedArchiveWriter.bytes { (writer) throws(ArchiveError) in
          try body(&writer)
          return [:]
        }
        return nil
      } catch { return error.code }
    }
    #expect(code { (writer) throws(ArchiveError) in try writer.append(bool: true) } == .unencodable)
    #expect(code { (writer) throws(ArchiveError) in _ = try writer.end() } == .unencodable)
    #expect(code { (writer) throws(ArchiveError) in try writer.beginArray() } == .unencodable)
    #expect(code { (writer) throws(ArchiveError) in _ = try writer.reserve() } == .danglingReference)
    #expect(
      code { (writer) throws(ArchiveError) in _ = try writer.shape(bug, keys: ["a", "b", "a"]) }
        == .unencodable)
    let oddDictionary = code { (writer) throws(ArchiveError) in
      try writer.beginDictionary()
      try writer.append(string: "key")
      _ = try writer.end()
    }
    #expect(oddDictionary == .unencodable)
    let twice = code { (writer) throws(ArchiveError) in
      let reserved = try writer.reserve()
      for _ in 0..<2 { try writer.define(reserved, as: Int(writer.null.number)) }
    }
    #expect(twice == .unencodable)
    for count in [1, 3] {
      let wrongCount = code { (writer) throws(ArchiveError) in
        writer.beginObject(try writer.shape(bug, keys: ["Title", "Rating"]))
        for _ in 0..<count { try writer.append(bool: true) }
        _ = try writer.end()
      }
      #expect(wrongCount == .unencodable)
    }
  }

  @Test func offsetsBeyondFourGibibytesTakeEightBytes() throws {
    var byteCount = 0
    var last: [UInt8] = []
    let part = [UInt8](repeating: 7, count: 1 << 26)
    var writer = try unsafe KeyedArchiveWriter { bytes in
      byteCount += bytes.count
      if bytes.count < 1 << 20 { unsafe last = [UInt8](bytes) }
    }
    try writer.beginArray()
    for _ in 0..<65 {
      let data = try writer.object(writer.value(bytes: part))
      try writer.append(data)
    }
    let root = try writer.end()
    try writer.finish(.root(root))
    func number(at index: Int) -> Int { last[index..<index + 8].reduce(0) { $0 << 8 | Int($1) } }
    let trailer = last.count - 32
    #expect(byteCount > 65 << 26)
    #expect(last[trailer + 6] == 8)
    let tableOffset = number(at: trailer + 24)
    #expect(tableOffset + 8 * number(at: trailer + 8) + 32 == byteCount)
    // The last object is the top dictionary. Its offset must be that of its marker.
    let top = number(at: trailer - 8) - (byteCount - last.count)
    #expect(top > 0 && last[top] == 0xD4)
  }

  /// A reused entry just one object before the last one used to be mistaken for one that is defined later, which
  /// ended the process.
  @Test func aValueThatIsUsedAgainAfterAnyOtherIsFound() throws {
    for between in 0..<4 {
      let bytes = try KeyedArchiveWriter.bytes { (writer) throws(ArchiveError) in
        _ = try writer.value(Int64(7))
        var texts: [KeyedArchiveWriter.Reference] = []
        for index in 0..<between { texts.append(try writer.string("text \(index)")) }
        let again = try writer.object(writer.value(Int64(7)))
        try writer.beginArray()
        for text in texts { try writer.append(text) }
        try writer.append(again)
        return .root(try writer.end())
      }
      let archive = try KeyedArchive(ArchiveBytes(bytes))
      let elements = try #require(try archive.root?.array).elements()
      #expect(elements.count == between + 1)
      let last = elements.last?.integer
      #expect(last == 7)
      for index in 0..<between { #expect(try elements[index].string == "text \(index)") }
    }
  }

  @Test func dictionariesThatShareTheirKeysAreReadByFoundation() throws {
    let archive = try KeyedArchiveWriter.bytes { (writer) throws(ArchiveError) in
      let keys = try writer.keys([try writer.string("one"), try writer.string("two")])
      try writer.beginArray()
      for index in 0..<3 {
        try writer.beginDictionaryValues()
        try writer.append(integer: Int64(index))
        try writer.append(string: "text \(index)")
        try writer.append(try writer.end(keys: keys))
      }
      return .root(try writer.end())
    }
    let dictionaries = try #require(unarchived(archive) as? [[String: Any]])
    #expect(dictionaries.map { $0["one"] as? Int } == [0, 1, 2])
    #expect(dictionaries.map { $0["two"] as? String } == ["text 0", "text 1", "text 2"])
    try expectSound(archive)
  }

  @Test func aDictionaryMustHaveAsManyValuesAsKeys() throws {
    let error = #expect(throws: ArchiveError.self) {
      try KeyedArchiveWriter.bytes { (writer) throws(ArchiveError) in
        let keys = try writer.keys([try writer.string("one")])
        try writer.beginDictionaryValues()
        return .root(try writer.end(keys: keys))
      }
    }
    #expect(error?.code == .unencodable)
  }

  @Test(arguments: [
    "", "a", "$null", "fourteen bytes", String(repeating: "long ", count: 20_000), "é", "Ω 😀\u{0}",
  ])
  func aTextInUTF8IsWrittenAsTheStringIs(text: String) throws {
    func archive(_ text: (inout KeyedArchiveWriter) throws(ArchiveError) -> KeyedArchiveWriter.Reference)
      throws
      -> [UInt8]
    {
      try KeyedArchiveWriter.bytes { (writer) throws(ArchiveError) in .root(try text(&writer)) }
    }
    let bytes = Array(text.utf8)
    let ofString = try archive { (writer) throws(ArchiveError) in try writer.string(text) }
    let ofBytes = try archive { (writer) throws(ArchiveError) in
      var result: Result<KeyedArchiveWriter.Reference, ArchiveError>?
      unsafe bytes.withUnsafeBytes { utf8 in
        result = Result { () throws(ArchiveError) in try unsafe writer.string(utf8: utf8) }
      }
      return try result!.get()
    }
    #expect(ofBytes == ofString)
  }

  @Test func bytesThatAreNotUTF8AreRefusedAsText() throws {
    let error = #expect(throws: ArchiveError.self) {
      try KeyedArchiveWriter.bytes { (writer) throws(ArchiveError) in
        var result: Result<KeyedArchiveWriter.Reference, ArchiveError>?
        unsafe [UInt8]([0x61, 0xFF]).withUnsafeBytes { utf8 in
          result = Result { () throws(ArchiveError) in try unsafe writer.string(utf8: utf8) }
        }
        return .root(try result!.get())
      }
    }
    #expect(error?.code == .unencodable)
  }
}
