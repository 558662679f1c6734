import TestSupport
import Testing

@testable import Tables

@Suite struct ReversedTests {
  @Test func elementsComeInReverseFromAnyRange() {
    var random = SeededGenerator()
    for size in [0, 1, 2, 63, 64, 65, 1_000, 20_000] {
      var table = SortedTable<Int, String>()
      for _ in 0..<size { table.updateValue("x", forKey: Int.random(in: 0..<size * 3, using: &random)) }
      // Some are removed again, so that leaves differ in how full they are.
      for _ in 0..<size / 2 { table.removeValue(forKey: Int.random(in: 0..<size * 3, using: &random)) }
      for _ in 0..<50 {
        let low = Int.random(in: -2...size * 3 + 2, using: &random)
        let high = Int.random(in: low...max(low, size * 3 + 2), using: &random)
        let expected = table.elements(in: low...high).map(\.key).reversed()
        #expect(table.elements(in: low...high, reversed: true).map(\.key) == Array(expected))
      }
    }
  }

  @Test func textsAreReadInReverse() throws {
    let texts = (0..<5_000).map { (key: "\($0 + 10_000)", value: ()) }
    let table = try #require(SortedTable(sorted: texts))
    #expect(
      table.elements(in: "10003"..."12000", reversed: true).map(\.key)
        == (3...2_000).reversed().map { "\($0 + 10_000)" })
  }
}
