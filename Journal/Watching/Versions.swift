extension Journal {
  /// The newest state, and then newer ones as commits make them durable, for user interfaces.
  ///
  /// ```swift
  /// for await state in journal.states { show(state) }
  /// ```
  /// The sequence begins with the current state. A reader that is slower than the commits misses states; ``newEntries``
  /// misses no entry. The sequence ends when the journal is closed or the task is cancelled. It does not keep the
  /// journal open: deinitializing the journal closes it.
  public var states: AsyncMapSequence<Versions<State>, State> { versions.map(\.state) }

  /// The states as in ``states``, each with the entry that made it.
  public var versions: Versions<State> { Versions(published: published) }

  /// Blocks until there is an entry after a revision.
  /// - Parameter goesOn: whether to continue waiting. Called again after ``wakeWaitingThreads()``.
  /// - Returns: the newest revision, even after a timeout; nil if the journal was closed or `goesOn` returned false.
  package func waitForEntries(
    after revision: Revision, atMost time: Duration, while goesOn: () -> Bool
  ) -> Revision? {
    published.revision.wait(after: revision, atMost: time, while: goesOn)
  }

  /// Wakes all threads that wait for entries, so that each calls its `goesOn` again.
  package func wakeWaitingThreads() { published.revision.wake() }
}

/// The newest versions of a journal.
public struct Versions<State: EventSourced>: AsyncSequence, Sendable {
  /// A state and the entry that made it.
  public typealias Element = Version<State>
  /// The sequence never fails.
  public typealias Failure = Never

  let published: Published<State>

  /// Starts with the current version.
  public func makeAsyncIterator() -> Iterator { Iterator(published: published) }

  /// Returns the newest version, and then waits for newer versions.
  public struct Iterator: AsyncIteratorProtocol {
    private let published: Published<State>
    private var revision: Revision?

    fileprivate init(published: Published<State>) { self.published = published }

    /// Waits for a version that is newer than the previous result, and returns the newest one; nil if the journal was
    /// closed or the task was cancelled.
    public mutating func next() async -> Version<State>? {
      if let revision {
        guard await published.revision.wait(after: revision) else { return nil }
      } else if Task.isCancelled {
        return nil
      }
      let version = published.version
      revision = version.revision
      return version
    }
  }
}
