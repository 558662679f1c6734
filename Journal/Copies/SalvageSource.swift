import Files
import Foundation
import LevelDB

/// The folder of a journal of which anything may be damaged or missing, looked at without changing it.
final class SalvageSource: Sendable {
  let folder: JournalFolder
  /// What FORMAT says; nil when it can't be read.
  let format: JournalFormat?
  /// Whose journal it is, as FORMAT or the log says.
  let id: JournalID?
  /// What HEAD says was acknowledged; nil when it can't be read.
  let acknowledged: LogMark?
  let images: Folder?
  let files: SalvagedFiles?
  /// What is wrong with files, before any entry is looked at.
  let problems: [JournalError]

  /// - Throws: ``JournalError`` with code `notFound`, `locked` while somebody writes to the journal, or `permission`.
  init(_ url: URL) throws(JournalError) {
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
        // What is short at the moment says nothing of the journal.
        guard error.code != .outOfResources, error.code != .permission else { throw error }
        problems.append(error)
        return nil
      }
    }
    let folder = folder
    format = try attempt { () throws(JournalError) in try folder.readFormat() }
    images = try attempt { () throws(JournalError) in try folder.openImages() } ?? nil
    files = try attempt { () throws(JournalError) in
      do throws(DatabaseError) {
        return try SalvagedFiles(path: folder.entries)
      } catch {
        throw JournalError(error)
      }
    }
    let marked = try? files?.values(for: LogKey.journal).first
    // The log has a checksum, and FORMAT has none.
    let id = marked.flatMap { JournalID(bytes: $0) } ?? format?.id
    self.id = id
    acknowledged =
      try attempt { () throws(JournalError) in
        try id.map { id throws(JournalError) in try HeadMarker.read(folder, id: id) }
      } ?? nil
    for problem in files?.problems ?? [] {
      problems.append(
        JournalError(.damaged, "a file of the log is damaged: \(problem)", path: folder.entries))
    }
    self.problems = problems
  }

  /// What files have for an entry.
  func candidates(_ revision: Revision) throws(JournalError) -> [[UInt8]] {
    do throws(DatabaseError) {
      return try files?.values(for: LogKey.entry(revision)) ?? []
    } catch {
      throw JournalError(error)
    }
  }

  /// The highest revision of which there is something, whether or not it can be proven; 0 when there is none.
  func lastRevision() throws(JournalError) -> Revision {
    do throws(DatabaseError) {
      guard let key = try files?.lastKey(before: LogKey.journal) else { return 0 }
      return unsafe LogKey.revision(key.span.bytes) ?? 0
    } catch {
      throw JournalError(error)
    }
  }
}
