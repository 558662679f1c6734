import CBOR
import Foundation

extension WordSearch {
  /// The matching items that fulfill further conditions, the best ones first, up to `needed`.
  ///
  /// The rank is BM25 with the usual constants, as FTS5 computes it, except that the average length is that of the
  /// matching items, and the number of items is that of the catalog. Both are known without reading any other item, and do
  /// not depend on the layers that a state is backed by.
  func ranked(
    in catalog: Catalog, _ conditions: [Condition], needed: Int, _ work: inout QueryWork
  ) -> [Int] {
    let indexes = indexes(in: catalog)
    let matches = indexes.map { indexedMatches($0, in: catalog) } ?? scannedMatches(in: catalog)
    if indexes != nil { work.paths = paths }
    work.lineCount += matches.lineCount
    work.recordCount += matches.recordCount
    work.isSorted = true
    let weights = matches.itemCounts.map { count in
      let rest = Double(max(catalog.itemCount - count, 0))
      return max(log((rest + 0.5) / (Double(count) + 0.5)), 1e-6)
    }
    let average = max(
      Double(matches.lengths.reduce(0) { $0 + Int($1) }) / Double(max(matches.numbers.count, 1)), 1)
    var ranked = matches.numbers.indices.map { place in
      var score = 0.0
      let length = 0.25 + 0.75 * Double(matches.lengths[place]) / average
      for (phrase, weight) in weights.enumerated() {
        let count = Double(matches.counts[phrase][place])
        score += weight * count * 2.2 / (count + 1.2 * length)
      }
      return (number: matches.numbers[place], score: score)
    }
    ranked.sort { $0.score == $1.score ? $0.number < $1.number : $0.score > $1.score }
    let others = conditions.filter { !$0.isSearch(self) }
    if others.isEmpty { return ranked.prefix(needed).map(\.number) }
    let test = Condition.all(others).test
    var numbers: [Int] = []
    for (number, _) in ranked where numbers.count < needed {
      guard let record = catalog.itemTable[number]?.record else { continue }
      work.recordCount += 1
      if test(record) { numbers.append(number) }
    }
    return numbers
  }
}

extension Condition {
  /// Whether this is that search, so that items it has found need not be tested.
  func isSearch(_ search: WordSearch) -> Bool {
    if case .words(search) = self { true } else { false }
  }
}
