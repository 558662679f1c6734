import Tables

/// Assigns a number to each text, from 0, in the order of first use, so that an ``EntityIndex`` can group by texts.
///
/// ```swift
/// let number = kinds.assign("book")          // when an event names a kind
/// itemsByKind.insert(item, in: number)
/// kinds.number(of: "book").map { itemsByKind.members(of: $0) }
/// ```
///
/// Texts are equal if their bytes are. Unlike Swift strings, they do not compare by canonical equivalence, because an
/// index must not depend on a version of Unicode. An interner is a value that is copied in constant time. It is for up
/// to thousands of texts, because a layer stores them as a list that is read as a whole.
///
/// 1. The numbers are those below ``count``, each assigned once.
/// 2. A text keeps its number forever, even if nothing uses it any more.
public struct TextInterner: Sendable {
  /// A text as CBOR, head and content.
  private struct Key: Comparable, Sendable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    init(_ text: String) {
      var writer = CBORWriter()
      writer.append(text: text)
      bytes = writer.finish()
    }

    static func < (left: Key, right: Key) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
  }

  private var numbers = SortedTable<Key, Int>()
  /// The text that was assigned last. It is nearly always the next one too.
  private var newest: (bytes: [UInt8], number: Int) = ([], 0)

  /// An interner without texts.
  public init() {}

  /// An interner in which each text's number is its position; nil if a text occurs twice.
  /// - Complexity: O(n log n)
  public init?(_ texts: [String]) {
    for (number, text) in texts.enumerated() {
      guard numbers.updateValue(number, forKey: Key(text)) == nil else { return nil }
    }
  }

  /// The texts from a number on, in the order of their numbers. O(n).
  func texts(from first: Int) -> [String] {
    var texts = Array(repeating: "", count: max(count - first, 0))
    if texts.isEmpty { return [] }
    for (key, number) in numbers where number >= first { texts[number - first] = Self.text(key.bytes) }
    return texts
  }

  /// How many texts have a number. O(1).
  public var count: Int { numbers.count }

  /// All texts, each at the position that is its number. O(n).
  public var texts: [String] { texts(from: 0) }

  /// The number of a text, nil if the text has no number. O(log n).
  public func number(of text: String) -> Int? { numbers[Key(text)] }

  /// The number of a text; a new one gets the next number. O(log n).
  @discardableResult
  public mutating func assign(_ text: String) -> Int { assign(Key(text)) }

  private mutating func assign(_ key: Key) -> Int {
    if let number = numbers[key] { return number }
    let number = count
    numbers.updateValue(number, forKey: key)
    return number
  }

  private static func text(_ encoded: [UInt8]) -> String {
    unsafe encoded.withUnsafeBytes { buffer in
      var reader = unsafe CBORReader(buffer)
      return (try? reader.readText()) ?? ""
    }
  }
}

// Numbers of texts inside records, without making strings of the texts.
extension TextInterner {
  /// The number of the encoded text at a place in a record; a new one gets the next number.
  package mutating func assign(textAt range: Range<Int>, in record: EntityRecord) -> Int {
    if newest.bytes.count == range.count, record.bytes.hasBytes(newest.bytes, at: range.lowerBound) {
      return newest.number
    }
    let bytes = Array(record.bytes[range])
    let number = assign(Key(bytes))
    newest = (bytes, number)
    return number
  }

  /// The number of the encoded text at a place in a record, nil if the text has no number.
  package func number(ofTextAt range: Range<Int>, in record: EntityRecord) -> Int? {
    if newest.bytes.count == range.count, record.bytes.hasBytes(newest.bytes, at: range.lowerBound) {
      return newest.number
    }
    return numbers[Key(Array(record.bytes[range]))]
  }
}

extension [UInt8] {
  /// Whether these bytes contain the others at `start`. They must not end before the others do.
  @inline(__always)
  fileprivate func hasBytes(_ others: [UInt8], at start: Int) -> Bool {
    for index in others.indices where self[start + index] != others[index] { return false }
    return true
  }
}
