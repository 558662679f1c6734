import Foundation
import Testing

@testable import KeyedArchiving
@testable import PropertyLists

/// The views on values that Foundation's own archiver wrote.
@Suite struct FoundationViewTests {
  private func archived(_ object: Any) throws -> ArchivedValue {
    let data = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: false)
    return try #require(try KeyedArchive(ArchiveBytes(data)).root)
  }

  @Test func datesIdentifiersAndURLsOfFoundationAreRead() throws {
    let date = Date(timeIntervalSinceReferenceDate: 540_079_853.687554)
    #expect(try archived(date as NSDate).date == date)
    let uuid = UUID()
    #expect(try archived(uuid as NSUUID).uuid == uuid)
    let url = try #require(URL(string: "a/b?c=d", relativeTo: URL(string: "https://example.com/x/")))
    #expect(try archived(url as NSURL).url?.absoluteString == "https://example.com/x/a/b?c=d")
  }

  @Test func collectionsOfFoundationAreRead() throws {
    let array = try #require(try archived(["a", 1, 2.5] as NSArray).array)
    #expect(try array[0].string == "a")
    #expect(try array[1].integer == 1)
    #expect(try array[2].double == 2.5)
    #expect(try archived(["k": "v"] as NSDictionary).dictionary?["k"]?.string == "v")
    #expect(try archived(NSSet(array: ["x"])).set?[0].string == "x")
    let ordered = try #require(try archived(NSOrderedSet(array: ["c", "a", "b"])).set)
    #expect(try ordered.elements().compactMap { try $0.string } == ["c", "a", "b"])
  }

  @Test func indexPathsAndSetsOfFoundationAreRead() throws {
    for path in [IndexPath(), [4], [3, 300, 70_000]] {
      #expect(try archived(path as NSIndexPath).indexPath == Array(path))
    }
    var set = IndexSet(integersIn: 3..<9)
    #expect(try archived(set as NSIndexSet).indexSet == [3..<9])
    set.insert(integersIn: 200..<1000)
    #expect(try archived(set as NSIndexSet).indexSet == [3..<9, 200..<1000])
  }
}
