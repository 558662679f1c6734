extension Journal {
  /// The entries committed from now on, each as soon as it is durable. In a journal that follows another process, these
  /// are the entries of that process.
  ///
  /// ```swift
  /// for try await entry in journal.newEntries { show(entry) }
  /// ```
  /// Commits do not wait for readers, and no entry is dropped: a slow reader reads the log at its own pace. The
  /// sequence ends when the journal is closed or the task is cancelled, and does not keep the journal open.
  public var newEntries: NewEntries<State> { newEntries(after: head.revision) }

  /// The entries after a revision: existing ones, and then new ones. A program that stores the revision of the last
  /// entry that it has handled gets each later entry exactly once, even after a restart.
  public func newEntries(after revision: Revision) -> NewEntries<State> {
    NewEntries(published: published, journal: self, revision: revision)
  }
}

/// Entries as they become durable.
public struct NewEntries<State: EventSourced>: AsyncSequence, Sendable {
  /// An entry with all of its events.
  public typealias Element = Entry
  /// Reading the log may fail, with a ``JournalError``.
  public typealias Failure = any Error

  let published: Published<State>
  weak let journal: Journal<State>?
  let revision: Revision

  /// Starts after the given revision.
  public func makeAsyncIterator() -> Iterator {
    Iterator(published: published, journal: journal, revision: revision)
  }

  /// Reads entries and waits at the end of the log.
  public struct Iterator: AsyncIteratorProtocol {
    private let published: Published<State>
    private weak let journal: Journal<State>?
    private var revision: Revision
    /// Reads existing entries, many at once.
    private var existing: EntryCursor?

    fileprivate init(published: Published<State>, journal: Journal<State>?, revision: Revision) {
      self.published = published
      self.journal = journal
      self.revision = revision
    }

    /// Waits for the next entry; nil if the journal was closed or the task was cancelled.
    /// - Throws: ``JournalError`` if the entry can't be read, or if another process can't be followed any more. Entries
    ///   that were read of that process before come first.
    public mutating func next() async throws -> Entry? {
      guard await published.revision.wait(after: revision) else {
        if let failure = published.failure { throw failure }
        return nil
      }
      guard let journal, !published.isClosed else { return nil }
      let entry: Entry
      do {
        if let next = try existing?.next() {
          // The cursor begins after what was pruned before it was made.
          if next.revision != revision + 1 { _ = try journal.entry(at: revision + 1) }
          entry = next
        } else {
          entry = try journal.entry(at: revision + 1)
          existing = journal.head.revision > revision + 1 ? journal.entries(revision + 2...Revision.max) : nil
        }
      } catch let error as JournalError where error.code == .closed {
        return nil
      }
      revision += 1
      return entry
    }
  }
}
