import CatalogModel
import JSON

/// One version of a file of records: a JSON array whose objects are identified by a field.
///
/// Elements at the start and at the end that equal those of the previous version are not parsed again.
struct RecordFile {
  struct Record {
    let key: ItemKey
    let attributes: [String: FieldValue]
  }

  private let array: JSONArray?
  /// The key of each element; nil for an element without a key.
  private let keyOfElement: [ItemKey?]
  /// The index of the last element with each key. Only that element counts, as with equal names in a JSON object.
  private let elementOfKey: [ItemKey: Int]
  var keys: [ItemKey] {
    keyOfElement.indices.compactMap { index in
      keyOfElement[index].flatMap { elementOfKey[$0] == index ? $0 : nil }
    }
  }
  /// The keys of changed objects with values that an attribute can't have. These objects change nothing.
  let unreadable: [ItemKey]
  /// Says which elements are skipped, without a period at the end; nil if no element is skipped.
  let skipped: String?
  /// Says which changed records are kept inexactly or not at all, without a period at the end; nil if there are none.
  let inexact: String?

  init() {
    array = nil
    (keyOfElement, elementOfKey, unreadable) = ([], [:], [])
    skipped = nil
    inexact = nil
  }

  func has(_ key: ItemKey) -> Bool { elementOfKey[key] != nil }

  /// The attributes of the object with a key; nil if there is no such object, or if it can't be read.
  func attributes(of key: ItemKey) -> [String: FieldValue]? {
    var loss: JSONError?
    guard let array, let index = elementOfKey[key],
      case .dictionary(let attributes) = array.value(at: index, noting: &loss), !loss.isLimit
    else { return nil }
    return attributes
  }

  /// Reads a version, and adds to `changed` the records that have changed since the version `old`.
  /// - Throws: ``JSONError`` if the text is not a JSON array.
  init(_ text: [UInt8], after old: RecordFile, keyedBy field: String, changed: inout [Record])
    throws(JSONError)
  {
    let array = try JSONArray(text)
    let (start, end) = Self.equalRuns(array, old.array)
    let shift = old.keyOfElement.count - array.count
    var keys: [ItemKey?] = []
    keys.reserveCapacity(array.count)
    var elements = [ItemKey: Int](minimumCapacity: array.count)
    var tally = RecordLosses(field: field)
    var found: [Record] = []
    var unreadable: [ItemKey] = []
    for index in array.indices.reversed() {
      let before: Int? = index < start ? index : index >= end ? index + shift : nil
      var loss: JSONError?
      var value: FieldValue?
      let key: ItemKey?
      if let before {
        key = old.keyOfElement[before]
      } else {
        value = array.value(at: index, noting: &loss)
        if case .dictionary(let attributes) = value { key = ItemKey(attributes[field]) } else { key = nil }
      }
      keys.append(key)
      guard let key else {
        tally.note(value ?? array.value(at: index))
        continue
      }
      guard elements[key] == nil else {
        tally.duplicates.append(key)
        continue
      }
      elements[key] = index
      // An object that was the same in the previous version changes nothing, unless a later object had its key there.
      if let before, old.elementOfKey[key] == before { continue }
      if case .dictionary(let attributes) = value ?? array.value(at: index, noting: &loss), !loss.isLimit {
        found.append(Record(key: key, attributes: attributes))
      } else {
        unreadable.append(key)
      }
      if let loss { tally.note(loss, key) }
    }
    changed += found.reversed()
    self.array = array
    keyOfElement = keys.reversed()
    elementOfKey = elements
    self.unreadable = unreadable.reversed()
    skipped = tally.skipped
    inexact = tally.inexact
  }

  /// The number of equal elements at the start, and the index at which the equal elements at the end begin.
  private static func equalRuns(_ new: JSONArray, _ old: JSONArray?) -> (start: Int, end: Int) {
    guard let old else { return (0, new.count) }
    let limit = min(new.count, old.count)
    let start = (0..<limit).prefix { new[$0] == old[$0] }.count
    let fromEnd = (0..<limit - start).prefix { new[new.count - 1 - $0] == old[old.count - 1 - $0] }.count
    return (start, new.count - fromEnd)
  }
}

private struct RecordLosses {
  let field: String
  var withoutKey = 0
  var others = 0
  var duplicates: [ItemKey] = []
  /// The number of objects that are not kept exactly, and the loss in the first of them.
  private var losses: (count: Int, first: JSONError)?
  /// The number of objects that can't be kept, and the reason and the key of the first of them.
  private var unreadable: (count: Int, first: JSONError, key: ItemKey)?

  init(field: String) { self.field = field }

  mutating func note(_ element: FieldValue) {
    if case .dictionary = element { withoutKey += 1 } else { others += 1 }
  }

  /// Counts a loss. Called for the last record first, so that the loss of the first record stays.
  mutating func note(_ loss: JSONError, _ key: ItemKey) {
    if Optional(loss).isLimit {
      unreadable = ((unreadable?.count ?? 0) + 1, loss, key)
    } else {
      losses = ((losses?.count ?? 0) + 1, loss)
    }
  }

  var inexact: String? {
    let parts = [
      losses.map { "\($0.count.counted("object")) can't be kept exactly (\($0.first.message))" },
      unreadable.map {
        "\($0.count.counted("object")) can't be kept at all, and \($0.count == 1 ? "changes" : "change") nothing "
          + "(\($0.key.text.shortened(to: 40)): \($0.first.message))"
      },
    ].compactMap(\.self)
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
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

extension JSONError? {
  /// Whether the value can't be kept in an attribute, not even inexactly.
  fileprivate var isLimit: Bool { map { $0.code != .inexactValue } ?? false }
}
