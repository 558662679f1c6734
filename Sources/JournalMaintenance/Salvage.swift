import Files
public import Foundation
public import Journaling

/// The result of a salvage.
public struct SalvageReport: Sendable {
  /// The newest entry of the new journal.
  public let head: Head
  /// The newest revision that is known to have been acknowledged, according to HEAD, the receipt of a backup, or a
  /// layer or snapshot; nil if no copy has any of these in readable form.
  public let acknowledgedRevision: Revision?
  /// Why the history ends at ``head``: an error with the first revision that is missing or altered. Nil if no sign of a
  /// missing entry was found.
  public let end: JournalError?
  /// The images whose bytes no copy has. The entries that name them are kept.
  public let missingImages: [Blob]
  /// Where the history begins if it was pruned; nil if it was not.
  public let base: Head?
  /// Whether an entry of the new journal has the digest of the state in ``base``. That entry is newer than all entries
  /// that the pruning kept, so it may be missing. The state is then protected only by its own checksum.
  public let isBaseProven: Bool
  /// Errors about copies with another history. Such a copy acknowledged an entry that differs from the new journal's,
  /// because several copies were written to. Salvage the copy on its own to get its entries.
  public let divergences: [JournalError]
  /// Other problems of each copy's files, including errors of reading images.
  public let problems: [JournalError]

  /// Whether HEAD or a receipt would have shown a loss of entries after ``head``.
  package let isEndKnown: Bool

  /// Whether nothing is missing. Also false if that is unknown, because HEAD can't be read and nothing else shows which
  /// entry was the newest.
  public var isWhole: Bool { end == nil && isEndKnown && missingImages.isEmpty && divergences.isEmpty }
}

extension Journal {
  /// Creates a journal from everything that can be proven of a damaged one, or of several damaged copies of one
  /// journal.
  ///
  /// Each entry is proven by its digest in the next entry, from the first up to the first that no copy has. So copies
  /// that are damaged in different places complement each other. Other information, such as HEAD or LevelDB's list of
  /// tables, is not trusted. The damaged journals are not changed.
  /// - Parameters:
  ///   - sources: the folders of the damaged journal and its copies.
  ///   - url: the folder to make; its parent must exist.
  ///   - options: the options for the journals. Their `log` receives notices.
  ///   - progress: called with the progress. If it throws, or if the task is cancelled, no journal is created.
  /// - Throws: ``JournalError``: `alreadyExists`, `locked`, `otherModel`, `io`; `wrongUse` for copies of different
  ///   journals; `damaged` if not even the first entry can be proven, unless the journal was empty.
  /// - Complexity: O(n) in the bytes of the entries and their images.
  public static func salvage(
    _ sources: [URL], to url: URL, options: JournalOptions = JournalOptions(),
    progress: (CopyProgress) throws -> Void = { _ in }
  ) throws -> SalvageReport {
    let locks = try sources.map { url throws(JournalError) in try SalvageSource.lock(url) }
    defer { for lock in locks { lock.unlock() } }
    let found = try sources.map { url throws(JournalError) in
      try SalvageSource(url, options.logStorage, readHook: options.readHook)
    }
    var history = try ProvableHistory(found, State.self)
    let last = try found.map { source throws(JournalError) in try source.log.lastRevision() }.max() ?? 0
    // A log that lost all entries looks empty too, so each copy must prove that it had none, or have no problems.
    let isEmpty =
      last == 0
      && found.allSatisfy { source in
        source.knownRevision.map { $0 == 0 } ?? source.problems.isEmpty
      }
    var (missing, problems): ([Blob], [JournalError]) = ([], [])
    var isBaseProven = false
    var divergences: [JournalError] = []
    try JournalFolder.create(at: url, format: history.format, options: options) {
      place in
      try JournalCopy.fill(place) { copy in
        let newestErasure: Revision
        (missing, newestErasure, problems) = try fill(copy, &history, through: last, progress)
        guard copy.head.revision > 0 || isEmpty else {
          throw JournalError(
            .damaged,
            "not even the first entry can be proven, so no journal was created; restore the journal from a backup, or "
              + "name another copy of it too", revision: 1, cause: history.isWhole ? nil : history.end)
        }
        try copy.prove(progress)
        try place.format.base?.check(erasure: newestErasure, in: copy.log)
        let voucher = try place.format.base?.voucher(
          in: copy.log, through: copy.head.revision, of: place.journal)
        isBaseProven = voucher != nil
        divergences = try found.compactMap { source throws(JournalError) in
          try divergence(of: source, from: copy.log, through: copy.head.revision, place.format)
        }
      }
    }
    options.note(
      .info,
      "the journal was created from the entries that can be proven, up to revision \(history.head.revision)",
      revision: history.head.revision)
    return SalvageReport(
      head: history.head, acknowledgedRevision: found.compactMap(\.knownRevision).max(),
      end: history.isWhole ? nil : history.end, missingImages: missing, base: history.format.base?.head,
      isBaseProven: isBaseProven, divergences: divergences, problems: found.flatMap(\.problems) + problems,
      isEndKnown: history.isEndKnown)
  }

  /// The error about a copy whose newest acknowledged entry is not the new journal's; nil if it is.
  private static func divergence(
    of source: SalvageSource, from log: any EntryLog, through last: Revision, _ format: JournalFormat
  ) throws(JournalError) -> JournalError? {
    // A mark outside of the new journal's history can't be compared.
    guard let mark = source.acknowledged, (format.head.revision...last).contains(mark.revision),
      try log.head(at: mark.revision, format).digest != mark.digest
    else { return nil }
    return JournalError(
      .diverged,
      "this copy has another history, with \(mark.revision) acknowledged entries, of which the last ones are not in the "
        + "new journal; salvage it on its own to get them", revision: mark.revision, path: source.folder.path)
  }

