/// An entry's number: 1, 2, 3, … without gaps. Revision 0 is the empty journal.
public typealias Revision = Int

/// Bounds for numbers that come from files, so that computing with them can't overflow.
enum NumberLimit {
  /// More than any journal has. The next revision is still a number.
  static let revision: Revision = 1 << 62
  /// The largest sum of sizes. It can be doubled.
  static let byteCount = Int.max / 4
}

extension Sequence {
  /// The sum of the sizes of files or images, which damaged and forged files can make as large as they want.
  package func sum(of byteCount: (Element) -> Int) -> Int {
    let limit = NumberLimit.byteCount
    return reduce(0) { Swift.min($0 + Swift.min(byteCount($1), limit), limit) }
  }
}

/// The kind of an entity. The model names the kinds.
public struct EntityKind: RawRepresentable, Hashable, Sendable {
  /// An index into ``EventSourced/kindNames``.
  public let rawValue: UInt8
  /// The kind whose name has that index.
  public init(rawValue: UInt8) { self.rawValue = rawValue }
}

/// The name of an entity, which has a history: `item:42`, `category:3`. Numbers are assigned in order and never reused.
public struct EntityKey: Hashable, Comparable, Sendable {
  /// The kind of the entity.
  public let kind: EntityKind
  /// Its number within its kind, one of ``numbers``.
  public let number: Int

  /// The valid numbers: those that JSON and a `Double` represent exactly.
  public static let numbers = 1...(1 << 53) - 1

  /// The entity of that kind and number; it need not exist.
  public init(kind: EntityKind, number: Int) {
    self.kind = kind
    self.number = number
  }

  /// By kind, then by number.
  public static func < (left: EntityKey, right: EntityKey) -> Bool {
    (left.kind.rawValue, left.number) < (right.kind.rawValue, right.number)
  }
}

extension EntityKey: CustomStringConvertible {
  /// `kind1:42`. A key does not know the names of its model's kinds: ``EventSourced/name(of:)`` makes `item:42` of it.
  public var description: String { "kind\(kind.rawValue):\(number)" }
}
