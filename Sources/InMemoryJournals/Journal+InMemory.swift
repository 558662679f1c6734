import Files
import Foundation
public import Journaling

extension Journal {
  /// Makes an empty journal in memory, for tests and previews. The journal disappears when it is closed.
  ///
  /// The journal supports what an open journal in a folder does, except these calls, which throw ``JournalError`` with code
  /// `wrongUse`: `open` in any mode, `prune`, `erase`, `collectGarbage` and `share`. `copy(to:through:)` saves a copy of
  /// the journal in a folder.
  ///
  /// Entries are in memory only. Images, layers and snapshots are files in a temporary folder, so that an image has a
  /// URL. Closing or releasing the journal removes that folder. If the process ends before that, for example because
  /// the journal is in a global variable, the folder stays until a journal in memory is made more than a minute later.
  /// - Parameter options: the options for the journal.
  /// - Throws: ``JournalError`` if the temporary folder can't be created.
  public static func inMemory(options: JournalOptions = JournalOptions()) throws -> Journal {
    var options = options
    options.logStorage = MemoryStorage()
    let place = FileManager.default.temporaryDirectory
    // Removes the folders of processes that ended without closing their journals in memory.
    if let parent = try? Files.Folder<JournalError>(place.path, followsLinks: true, hook: nil) {
      JournalFolder.removeLeftovers(in: parent) { MemoryName.isOld($0) }
    }
    let url = place.appending(path: MemoryName.make())
    do { return try create(at: url, options: options) } catch {
      // `create` may fail after it has made the folder.
      try? JournalFolder(url, hook: nil).root.remove()
      throw error
    }
  }
}

/// The names of the folders of journals in memory. Each has the second in which the folder was made.
private enum MemoryName {
  static func make(at date: Date = Date()) -> String {
    "Memory-\(Int(date.timeIntervalSince1970))-\(JournalID()).journal"
  }

  /// Whether a name is that of a journal in memory, complete or not, that was made more than a minute ago. A newer
  /// journal may be in use although its lock is free, as it is between creation and opening.
  static func isOld(_ name: String) -> Bool {
    guard name.hasPrefix("Memory-"),
      let match = name.wholeMatch(of: /Memory-([0-9]+)-[0-9a-f-]{36}\.journal(\.[0-9a-f-]{36}\.new)?/),
      let second = TimeInterval(match.1)
    else { return false }
    return second < Date().timeIntervalSince1970 - 60
  }
}
