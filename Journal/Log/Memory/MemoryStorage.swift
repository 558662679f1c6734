/// Keeps one log in memory, for tests and previews: it is gone with this object and the logs that it has opened.
///
/// The log can be opened again and again, by one writer and any number of readers at a time. Nothing of it is on disk.
///
/// Safe to use from any thread.
package final class MemoryStorage: LogStorage {
  private let entries = MemoryEntries()

  package init() {}

  package var isShared: Bool { false }
  package var isTransient: Bool { true }
  package var allowsFollowing: Bool { true }

  package func create(in place: LogPlace) throws(JournalError) { try entries.begin(place.journal) }

  package func open(_ access: LogAccess, in place: LogPlace) throws(JournalError) -> any EntryLog {
    try MemoryLog(entries, access, of: place.journal)
  }
}
