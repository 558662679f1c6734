package import Files
import Foundation

/// What an erasure or a pruning makes of the entries of a log.
package protocol LogRewriting<State> {
  associatedtype State: EventSourced

  /// The entry after which the entries of the new log begin.
  var start: Head { get }
  /// The newest entry when the rewriting was made. Later entries were committed since.
  var considered: Head { get }
  /// The approximate number of bytes of the new log.
  var byteCount: Int { get }
  /// The images that only the old log needs.
  var images: [ContentDigest] { get }
  /// The annotation of the entry that records the rewriting.
  var annotation: EntryAnnotation { get }

  /// Writes the base of the new log, or returns nil if history begins with entry 1.
  func writeBase(in entries: Files.Folder<JournalError>) throws(JournalError) -> HistoryBase?

  /// Returns the entries of the new log for a piece of the old one. Called for all pieces in order.
  /// - Parameter blobs: the blobs that the entries of the piece name.
  /// - Throws: ``RewritingIsOutdated`` if later entries than ``considered`` change what must be removed.
  mutating func rewrite(_ piece: [SealedEntry], _ blobs: [Blob]) throws -> [SealedEntry]
}

/// Commits in the meantime have changed what is to be removed, so it must be found again.
package struct RewritingIsOutdated: Error { package init() {} }

extension Journal {
  /// Replaces the log of an open journal.
  ///
  /// Commits continue while the entries are copied, read back and replayed. With the write lock held, the entries
  /// committed meanwhile are copied, the logs are exchanged, and the journal continues with the new log.
  /// - Parameters:
  ///   - make: makes the rewriting of the entries up to now; nil if there is nothing to do. Called again if commits
  ///     change what is to be removed.
  /// - Returns: the rewriting, and the entry that records it; nil if there was nothing to do.
  package func replaceLog<Rewriting: LogRewriting<State>>(
    _ observer: CopyObserver, _ make: (_ observer: CopyObserver) throws -> Rewriting?
  ) throws -> (rewriting: Rewriting, head: Head)? {
    let committer = try writing()
    try committer.checkIsOutsideOfBody("can't erase or prune; do that after the commit")
    try folder.checkIsNotShared()
    guard !removesFolder else {
      throw JournalError(
        .wrongUse,
        "the journal is in memory, and its log can't be replaced; copy it to a folder with copy(to:)")
    }
    return try current.withTurn {
      // After an unknown outcome, the folder may have another log than the one that is open.
      try committer.checkTakesCommits()
      // An earlier replacement may have left files to remove. Meanwhile, the thread that writes layers must not remove
      // archives whose footers are not there yet.
      let open = current.value
      try keeping().request(freezing: committer.freezeRest) {
        [folder, blobs, options] () throws(JournalError) in
        try LogReplacement.recover(folder, open.log, open.format, State.self, by: blobs.remove, options)
      }
      blobs.beginReplacement()
      defer { blobs.endReplacement() }
      return try withoutActuallyEscaping(observer) { observer in
        let check: CopyObserver = { [current] progress in
          try current.checkIsNotClosing()
          try observer(progress)
        }
        for _ in 1...Self.attemptLimit {
          guard let rewriting = try make(check) else { return nil }
          do { return try replaceLog(rewriting, committer, check) } catch is RewritingIsOutdated {}
        }
        throw JournalError(
          .conflict,
          "commits have changed again and again what belongs to the entities that are to be erased; nothing was erased, "
            + "so try again")
      }
    }
  }

  private static var attemptLimit: Int { 10 }

