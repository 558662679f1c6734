import CatalogModel
import Foundation
import KeyedArchiving
import TestSupport
import Testing

@testable import LegacyStores

/// Values that several elements of a file have in common. The file has them once; each item has its own copy.
@Suite struct SharedValuesTests {
  private func archive(_ count: Int, sharing value: ArchiveNode.Value) throws -> [UInt8] {
    let things = (0..<count).map { number in
      ArchiveNode.Value.node(
        ArchiveNode(ArchivedClass("Thing"), ["name": .string("\(number)"), "shared": value]))
    }
    return try ArchiveNode.archive([("root", .array(things))])
  }

  /// A small file with many of them used to lose items.
  @Test func itemsOfASmallArchiveThatShareATextOrAListAreAllImported() throws {
    try withTemporaryFolder { folder in
      let text = ArchiveNode.Value.string(String(repeating: "text", count: 50_000))
      let list = ArchiveNode.Value.array((0..<400).map { .integer($0) })
      for (count, value) in [(80, text), (250, list)] {
        let file = try folder.write("things", archive(count, sharing: value))
        let store = try LegacyStore.archives([file])
        #expect(store.problems.isEmpty && store.items.count == count, "\(store.problems.first as Any)")
      }
    }
  }

  @Test func elementsOfASmallPropertyListThatShareATextOrAListAreAllImported() throws {
    try withTemporaryFolder { folder in
      func list(
        _ count: Int, sharing value: (inout BinaryPropertyListWriter) throws(ArchiveError) -> Int
      ) throws -> [UInt8] {
        try BinaryPropertyListWriter.bytes { (writer) throws(ArchiveError) in
          let key = try writer.string("shared")
          let number = try value(&writer)
          let element = try writer.dictionary(keys: [key], values: [number])
          return try writer.array(Array(repeating: element, count: count))
        }
      }
      let text = try list(80) { (writer) throws(ArchiveError) in
        try writer.string(String(repeating: "text", count: 50_000))
      }
      let numbers = try list(250) { (writer) throws(ArchiveError) in
        let number = try writer.integer(1)
        return try writer.array(Array(repeating: number, count: 400))
      }
      for (count, bytes) in [(80, text), (250, numbers)] {
        let file = try folder.write("things.plist", bytes)
        #expect(try LegacyStore.propertyLists([file]).items.count == count)
      }
    }
  }

  /// An empty folder beside a folder of notes made that folder an item, and its notes parts of this item.
  @Test func theNotesOfAFolderAreItemsIfAnotherFolderIsEmpty() throws {
    try withTemporaryFolder { folder in
      func list(_ titles: [String]) -> ArchiveNode.Value {
        let notes = titles.map { title in
          ArchiveNode.Value.node(ArchiveNode(ArchivedClass("Note"), ["title": .string(title)]))
        }
        return .node(ArchiveNode(ArchivedClass("Folder"), ["notes": .node(.array(notes))]))
      }
      let root = ArchiveNode.dictionary(["inbox": list([]), "notes": list(["a", "b"])])
      let file = try folder.write("folders", ArchiveNode.archive([("root", .node(root))]))
      let store = try LegacyStore.archives([file])
      #expect(store.problems.isEmpty)
      let titles = store.items.compactMap { $0.attributes["title"]?.string }
      #expect(titles.sorted() == ["a", "b"], "\(store.items.map(\.attributes))")
    }
  }

  /// All values beside the items had the limit of one item together, and the items after them were lost.
  @Test func eachValueBesideTheItemsHasTheLimitOfAnItem() throws {
    try withTemporaryFolder { folder in
      let numbers = ArchiveNode.Value.array((0..<120_000).map { .integer($0) })
      let person = ArchiveNode.Value.node(ArchiveNode(ArchivedClass("Person"), ["name": .string("Ana")]))
      let root = ArchiveNode.dictionary([
        "cache": numbers, "history": numbers, "people": .node(.array([person])),
      ])
      let file = try folder.write("people", ArchiveNode.archive([("root", .node(root))]))
      let store = try LegacyStore.archives([file])
      #expect(store.problems.isEmpty, "\(store.problems)")
      #expect(store.items.map { $0.attributes["name"] } == [.string("Ana")])
    }
  }

  @Test func aFileWhoseItemsWouldGrowTooLargeIsToBeSplit() throws {
    try withTemporaryFolder { folder in
      let text = ArchiveNode.Value.string(String(repeating: "text", count: 1 << 20))
      let file = try folder.write("things", archive(40, sharing: text))
      let problem = try #require(try LegacyStore.archives([file]).problems.first)
      let limit = try ObjectReader.byteLimit(fileByteCount: Data(contentsOf: file).count)
      #expect(problem.reason.contains("\(limit) bytes") && problem.reason.contains("split"), "\(problem)")
    }
  }

  /// An export wrote them for each element, and each key as well.
  @Test func anExportOfABinaryPropertyListHasSharedValuesOnce() throws {
    try withTemporaryFolder { folder in
      let text = String(repeating: "text", count: 2_500)
      let photo = Made.jpeg + Data(repeating: 7, count: 20_000)
      let elements: [[String: Any]] = (0..<40).map { number in
        // The two spellings of é are equal in Swift only.
        let accent = number % 2 == 0 ? "\u{E9}" : "e\u{301}"
        return [
          "name": "\(number)", "text": text, "photo": photo, "accent": accent, "one": 1, "half": 0.5,
          "flag": true,
        ]
      }
      let bytes = try PropertyListSerialization.data(
        fromPropertyList: elements, format: .binary, options: 0)
      let journal = try folder.journal()
      try journal.importStore(.propertyLists([folder.write("things.plist", bytes)]))
      let out = folder.url.appending(path: "out")
      try journal.exportStore(.plist, to: out)
      let file = out.appending(path: "things.plist")
      #expect(try Data(contentsOf: file).count < 2 * bytes.count)
      #expect(try Made.read(file) == elements as NSArray)
      let accents = try (Made.readValue(file) as? [[String: Any]])?.map {
        ($0["accent"] as? String)?.utf8.count
      }
      #expect(accents?.prefix(2) == [2, 3])
    }
  }
}
