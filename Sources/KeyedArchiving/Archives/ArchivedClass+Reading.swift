extension ArchivedClass {
  /// A class as an archive describes it. The chain may be empty, and need not begin with the name.
  package init(name: String, chain: [String], hints: [String]) {
    self.name = name
    self.chain = chain
    self.hints = hints
  }

  /// Whether the class has the given name, descends from a class of that name, or may be replaced by one.
  ///
  /// A mutable class of Foundation descends from the immutable one, even if the archive does not list its ancestors.
  public func isKind(of name: String) -> Bool {
    if self.name == name || chain.contains(name) || hints.contains(name) { return true }
    guard name.hasPrefix("NS") else { return false }
    func isMutableForm(_ other: String) -> Bool {
      other.hasPrefix("NSMutable") && other.utf8.dropFirst(9).elementsEqual(name.utf8.dropFirst(2))
    }
    return isMutableForm(self.name) || chain.contains(where: isMutableForm)
  }
}
