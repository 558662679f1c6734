import Locks

/// The entries of a log in memory, shared by all its openings.
///
/// Safe to use from any thread.
final class MemoryEntries: Sendable {
  private struct Contents: Sendable {
    var journal: JournalID?
    /// Revision 1 is first.
    var entries: [[UInt8]] = []
    var byteCount = 0
    var hasWriter = false
    /// Notified of new entries: one for each opening that follows.
    var listeners: [ObjectIdentifier: NewestRevision] = [:]
  }

  private let contents = Lock(Contents())

  func begin(_ journal: JournalID) throws(JournalError) {
    try contents.withLock { contents throws(JournalError) in
      guard contents.journal == nil else {
        throw JournalError(.alreadyExists, "there is a log in this memory already; use another storage")
      }
      contents.journal = journal
    }
  }

  /// - Returns: the newest revision, which is raised by new entries unless the log is open only for reading.
  func open(_ access: LogAccess, of journal: JournalID) throws(JournalError) -> NewestRevision {
    try contents.withLock { contents throws(JournalError) in
      guard let found = contents.journal else {
        throw JournalError(.damaged, "there is no log in this memory", revision: 1)
      }
      guard found == journal else {
        throw JournalError(.damaged, "the log in this memory belongs to another journal", revision: 1)
      }
      if access == .write {
        guard !contents.hasWriter else {
          throw JournalError(.locked, "the log in this memory is open for writing already; share that one")
        }
        contents.hasWriter = true
      }
      let newest = NewestRevision(contents.entries.count)
      if access != .read { contents.listeners[ObjectIdentifier(newest)] = newest }
      return newest
    }
  }

  func close(_ access: LogAccess, _ newest: NewestRevision) {
    contents.withLock { contents in
      contents.listeners[ObjectIdentifier(newest)] = nil
      if access == .write { contents.hasWriter = false }
    }
  }

  var byteCount: Int { contents.withLock { $0.byteCount } }

  /// The bytes of an entry, nil if there is none of that revision.
  func bytes(of revision: Revision) -> [UInt8]? {
    contents.withLock { contents in
      contents.entries.indices.contains(revision - 1) ? contents.entries[revision - 1] : nil
    }
  }

  func append(_ added: [SealedEntry], after revision: Revision) throws(AppendFailure) {
    let (newest, listeners) = try contents.withLock { contents throws(AppendFailure) in
      guard contents.entries.count == revision else { throw .conflict(newest: contents.entries.count) }
      for entry in added {
        contents.entries.append(entry.bytes)
        contents.byteCount += entry.bytes.count
      }
      return (contents.entries.count, contents.listeners)
    }
    for listener in listeners.values { listener.raise(to: newest) }
  }
}
