import Files
import Foundation

/// Recovery: the steps from a folder to a trusted state, and their results.
///
/// Opening the log changes nothing on disk. Writing begins only for a journal that is opened to commit, after every
/// revision is accounted for and the newest acknowledged entry that HEAD names was found.
struct Recovery<State: EventSourced> {
  let folder: JournalFolder
  let format: JournalFormat
  /// Nil for a journal that is opened neither for writing nor with `locksExclusively`.
  let lock: FolderLock?
  let log: any EntryLog
  /// ``log`` as the node of a shared journal; nil unless a shared journal is opened for writing.
  let node: (any MultiWriterLog)?
  let blobs: BlobStore
  let chain: LayerChain
  let replayed: Replayed<State>
  /// Of a journal that was opened up to its damage: why later entries are missing. Nil if no entry is missing.
  let damage: JournalError?

  /// - Parameter locksExclusively: whether to exclude writers even if `mode` only reads.
  init(
    _ url: URL, mode: Journal<State>.Mode, locksExclusively: Bool = false, options: JournalOptions
  ) throws {
    while true {
      let folder = try JournalFolder(url, hook: options.fileHook, readHook: options.readHook)
      do {
        self = try Self(looking: folder, mode: mode, locksExclusively, options)
        return
      } catch {
        // Another process has replaced the log meanwhile, by an erasure or a pruning.
        if mode != .readWrite, folder.isLogReplaced { continue }
        guard mode == .readWrite, (error as? JournalError)?.code == .permission, Self.isProtected(folder)
        else { throw error }
        throw JournalError(.permission, "this user may not write to the journal", path: folder.path)
      }
    }
  }

  /// Whether the permissions deny writing to the journal's owner, the only user who can open the journal.
  private static func isProtected(_ folder: JournalFolder) -> Bool {
    [folder.path, folder.entries].contains { path in
      let attributes = try? FileManager.default.attributesOfItem(atPath: path)
      return (attributes?[.posixPermissions] as? Int).map { $0 & 0o200 == 0 } ?? false
    }
  }

  private init(
    looking folder: JournalFolder, mode: Journal<State>.Mode, _ locksExclusively: Bool,
    _ options: JournalOptions
  ) throws {
    damage = nil
    self.folder = folder
    let isTransient = options.logStorage.isTransient
    if !isTransient { try FolderLock.checkIsNotInMemory(folder) }
    lock =
      mode == .readWrite || locksExclusively ? try FolderLock(folder, isTransient: isTransient) : nil
    do throws(JournalError) {
      try folder.check(options)
    } catch {
      // Another version of the format may have files that this version takes for foreign ones.
      if error.code == .notAJournal, let other = folder.otherFormat() { throw other }
      throw error
    }
    format = try folder.readFormat()
    try ModelSchema(of: State.self).checkReads(format.schema, path: folder.path)

    let place = LogPlace(folder, format, options: options)
    let log: any EntryLog
    do throws(JournalError) {
      node = mode == .readWrite ? try Self.openNode(in: place) : nil
      if let node { log = node } else { log = try options.logStorage.open(mode.access, in: place) }
    } catch {
      guard error.code == .damaged, format.announcesBase, format.base == nil else { throw error }
      throw JournalError(
        .damaged,
        "history was pruned, and its base is missing; restore the file from a backup",
        path: folder.base, cause: error)
    }
    let chain = LayerChain(folder, format: format, State.self, log: log, options: options)
    var mark: LogMark?
    do throws(JournalError) {
      mark = try log.acknowledged()
      let policy = options.layers
      replayed = try Self.replay(
        log, chain, folder, format, mark, isInUse: mode != .readWrite,
        momentLimit: mode == .readWrite && policy.isAutomatic && policy.keepsPast ? policy.momentLimit : 0)
      try format.base?.check(isOf: log, format.id)
      try format.base?.check(erasure: chain.newestErasure, in: log)
      if mode == .readWrite {
        // In a shared journal, the node fetches entries that its local log lacks.
        if node == nil { try chain.checkIsNoLoss(after: replayed.version.revision) }
        try LogReplacement.recover(folder, log, format, State.self, options)
        try folder.prepareForWriting()
        try log.beginWriting()
      }
      blobs = BlobStore(
        folder, try folder.openImages(), isReadOnly: mode != .readWrite,
        shared: try Self.sharedImages(of: format.id, in: folder, options))
      if mode == .readWrite { try blobs.removeUnfinished() }
    } catch {
      let error = Self.naming(error, in: log, mark, from: format.head.revision + 1)
      chain.close()
      try? log.close()
      throw error
    }
    self.chain = chain
    self.log = log
    if log.hasTornTail {
      options.note(
        .warning,
        "the log has a torn tail, as after a power loss; it was never acknowledged and is ignored",
        revision: replayed.version.revision)
    }
    options.note(
      .info,
      "the journal was opened at revision \(replayed.version.revision); "
        + "\(replayed.tally.count) events were replayed", revision: replayed.version.revision)
  }

