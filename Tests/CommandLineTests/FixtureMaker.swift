import CatalogModel
import Foundation
import JournalMaintenance
import TestSupport
import Testing

/// How the frozen copies of `Finds.journal` in `Tests/Corpus/journals` were made. Frozen journals are never made again: as
/// long as a format is read, what is read from them must stay the same.
///
/// ```
/// JOURNAL_MAKE_FIXTURES=FOLDER swift test --filter FixtureMaker
/// ```
@Suite struct FixtureMaker {
  private static let target = ProcessInfo.processInfo.environment["JOURNAL_MAKE_FIXTURES"]

  @Test(.enabled(if: target != nil)) func theFrozenCopiesAreMadeInTheFolderOfTheEnvironment() throws {
    let folder = URL(filePath: try #require(Self.target))
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let finds = FormatFixture.folder.appending(path: "Finds.journal")
    let pruned = folder.appending(path: "Pruned.journal")
    try FileManager.default.copyItem(at: finds, to: pruned)
    try CatalogJournal.prune(before: .revision(4), at: pruned, reason: "too old", by: "ana")
    let journal = try CatalogJournal.open(at: finds, mode: .readOnly)
    try journal.backup(to: folder.appending(path: "Backup.journal"))
    try journal.backup(toFile: folder.appending(path: "Finds.backup"))
    try journal.close()
    for name in try FormatFixture.names(in: folder) {
      try FormatFixture.said(of: folder.appending(path: name + ".journal"))
        .write(to: folder.appending(path: name + ".json"), atomically: true, encoding: .utf8)
    }
  }
}
