package import Journaling

/// A storage of logs whose remains can be read, because they are in the journal's folder.
package protocol SalvageableStorage: LogStorage {
  /// Reads the remains of a log, any part of which may be damaged or missing, without changing anything.
  /// - Throws: ``JournalError`` for errors that are not about the log, such as `outOfResources` and `permission`. Damage is
  ///   reported in ``LogRemains/problems`` and not thrown. If nothing is left, the remains are empty.
  func remains(in folder: JournalFolder) throws(JournalError) -> any LogRemains
}

extension LogStorage {
  /// The remains of a log.
  /// - Throws: ``JournalError`` with code `wrongUse` if this kind of log has none.
  package func readRemains(in folder: JournalFolder) throws(JournalError) -> any LogRemains {
    guard let storage = self as? any SalvageableStorage else {
      throw JournalError(.wrongUse, "nothing can be salvaged from this kind of log", path: folder.path)
    }
    return try storage.remains(in: folder)
  }
}

/// The remains of a damaged log, entry by entry. They are not proven: the engine trusts an entry only if it follows
/// from the previous one by its digest.
package protocol LogRemains: Sendable {
  /// The journal that the log names; nil if that can't be read.
  var journal: JournalID? { get }

  /// The problems found without reading entries.
  var problems: [JournalError] { get }

  /// All candidates for the bytes of an entry, in no particular order: more than one if a crash has left two copies,
  /// and none if it is missing or known to be altered.
  /// - Throws: ``JournalError`` if it is temporarily unreadable.
  func candidates(_ revision: Revision) throws(JournalError) -> [[UInt8]]

  /// The highest revision of which anything is left; 0 if there is none.
  /// - Throws: ``JournalError`` if it is temporarily unreadable.
  func lastRevision() throws(JournalError) -> Revision
}
