import PropertyLists

/// A text and the attributes of its parts, as an `NSAttributedString` was archived.
public struct ArchivedAttributedString: Sendable {
  /// A part of the text with the same attributes throughout.
  public struct Run: Sendable {
    /// Where the part is, in UTF-16 code units.
    public let range: Range<Int>
    /// Its attributes by name, such as `NSColor` or `NSFont`.
    public let attributes: ArchivedDictionary
  }

  /// The text.
  public let string: String
  /// The parts in order. Together they cover the whole text.
  public let runs: [Run]
}

extension ArchivedValue {
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
      guard let attributes = try object["NSAttributes"], !attributes.isNull else {
        guard length == 0 else { throw object.malformed("the attributed string has no NSAttributes") }
        return ArchivedAttributedString(string: text, runs: [])
      }
      if let dictionary = try attributes.dictionary {
        let run = ArchivedAttributedString.Run(range: 0..<length, attributes: dictionary)
        return ArchivedAttributedString(string: text, runs: length == 0 ? [] : [run])
      }
      guard let choices = try attributes.array else {
        throw object.malformed("NSAttributes is neither a dictionary nor an array")
      }
      return ArchivedAttributedString(string: text, runs: try object.runs(choices, length))
    }
  }
}

extension ArchivedObject {
  /// Each run is two numbers: its length, and the index of its attributes.
  fileprivate func runs(
    _ choices: ArchivedArray, _ length: Int
  ) throws(ArchiveError) -> [ArchivedAttributedString.Run] {
    let numbers = try packedNumbers("NSAttributeInfo")
    guard numbers.count.isMultiple(of: 2) else {
      throw malformed("a run in NSAttributeInfo has no attributes")
    }
    var runs: [ArchivedAttributedString.Run] = []
    var decoded: [Int: ArchivedDictionary] = [:]
    var start = 0
    for position in stride(from: 0, to: numbers.count, by: 2) {
      guard let count = Int(exactly: numbers[position]), let range = Range(start: start, length: count),
        range.upperBound <= length, let choice = Int(exactly: numbers[position + 1]), choice < choices.count
      else {
        throw malformed("a run in NSAttributeInfo is beyond the text or names attributes that are not there")
      }
      if decoded[choice] == nil { decoded[choice] = try choices[choice].dictionary }
      guard let attributes = decoded[choice] else {
        throw malformed("attributes \(choice) of the text are not a dictionary")
      }
      runs.append(ArchivedAttributedString.Run(range: range, attributes: attributes))
      start = range.upperBound
    }
    guard start == length else { throw malformed("the runs in NSAttributeInfo end before the text") }
    return runs
  }
}
