package import Files

/// Options for opening a journal. The defaults suit nearly all apps.
public struct JournalOptions: Sendable {
  /// Whether HEAD is flushed at every commit, which then takes two flushes. In return, opening detects even a drive
  /// that lost the entries of the last second. Otherwise HEAD is flushed about every second. In both cases, every
  /// commit flushes the entries themselves.
  public var flushesHeadAtEveryCommit: Bool

  /// When layers are written, and what they keep.
  public var layers: LayerPolicy

  /// How many bytes of layers are kept in memory after they were read. Beyond that, each use reads them again, until some
  /// that were not used lately make room. By default (nil), about as many as the newest state takes and 16 MiB for past
  /// states, but no more than 256 MiB.
  public var cacheByteCount: Int?

  /// How much history is kept; nil keeps all. While the journal is open for writing, older history is pruned in the
  /// background, if that is due after the opening or after layers were written. If that fails, a notice says why, and the
  /// next opening tries again. The next backup in one file replaces the older one of that name, and lacks the pruned
  /// history.
  public var retention: HistoryRetention?

  /// Receives notices: recovery, layers, slow flushes, damage, and why the journal takes no more commits. It is
  /// called on any thread, often one that is needed for other work, so it should return soon. It must not call the
  /// journal.
  public var log: (@Sendable (JournalNotice) -> Void)?

  /// Options that are not for apps. They are behind a reference, which keeps types of lower modules out of this
  /// struct's layout.
  private var internals: InternalOptions?

  /// Makes options, by default those that suit nearly all apps.
  public init(
    flushesHeadAtEveryCommit: Bool = false, layers: LayerPolicy = .automatic,
    cacheByteCount: Int? = nil, retention: HistoryRetention? = nil,
    log: (@Sendable (JournalNotice) -> Void)? = nil
  ) {
    self.flushesHeadAtEveryCommit = flushesHeadAtEveryCommit
    self.layers = layers
    self.cacheByteCount = cacheByteCount
    self.retention = retention
    self.log = log
    internals = nil
  }

  /// Options for work on copies and closed journals: no automatic layers, and the hook of a test, if there is one.
  package init(fileHook: FileHook?) {
    self.init(layers: .manual)
    self.fileHook = fileHook
  }

  /// These options for work on copies and closed journals, which writes no layers and prunes only what it is asked to.
  package var forCopies: JournalOptions {
    var options = self
    options.layers = .manual
    options.retention = nil
    return options
  }

  /// Receives each operation that changes the disk, including those of copies that the journal makes, and can make it
  /// fail; for tests.
  package var fileHook: FileHook? {
    get { unlisted.fileHook }
    set { unlisted.fileHook = newValue }
  }

  /// Receives each read of a file, except reads of layers and snapshots, and can make it fail; for tests.
  package var readHook: ReadHook? {
    get { unlisted.readHook }
    set { unlisted.readHook = newValue }
  }

  package var logStorage: any LogStorage {
    get { unlisted.logStorage }
    set { unlisted.logStorage = newValue }
  }

  /// How shared journals are reached; nil in an app that has none.
  package var sharedLogs: (any SharedLogs)? {
    get { unlisted.sharedLogs }
    set { unlisted.sharedLogs = newValue }
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
    var sharedLogs: (any SharedLogs)?
  }

  let values: Values

  init(_ values: Values) { self.values = values }
}
