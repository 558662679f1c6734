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
    let ordered = try #require(try archived(NSOrderedSet(array: ["c", "a", "b"])).orderedSet)
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

  @Test func rangesExpressionsLocalesAndZonesOfFoundationAreRead() throws {
    #expect(try archived(NSValue(range: NSRange(location: 3, length: 4))).range == 3..<7)
    let expression = try NSRegularExpression(pattern: "a+", options: .caseInsensitive)
    #expect(
      try archived(expression).regularExpression == ArchivedRegularExpression(pattern: "a+", options: 1))
    #expect(try archived(NSLocale(localeIdentifier: "pt_PT")).locale == "pt_PT")
    let zone = try #require(NSTimeZone(name: "GMT"))
    #expect(try archived(zone).timeZone == "GMT")
  }

  @Test func componentsAndIntervalsOfDatesAreRead() throws {
    var parts = DateComponents()
    (parts.year, parts.month, parts.day, parts.hour) = (2026, 8, 1, 10)
    let read = try #require(try archived(parts as NSDateComponents).dateComponents)
    #expect((read.year, read.month, read.day, read.hour) == (2026, 8, 1, 10))
    #expect(read.minute == nil)
    let interval = DateInterval(start: Date(timeIntervalSinceReferenceDate: 5), duration: 20)
    #expect(try archived(interval as NSDateInterval).dateInterval == interval)
  }
}
