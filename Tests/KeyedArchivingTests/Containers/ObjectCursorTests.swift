import Foundation
import TestSupport
import Testing

@testable import KeyedArchiving
@testable import PropertyLists

/// A cursor reads the same as the property list, and keeps the first error instead of throwing it.
@Suite struct ObjectCursorTests {
  @Test func aCursorReadsTheSameAsThePropertyList() throws {
    let seeds = try PropertyListMutator.seeds()
    var mutator = PropertyListMutator()
    var readCount = 0
    for number in cases(3_000) {
      let bytes = number < seeds.count ? seeds[number] : mutator.altered(seeds)
      guard let list = try? PropertyList(ArchiveBytes(bytes)) else { continue }
      for number in -1..<min(list.objectCount, 200) + 1 {
        var cursor = ObjectCursor(list)
        let header = cursor.header(number)
        guard let expected = try? list.header(number) else {
          #expect(cursor.hasFailed)
          #expect(throws: ArchiveError.self) { try cursor.check() }
          continue
        }
        readCount += 1
        let isSame =
          header.kind == expected.kind && header.offset == expected.offset && header.start == expected.start
          && header.count == expected.count
        #expect(isSame, "object \(number) of \(Data(bytes).base64EncodedString())")
        try expectTheSameContent(of: header, in: list, bytes)
      }
    }
    #expect(readCount > 1_000)
  }

  private func expectTheSameContent(of header: ObjectHeader, in list: PropertyList, _ bytes: [UInt8]) throws {
    var cursor = ObjectCursor(list)
    let text = "byte \(header.offset) of \(Data(bytes).base64EncodedString())"
    switch header.kind {
    case .integer:
      let integer = cursor.integer(header)
      if header.count <= 8 { #expect(Int64(integer) == (try list.int64(header)), "\(text)") }
      #expect(cursor.hasFailed == (header.count > 8))
    case .real:
      let isSame = cursor.real(header).bitPattern == (try list.real(header)).bitPattern
      #expect(isSame, "\(text)")
    case .asciiString, .utf16String, .data:
      let content = unsafe [UInt8](cursor.content(header))
      let expected = try unsafe list.withContent(of: header) { bytes in unsafe [UInt8](bytes) }
      #expect(content == expected, "\(text)")
    case .array, .set, .dictionary:
      let members = cursor.members(header)
      for index in 0..<min(list.memberCount(header), 100) {
        // Whether an object has that number is only found when the object is read.
        let expected = try? list.reference(header, index)
        let member = members[index]
        if let expected, !cursor.hasFailed { #expect(member == expected, "\(text)") }
        if let expected { #expect(cursor.reference(header, index) == expected, "\(text)") }
      }
      #expect(members[-1] == -1)
      #expect(members[list.memberCount(header)] == -1)
    default: break
    }
  }

  @Test func theFirstErrorIsThrownAtTheEnd() throws {
    let bytes = RawPropertyList([0xA1, 1], [0x51, 0x61]).bytes
    let list = try PropertyList(ArchiveBytes(bytes))
    var cursor = ObjectCursor(list)
    #expect(cursor.header(1).kind == .asciiString)
    #expect(!cursor.hasFailed)
    #expect(cursor.header(7).kind == .null)
    #expect(cursor.integer(cursor.header(1)) == 0)
    let error = #expect(throws: ArchiveError.self) { try cursor.check() }
    #expect(error?.code == .danglingReference)
  }

  @Test func aUIDLeadsToTheObjectThatItNames() throws {
    let bytes = RawPropertyList([0xA2, 1, 2], [0x51, 0x61], [0x10, 5], [0x80, 1], [0x80, 9]).bytes
    let list = try PropertyList(ArchiveBytes(bytes))
    var cursor = ObjectCursor(list)
    let objects = cursor.header(0)
    #expect(cursor.integer(cursor.resolved(3, in: objects)) == 5)
    #expect(cursor.resolved(1, in: objects).kind == .asciiString)
    try cursor.check()
    #expect(cursor.resolved(4, in: objects).kind == .null)
    #expect(cursor.hasFailed)
  }
}
