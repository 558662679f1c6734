/// What an archive says of a class.
public struct ArchivedClass: Hashable, Sendable {
  /// The name of the class, such as `ScaryBugData`, `App.Person` or a mangled Swift name.
  public let name: String
  /// The names from the class itself up to its root, such as `["NSMutableArray", "NSArray", "NSObject"]`. Empty where
  /// the archive has none, as for a class that was renamed while archiving.
  public let chain: [String]
  /// The classes that a reader should take instead if it doesn't know this one, such as `["NSColor"]` for `UIColor`.
  public let hints: [String]

  /// Whether the class is, descends from, or may stand in for the class with the given name.
  public func isKind(of name: String) -> Bool {
    self.name == name || chain.contains(name) || hints.contains(name)
  }
}
