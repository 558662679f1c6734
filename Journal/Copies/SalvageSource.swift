import Files
import Foundation

/// The folder of a journal of which anything may be damaged or missing, looked at without changing it.
struct SalvageSource: Sendable {
  let folder: JournalFolder
  /// What FORMAT says; nil if it can't be read.
  let format: JournalFormat?
  /// What the history begins with; nil if it was not pruned, or this can't be read.
  let base: HistoryBase?
  /// Whose journal it is, as FORMAT or the log says.
  let id: JournalID?
  /// What the log's own mark says was acknowledged; nil if it can't be read.
  let acknowledged: LogMark?
  let images: Folder?
  /// What can be read of the log.
  let log: any LogRemains
  /// What is wrong with files, before any entry is looked at.
  let problems: [JournalError]

  /// - Throws: ``JournalError`` with code `notFound`, `locked` while somebody writes to the journal, or `permission`.
  init(_ url: URL, _ storage: any LogStorage) throws(JournalError) {
    folder = try JournalFolder(url, hook: nil)
    guard try !FolderLock.isHeld(folder) else {
      throw JournalError(
        .locked,
        "somebody has the journal open for writing, so what looks damaged may only be unfinished; close it there",
        path: folder.path)
    }
    var problems: [JournalError] = []
    func attempt<Result>(_ body: () throws(JournalError) -> Result) throws(JournalError) -> Result? {
      do throws(JournalError) {
        return try body()
      } catch {
        guard error.saysSomethingOfTheJournal else { throw error }
        problems.append(error)
        return nil
      }
    }
    let folder = folder
    let format = try attempt { () throws(JournalError) in try folder.readFormatFile() }
    base =
      try attempt { () throws(JournalError) in
        guard let base = try format.map({ format throws(JournalError) in try folder.readBase(format) }) ?? nil
        else { return nil }
        try base.check()
        return base
      } ?? nil
    self.format = format
    images = try attempt { () throws(JournalError) in try folder.openImages() } ?? nil
    let log = try storage.remains(in: folder)
    self.log = log
    // The log has a checksum, and FORMAT has none.
    let id = log.journal ?? format?.id
    self.id = id
    acknowledged =
      try attempt { () throws(JournalError) in
        try id.flatMap { id throws(JournalError) in try log.acknowledged(by: id) }
      } ?? nil
    self.problems = problems + log.problems
  }
}
