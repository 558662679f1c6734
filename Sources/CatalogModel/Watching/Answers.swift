extension Journal where State == Catalog {
  /// What a closure makes of the newest state, and then each different answer: for results of any shape, over any number
  /// of queries.
  ///
  /// ```swift
  /// let counts = journal.observe { state in
  ///   try Counts(open: state.items(Task.self).filter(\.isDone == false).count, all: state.items(Task.self).count)
  /// }
  /// for try await count in counts { show(count) }
  /// ```
  /// The closure runs again only if something that it has read has changed: an item, the images of one, or the items
  /// that a query depends on. It must read nothing else that can change. A reader that is slower than the commits skips
  /// answers. The sequence ends when the journal is closed or the task is cancelled. It does not keep the journal open.
  /// - Parameter body: reads a state. If it throws, the sequence throws the error and ends.
  /// - Complexity: for each newer state, O(d) for d entities that have changed, of the kinds that were read.
  public func observe<Answer: Equatable & Sendable, Failure: Error>(
    _ body: @escaping @Sendable (Catalog) throws(Failure) -> Answer
  ) -> Answers<Answer, Failure> {
    Answers(versions: versions, body: body)
  }
}

/// The answers of an observed closure, each different from the one before. The sequence throws what the closure throws.
public struct Answers<Element: Equatable & Sendable, Failure: Error>: AsyncSequence, Sendable {
  let versions: Versions<Catalog>
  let body: @Sendable (Catalog) throws(Failure) -> Element

  /// Starts with the answer as of the current state.
  public func makeAsyncIterator() -> Iterator { Iterator(versions: versions.makeAsyncIterator(), body: body) }

  /// Runs the closure each time that something has changed which it has read.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var versions: Versions<Catalog>.Iterator
    fileprivate let body: @Sendable (Catalog) throws(Failure) -> Element
    fileprivate var last: (version: Version<Catalog>, reads: CatalogReads, answer: Element)?

    /// The next answer that differs, or nil if the journal was closed or the task was cancelled.
    public mutating func next() async throws(Failure) -> Element? {
      while let version = await versions.next() {
        if let last, !last.reads.differ(in: CatalogStep(from: last.version, to: version)) {
          self.last?.version = version
          continue
        }
        let reads = CatalogReads()
        let answer = try body(version.state.tracked(by: reads))
        let isNew = last?.answer != answer
        last = (version, reads, answer)
        if isNew { return answer }
      }
      return nil
    }
  }
}
