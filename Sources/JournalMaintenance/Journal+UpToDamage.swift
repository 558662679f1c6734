public import Foundation
public import Journaling

extension Journal {
  /// Opens what can be proven of a damaged journal, for reading: all entries before the first that is missing or
  /// altered. ``Journal/health`` says what is missing.
  ///
  /// Nothing in the folder changes.
  /// - Parameters:
  ///   - url: the journal's folder.
  ///   - options: the options for opening the journal.
  /// - Throws: ``JournalError``: `notFound`, `locked` while another process writes to the journal, `permission`,
  ///   `otherModel`, `newerFormat`, or `damaged` if nothing can be proven.
  /// - Complexity: O(n) in the bytes of the entries.
  public static func openUpToDamage(at url: URL, options: JournalOptions = JournalOptions()) throws -> Journal
  {
    let folder = try JournalFolder(url, hook: options.fileHook, readHook: options.readHook)
    if !options.logStorage.isTransient { try FolderLock.checkIsNotInMemory(folder) }
    let source = try SalvageSource(url, options.logStorage, readHook: options.readHook)
    let log = try SalvagedLog(source, State.self)
    let journal = try open(
      proven: log, in: folder, log.format, images: source.images, damage: log.damage, options: options)
    if let damage = log.damage {
      options.note(.error, "the journal is damaged and was opened up to the damage", cause: damage)
    }
    return journal
  }
}
