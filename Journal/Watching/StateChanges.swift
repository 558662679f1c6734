extension Journal {
  /// What is different after each commit from what this sequence gave before: what was added, changed and deleted,
  /// with the old and the new record.
  ///
  /// ```swift
  /// for await change in journal.changes {
  ///   for difference in change.differences { print(difference.entity, difference.operation) }
  /// }
  /// ```
  /// A reader that is slower than the commits is given what several of them changed as one: applied in order, its
  /// changes always lead to the newest state. It ends when the journal is closed or the task is cancelled, and does not
  /// keep the journal open.
  public var changes: StateChanges<State> { StateChanges(published: published, first: version) }
}

/// What one version has that an older one has not, and the other way round.
public struct StateChange<State: EventSourced>: Sendable {
  /// The version before.
  public let old: Version<State>
  /// The version after.
  public let new: Version<State>
  /// The entities whose records are different, in the order of kinds and numbers. Empty for a model that does not say
  /// what it is made of; see ``EventSourced/parts``.
  public let differences: [EntityDifference]
}

/// Changes as they become durable.
public struct StateChanges<State: EventSourced>: AsyncSequence, Sendable {
  /// The step from one version to a newer one.
  public typealias Element = StateChange<State>
  /// It does not fail.
  public typealias Failure = Never

  let published: Published<State>
  let first: Version<State>

  /// Starts after the version that was there when the sequence was asked for.
  public func makeAsyncIterator() -> Iterator { Iterator(published: published, newest: first) }

  /// Waits for a newer version, and compares it with the one before.
  public struct Iterator: AsyncIteratorProtocol {
    private let published: Published<State>
    private var newest: Version<State>

    fileprivate init(published: Published<State>, newest: Version<State>) {
      self.published = published
      self.newest = newest
    }

    /// The next change; nil when the journal was closed or the task was cancelled.
    /// - Complexity: grows with the number of differences, not with the state.
    public mutating func next() async -> StateChange<State>? {
      guard await published.wait(after: newest.revision) else { return nil }
      let old = newest
      newest = published.version
      return StateChange(
        old: old, new: newest, differences: newest.state.differences(from: old.state) ?? [])
    }
  }
}
