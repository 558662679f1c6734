package import Journaling

/// A log storage that keeps logs in the journal's folder, so that the remains of a damaged log can be read.
package protocol SalvageableStorage: LogStorage {
  /// Reads what is left of a log, without changing anything. Any part of the log may be damaged or missing.
  /// - Throws: ``JournalError`` for errors that are not about the log, such as `outOfResources` and `permission`.
  ///   Damage is not thrown: it is in ``LogRemains/problems``. If nothing is left, the remains are empty.
  func remains(in folder: JournalFolder) throws(JournalError) -> any LogRemains
}

extension LogStorage {
  /// Reads what is left of a log.
  /// - Throws: ``JournalError`` with code `wrongUse` if nothing can be salvaged from this kind of log.
  package func readRemains(in folder: JournalFolder) throws(JournalError) -> any LogRemains {
    guard let storage = self as? any SalvageableStorage else {
      throw JournalError(.wrongUse, "nothing can be salvaged from this kind of log", path: folder.path)
    }
    return try storage.remains(in: folder)
  }
}

/// What is left of a damaged log, entry by entry. The entries are not proven: the engine trusts an entry only if its
/// digest links it to the previous one.
package protocol LogRemains: Sendable {
  /// The id of the journal that the log belongs to; nil if it can't be read.
  var journal: JournalID? { get }

  /// The problems found without reading entries.
  var problems: [JournalError] { get }

  /// All candidates for the bytes of an entry, in no particular order: more than one if a crash has left two copies,
  /// none if the entry is missing or known to be altered.
  /// - Throws: ``JournalError`` if the log is temporarily unreadable.
  func candidates(_ revision: Revision) throws(JournalError) -> [[UInt8]]

  /// The highest revision of which anything is left; 0 if no entry is left.
  /// - Throws: ``JournalError`` if the log is temporarily unreadable.
  func lastRevision() throws(JournalError) -> Revision
}
