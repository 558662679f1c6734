import CatalogModel
import Foundation
import JSON

/// One version of a file of records: a JSON array whose objects are identified by a field.
///
/// Only objects that may differ from the previous version are parsed: those between the longest equal runs at the start
/// and at the end.
struct RecordFile {
  private struct Element {
    /// The text that identifies it; nil if it has none.
    let key: ExactText?
    /// Whether it is the last element with its key. As with equal names in a JSON object, the last one wins.
    let counts: Bool
  }

  /// An object that is new, or that may differ from the previous one with its key.
  struct Record {
    let key: ExactText
    let attributes: [String: FieldValue]
  }

  private let array: JSONArray?
  private let elements: [Element]
  /// The keys, in the order of the file.
  var keys: [ExactText] { elements.lazy.filter(\.counts).compactMap(\.key) }
  /// The elements that are skipped, in a sentence without a period; nil if there are none.
  let skipped: String?
  /// The changed records that are not kept exactly, in the same form.
  let inexact: String?

  /// No version yet.
  init() {
    array = nil
    elements = []
    skipped = nil
    inexact = nil
  }

  /// Reads a version and finds its changes since the previous one.
  /// - Throws: ``JSONError`` if the text is not a JSON array.
  init(_ text: [UInt8], after old: RecordFile, keyedBy field: String, changed: inout [Record])
    throws(JSONError)
  {
    let array = try JSONArray(text)
    let (start, end) = Self.equalRuns(array, old.array)
    let shift = old.elements.count - array.count
    var elements: [Element] = []
    elements.reserveCapacity(array.count)
    var seen = Set<ExactText>(minimumCapacity: array.count)
    var tally = RecordLosses(field: field)
    var found: [Record] = []
    for index in array.indices.reversed() {
      let before: Element? =
        index < start ? old.elements[index] : index >= end ? old.elements[index + shift] : nil
      if let before {
        let counts = before.key.map { seen.insert($0).inserted } ?? false
        elements.append(Element(key: before.key, counts: counts))
        if let key = before.key, !counts { tally.duplicates.append(key) }
        if before.key == nil { tally.note(array.value(at: index)) }
        if !counts || before.counts { continue }
      }
      var loss: JSONError?
      guard case .dictionary(let attributes) = array.value(at: index, noting: &loss),
        let key = attributes[field]?.keyText.map({ ExactText($0) })
      else {
        if before == nil {
          tally.note(array.value(at: index))
          elements.append(Element(key: nil, counts: false))
        }
        continue
      }
      if before == nil {
        let counts = seen.insert(key).inserted
        elements.append(Element(key: key, counts: counts))
        if !counts {
          tally.duplicates.append(key)
          continue
        }
      }
      if let loss { tally.note(loss) }
      found.append(Record(key: key, attributes: attributes))
    }
    changed += found.reversed()
    self.array = array
    self.elements = elements.reversed()
    skipped = tally.skipped
    inexact = tally.inexact
  }

  /// How many elements are equal at the start, and the index from which all equal the end of the old array.
  private static func equalRuns(_ new: JSONArray, _ old: JSONArray?) -> (start: Int, end: Int) {
    guard let old else { return (0, new.count) }
    let limit = min(new.count, old.count)
    var start = 0
    while start < limit, hasEqualBytes(new[start], old[start]) { start += 1 }
    var fromEnd = 0
    while fromEnd < limit - start, hasEqualBytes(new[new.count - 1 - fromEnd], old[old.count - 1 - fromEnd]) {
      fromEnd += 1
    }
    return (start, new.count - fromEnd)
  }

  private static func hasEqualBytes(_ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>) -> Bool {
    guard left.count == right.count else { return false }
    return unsafe left.withUnsafeBytes { left in
      unsafe right.withUnsafeBytes { right in
        // Elements are never empty, so both addresses exist.
        unsafe memcmp(left.baseAddress!, right.baseAddress!, left.count) == 0
      }
    }
  }
}

/// Counts the elements of an array that are no records, and the records that are not kept exactly.
private struct RecordLosses {
  let field: String
  var withoutKey = 0
  var others = 0
  var duplicates: [ExactText] = []
  /// How many objects are not kept exactly, and why the first of them is not.
  private var losses: (count: Int, first: JSONError)?

  init(field: String) { self.field = field }

  mutating func note(_ element: FieldValue) {
    if case .dictionary = element { withoutKey += 1 } else { others += 1 }
  }

  /// Called for the last record first.
  mutating func note(_ loss: JSONError) { losses = ((losses?.count ?? 0) + 1, loss) }

  var inexact: String? {
    losses.map { "\($0.count.counted("object")) can't be kept exactly (\($0.first.message))" }
  }

  var skipped: String? {
    var parts: [String] = []
    if withoutKey > 0 { parts.append("\(withoutKey.counted("object")) without a usable \"\(field)\"") }
    if others > 0 {
      parts.append("\(others.counted("element")) that \(others == 1 ? "is" : "are") no object")
    }
    if let first = duplicates.last {
      parts.append(
        "\(duplicates.count.counted("object")) whose \"\(field)\" a later one has "
          + "(\(first.text.shortened(to: 40)))")
    }
    return parts.isEmpty ? nil : "skipped " + parts.joined(separator: ", ")
  }
}
