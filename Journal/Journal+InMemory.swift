import Files
import Foundation

extension Journal {
  /// Makes an empty journal in memory, for tests and previews. It disappears when it is closed.
  ///
  /// It supports what an open journal in a folder does. What needs the journal closed, or opened a second time, throws
  /// ``JournalError`` with code `wrongUse`: `open` in any mode, `prune`, `erase`, `collectGarbage` and `share`. To keep it,
  /// copy it to a folder (`copy(to:through:)`).
  ///
  /// Its entries are in memory only. Images, layers and snapshots are files in a temporary folder, so that an image has a
  /// URL. Closing or releasing the journal removes that folder. If the process ends before that, for example because the
  /// journal is in a global variable, the folder stays until another journal in memory is made, a minute later or more.
  /// - Parameter options: how the journal is kept open.
  /// - Throws: ``JournalError`` if the temporary folder can't be created.
  public static func inMemory(options: JournalOptions = JournalOptions()) throws -> Journal {
    var options = options
    options.logStorage = MemoryStorage()
    let place = FileManager.default.temporaryDirectory
    JournalFolder.removeLeftoversOfMemory(in: place)
    let url = place.appending(path: MemoryName.make())
    do { return try create(at: url, options: options) } catch {
      // It may have been created, and could not be opened.
      try? JournalFolder(url, hook: nil).root.remove()
      throw error
    }
  }
}