  /// Writes the proven entries to the new journal, and each image that one of the sources has.
  /// - Returns: the images that no source has; the newest revision that records an erasure, or 0; and the errors of
  ///   reading images from some sources.
  private static func fill(
    _ copy: JournalCopy, _ history: inout ProvableHistory, through last: Revision, _ observer: CopyObserver
  ) throws -> (missing: [Blob], newestErasure: Revision, problems: [JournalError]) {
    let images = try copy.folder.root.folder("images")
    var copying = history.sources.map { source in
      BlobCopying(from: source.images, at: source.folder.images, to: images, sharesFiles: false)
    }
    var (missing, problems): ([Blob], [JournalError]) = ([], [])
    var newestErasure: Revision = 0
    var seen: Set<Blob> = []
    var named = try NamedBlobs<State>(in: copy.log, history.format.base)
    func take(_ blob: Blob) throws {
      guard seen.insert(blob).inserted else { return }
      if try !bring(blob, &copying, &problems) { missing.append(blob) }
    }
    if let base = history.format.base {
      for blob in try base.blobs(of: State.self) { try take(blob) }
      for index in copying.indices { try copying[index].flush() }
    }
    var erasures = try erasures(for: history)
    var isAtEnd = false
    while !isAtEnd {
      try Task.checkCancellation()
      named.trim()
      var piece = EntryPiece(head: copy.head)
      while !piece.isFull {
        guard var next = try history.next() else {
          isAtEnd = true
          break
        }
        for index in erasures.indices { try erasures[index].erase(&next.sealed) }
        piece.add(next)
        let entry = next.sealed
        if try entry.recordsErasure() { newestErasure = entry.revision }
        // `named` knows the records that entries of this piece set, and reads other records from the copy.
        for blob in try named.blobs(in: entry) { try take(blob) }
      }
      guard !piece.entries.isEmpty else { break }
      for index in copying.indices { try copying[index].flush() }
      try copy.append(piece.entries, head: piece.head)
      let reached = piece.head.revision
      try observer(CopyProgress(phase: .copying, done: reached, all: max(last, reached)))
    }
    return (missing, newestErasure, problems)
  }

  /// The erasures that the entries of a history record, and those that entries of only one copy record.
  private static func erasures(for history: ProvableHistory) throws(JournalError) -> [RecordedErasure] {
    var whole = history
    var found = try whole.erasures(in: State.self)
    for source in history.sources where history.sources.count > 1 {
      guard let copy = try? ProvableHistory([source], State.self) else { continue }
      var read = copy
      let others = try read.erasures(in: State.self).filter { found[$0.key] == nil }
      if others.isEmpty { continue }
      // After the newest common entry, a number means different entities or entries in the two histories.
      let common = try commonRevision(of: history, copy)
      for (digest, other) in others {
        found[digest] = RecordedErasure(
          revision: min(other.revision, common + 1), erasure: other.erasure, isOfContinuation: true)
      }
    }
    return Array(found.values)
  }

  /// The revision of the newest entry that two histories share; 0 if they share none.
  private static func commonRevision(
    of one: ProvableHistory, _ other: ProvableHistory
  ) throws(JournalError) -> Revision {
    var (one, other) = (one, other)
    // If only one history begins with a base, the other is first read up to that base.
    while one.head.revision < other.head.revision, try one.next() != nil {}
    while other.head.revision < one.head.revision, try other.next() != nil {}
    var common: Revision = 0
    while one.head.revision == other.head.revision, one.head.digest == other.head.digest {
      common = one.head.revision
      guard try one.next() != nil, try other.next() != nil else { break }
    }
    return common
  }

  /// Copies a blob from the first source that has it. Returns false if no source has it.
  /// - Parameter problems: receives the errors of sources that may have the blob but can't be read.
  /// - Throws: an error of the target, or one that is not about the journal, such as `outOfResources`.
  private static func bring(
    _ blob: Blob, _ copying: inout [BlobCopying], _ problems: inout [JournalError]
  ) throws -> Bool {
    for index in copying.indices {
      guard let error = try copying[index].take(blob) else { return true }
      guard error.saysSomethingOfTheJournal else { throw error }
      if error.code != .damaged { problems.append(error) }
    }
    return false
  }
}

extension ProvableHistory {
  /// Reads the rest of the history. Returns the erasures that its entries record, by the digests of these entries.
  mutating func erasures<State: EventSourced>(
    in model: State.Type
  ) throws(JournalError) -> [ContentDigest: RecordedErasure] {
    var found: [ContentDigest: RecordedErasure] = [:]
    while let entry = try next() {
      guard let erasure = try entry.sealed.recordedErasure(in: model) else { continue }
      found[entry.head.digest] = RecordedErasure(revision: entry.head.revision, erasure: erasure)
    }
    return found
  }
}

/// An erasure that an entry records. A copy from before the erasure still has the content.
struct RecordedErasure: Sendable {
  let revision: Revision
  var erasure: Erasure
  /// Whether the entry is in another history than the new journal's. If so, later checkpoints of the new journal are
  /// digests of states that still had the content.
  var isOfContinuation = false

  /// Erases the content from an entry. Must be called for the entries in order.
  mutating func erase(_ entry: inout SealedEntry) throws(JournalError) {
    if entry.revision >= revision {
      guard isOfContinuation else { return }
      (erasure.entities, erasure.annotations) = ([], [])
    }
    entry = try erasure.erase(entry)
  }
}