  private func replaceLog<Rewriting: LogRewriting<State>>(
    _ rewriting: Rewriting, _ committer: Committer<State>, _ observer: CopyObserver
  ) throws -> (Rewriting, Head) {
    let old = current.value
    let replacement = try LogReplacement(in: LogPlace(old.folder, old.format, options: options)) {
      (entries) throws(JournalError) in try rewriting.writeBase(in: entries)
    }
    // Keep several checkpoints: with one, each past state would be replayed from the beginning.
    let policy = options.layers
    let keepsMoments = policy.keepsPast && (policy.isAutomatic || !old.chain.layers.isEmpty)
    var new = RewrittenLog(rewriting, replacement, old.chain, policy, keepsMoments: keepsMoments)
    do {
      try old.folder.root.require(2 * rewriting.byteCount, for: "the entries that stay")
      try new.add(through: rewriting.considered, of: self, observer)
      try new.catchUp(with: self, observer)
      // The base can't be rebuilt, so the entry of each erasure proves the base again. Otherwise, the base of an old
      // backup, with erased content, would fit too.
      let checkpoint = replacement.base?.checkpoint ?? new.checkpoint()
      try new.catchUp(with: self, observer)
      try Task.checkCancellation()
      try committer.replaceLog {
        // Paused only with the write lock held, because a body may wait for a snapshot.
        try current.whilePaused {
          old.keeper?.close()
          do {
            // `observer` is not called here, because it may commit.
            try new.add(through: head, of: self) { _ in }
            try new.record(checkpoint, upcast.schema)
            new.adoptAdditions(of: state)
            return try use(&new, committer)
          } catch {
            if (error as? JournalError)?.code == .outcomeUnknown {
              current.noteUnknownOutcome()
            } else {
              old.keeper?.reopen(freezing: committer.freezeRest)
            }
            throw error
          }
        }
      }
    } catch {
      replacement.cancel()
      throw error
    }
    // Freezes the layer that `use` has requested.
    committer.freezeRest()
    current.value.healthCheck.start()
    // Closing the old log waits for its readers.
    try? old.close()
    try replacement.finish(removing: new.rewriting.images, by: blobs.remove)
    return (new.rewriting, replacement.copy.head)
  }

  /// Puts the new log in the place of the old one, opens it, and shows its newest version to readers.
  private func use(
    _ new: inout RewrittenLog<some LogRewriting<State>>, _ committer: Committer<State>
  ) throws -> (any EntryLog, LayerKeeper<State>, Version<State>) {
    let hadLayers = !chain.layers.isEmpty
    return try current.replace { old in
      try new.replacement.exchange(removing: new.rewriting.images)
      let opened: (open: OpenLog<State>, keeper: LayerKeeper<State>, version: Version<State>)
      do { opened = try open(new, in: old.folder.root) } catch {
        try new.replacement.putBack()
        throw error
      }
      let (open, keeper, version) = opened
      blobs.withdraw(new.rewriting.images)
      // The new log has no layers. Without this request, the next opening would replay everything, for any policy.
      let events = new.replayed.tally
      if hadLayers,
        options.layers.isLayerDue(
          events.count, additionCount: events.additionCount, byteCount: events.byteCount)
      {
        keeper.requestLayer()
      }
      keeper.store(version, eventCount: 0, freezing: committer.freezeRest)
      return (open, (open.log, keeper, version))
    } then: { _, _, version in
      // Published after the new log is installed, so that a reader that sees the new entry finds the entry in the log.
      published.publish(version)
    }
  }

  private func open(
    _ new: RewrittenLog<some LogRewriting<State>>, in root: Files.Folder<JournalError>
  ) throws -> (OpenLog<State>, LayerKeeper<State>, Version<State>) {
    let folder = try JournalFolder(root: root)
    let format = try folder.readFormat()
    let log = try options.logStorage.open(.write, in: LogPlace(folder, format, options: options))
    do {
      try new.checkIs(log, format)
      // Called last, because HEAD then names an entry that only this log has.
      try log.beginWriting()
    } catch {
      try? log.close()
      throw error
    }
    let chain = LayerChain(folder, format: format, State.self, log: log, options: options)
    let keeper = LayerKeeper(
      folder, format, chain, log, new.replayed, published: published, retention: retention,
      isReplacement: true, options: options)
    let version = keeper.accept(new.replayed)
    let open = OpenLog(folder, format, log, chain, head: version.head, keeper: keeper, options: options)
    return (open, keeper, version)
  }
}

