import CBOR

/// What finding the items of a query took: see ``ItemQuery/explain()``.
public struct QueryExplanation: Hashable, Sendable {
  /// The attributes whose indexes gave the items, such as `["place.floor"]`; `["@category"]` for the index by category.
  /// Several if a filter has alternatives. Empty if no index fits.
  public let indexes: [String]
  /// How many lines of indexes were read. Indexes that were given up count, and so does the index by kind.
  public let lineCount: Int
  /// How many records were read, including those that did not match.
  public let recordCount: Int
  /// Whether the items had to be sorted. False if an index has their order.
  public let isSorted: Bool
  /// How many items were found.
  public let itemCount: Int

  init(_ work: QueryWork, itemCount: Int) {
    indexes = work.paths.map { $0.names.joined(separator: ".") }
    (lineCount, recordCount) = (work.lineCount, work.recordCount)
    isSorted = work.isSorted
    self.itemCount = itemCount
  }
}

extension QueryExplanation: CustomStringConvertible {
  /// One line: `index on stars, 12 lines and 12 records read, sorted: 12 items`.
  public var description: String {
    func count(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
    let index = indexes.isEmpty ? "no index" : "index on \(indexes.joined(separator: ", "))"
    return "\(index), \(count(lineCount, "line")) and \(count(recordCount, "record")) read"
      + (isSorted ? ", sorted" : "") + ": \(count(itemCount, "item"))"
  }
}

/// What a run of a query has read.
struct QueryWork {
  /// The paths of the indexes that gave the items.
  var paths: [AttributePath] = []
  var lineCount = 0
  var recordCount = 0
  var isSorted = false
}
