extension ArchivedClass {
  /// A class as an archive describes it, whose chain need not begin with its name, and may be empty.
  package init(name: String, chain: [String], hints: [String]) {
    self.name = name
    self.chain = chain
    self.hints = hints
  }

  /// Whether the class is, descends from, or may stand in for the class with the given name.
  public func isKind(of name: String) -> Bool {
    self.name == name || chain.contains(name) || hints.contains(name)
  }
}