/// A new log of a journal while it is made from the old log.
private struct RewrittenLog<Rewriting: LogRewriting> {
  /// The most entries to copy while commits wait, unless commits come faster than they are copied.
  private static var shortCount: Int { 1000 }
  private static var catchUpLimit: Int { 20 }

  private(set) var rewriting: Rewriting
  let replacement: LogReplacement
  /// The newest entry of the old log that was copied.
  private var copied: Head
  private var state = Rewriting.State()
  private var applied: Revision = 0
  private var tally = EventTally()
  /// The past states that the new layer will have.
  private var moments: [LayerMoment] = []
  private let chain: LayerChain
  private let policy: LayerPolicy
  private let keepsMoments: Bool

  private var copy: JournalCopy { replacement.copy }
  private var replay: Replay<Rewriting.State> { Replay(log: copy.log, format: replacement.format) }

  init(
    _ rewriting: Rewriting, _ replacement: LogReplacement, _ chain: LayerChain, _ policy: LayerPolicy,
    keepsMoments: Bool
  ) {
    self.rewriting = rewriting
    self.replacement = replacement
    self.chain = chain
    self.policy = policy
    self.keepsMoments = keepsMoments
    copied = rewriting.start
  }

  /// The newest version, and the events and past states on the way to it. All entries were replayed.
  var replayed: Replayed<Rewriting.State> {
    Replayed(
      version: Version(head: copy.head, state: state), eventCount: tally.count, tally: tally,
      moments: moments)
  }

  /// Copies entries of the old log, reads them back and applies them.
  mutating func add(
    through last: Head, of journal: Journal<Rewriting.State>, _ observer: CopyObserver
  ) throws {
    if applied > 0, copied == last { return }
    try journal.readPieces(after: copied, through: last, observer) { piece, blobs, head in
      try copy.append(try rewriting.rewrite(piece, blobs), head: head)
      copied = head
    }
    try prove(observer)
  }

  private mutating func prove(_ observer: CopyObserver) throws {
    try copy.prove(observer)
    let last = copy.head.revision
    while applied < last {
      try Task.checkCancellation()
      // The base stands for all pruned entries.
      let next = min(max(applied + max(policy.eventCount, 1), replacement.format.head.revision), last)
      tally += try replay.apply(applied + 1, through: next, to: &state)
      applied = next
      if keepsMoments { try keepMoment() }
      try observer(CopyProgress(phase: .proving, done: applied, all: last))
    }
  }

  private mutating func keepMoment() throws(JournalError) {
    let version = Version(head: try replay.head(at: applied), state: state)
    guard let moment = chain.moment(version, eventCount: tally.count) else { return }
    moments.append(moment)
    while moments.count > policy.momentLimit || LayerMoment.heldByteCount(moments) > policy.backlogByteCount {
      moments = moments.everySecond
    }
  }

  /// Copies the entries that were committed meanwhile, until at most `shortCount` are left.
  mutating func catchUp(with journal: Journal<Rewriting.State>, _ observer: CopyObserver) throws {
    for _ in 1...Self.catchUpLimit {
      let newest = journal.head
      if newest.revision - copied.revision <= Self.shortCount { return }
      try add(through: newest, of: journal, observer)
    }
  }

  /// A checkpoint of the state so far.
  func checkpoint() -> Checkpoint? {
    StateDigest.digest(of: state).map { Checkpoint(revision: applied, stateDigest: $0) }
  }

  /// Appends the entry that records the rewriting.
  mutating func record(_ checkpoint: Checkpoint?, _ schema: ModelSchema) throws {
    try copy.append(rewriting.annotation, checkpoint, schema)
    try prove { _ in }
  }

  mutating func adoptAdditions(of old: Rewriting.State) { state.adoptAdditions(of: old) }

  /// Fails unless the log that was opened in the place of the old one is this new log.
  func checkIs(_ log: any EntryLog, _ format: JournalFormat) throws(JournalError) {
    guard try log.newestRevision() == copy.head.revision,
      try log.head(at: copy.head.revision, format) == copy.head
    else {
      throw JournalError(
        .damaged, "the new log reads back differently from what was written; use another drive")
    }
  }
}
