import Files
public import Foundation

/// The result of a pruning or a dry run.
public struct PruningReport: Sendable {
  /// Where history begins: the state of this revision and all later entries are kept.
  public let base: Head
  /// How many entries were removed.
  public let entryCount: Int
  /// How many bytes they have.
  public let entryByteCount: Int
  /// How many images only these entries named.
  public let imageCount: Int
  /// How many bytes these images have.
  public let imageByteCount: Int
  /// The newest entry: the one that records the pruning, unless nothing was pruned.
  public let head: Head
}

/// The metadata of entries that have the digest of the base of a pruned history.
enum PruningMetadata {
  /// In the entry of a pruning: the revision before which history was pruned.
  static let prunes = "journal.prunes"
  /// In the last entry of a copy that ends before the entry of the pruning: the revision and the digest of the entry in
  /// the original that has the digest of the base.
  static let vouchedBy = "journal.vouchedBy"
}

extension Entry {
  /// What an entry without events did to the entries before it: `pruned` or `erased`; nil for any other entry.
  package var rewriting: String? {
    // A commit can have the same metadata, but always has events.
    if !events.isEmpty { return nil }
    if metadata[PruningMetadata.prunes] != nil { return "pruned" }
    return metadata[ErasureMetadata.erases] == nil ? nil : "erased"
  }
}

extension Journal {
  /// Removes the history before a point in time. The state at the point and all later entries are kept.
  ///
  /// The entries before a date, or up to and including the one that another selector names, are removed, and the bytes
  /// of images that nothing else names. The state after them becomes the base that history begins with. A new entry
  /// records when, by whom and why, and has the digest of that state, so ``verify(_:progress:)`` proves the base and
  /// all later entries as before. Receipts of later revisions still hold; earlier ones can't be proven any more.
  /// Afterwards the removed bytes are nowhere in the folder. A backup in a folder keeps the history that it has. A backup
  /// in one file is replaced as a whole by the next ``backup(toFile:progress:)`` of that name, and then begins where the
  /// journal does.
  ///
  /// The journal must be closed. After a crash either everything is pruned, or nothing.
  /// - Parameters:
  ///   - selector: the point. Nothing happens if history begins there already, or later.
  ///   - url: the journal's folder.
  ///   - reason: why; it is the note of the new entry.
  ///   - author: who does it.
  ///   - isDryRun: whether to only report what would be removed.
  ///   - options: whose log receives the notices.
  ///   - progress: called with the progress; an error that it throws, or cancelling the task, ends the work, and
  ///     nothing is pruned.
  /// - Throws: ``JournalError`` as `open` and ``revision(at:)`` do, but not `pruned`; `wrongUse` for a shared journal,
  ///   and for a model without ``EventSourced/parts``; `io` if the disk is full.
  /// - Complexity: O(n) in the bytes of the entries, because the log is rewritten.
  @discardableResult
  public static func prune(
    before selector: RevisionSelector, at url: URL, reason: String = "", by author: String = "",
    isDryRun: Bool = false, options: JournalOptions = JournalOptions(),
    progress: (CopyProgress) throws -> Void = { _ in }
  ) throws -> PruningReport {
    let options = options.forCopies
    if isDryRun {
      let journal = try open(at: url, mode: .readOnly, options: options)
      defer { try? journal.close() }
      return try journal.pruningScope(try journal.pruningPoint(selector), progress).report(journal.head)
    }
    return try replacingLog(at: url, options: options) { journal in
      let scope = try journal.pruningScope(try journal.pruningPoint(selector), progress)
      guard scope.entryCount > 0 else { return scope.report(journal.head) }
      return try journal.prune(scope, reason, author, options, progress)
    }
  }

  /// The revision of a point. An earlier pruning may have removed it; then history begins later already, with the base.
  private func pruningPoint(_ selector: RevisionSelector) throws -> Revision {
    do { return try border(at: selector).revision } catch let error as JournalError {
      guard error.code == .pruned, let base else { throw error }
      return base.revision
    }
  }

  private struct PruningScope {
    let base: Head
    var entryCount = 0
    var entryByteCount = 0
    var images: Set<Blob> = []

    func report(_ head: Head) -> PruningReport {
      PruningReport(
        base: base, entryCount: entryCount, entryByteCount: entryByteCount, imageCount: images.count,
        imageByteCount: images.sum(of: \.byteCount), head: head)
    }
  }

