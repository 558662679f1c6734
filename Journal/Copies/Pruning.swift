import Files
import Foundation

/// The result of a pruning or a dry run.
public struct PruningReport: Sendable {
  /// The new beginning of the history: the state of this revision and all later entries are kept.
  public let base: Head
  /// The number of entries that were removed or, in a dry run, would be removed.
  public let entryCount: Int
  /// The number of bytes of these entries.
  public let entryByteCount: Int
  /// The number of images that only these entries named.
  public let imageCount: Int
  /// The number of bytes of these images.
  public let imageByteCount: Int
  /// The newest entry. It records the pruning, unless nothing was pruned.
  public let head: Head
}

/// The metadata of entries that have the digest of the base of a pruned history.
enum PruningMetadata {
  /// In the entry of a pruning: the revision before which history was pruned.
  static let prunes = "journal.prunes"
}

extension Entry {
  /// `pruned` or `erased` for an entry that records a pruning or an erasure; nil for any other entry.
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
  /// records when, by whom and why, and has the digest of that state, so `verify` proves the base and
  /// all later entries as before. Receipts of later revisions still hold; earlier ones can't be proven any more.
  /// Afterwards the removed bytes are nowhere in the folder. A backup in a folder keeps the history that it has. A backup
  /// in one file is replaced as a whole by the next `backup(toFile:)` of that name, and then begins where the
  /// journal does.
  ///
  /// Commits, readers and sequences continue; commits wait only for a moment at the end. A reader of entries that are
  /// pruned meanwhile gets the error `pruned`. A second erasure or pruning waits for the first. From a task, call
  /// `prune` in ``read(_:)``. After a crash, either everything is pruned or nothing.
  /// - Parameters:
  ///   - selector: the point in time. If history begins at or after this point, nothing is pruned.
  ///   - reason: the reason, which becomes the note of the new entry.
  ///   - author: who prunes, which becomes the author of the new entry.
  ///   - progress: called with the progress; an error that it throws, cancelling the task, or closing the journal ends the
  ///     work, and nothing is pruned.
  /// - Throws: ``JournalError`` as ``revision(at:)`` does, but not `pruned`; `readOnly`; `wrongUse` inside the body of a
  ///   commit, for a shared journal, for one in memory, and for a model without ``EventSourced/parts``; `closed`; `io` if
  ///   the disk is full; `outcomeUnknown` if the pruned content could not be removed, or the journal takes no more
  ///   commits: opening the journal again does the rest. After any other code nothing was pruned.
  /// - Complexity: O(n) in the bytes of the entries, because the log is rewritten. The state is in memory until new layers
  ///   are written.
  @discardableResult
  public func prune(
    before selector: RevisionSelector, reason: String = "", by author: String = "",
    progress: (CopyProgress) throws -> Void = { _ in }
  ) throws -> PruningReport {
    var unchanged: PruningScope?
    let pruned = try replaceLog(progress) { observer -> PruningRewriting<State>? in
      let newest = head
      let scope = try pruningScope(try pruningPoint(selector), through: newest, observer)
      guard scope.entryCount > 0 else {
        unchanged = scope
        return nil
      }
      return PruningRewriting(
        scope, considered: newest, tables: try scope.tables ?? tables(at: scope.base.revision, observer),
        format,
        upcast.schema,
        annotation: EntryAnnotation(
          author: author, note: reason, metadata: [PruningMetadata.prunes: "\(scope.base.revision)"]),
        byteCount: max(try log.byteCount() - scope.entryByteCount, 0))
    }
    if let (rewriting, head) = pruned { return rewriting.scope.report(head) }
    guard let unchanged else { preconditionFailure("without a rewriting, there is a scope") }
    return unchanged.report(head)
  }

  /// The revision of a point. An earlier pruning may have removed it; then history begins later already, with the base.
  package func pruningPoint(_ selector: RevisionSelector) throws -> Revision {
    do { return try border(at: selector).revision } catch let error as JournalError {
      guard error.code == .pruned, let base else { throw error }
      return base.revision
    }
  }

