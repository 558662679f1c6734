/// An entry's number: 1, 2, 3, … without gaps. Revision 0 is the empty journal.
public typealias Revision = Int

/// Bounds for numbers that come from files, so that computing with them can't overflow.
enum NumberLimit {
  /// More than the revision of any journal. The next revision does not overflow.
  static let revision: Revision = 1 << 62
  /// The largest sum of sizes. Doubling it does not overflow.
  static let byteCount = Int.max / 4
}

extension Sequence {
  /// The sum of the sizes of files or images, with an upper limit, because damaged and forged files can claim any size.
  package func sum(of byteCount: (Element) -> Int) -> Int {
    let limit = NumberLimit.byteCount
    return reduce(0) { Swift.min($0 + Swift.min(byteCount($1), limit), limit) }
  }
}

/// The kind of an entity. The model names the kinds.
public struct EntityKind: RawRepresentable, Hashable, Sendable {
  /// An index into ``EventSourced/kindNames``.
  public let rawValue: UInt8
  /// The kind whose name is at this index in ``EventSourced/kindNames``.
  public init(rawValue: UInt8) { self.rawValue = rawValue }
}

/// The identity of an entity, for example `item:42` or `category:3`. Numbers are assigned in order and never reused.
public struct EntityKey: Hashable, Comparable, Sendable {
  /// The kind of the entity.
  public let kind: EntityKind
  /// The entity's number within its kind, one of ``numbers``.
  public let number: Int

  /// The valid numbers: those that JSON and a `Double` represent exactly.
  public static let numbers = 1...(1 << 53) - 1

  /// The key of an entity, which need not exist.
  public init(kind: EntityKind, number: Int) {
    self.kind = kind
    self.number = number
  }

  /// Hashes kind and number as one integer, because hashing is a large part of a plan for many entities.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(UInt64(truncatingIfNeeded: number) ^ UInt64(kind.rawValue) << 56)
  }

  /// Orders keys by kind, then by number.
  public static func < (left: EntityKey, right: EntityKey) -> Bool {
    (left.kind.rawValue, left.number) < (right.kind.rawValue, right.number)
  }
}

extension EntityKey: CustomStringConvertible {
  /// Such as `kind1:42`. ``EventSourced/name(of:)`` knows the names of kinds and returns `item:42`.
  public var description: String { "kind\(kind.rawValue):\(number)" }
}
