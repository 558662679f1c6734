package import Files
package import LevelDB

/// How a journal is opened, beyond what suits nearly all.
public struct JournalOptions: Sendable {
  /// Flushes HEAD with every commit, which then takes two flushes, so that even a loss of the newest second's
  /// entries by the drive is found out at opening. Without it, HEAD is flushed about every second, and the
  /// entries themselves at every commit all the same.
  public var flushesHeadAtEveryCommit: Bool

  /// When snapshots are taken.
  public var snapshots: SnapshotPolicy

  /// Told what the journal does or finds on its own: recovery, snapshots, slow flushes, damage, and why it takes no
  /// more commits. Called on any thread, by one that has other things to do: it should return soon, and it must not
  /// call the journal.
  public var log: (@Sendable (JournalNotice) -> Void)?

  /// Behind a reference, so that types of LevelDB's module are no part of this struct's layout.
  private var storage: StorageOptions?

  /// What suits nearly all.
  public init(
    flushesHeadAtEveryCommit: Bool = false, snapshots: SnapshotPolicy = .automatic,
    log: (@Sendable (JournalNotice) -> Void)? = nil
  ) {
    self.flushesHeadAtEveryCommit = flushesHeadAtEveryCommit
    self.snapshots = snapshots
    self.log = log
    storage = nil
  }

  /// Told of each operation that changes the disk, and can make it fail; for tests.
  package var fileHook: FileHook? {
    get { storage?.fileHook }
    set { storage = StorageOptions(fileHook: newValue, database: database) }
  }

  /// How LevelDB works; tests make its buffer small, so that it changes files often.
  package var database: Database.Options {
    get { storage?.database ?? Database.Options() }
    set { storage = StorageOptions(fileHook: fileHook, database: newValue) }
  }
}

private final class StorageOptions: Sendable {
  let fileHook: FileHook?
  let database: Database.Options

  init(fileHook: FileHook?, database: Database.Options) {
    self.fileHook = fileHook
    self.database = database
  }
}
