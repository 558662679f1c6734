package import Files

/// How a journal is opened, beyond what suits nearly all.
public struct JournalOptions: Sendable {
  /// Flushes HEAD with every commit, which then takes two flushes, so that even a loss of the newest second's
  /// entries by the drive is found out at opening. Without it, HEAD is flushed about every second, and the
  /// entries themselves at every commit all the same.
  public var flushesHeadAtEveryCommit: Bool

  /// When snapshots are taken.
  public var snapshots: SnapshotPolicy

  /// How much history is kept. What is older is pruned when the journal is opened for writing, before it is handed out; all
  /// of it is kept when nil.
  public var retention: HistoryRetention?

  /// Told what the journal does or finds on its own: recovery, snapshots, slow flushes, damage, and why it takes no
  /// more commits. Called on any thread, by one that has other things to do: it should return soon, and it must not
  /// call the journal.
  public var log: (@Sendable (JournalNotice) -> Void)?

  /// What is not for apps; behind a reference, so that types of modules below are no part of this struct's layout.
  private var internals: InternalOptions?

  /// What suits nearly all.
  public init(
    flushesHeadAtEveryCommit: Bool = false, snapshots: SnapshotPolicy = .automatic,
    retention: HistoryRetention? = nil, log: (@Sendable (JournalNotice) -> Void)? = nil
  ) {
    self.flushesHeadAtEveryCommit = flushesHeadAtEveryCommit
    self.snapshots = snapshots
    self.retention = retention
    self.log = log
    internals = nil
  }

  /// Options of work that a test watches, with snapshots when they are asked for alone.
  init(fileHook: FileHook?) {
    self.init(snapshots: .manual)
    self.fileHook = fileHook
  }

  /// Told of each operation that changes the disk, and can make it fail; for tests. Copies that the journal makes of itself
  /// tell it, too.
  package var fileHook: FileHook? {
    get { unlisted.fileHook }
    set { unlisted.fileHook = newValue }
  }

  /// The same for each read of a file, but for those of snapshots.
  package var readHook: ReadHook? {
    get { unlisted.readHook }
    set { unlisted.readHook = newValue }
  }

  /// Where and how the log is kept.
  package var logStorage: any LogStorage {
    get { unlisted.logStorage }
    set { unlisted.logStorage = newValue }
  }

  /// How shared journals are reached; nil in an app that has none.
  package var sharing: (any LogSharing)? {
    get { unlisted.sharing }
    set { unlisted.sharing = newValue }
  }

  private var unlisted: InternalOptions.Values {
    get { internals?.values ?? InternalOptions.Values() }
    set { internals = InternalOptions(newValue) }
  }
}

private final class InternalOptions: Sendable {
  struct Values: Sendable {
    var fileHook: FileHook?
    var readHook: ReadHook?
    var logStorage = JournalOptions.usualStorage
    var sharing: (any LogSharing)?
  }

  let values: Values

  init(_ values: Values) { self.values = values }
}
