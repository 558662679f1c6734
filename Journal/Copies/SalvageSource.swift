import Files
import Foundation

/// The folder of a damaged journal, read without changing it. Any part may be damaged or missing.
struct SalvageSource: Sendable {
  let folder: JournalFolder
  /// FORMAT; nil if it can't be read.
  let format: JournalFormat?
  /// The base of the history; nil if it was not pruned, or can't be read.
  let base: HistoryBase?
  /// The journal's id, from FORMAT or the log.
  let id: JournalID?
  /// The newest acknowledged entry, according to the log's mark; nil if it can't be read.
  let acknowledged: LogMark?
  let images: Folder?
  /// The remains of the log.
  let log: any LogRemains
  /// The problems of files, before any entry is read.
  let problems: [JournalError]

  /// - Throws: ``JournalError`` with code `notFound`, `locked` while another process writes to the journal, or
  ///   `permission`.
  init(_ url: URL, _ storage: any LogStorage, readHook: ReadHook? = nil) throws(JournalError) {
    folder = try JournalFolder(url, hook: nil, readHook: readHook)
    guard try !FolderLock.isHeld(folder) else { throw Self.isBeingWritten(folder) }
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

  /// Keeps writers out, because they move entries from one file to another.
  static func lock(_ url: URL) throws(JournalError) -> Folder {
    let folder = try JournalFolder(url, hook: nil)
    guard let lock = try FolderLock.shared(folder) else { throw isBeingWritten(folder) }
    return lock
  }

  private static func isBeingWritten(_ folder: JournalFolder) -> JournalError {
    JournalError(
      .locked,
      "another process has the journal open for writing, so apparent damage may be unfinished writes; close it there",
      path: folder.path)
  }
}
