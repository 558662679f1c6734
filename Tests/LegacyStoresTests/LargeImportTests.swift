import CatalogModel
import Foundation
import TestSupport
import Testing

@testable import LegacyStores

/// Imports of many elements.
@Suite struct LargeImportTests {
  private func store(_ lists: [(name: String, count: Int)], areEqual: Bool) -> LegacyStore {
    var store = LegacyStore(.plist)
    store.lists = Set(lists.map(\.name))
    store.files = Dictionary(
      uniqueKeysWithValues: lists.map {
        ($0.name, Layout.file(Layout.list($0.name, className: nil), isXML: true))
      })
    store.items = lists.flatMap { list in
      (0..<list.count).map { number in
        LegacyItem(
          list: list.name, kind: "thing", className: "{thing}",
          attributes: ["label": .string(areEqual ? "same" : "\(list.name) \(number)")])
      }
    }
    return store
  }

  /// Each entry used to write everything that the earlier ones had imported.
  @Test func anEntryWritesOnlyThePartsOfTheMemoryThatItMayHaveChanged() throws {
    try withTemporaryFolder { folder in
      let journal = try folder.journal()
      var memory = ImportMemory(Catalog(), .plist, name: "")
      func write(_ list: String, unchanged: Int) throws {
        memory.rows = (1...6_500).map { number in
          ImportMemory.Element(
            item: Catalog.Item.ID(number), kind: "thing", list: list, className: "{thing}")
        }
        memory = try journal.commit { [memory] draft in
          var memory = memory
          try memory.write(to: &draft, unchanged: unchanged)
          return memory
        }.value
      }
      try write("before", unchanged: 0)
      try write("after", unchanged: 6_400)
      let lists = memory.parts.map { part in
        Set(journal.state.item(part)?["rows"]?.array?.map { $0["list"]?.string } ?? [])
      }
      // The first part has more than rows, but these are not made again.
      #expect(lists == [["before"], ["before"], ["before"], ["after"]])
    }
  }

  @Test func anImportInManyEntriesRemembersTheSameAsOneInASingleEntry() throws {
    try withTemporaryFolder { folder in
      // The memory of the first list takes more than one part, and the second list comes before it.
      let things = store([("z", 2_300), ("a", 900)], areEqual: false)
      let (first, second) = (try folder.journal("A.journal"), try folder.journal("B.journal"))
      #expect(try first.importStore(things, entrySize: 350).revisions.count == 10)
      try second.importStore(things)
      func memory(_ journal: CatalogJournal) -> [[FieldValue]] {
        journal.state.items.filter { $0.kind == ImportMemory.kind }
          .sorted { ($0["part"]?.integer ?? 0) < ($1["part"]?.integer ?? 0) }
          .map { ($0["rows"]?.array ?? []).map { $0.setting("item", nil) } }
      }
      #expect(memory(first) == memory(second))
      #expect(try first.importStore(things, entrySize: 350).revisions.isEmpty)
    }
  }

  /// Elements of the second list were compared with all of the first one.
  @Test func equalElementsOfTwoListsAreMatchedInLinearTime() throws {
    func time(_ count: Int) throws -> Double {
      let things = store([("z", count), ("a", count)], areEqual: true)
      var names: Set<[String]> = []
      let digests = things.items.map { Digests($0.attributes.mapValues(\.digest), sharing: &names) }
      var memory = ImportMemory(Catalog(), .plist, name: "")
      // The memory has the lists in the order of their names.
      let places = Array(count..<2 * count) + Array(0..<count)
      memory.rows = places.enumerated().map { number, place in
        let item = things.items[place]
        return ImportMemory.Element(
          item: Catalog.Item.ID(number + 1), kind: item.kind, list: item.list, className: item.className,
          digests: digests[place])
      }
      return processorTime {
        let matching = Matching(
          things, digests, memory, [[Blob?]](repeating: [], count: 2 * count), Catalog())
        #expect(matching.rows == places)
      } / .seconds(1)
    }
    #expect(try leastRatio(8_000, to: 1_000, of: time) < 24)
  }
}
