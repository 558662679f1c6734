package import Files

/// Options for opening a journal. The defaults suit nearly all apps.
public struct JournalOptions: Sendable {
  /// Whether every commit flushes HEAD too, so that a commit takes two flushes. In return, opening detects it if a
  /// drive has lost the entries of the last second. If false, HEAD is flushed about every second. In both cases, every
  /// commit flushes its entry.
  public var flushesHeadAtEveryCommit: Bool

  /// When layers are written, and which past states they keep.
  public var layers: LayerPolicy

  /// The most bytes of layers to keep in memory after they were read. Beyond this limit, layers are read again at each
  /// use, until bytes that were not used lately are dropped. Nil, the default, stands for about the bytes that the
  /// newest state takes in layers, plus 4 MiB for past states, and 256 MiB at most.
  public var cacheByteCount: Int?

  /// How much history is kept; nil keeps all. Older history is pruned in the background while the journal is open for
  /// writing: after the opening and after layers were written, if it is due. If the pruning fails, a notice says why,
  /// and the next opening tries again. The next backup in one file replaces the earlier backup of that name, and lacks
  /// the pruned history.
  public var retention: HistoryRetention?

  /// If finding the items of a query takes longer than this, a notice says which index it used and what it read. Nil for
  /// no such notices. The default is a second.
  public var slowQueryLimit: Duration?

  /// Receives notices: recovery, layers, slow flushes and queries, damage, and why the journal takes no more commits. The
  /// closure is called on any thread, often one that has other work, so it should return soon. It must not call the journal.
  public var log: (@Sendable (JournalNotice) -> Void)?

  /// Options that are not for apps. A reference to them keeps types of lower modules out of this struct's layout.
  private var internals: InternalOptions?

  /// Makes options, by default those that suit nearly all apps.
  public init(
    flushesHeadAtEveryCommit: Bool = false, layers: LayerPolicy = .automatic,
    cacheByteCount: Int? = nil, retention: HistoryRetention? = nil,
    slowQueryLimit: Duration? = .seconds(1),
    log: (@Sendable (JournalNotice) -> Void)? = nil
  ) {
    self.flushesHeadAtEveryCommit = flushesHeadAtEveryCommit
    self.layers = layers
    self.cacheByteCount = cacheByteCount
    self.retention = retention
    self.slowQueryLimit = slowQueryLimit
    self.log = log
    internals = nil
  }

  /// Options for work on copies and closed journals: no automatic layers, and the hook of a test, if there is one.
  package init(fileHook: FileHook?) {
    self.init(layers: .manual)
    self.fileHook = fileHook
  }

  /// The same options without automatic layers and retention, for work on copies and closed journals.
  package var forCopies: JournalOptions {
    var options = self
    options.layers = .manual
    options.retention = nil
    return options
  }

  /// For tests: receives each operation that changes the disk, including operations of copies, and can make it fail.
  package var fileHook: FileHook? {
    get { unlisted.fileHook }
    set { unlisted.fileHook = newValue }
  }

  /// For tests: receives each read of a file, except of layers and snapshots, and can make it fail.
  package var readHook: ReadHook? {
    get { unlisted.readHook }
    set { unlisted.readHook = newValue }
  }

  package var logStorage: any LogStorage {
    get { unlisted.logStorage }
    set { unlisted.logStorage = newValue }
  }

  /// Opens the logs of shared journals; nil in an app that has none.
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
