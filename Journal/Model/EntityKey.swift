/// An entry's number: 1, 2, 3, … without gaps. Revision 0 is the empty journal.
public typealias Revision = Int

/// What sort of thing an entity is; the model gives the numbers their names.
public struct EntityKind: RawRepresentable, Hashable, Sendable {
  /// An index into ``EventSourced/kindNames``.
  public let rawValue: UInt8
  /// The kind whose name has that index.
  public init(rawValue: UInt8) { self.rawValue = rawValue }
}

/// One thing that has a history: `item:42`, `category:3`. Numbers are given in order and never used again.
public struct EntityKey: Hashable, Comparable, Sendable {
  /// What sort of thing it is.
  public let kind: EntityKind
  /// Its number among those of its kind, one of ``numbers``.
  public let number: Int

  /// The numbers that an entity can have: those that JSON and a `Double` hold exactly.
  public static let numbers = 1...(1 << 53) - 1

  /// The entity of that kind and number; it need not be there.
  public init(kind: EntityKind, number: Int) {
    self.kind = kind
    self.number = number
  }

  /// By kind, then by number.
  public static func < (left: EntityKey, right: EntityKey) -> Bool {
    (left.kind.rawValue, left.number) < (right.kind.rawValue, right.number)
  }
}