  private static func sharedImages(
    of journal: JournalID, in folder: JournalFolder, _ options: JournalOptions
  ) throws(JournalError) -> (any RemoteImages)? {
    guard let logs = options.sharedLogs, let address = try folder.sharedAddress() else { return nil }
    return logs.images(of: journal, at: address, in: folder)
  }

  /// Opens the log of a shared journal for writing; returns nil for a journal that is not shared.
  private static func openNode(in place: LogPlace) throws(JournalError) -> (any MultiWriterLog)? {
    guard let address = try place.folder.sharedAddress() else { return nil }
    guard let logs = place.options.sharedLogs else {
      throw JournalError(
        .wrongUse,
        "the journal's log is shared with other nodes, and this program can't reach it: it lacks the "
          + "library for that, PostgresLog; reading the journal does not need it", path: place.folder.path)
    }
    return try logs.open(at: address, in: place, of: try ModelSchema(of: State.self))
  }

  /// Recovers the proven entries of a damaged journal, for reading.
  init(
    proven log: any EntryLog, _ folder: JournalFolder, _ format: JournalFormat, images: Folder?,
    damage: JournalError?, _ options: JournalOptions
  ) throws(JournalError) {
    (self.folder, self.format, self.log, self.damage) = (folder, format, log, damage)
    (lock, node) = (nil, nil)
    chain = LayerChain(folder, format: format, State.self, log: log, options: options)
    do throws(JournalError) {
      replayed = try Self.replay(log, chain, folder, format, nil, isInUse: false)
    } catch {
      chain.close()
      try? log.close()
      throw error
    }
    blobs = BlobStore(folder, images, isReadOnly: true)
  }

  private static func replay(
    _ log: any EntryLog, _ chain: LayerChain, _ folder: JournalFolder, _ format: JournalFormat,
    _ mark: LogMark?, isInUse: Bool, momentLimit: Int = 0
  ) throws(JournalError) -> Replayed<State> {
    let newest = try log.newestRevision()
    if let mark, newest < mark.revision {
      throw JournalError.missingEntries(newest + 1...mark.revision)
    }
    try checkOrigin(log, folder, format, newest: newest)
    let replay = Replay<State>(log: log, format: format)
    try chain.load(through: newest, in: log, isInUse: isInUse)
    let opened = try chain.version(through: newest, replay, momentLimit: momentLimit)
    try chain.checkSnapshots(through: newest, in: log, isInUse: isInUse)
    try replay.checkDigests(from: mark?.revision ?? newest, through: newest, mark: mark)
    return opened
  }

  /// Returns an error about damage with the first revision that can't be read. If `error` has no revision, all entries
  /// are read to find it. Other errors are returned unchanged.
  private static func naming(
    _ error: JournalError, in log: any EntryLog, _ mark: LogMark?, from first: Revision
  ) -> JournalError {
    guard error.code == .damaged, error.revision == nil,
      let newest = mark?.revision ?? (try? log.newestRevision()), newest >= first
    else { return error }
    do throws(JournalError) {
      try log.readAll(first...newest) { _ in }
      return error
    } catch let found {
      guard let revision = found.revision else { return error }
      return JournalError(
        error.code, error.message, revision: revision, path: error.path, offset: error.offset,
        cause: error.cause)
    }
  }

  /// Checks, before anything is applied, that the first entry was sealed with this FORMAT, and that the newest entry is
  /// of this model's version or an older one. Checking one entry is enough, as versions never decrease in a log.
  private static func checkOrigin(
    _ log: any EntryLog, _ folder: JournalFolder, _ format: JournalFormat, newest: Revision
  ) throws(JournalError) {
    let start = format.head
    if let base = format.base {
      let written = base.schema
      try ModelSchema(of: State.self).checkReads(written, revision: start.revision, path: folder.path)
    }
    guard newest > start.revision else { return }
    // If the first entry is missing, the replay reports it.
    let first: EntryHeader?
    do throws(JournalError) {
      first = try log.read(start.revision + 1) { entry throws(JournalError) in try entry.header() }
    } catch {
      if error.code == .newerFormat { throw error }
      first = nil
    }
    if let first, first.previousDigest != start.digest {
      if let base = format.base {
        throw JournalError(
          .damaged,
          "the first entry does not follow the base of the history; restore BASE from a backup",
          revision: start.revision + 1, path: base.file.path)
      }
      throw JournalError(
        .damaged, "the first entry was sealed with another FORMAT; restore FORMAT from a backup",
        revision: 1, path: folder.format)
    }
    let version = try log.read(newest) { entry throws(JournalError) in try entry.header().schemaVersion }
    guard let written = ModelSchema(name: format.schema.name, version: "\(version)") else { return }
    try ModelSchema(of: State.self).checkReads(written, revision: newest, path: folder.path)
  }
}
