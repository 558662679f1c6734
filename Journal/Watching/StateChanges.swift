extension Journal {
  /// The differences between successive states: entities added, changed and deleted, with their old and new records.
  ///
  /// ```swift
  /// for await change in journal.changes {
  ///   for difference in change.differences { print(difference.entity, difference.operation) }
  /// }
  /// ```
  /// If the reader is slower than the commits, several commits arrive as one change. Applied in order, the changes
  /// always lead to the newest state. The sequence ends when the journal is closed or the task is cancelled. It does
  /// not keep the journal open.
  public var changes: StateChanges<State> { StateChanges(published: published, first: version) }
}

/// The differences between two versions.
public struct StateChange<State: EventSourced>: Sendable {
  /// The earlier version.
  public let old: Version<State>
  /// The later version.
  public let new: Version<State>
  /// The entities whose records differ, in the order of kinds and numbers. Empty for a model without
  /// ``EventSourced/parts``.
  public let differences: [EntityDifference]
}

/// The changes of a journal, each available when it is durable.
public struct StateChanges<State: EventSourced>: AsyncSequence, Sendable {
  /// The step from one version to a newer one.
  public typealias Element = StateChange<State>
  /// The sequence never fails.
  public typealias Failure = Never

  let published: Published<State>
  let first: Version<State>

  /// Starts after the version that was the newest when the sequence was made.
  public func makeAsyncIterator() -> Iterator { Iterator(published: published, newest: first) }

  /// Waits for a newer version, and compares that version with the previous one.
  public struct Iterator: AsyncIteratorProtocol {
    private let published: Published<State>
    private var newest: Version<State>

    fileprivate init(published: Published<State>, newest: Version<State>) {
      self.published = published
      self.newest = newest
    }

    /// The next change; nil if the journal was closed or the task was cancelled.
    /// - Complexity: grows with the number of differences, not with the size of the state.
    public mutating func next() async -> StateChange<State>? {
      guard await published.revision.wait(after: newest.revision) else { return nil }
      let old = newest
      newest = published.version
      return StateChange(
        old: old, new: newest, differences: newest.state.differences(from: old.state) ?? [])
    }
  }
}
