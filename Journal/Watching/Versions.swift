extension Journal {
  /// The newest state, and then newer ones as commits make them durable, for user interfaces.
  ///
  /// ```swift
  /// for await state in journal.states { show(state) }
  /// ```
  /// The sequence begins with the current state. A reader that is slower than the commits skips states; ``newEntries`` skips
  /// nothing. The sequence ends when the journal is closed or the task is cancelled. It does not keep the journal open:
  /// deinitializing the journal closes it.
  public var states: AsyncMapSequence<Versions<State>, State> { versions.map(\.state) }

  /// Like ``states``, with the entry that made each state.
  public var versions: Versions<State> { Versions(published: published) }

  /// Waits on the caller's thread for an entry after a revision.
  /// - Parameter goesOn: whether to go on waiting; ``wakeWaitingThreads()`` has it called again.
  /// - Returns: the newest revision, which is not newer if the time ran out; nil if the journal was closed, or it is not
  ///   to wait any more.
  package func waitForEntries(
    after revision: Revision, atMost time: Duration, while goesOn: () -> Bool
  ) -> Revision? {
    published.revision.wait(after: revision, atMost: time, while: goesOn)
  }

  /// Has all threads that wait for entries ask again whether to go on waiting.
  package func wakeWaitingThreads() { published.revision.wake() }
}

/// The newest versions of a journal.
public struct Versions<State: EventSourced>: AsyncSequence, Sendable {
  /// A state and the entry that made it.
  public typealias Element = Version<State>
  /// Never fails.
  public typealias Failure = Never

  let published: Published<State>

  /// Starts with the current version.
  public func makeAsyncIterator() -> Iterator { Iterator(published: published) }

  /// Returns the newest version, then waits for newer ones.
  public struct Iterator: AsyncIteratorProtocol {
    private let published: Published<State>
    private var revision: Revision?

    fileprivate init(published: Published<State>) { self.published = published }

    /// The newest version, as soon as it is newer than the previous result; nil if the journal was closed or the task
    /// was cancelled.
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
