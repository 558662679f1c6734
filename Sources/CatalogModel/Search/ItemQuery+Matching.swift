extension ItemQuery {
  /// The items whose text has the words that a person typed, the best matches first.
  ///
  /// ```swift
  /// let found = try journal.state.items(Recipe.self).matching(\.title, "tom* \"of the day\"").prefix(20)
  /// ```
  /// A word must be whole, or end with `*`. Words between quotation marks must follow each other. Neither case nor
  /// accents nor width count. In Chinese, Japanese and Korean, any run of characters is found.
  ///
  /// Matches are ranked by BM25, of several searches by the last one; `sorted(by:)`, before or after, gives another order.
  /// A pattern without a word finds everything.
  /// - Parameters:
  ///   - property: a text, or an array or a dictionary with texts. An index makes the search fast: `Index(\.title, .text)`.
  ///   - pattern: the words.
  ///   - anyWord: whether one of the words or phrases is enough. By default, an item must have all.
  /// - Throws: `JournalError` with code `wrongUse` if the key path leads to no attribute.
  /// - Complexity: O(m log m) for the m versions of items that have one of the words, and O(t) for the texts of items that have all
  ///   words of a phrase. Without an index, or while it is being built, O(n) in the texts of all items of the type.
  public func matching(
    _ property: any PartialKeyPath<Model> & Sendable, _ pattern: String, anyWord: Bool = false
  ) throws(JournalError) -> ItemQuery { try matching([property], pattern, anyWord: anyWord) }

  /// The items whose texts have the words that a person typed, the best matches first.
  ///
  /// As the function for one property, except that each word may be in another property; a phrase must be in one.
  /// - Parameters:
  ///   - properties: texts, or arrays or dictionaries with texts. The search is fast if each has an index.
  ///   - pattern: the words.
  ///   - anyWord: whether one of the words or phrases is enough. By default, an item must have all.
  /// - Throws: `JournalError` with code `wrongUse` if a key path leads to no attribute, or if there is no property.
  public func matching(
    _ properties: [any PartialKeyPath<Model> & Sendable], _ pattern: String, anyWord: Bool = false
  ) throws(JournalError) -> ItemQuery {
    let search = try WordSearch(Model.self, properties, pattern, matchesAny: anyWord)
    if search.pattern.phrases.isEmpty { return self }
    return with { plan in
      plan.conditions.append(.words(search))
      plan.ranking = search
    }
  }
}
