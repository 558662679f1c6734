public import CBOR

/// The place of an item in an order that people make, such as rows that are dragged.
///
/// ```swift
/// struct Row: CatalogItem { …; static let indexes = [Index(\Row.order)]; var order: ListOrder }
/// try journal.commit { try $0.move(row, by: \.order, after: other) }
/// let rows = journal.state.items(Row.self).sorted(by: \.order)
/// ```
/// A place is a text of letters and digits, compared by its bytes. Between any two places there is another, so a row
/// that moves gets a new one, and no other row is written.
///
/// A row at either end of the list adds about one character for each 62-fold of its rows. A row that is put again and
/// again between the same two adds one for each five or so; at 32 characters `move` gives the rows around it
/// new places, evenly spread.
public struct ListOrder: Hashable, Comparable, Sendable {
  /// The text: a whole number, whose first character says how many digits it has, and behind it digits of a fraction
  /// to the base 62.
  public let text: String

  private init(text: String) { self.text = text }

  /// By the bytes of the texts.
  public static func < (left: ListOrder, right: ListOrder) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }

  /// The place of the first row of a list.
  public static let start = ListOrder(text: "a0")

  /// A place between two others; nil stands for the start and the end of the list.
  ///
  /// When the two are equal or in the wrong order, as rows can be that were not placed by this type, it is one right
  /// behind the first.
  public init(after previous: ListOrder?, before next: ListOrder?) {
    let isRising = if let previous, let next { previous < next } else { true }
    self.init(text: OrderText.between(previous?.text, isRising ? next?.text : nil))
  }

  /// Places for so many rows, in order, as short as they can be.
  public static func places(
    _ count: Int, after previous: ListOrder? = nil, before next: ListOrder? = nil
  ) -> [ListOrder] {
    guard count > 0 else { return [] }
    // At an end they are counted; in between each half is divided again.
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

  /// From here on the rows around are given new places.
  static let longByteCount = 32

  var isLong: Bool { text.utf8.count > Self.longByteCount }
}

extension ListOrder: Codable {
  /// Reads the text.
  /// - Throws: `DecodingError` when it is none of a place.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    text = try container.decode(String.self)
    guard OrderText.isPlace(text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "\"\(text)\" is no place in a list")
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
