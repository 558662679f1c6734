public import Foundation
public import Journaling

// A call for a closed journal opens the journal, and fails while another process has it open for writing.
extension Journal {
  /// Prunes the closed journal in the folder `url`, as `prune(before:reason:by:progress:)` does. With `isDryRun`, only
  /// reports what would be removed. The log of `options` receives the notices.
  /// - Throws: ``JournalError`` as `open` does, and as pruning an open journal.
  @discardableResult
  public static func prune(
    before selector: RevisionSelector, at url: URL, reason: String = "", by author: String = "",
    isDryRun: Bool = false, options: JournalOptions = JournalOptions(),
    progress: (CopyProgress) throws -> Void = { _ in }
  ) throws -> PruningReport {
    let options = options.forCopies
    if isDryRun {
      let journal = try open(at: url, mode: .readOnly, options: options)
      defer { try? journal.close() }
      let head = journal.head
      return try journal.pruningScope(try journal.pruningPoint(selector), through: head, progress).report(
        head)
    }
    return try withUnused(at: url, options: options) { journal in
      try journal.prune(before: selector, reason: reason, by: author, progress: progress)
    }
  }

  /// Opens a closed journal, calls `body`, and closes it when it has the layers that it had before.
  static func withUnused<Report>(
    at url: URL, options: JournalOptions, _ body: (Journal) throws -> Report
  ) throws -> Report {
    let journal = try openUnused(at: url, options: options)
    defer { try? journal.close() }
    let report = try body(journal)
    journal.waitForLayers()
    return report
  }

  /// Opens a journal for work that rewrites its files; fails if another process has it open for writing.
  static func openUnused(at url: URL, mode: Mode = .readWrite, options: JournalOptions) throws
    -> Journal
  {
    if let folder = try? JournalFolder(url, hook: nil), try folder.sharedAddress() != nil {
      throw JournalError(
        .wrongUse,
        "the journal's log is shared, and the server and the other nodes would keep what is removed "
          + "here; make the journal local with unshare first. After an erasure it can be shared again once its old "
          + "rows are deleted from the database; after a pruning it can't", path: folder.path)
    }
    do {
      return try open(at: url, mode: mode, options: options)
    } catch let error as JournalError where error.code == .locked {
      throw JournalError(
        .locked,
        "the journal is open for writing, and this rewrites its files; close it first, and open it again "
          + "afterwards", path: error.path)
    }
  }
}
