import Foundation

extension Journal {
  /// Makes an empty journal in memory, for tests and previews. It is gone when it is closed.
  ///
  /// All that a journal does works: commits, states of the past, audit, restore and undo, watching, verifying, images,
  /// snapshots, and a copy to a folder (``copy(to:through:)``), which is how one is kept. Its entries are in memory alone.
  /// Images and snapshots are files in a temporary folder, so that an image has a URL; closing the journal removes it,
  /// or letting the journal go, or, when the process is killed before that, the system some day. `open` can't open it.
  /// - Parameter options: how the journal is kept open.
  /// - Throws: ``JournalError`` when the temporary folder can't be made.
  public static func inMemory(options: JournalOptions = JournalOptions()) throws -> Journal {
    var options = options
    options.logStorage = MemoryStorage()
    let name = "Memory-\(UUID()).journal"
    return try create(at: FileManager.default.temporaryDirectory.appending(path: name), options: options)
  }
}
