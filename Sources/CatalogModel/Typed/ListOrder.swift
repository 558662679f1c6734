public import CBOR

/// The position of an item in a user-defined order, such as rows that can be dragged.
///
/// ```swift
/// struct Row: CatalogItem { …; static let indexes = [Index(\Row.order)]; var order: ListOrder }
/// try journal.commit { try $0.move(row, by: \.order, after: other) }
/// let rows = try journal.state.items(Row.self).sorted(by: \.order)
/// ```
/// A position is a text of letters and digits, compared by its bytes. Between any two positions there is another one.
/// So a row that moves gets a new position, and no other row is written.
///
/// Appending to either end adds one character each time the list becomes 62 times as long. Inserting repeatedly in one
/// place adds one character for about every five rows. At 32 characters, `move` gives the rows around that place new,
/// evenly spread positions.
public struct ListOrder: Hashable, Comparable, Sendable {
  /// The text: an integer, whose first character is its sign and its number of digits, followed by the digits of a
  /// fraction. Both are in base 62.
  public let text: String

  private init(text: String) { self.text = text }

  /// Compares the bytes of the texts.
  public static func < (left: ListOrder, right: ListOrder) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }

  /// The position of the first row of a list.
  public static let start = ListOrder(text: "a0")

  /// A position between two others. Nil stands for the start or the end of the list.
  ///
  /// If the two are equal or in the wrong order, which this type never causes, the new position is right after the
  /// first.
  public init(after previous: ListOrder?, before next: ListOrder?) {
    let isRising = if let previous, let next { previous < next } else { true }
    self.init(text: OrderText.between(previous?.text, isRising ? next?.text : nil))
  }

  /// The shortest positions for this many rows, in order.
  public static func places(
    _ count: Int, after previous: ListOrder? = nil, before next: ListOrder? = nil
  ) -> [ListOrder] {
    guard count > 0 else { return [] }
    // At an end of the list, positions count up or down. In between, each half is divided again.
    guard previous != nil && next != nil else {
      var places: [ListOrder] = []
      for _ in 0..<count {
        let place =
          next == nil
          ? ListOrder(after: places.last ?? previous, before: nil)
          : ListOrder(after: nil, before: places.last ?? next)
        places.append(place)
      }
      return next == nil ? places : places.reversed()
    }
    let middle = ListOrder(after: previous, before: next)
    let before = count / 2
    return places(before, after: previous, before: middle) + [middle]
      + places(count - before - 1, after: middle, before: next)
  }

  /// If a position is longer than this, the rows around it get new positions.
  static let longByteCount = 32

  var isLong: Bool { text.utf8.count > Self.longByteCount }
}

extension ListOrder: Codable {
  /// Reads the text.
  /// - Throws: `DecodingError` if the text is not a position.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    text = try container.decode(String.self)
    guard OrderText.isPlace(text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "\"\(text)\" is not a position in a list")
    }
  }

  /// Writes the text.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}

extension ListOrder: QueryValue {
  /// The text.
  public var queryValue: FieldValue? { .string(text) }
}
