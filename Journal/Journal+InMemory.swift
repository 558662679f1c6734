import Foundation

extension Journal {
  /// Makes an empty journal in memory, for tests and previews. It disappears when it is closed.
  ///
  /// It supports everything that a journal in a folder does. To keep it, copy it to a folder (`copy(to:through:)`). Its
  /// entries are in memory only. Images, layers and snapshots are files in a temporary folder, so that an image has a
  /// URL. Closing or releasing the journal removes that folder; if the process is killed first, the system removes it
  /// eventually. `open` can't open it.
  /// - Parameter options: how the journal is kept open.
  /// - Throws: ``JournalError`` if the temporary folder can't be created.
  public static func inMemory(options: JournalOptions = JournalOptions()) throws -> Journal {
    var options = options
    options.logStorage = MemoryStorage()
    let name = "Memory-\(UUID()).journal"
    return try create(at: FileManager.default.temporaryDirectory.appending(path: name), options: options)
  }
}
