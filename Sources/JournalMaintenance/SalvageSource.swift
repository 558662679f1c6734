import Files
import Foundation
import Journaling

/// The folder of a damaged journal, read without changing it. Any part may be damaged or missing.
struct SalvageSource: Sendable {
  let folder: JournalFolder
  /// The content of FORMAT; nil if it can't be read.
  let format: JournalFormat?
  /// The base of a pruned history; nil if history was not pruned or the base can't be read. FORMAT may be altered or
  /// missing, so ``format`` may not be the one that the base belongs to.
  let base: HistoryBase?
  /// The journal's id, from the log, the base or FORMAT; nil if none of them can be read.
  let id: JournalID?
  /// The newest acknowledged entry, from the log's mark; nil without a readable mark.
  let acknowledged: LogMark?
  /// Whether the log's mark could be read, so that a loss of the newest entries would show.
  let isMarkRead: Bool
  /// The newest revision in the receipt of a backup; nil without a readable receipt.
  let receiptRevision: Revision?
  /// The newest revision in a layer or snapshot, which is written only after the entry of that revision is durable; nil
  /// without a readable footer.
  let recordedRevision: Revision?
  let images: Files.Folder<JournalError>?
  let log: any LogRemains
  /// The problems of files, found without reading entries.
  let problems: [JournalError]

  /// The newest revision that is known to have been acknowledged; nil if none is.
  var knownRevision: Revision? {
    [acknowledged?.revision, receiptRevision, recordedRevision].compactMap(\.self).max()
  }

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
    let log = try storage.readRemains(in: folder)
    self.log = log
    let format = try attempt { () throws(JournalError) in try folder.readFormatFile() }
    let base: HistoryBase? =
      try attempt { () throws(JournalError) -> HistoryBase? in
        try Self.base(in: folder, of: log.journal)
      } ?? nil
    if let format, let base, format.digest != base.formatDigest {
      problems.append(
        JournalError(
          .damaged,
          "FORMAT does not have the digest that the base of the history names; restore it from a backup",
          path: folder.format))
    }
    self.format = format
    self.base = base
    images = try attempt { () throws(JournalError) in try folder.openImages() } ?? nil
    // The log and the base have checksums, unlike FORMAT, so their ids come first.
    let id = log.journal ?? base?.journal ?? format?.id
    self.id = id
    var isMarkRead = false
    acknowledged =
      try attempt { () throws(JournalError) -> LogMark? in
        guard let id else { return nil }
        let mark = try storage.mark(in: folder, of: id)
        isMarkRead = true
        return mark
      } ?? nil
    self.isMarkRead = isMarkRead
    receiptRevision = Self.receiptRevision(in: folder, of: id)
    recordedRevision = folder.newestRecordedRevision
    self.problems = problems + log.problems
  }

  /// Reads and checks the base of the history without the help of FORMAT; nil if there is no base.
  /// - Parameter journal: the id of the journal that the log belongs to; nil if it is not known.
  private static func base(
    in folder: JournalFolder, of journal: JournalID?
  ) throws(JournalError) -> HistoryBase? {
    guard try folder.root.status(of: "entries") != nil,
      let base = try HistoryBase.open(in: folder.openEntries(), nil)
    else { return nil }
    if let journal, journal != base.journal {
      throw HistoryBase.invalid("\(folder.entries)/\(HistoryBase.fileName)")
    }
    try base.check()
    return base
  }

  private static func receiptRevision(in folder: JournalFolder, of id: JournalID?) -> Revision? {
    // An unreadable receipt proves nothing.
    guard let receipt = try? JournalReceipt.read(in: folder), receipt.journal == id else { return nil }
    return receipt.revision
  }

  /// Locks a journal against writers, because they would move entries from one file to another.
  static func lock(_ url: URL) throws(JournalError) -> Files.Folder<JournalError> {
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
