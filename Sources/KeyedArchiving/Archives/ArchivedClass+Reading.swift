extension ArchivedClass {
  /// A class as an archive describes it. The chain may be empty, and need not begin with the name.
  package init(name: String, chain: [String], hints: [String]) {
    self.name = name
    self.chain = chain
    self.hints = hints
  }

  /// Whether the class has the given name, descends from a class of that name, or may be replaced by one.
  public func isKind(of name: String) -> Bool {
    self.name == name || chain.contains(name) || hints.contains(name)
  }
}
