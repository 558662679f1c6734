/// Stores one log in memory, for tests and previews, as long as this object or one of its open logs exists.
///
/// One writer and any number of readers can have the log open at a time. Nothing is on disk.
///
/// Safe to use from any thread.
package final class MemoryStorage: LogStorage {
  private let entries = MemoryEntries()

  package init() {}

  package var isTransient: Bool { true }

  package func create(in place: LogPlace) throws(JournalError) { try entries.begin(place.journal) }

  package func open(_ access: LogAccess, in place: LogPlace) throws(JournalError) -> any EntryLog {
    try MemoryLog(entries, access, of: place.journal)
  }
}
