package import LevelDB

/// How a journal is opened, beyond what suits nearly all.
public struct JournalOptions: Sendable {
  /// Flushes HEAD with every commit, which then takes two flushes, so that even a loss of the newest second's
  /// entries by the drive is found out at opening. Without it, HEAD is flushed about every second, and the
  /// entries themselves at every commit all the same.
  public var flushesHeadAtEveryCommit: Bool

  /// Told of each operation that changes the disk, and can make it fail; for tests.
  package var fileHook: FileHook?

  /// How LevelDB works; tests make its buffer small, so that it changes files often.
  package var database = Database.Options()

  public init(flushesHeadAtEveryCommit: Bool = false) {
    self.flushesHeadAtEveryCommit = flushesHeadAtEveryCommit
    fileHook = nil
  }
}