  /// Finds the images that only the entries up to a revision need.
  package func pruningScope(
    _ revision: Revision, through last: Head, _ observer: CopyObserver
  ) throws -> PruningScope {
    let base = try Replay<State>(log: log, format: format).head(at: revision)
    var scope = PruningScope(base: base)
    guard revision > format.head.revision else { return scope }
    try readPieces(after: format.head, through: base, observer) { piece, blobs, _ in
      scope.entryCount += piece.count
      scope.entryByteCount += piece.reduce(0) { $0 + $1.bytes.count }
      scope.images.formUnion(blobs)
    }
    if scope.images.isEmpty { return scope }
    let tables = try tables(at: revision, observer)
    scope.tables = tables
    for (kind, table) in tables.enumerated() {
      for (_, row) in table {
        scope.images.subtract(State.blobs(in: row.record, of: EntityKind(rawValue: UInt8(kind))))
      }
    }
    try readPieces(after: base, through: last, observer) { _, blobs, _ in scope.images.subtract(blobs) }
    return scope
  }

  /// The tables of the state of a revision, replayed from entries without trusting layers.
  private func tables(at revision: Revision, _ observer: CopyObserver) throws -> [EntityTable] {
    let replay = Replay<State>(log: log, format: format)
    var (state, applied) = (State(), 0)
    while applied < revision {
      try Task.checkCancellation()
      // The base stands for all pruned entries.
      let next = min(max(applied + 10_000, format.head.revision), revision)
      _ = try replay.apply(applied + 1, through: next, to: &state)
      applied = next
      try observer(CopyProgress(phase: .copying, done: applied, all: revision))
    }
    guard let tables = state.parts?.tables else { throw Self.hasNoParts }
    return tables
  }

  package static var hasNoParts: JournalError {
    JournalError(
      .wrongUse, "\(State.schema) has no parts, so history can't begin with one of its states")
  }

  /// The entry up to which history was pruned; history begins with its state. Nil if history begins with entry 1.
  /// - Complexity: O(1)
  public var base: Head? { format.base?.head }
}

/// What a pruning removes.
package struct PruningScope {
  let base: Head
  var entryCount = 0
  var entryByteCount = 0
  var images: Set<Blob> = []
  /// The tables of the base's state; nil if they were not needed so far.
  var tables: [EntityTable]?

  package func report(_ head: Head) -> PruningReport {
    PruningReport(
      base: base, entryCount: entryCount, entryByteCount: entryByteCount, imageCount: images.count,
      imageByteCount: images.sum(of: \.byteCount), head: head)
  }
}

/// Removes the first entries of a log.
struct PruningRewriting<State: EventSourced>: LogRewriting {
  private(set) var scope: PruningScope
  let considered: Head
  let annotation: EntryAnnotation
  let byteCount: Int
  private let tables: [EntityTable]
  private let format: JournalFormat
  private let schema: ModelSchema

  /// - Parameter tables: the tables of the state that history will begin with.
  init(
    _ scope: PruningScope, considered: Head, tables: [EntityTable], _ format: JournalFormat,
    _ schema: ModelSchema, annotation: EntryAnnotation, byteCount: Int
  ) {
    self.scope = scope
    self.considered = considered
    self.tables = tables
    self.format = format
    self.schema = schema
    self.annotation = annotation
    self.byteCount = byteCount
  }

  var start: Head { scope.base }
  var images: [ContentDigest] { scope.images.map(\.digest) }

  func writeBase(in entries: Files.Folder<JournalError>) throws(JournalError) -> HistoryBase? {
    try HistoryBase.write(tables, schema, scope.base, of: format, in: entries)
  }

  mutating func rewrite(_ piece: [SealedEntry], _ blobs: [Blob]) -> [SealedEntry] {
    scope.images.subtract(blobs)
    return piece
  }
}
