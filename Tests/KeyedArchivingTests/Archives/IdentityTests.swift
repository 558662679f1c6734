import Foundation
import KeyedArchiving
import Testing

/// Whether two places in an archive have the same value, and values without a key.
@Suite struct IdentityTests {
  @Test func referencesOfElementsAndOfTheTopAreKnown() throws {
    let archive = try makeArchive(
      topText: key("root") + uid(1) + key("count") + int(5) + key("none") + uid(0),
      [
        object(2, ["NS.objects": list(uid(3), uid(0), uid(3), int(7))]), classEntry("NSArray"),
        "<array>\(text("a"))</array>",
        object(5, ["NS.keys": list(text("k")), "NS.objects": list(uid(3))]), classEntry("NSDictionary"),
      ])
    #expect(try archive.reference(forTopKey: "root") == 1)
    #expect(try archive.reference(forTopKey: "count") == nil)
    #expect(try archive.reference(forTopKey: "none") == 0)
    let array = try #require(try archive.root?.array)
    #expect(array.uid == 1)
    #expect(
      try (0..<4).map { (index) throws(ArchiveError) in try array.reference(at: index) } == [3, 0, 3, nil])
    #expect(throws: ArchiveError.self) { _ = try array.reference(at: 4) }
    let dictionary = try #require(try archive.object(4).dictionary)
    #expect(dictionary.uid == 4)
    #expect(try dictionary.allValues.reference(at: 0) == 3)
  }

  @Test func plainArraysThatAreEntriesHaveAnIdentity() throws {
    let archive = try makeArchive(
      object(2, ["a": uid(3), "b": uid(3), "c": list(int(1))]), classEntry("C"),
      "<array>\(text("a"))</array>")
    guard case .object(let object)? = try archive.root else {
      Issue.record("no object")
      return
    }
    #expect(try object["a"]?.array?.uid == 3)
    #expect(try object["b"]?.array?.uid == 3)
    #expect(try object["c"]?.array?.uid == nil)
  }

  @Test func valuesWithoutAKeyAreWrittenAsSuch() throws {
    let node = ArchiveNode(
      ArchivedClass("Table"), ["$0": .integer(9)], unkeyed: [.integer(1), .string("a"), .null])
    let archive = try KeyedArchive(ArchiveBytes(node.archived()))
    guard case .object(let object)? = try archive.root else {
      Issue.record("no object")
      return
    }
    #expect(try object.unkeyedValues.elements().map(\.kind) == ["integer", "string", "null"])
    #expect(try object["$0"]?.integer == 9)
  }

  @Test func numbersAboveTheLargestSignedOneAreKept() throws {
    let archive = try KeyedArchive(ArchiveBytes(ArchiveNode.number(UInt64.max).archived()))
    #expect(try archive.root?.unsignedInteger == .max)
    #expect(try archive.root?.integer == nil)
    #expect(ArchivedValue.integer(-1).unsignedInteger == nil)
    #expect(ArchivedValue.real(3).unsignedInteger == 3)
  }

  @Test func topKeysMayBeChosenAtRunTime() throws {
    let members = (0..<5).map { (key: "key\($0)", value: ArchiveNode.Value.integer(Int64($0))) }
    let archive = try KeyedArchive(ArchiveBytes(ArchiveNode.archive(members, archiver: "GLKeyedArchiver")))
    #expect(try archive.topKeys == members.map(\.key))
    #expect(archive.archiver == "GLKeyedArchiver")
    let bytes = try KeyedArchiveWriter.bytes { (writer) throws(ArchiveError) in
      writer.archiver = "Mine"
      return KeyedArchiveWriter.Top([("a", try writer.value(1 as Int64)), ("b", writer.null)])
    }
    #expect(try KeyedArchive(ArchiveBytes(bytes)).topKeys == ["a", "b"])
    #expect(try KeyedArchive(ArchiveBytes(bytes)).archiver == "Mine")
  }

  @Test func aClassWithoutSuperclassesIsWrittenWithoutThem() throws {
    let archive = try makeArchive(object(2), "<dict>\(key("$classname"))\(text("Renamed"))</dict>")
    guard case .object(let object)? = try archive.root else {
      Issue.record("no object")
      return
    }
    #expect(object.classChain.isEmpty)
    let again = try KeyedArchive(ArchiveBytes(ArchiveNode(object.objectClass).archived()))
    guard case .dictionary(let description) = try again.object(2) else {
      Issue.record("no description")
      return
    }
    #expect(try description.pairs().map { try $0.key.string } == ["$classname"])
  }

  @Test func theFirstOfTwoClassKeysCounts() throws {
    let bytes = try twoClasses()
    let archive = try KeyedArchive(ArchiveBytes(bytes))
    guard case .object(let object)? = try archive.root else {
      Issue.record("no object")
      return
    }
    #expect(object.className == "First")
  }

  private func twoClasses() throws -> [UInt8] {
    try BinaryPropertyListWriter.bytes { (writer) throws(ArchiveError) in
      let key = try writer.string("$class")
      let root = try writer.dictionary(keys: [key, key], values: [writer.uid(2), writer.uid(3)])
      var objects = try [writer.string("$null"), root]
      for name in ["First", "Second"] {
        objects.append(
          try writer.dictionary(keys: [writer.string("$classname")], values: [writer.string(name)]))
      }
      let top = try writer.dictionary(keys: [writer.string("root")], values: [writer.uid(1)])
      return try writer.dictionary(
        keys: [writer.string("$archiver"), writer.string("$top"), writer.string("$objects")],
        values: [writer.string("A"), top, writer.array(objects)])
    }
  }
}
