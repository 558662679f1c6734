import Files
package import Journaling
import LevelDB
import LevelDBSalvage

extension LevelDBStorage: SalvageableStorage {
  package func remains(in folder: JournalFolder) throws(JournalError) -> any LogRemains {
    try LevelDBRemains(folder)
  }
}

/// The files of a log that LevelDB can't open, read one by one.
struct LevelDBRemains: LogRemains {
  let journal: JournalID?
  let problems: [JournalError]
  private let folder: JournalFolder
  /// The files; nil if their folder can't be read.
  private let files: SalvagedFiles?

  /// - Throws: ``JournalError`` if the files are temporarily unreadable.
  /// - Complexity: O(n) in the number of tables, and in the bytes of LevelDB's logs, which are held in memory.
  init(_ folder: JournalFolder) throws(JournalError) {
    self.folder = folder
    do throws(JournalError) {
      let entries = try folder.openEntries()
      let (files, id) = try JournalError.translatingLevelDB {
        let files = try SalvagedFiles(in: entries)
        return (files, try files.values(for: LogKey.journal).first)
      }
      journal = id.flatMap { JournalID(bytes: $0) }
      problems = files.problems.map {
        JournalError(.damaged, "a file of the log is damaged: \($0)", path: folder.entries)
      }
      self.files = files
    } catch {
      guard error.saysSomethingOfTheJournal else { throw error }
      let damage = JournalError(
        .damaged, "the files of the log can't be found", path: folder.entries, cause: error)
      (journal, problems, files) = (nil, [error.code == .io ? error : damage], nil)
    }
  }

  func candidates(_ revision: Revision) throws(JournalError) -> [[UInt8]] {
    try JournalError.translatingLevelDB { try files?.values(for: LogKey.entry(revision)) ?? [] }
  }

  func lastRevision() throws(JournalError) -> Revision {
    let key = try JournalError.translatingLevelDB { try files?.lastKey(before: LogKey.journal) }
    return key.flatMap { unsafe LogKey.revision($0.span.bytes) } ?? 0
  }
}
