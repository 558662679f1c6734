/// What came of a commit.
public struct Commit<Value> {
  /// What the body returned.
  public let value: Value
  /// The revision of the entry; the newest one when the body changed nothing.
  public let revision: Revision
  /// Whether the body changed nothing, so that there is no entry.
  public let isEmpty: Bool
}

extension Commit: Sendable where Value: Sendable {}

/// What must still be so for a commit to be made.
public enum Expectation: Hashable, Sendable {
  /// The newest revision of the whole journal.
  case journal(at: Revision)
  /// The newest revision of one entity, deletions included; 0: it never was.
  case entity(Entity, at: Revision)
}
