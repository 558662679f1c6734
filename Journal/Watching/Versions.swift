extension Journal {
  /// The newest state, and each one that a commit has made durable since: what a screen follows.
  ///
  /// ```swift
  /// for await state in journal.states { show(state) }
  /// ```
  /// It begins with the state that is there. A reader that is slower than the commits is given the newest one next
  /// and misses those between; ``newEntries`` misses nothing. It ends when the journal is closed or the task is
  /// cancelled. Following a journal does not keep it open: the last reference to the journal itself closes it.
  public var states: AsyncMapSequence<Versions<State>, State> { versions.map(\.state) }

  /// The same as ``states``, each together with the entry that made it.
  public var versions: Versions<State> { Versions(published: published) }

  /// Waits on the caller's thread for an entry after a revision, as ``states`` suspends.
  /// - Returns: the newest revision, which is not newer when the time was over first; nil when the journal was closed.
  package func waitForEntries(after revision: Revision, atMost time: Duration) -> Revision? {
    published.wait(after: revision, atMost: time)
  }
}

/// The newest version of a journal, again and again.
public struct Versions<State: EventSourced>: AsyncSequence, Sendable {
  /// A state and the entry that made it.
  public typealias Element = Version<State>
  /// It does not fail.
  public typealias Failure = Never

  let published: Published<State>

  /// Starts with the version that is there.
  public func makeAsyncIterator() -> Iterator { Iterator(published: published) }

  /// Gives the newest version, then waits for a newer one.
  public struct Iterator: AsyncIteratorProtocol {
    private let published: Published<State>
    private var revision: Revision?

    fileprivate init(published: Published<State>) { self.published = published }

    /// The newest version, when it is newer than the last one that was given; nil when the journal was closed or the
    /// task was cancelled.
    public mutating func next() async -> Version<State>? {
      if let revision {
        guard await published.wait(after: revision) else { return nil }
      } else if Task.isCancelled {
        return nil
      }
      let version = published.version
      revision = version.revision
      return version
    }
  }
}