  /// Finds the images that only the entries up to a revision need.
  private func pruningScope(_ revision: Revision, _ observer: CopyObserver) throws -> PruningScope {
    let base = try Replay<State>(log: log, format: format).head(at: revision)
    var scope = PruningScope(base: base)
    guard revision > format.head.revision else { return scope }
    try readPieces(after: format.head, through: base, observer) { piece, blobs, _ in
      scope.entryCount += piece.count
      scope.entryByteCount += piece.reduce(0) { $0 + $1.bytes.count }
      scope.images.formUnion(blobs)
    }
    if scope.images.isEmpty { return scope }
    for (kind, table) in try tables(at: revision).enumerated() {
      for (_, row) in table {
        scope.images.subtract(State.blobs(in: row.record, of: EntityKind(rawValue: UInt8(kind))))
      }
    }
    try readPieces(after: base, through: head, observer) { _, blobs, _ in scope.images.subtract(blobs) }
    return scope
  }

  /// The tables of the state of a revision, replayed from entries without trusting layers.
  private func tables(at revision: Revision) throws -> [EntityTable] {
    let state = try Replay<State>(log: log, format: format).version(through: revision).version.state
    guard let tables = state.parts?.tables else { throw Self.hasNoParts }
    return tables
  }

  static var hasNoParts: JournalError {
    JournalError(
      .wrongUse, "\(State.schema) has no parts, so history can't begin with one of its states")
  }

  private func prune(
    _ scope: PruningScope, _ reason: String, _ author: String, _ options: JournalOptions,
    _ observer: CopyObserver
  ) throws -> PruningReport {
    let tables = try tables(at: scope.base.revision)
    let replacement = try LogReplacement(in: LogPlace(folder, format, options: options)) {
      [format, upcast] entries throws(JournalError) in
      try HistoryBase.write(tables, upcast.schema, scope.base, of: format, in: entries)
    }
    let copy = replacement.copy
    do {
      try folder.root.require(
        2 * max(try log.byteCount() - scope.entryByteCount, 0), for: "the entries that stay")
      try readPieces(after: scope.base, through: head, observer) { piece, _, head in
        try copy.append(piece, head: head)
      }
      try copy.append(
        EntryAnnotation(
          author: author, note: reason, metadata: [PruningMetadata.prunes: "\(scope.base.revision)"]),
        replacement.base?.checkpoint, upcast.schema)
      try copy.prove(observer)
      try Task.checkCancellation()
    } catch {
      replacement.cancel()
      throw error
    }
    try replacement.commit(removing: scope.images.map(\.digest))
    return scope.report(copy.head)
  }

  /// Opens a closed journal before and after its log is replaced.
  ///
  /// A journal that had layers gets new ones: the replacement removes them, and without them the next opening would
  /// replay everything.
  /// - Parameter body: gets the journal, which is open for reading and locked.
  static func replacingLog<Report>(
    at url: URL, options: JournalOptions, _ body: (Journal) throws -> Report
  ) throws -> Report {
    // Completes interrupted work, and has LevelDB write its log to tables.
    let before = try openUnused(at: url, options: options)
    let hadLayers = !before.chain.layers.isEmpty
    try before.close()
    let report: Report
    do {
      let recovery = try Recovery<State>(url, mode: .readOnly, locksExclusively: true, options: options)
      let journal = try Journal(recovery, mode: .readOnly, options: options)
      defer { try? journal.close() }
      report = try body(journal)
    }
    // Updates HEAD, and verifies that the result opens.
    var opening = options
    if hadLayers { opening.layers = .automatic }
    do {
      let after = try open(at: url, options: opening)
      after.waitForLayers()
      try after.close()
    } catch let error as JournalError where error.code == .locked || !error.saysSomethingOfTheJournal {
      // The work is done. The next opening updates HEAD.
      options.note(.warning, "the log was replaced, and then the journal could not be opened", cause: error)
    }
    return report
  }

  /// Opens a journal for work that rewrites its files; fails if another process has it open for writing.
  package static func openUnused(at url: URL, mode: Mode = .readWrite, options: JournalOptions) throws
    -> Journal
  {
    if let folder = try? JournalFolder(url, hook: nil), try folder.sharedAddress() != nil {
      throw JournalError(
        .wrongUse,
        "the journal's log is shared, and the server and the other nodes would keep what is removed "
          + "here; make the journal local with unshare first. After an erasure it can be shared again once its old "
          + "rows are deleted from the database; after a pruning it can't", path: folder.path)
    }
    do {
      return try open(at: url, mode: mode, options: options)
    } catch let error as JournalError where error.code == .locked {
      throw JournalError(
        .locked,
        "the journal is open for writing, and this rewrites its files; close it first, and open it again "
          + "afterwards", path: error.path)
    }
  }

  /// The entry up to which history was pruned; history begins with its state. Nil if history begins with entry 1.
  /// - Complexity: O(1)
  public var base: Head? { format.base?.head }
}
