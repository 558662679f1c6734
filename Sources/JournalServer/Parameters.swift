import CatalogModel
import HTTPServer

/// The checked query parameters of a request.
struct Parameters {
  let request: HTTPRequest

  /// - Throws: ``APIError`` if a parameter is unknown, or repeated although it may not be.
  init(_ request: HTTPRequest, allowing names: Set<String>, repeating repeated: Set<String> = [])
    throws(APIError)
  {
    self.request = request
    var seen: Set<String> = []
    for (name, _) in request.query {
      guard names.contains(name) || repeated.contains(name) else {
        let known = names.union(repeated).sorted().joined(separator: ", ")
        throw .wrongUse(
          "there is no parameter \"\(name)\" here; "
            + (known.isEmpty ? "there are none" : "there are \(known)"))
      }
      guard seen.insert(name).inserted || repeated.contains(name) else {
        throw .wrongUse("the parameter \"\(name)\" is given twice")
      }
    }
  }

  /// A text, or nil if it is missing or empty.
  func text(_ name: String) -> String? { request.value(name).flatMap { $0.isEmpty ? nil : $0 } }

  /// Whether a switch is on: its value is `1`, `true` or empty.
  func flag(_ name: String) throws(APIError) -> Bool {
    switch request.value(name) {
    case nil, "0"?, "false"?: return false
    case "1"?, "true"?, ""?: return true
    default: throw .wrongUse("\(name) is 1 or 0")
    }
  }

  /// An integer in a range.
  func count(_ name: String, else standard: Int, in range: ClosedRange<Int>) throws(APIError) -> Int {
    guard let text = text(name) else { return standard }
    guard let number = Int(text), range.contains(number) else {
      throw .wrongUse("\(name) is a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// A point in time.
  func selector(_ name: String) throws(JournalError) -> RevisionSelector? {
    guard let text = text(name) else { return nil }
    return try RevisionSelector(text)
  }

  /// The revision of a selector.
  func revision(_ name: String, else standard: RevisionSelector, in journal: CatalogJournal) throws
    -> Revision
  {
    try journal.revision(at: try selector(name) ?? standard)
  }
}
