public import Foundation
import PropertyLists

// Index paths, index sets and the runs of attributed strings, which archives hold as packed numbers: how each is read,
// and then how it is written.

/// A text and the attributes of its parts, as an `NSAttributedString` was archived.
public struct ArchivedAttributedString: Sendable {
  /// A part of the text with the same attributes throughout.
  public struct Run: Sendable {
    /// Where the part is, in UTF-16 code units.
    public let range: Range<Int>
    /// The attributes of the part by name, such as `NSColor` or `NSFont`.
    public let attributes: ArchivedDictionary
  }

  /// The text.
  public let string: String
  /// The parts in order. Together they cover the whole text.
  public let runs: [Run]
}

extension ArchivedValue {
  /// The indexes that an `NSIndexPath` holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if the number of indexes is not the stored count.
  public var indexPath: [Int]? {
    get throws(ArchiveError) {
      guard let object = kind(of: "NSIndexPath") else { return nil }
      let length = try object.integer("NSIndexPathLength")
      // A negative index is packed as a very large number, so the bits of numbers are kept.
      let indexes =
        switch length {
        case 0: [Int]()
        case 1: try object.integer("NSIndexPathValue").map { [$0] } ?? []
        default: try object.packedNumbers("NSIndexPathData").map { Int(truncatingIfNeeded: $0) }
        }
      guard indexes.count == length else {
        throw object.malformed("the index path doesn't have as many indexes as it says")
      }
      return indexes
    }
  }

  /// The ranges of indexes that an `NSIndexSet` holds, in ascending order.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if the ranges are not in order, or not as many as the stored count.
  public var indexSet: [Range<Int>]? {
    get throws(ArchiveError) {
      guard let object = kind(of: "NSIndexSet") else { return nil }
      let count = try object.integer("NSRangeCount")
      var numbers: [UInt64] = []
      switch count {
      case 0: break
      case 1:
        for key in ["NSLocation", "NSLength"] {
          if let number = try object.integer(key), number >= 0 { numbers.append(UInt64(number)) }
        }
      default: numbers = try object.packedNumbers("NSRangeData")
      }
      var ranges: [Range<Int>] = []
      for (start, length) in try object.pairs(numbers) {
        guard let range = Range(start: start, length: length), start >= ranges.last?.upperBound ?? 0 else {
          throw object.malformed("the ranges of the index set are not in order")
        }
        ranges.append(range)
      }
      guard ranges.count == count else {
        throw object.malformed("the index set doesn't have as many ranges as it says")
      }
      return ranges
    }
  }

  /// The text and attributes that an `NSAttributedString` holds.
  ///
  /// - Throws: `ArchiveError` with code `malformed` if the parts don't cover the text, or refer to attributes that do
  ///   not exist.
  public var attributedString: ArchivedAttributedString? {
    get throws(ArchiveError) {
      guard let object = kind(of: "NSAttributedString") else { return nil }
      guard let text = try object.string("NSString") else {
        throw object.malformed("the attributed string has no NSString")
      }
      let length = text.utf16.count
      var runs: [ArchivedAttributedString.Run] = []
      if let attributes = try object["NSAttributes"], !attributes.isNull {
        if let dictionary = try attributes.dictionary {
          if length > 0 { runs = [.init(range: 0..<length, attributes: dictionary)] }
        } else if let choices = try attributes.array {
          runs = try object.runs(choices, length)
        }
      }
      guard runs.last?.range.upperBound ?? 0 == length else {
        throw object.malformed("the attributes don't cover the text")
      }
      return ArchivedAttributedString(string: text, runs: runs)
    }
  }
}

extension ArchivedObject {
  /// The numbers that are packed into the data in a field.
  fileprivate func packedNumbers(_ key: String) throws(ArchiveError) -> [UInt64] {
    var numbers: [UInt64] = []
    guard let data = try data(key),
      unsafe data.withUnsafeBytes({ unsafe Varints.read($0) { numbers.append($0) } })
    else {
      throw malformed("\(key) is missing, or ends within a number")
    }
    return numbers
  }

  fileprivate func pairs(_ numbers: [UInt64]) throws(ArchiveError) -> [(Int, Int)] {
    let integers = numbers.compactMap { Int(exactly: $0) }
    guard integers.count == numbers.count, integers.count.isMultiple(of: 2) else {
      throw malformed("packed numbers are too large, or are not in pairs")
    }
    return stride(from: 0, to: integers.count, by: 2).map { (integers[$0], integers[$0 + 1]) }
  }

  /// The runs of a text of `length` units. A run is stored as its length and the index of its attributes in `choices`.
  fileprivate func runs(
    _ choices: ArchivedArray, _ length: Int
  ) throws(ArchiveError) -> [ArchivedAttributedString.Run] {
    var runs: [ArchivedAttributedString.Run] = []
    var decoded: [Int: ArchivedDictionary] = [:]
    for (count, choice) in try pairs(packedNumbers("NSAttributeInfo")) {
      guard let range = Range(start: runs.last?.range.upperBound ?? 0, length: count),
        range.upperBound <= length, choice < choices.count
      else {
        throw malformed("a run in NSAttributeInfo is beyond the text or names attributes that are not there")
      }
      if decoded[choice] == nil { decoded[choice] = try choices[choice].dictionary }
      guard let attributes = decoded[choice] else {
        throw malformed("attributes \(choice) of the text are not a dictionary")
      }
      runs.append(ArchivedAttributedString.Run(range: range, attributes: attributes))
    }
    return runs
  }
}

extension Range<Int> {
  /// Fails if a number is negative, or the end is beyond the largest integer.
  init?(start: Int, length: Int) {
    let (end, overflow) = start.addingReportingOverflow(length)
    guard start >= 0, length >= 0, !overflow else { return nil }
    self = start..<end
  }
}

private func packed(_ numbers: some Sequence<Int>) -> Data {
  var data = Data()
  for number in numbers { Varints.write(UInt64(bitPattern: Int64(number))) { data.append($0) } }
  return data
}

extension ArchiveNode {
  /// An `NSIndexPath`.
  public static func indexPath(_ indexPath: IndexPath) -> ArchiveNode {
    let node = ArchiveNode(.indexPath, ["NSIndexPathLength": .integer(Int64(indexPath.count))])
    if indexPath.count == 1 {
      node.set("NSIndexPathValue", .integer(Int64(indexPath[0])))
    } else if indexPath.count > 1 {
      node.set("NSIndexPathData", .data(packed(indexPath)))
    }
    return node
  }

  /// An `NSIndexSet`.
  public static func indexSet(_ indexes: IndexSet) -> ArchiveNode {
    let ranges = Array(indexes.rangeView)
    let node = ArchiveNode(.indexSet, ["NSRangeCount": .integer(Int64(ranges.count))])
    if ranges.count == 1 {
      node.set("NSLocation", .integer(Int64(ranges[0].lowerBound)))
      node.set("NSLength", .integer(Int64(ranges[0].count)))
    } else if ranges.count > 1 {
      node.set("NSRangeData", .data(packed(ranges.flatMap { [$0.lowerBound, $0.count] })))
    }
    return node
  }
}
