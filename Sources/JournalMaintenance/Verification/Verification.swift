import Files
public import Foundation
public import Journaling
import SHA256

/// How much of a journal is read to find out whether it is sound.
public enum CheckLevel: Sendable {
  /// What opening reads: every revision is accounted for, every file of the log has its size, the entries after the
  /// newest layer are read, and the newest entries are compared with HEAD. Older entries, and the base of a pruned
  /// history, are read in the background; see `Journal.health`.
  case recent
  /// Every byte: every entry and its digest, every state, every blob, layer and snapshot.
  case everything
  /// Also proves that every layer, snapshot and checkpoint equals the state that the entries before it make. Only this
  /// detects one that was forged with correct checksums.
  case deep
}

extension Journal {
  /// Opens a journal after a verification. A damaged layer or snapshot does not make the opening fail.
  /// - Parameters:
  ///   - url: the journal's folder.
  ///   - mode: whether to commit, to read, or to follow what another process commits.
  ///   - level: how much is read before it opens.
  ///   - options: how the journal is kept open.
  /// - Throws: ``JournalError`` as `open(at:mode:options:)` does, and the damage that ``verify(_:progress:)`` finds. The
  ///   folder is then unchanged.
  /// - Complexity: O(n) in the bytes of the journal and its images.
  public static func open(
    at url: URL, mode: Mode = .readWrite, checking level: CheckLevel,
    options: JournalOptions = JournalOptions()
  ) throws -> Journal {
    if level != .recent {
      // Verify read-only first, because opening for writing changes the folder.
      let look = try open(at: url, mode: .readOnly, options: options)
      defer { try? look.close() }
      if let damage = try look.verify(level).damage { throw damage }
    }
    return try open(at: url, mode: mode, options: options)
  }

  /// Reads the whole journal and checks that it is what was committed:
  /// - every checksum, the chain of digests, annotations, the form of checkpoints, and HEAD;
  /// - that each event follows from the state and from its entity's previous event, and that dates never decrease;
  /// - that the state that the journal shows is the one that the entries make;
  /// - the rules of the model, and the indexes that queries have built;
  /// - the bytes of every blob that was ever named, and of every layer and snapshot.
  ///
  /// Commits can continue during the call, which verifies the journal as of the start of the call. A journal that is
  /// open for writing opens its files a second time, because the open descriptors would not show that another program
  /// has replaced files. A node of a shared journal reads the open files.
  /// - Parameters:
  ///   - level: with ``CheckLevel/recent`` nothing is read: the result is `health`.
  ///   - progress: called regularly with the revision reached and the newest one.
  /// - Throws: ``JournalError``: `closed`, `outOfResources`; `pruned` if another process erases or prunes meanwhile.
  ///   Problems of the journal are in the result, and not thrown.
  /// - Complexity: O(n) in the bytes of the journal and its images.
  public func verify(
    _ level: CheckLevel = .everything, progress: (_ done: Revision, _ all: Revision) -> Void = { _, _ in }
  ) throws -> JournalHealth {
    if level == .recent { return health }
    return try settled { try verifyAll(isDeep: level == .deep, progress) }
  }

  /// The version at a point in time, replayed from the start of the history without layers.
  /// - Throws: ``JournalError``, as `state(asOf:)` does.
  /// - Complexity: O(n) in the number of events before it.
  public func version(replayedTo selector: RevisionSelector) throws -> Version<State> {
    try settled {
      try Replay<State>(log: log, format: format).version(through: try revision(at: selector)).version
    }
  }

  private func verifyAll(
    isDeep: Bool, _ progress: (_ done: Revision, _ all: Revision) -> Void
  ) throws -> JournalHealth {
    let expected = version
    var verifier = Verifier<State>(format: format, upcast: upcast, folder, through: expected.revision)
    // A state whose reads have failed is not sound, whatever the log says.
    if let failure = chain.faults.failure { verifier.note(failure, as: .damage) }
    var layers = SnapshotVerifier<State>(chain, isDeep: isDeep)
    var later: FooterFile?
    try verifier.attempt { _ throws(JournalError) in
      try layers.read(through: expected.revision)
      later = try chain.footers.newest(after: expected.revision)
    }
    if let later { try checkIsNoLoss(later, &verifier) }
    var reopened: (log: any EntryLog, format: JournalFormat)?
    try verifier.attempt { _ throws(JournalError) in reopened = try reopenedFiles() }
    defer { try? reopened?.log.close() }
    let files = reopened ?? (log: log, format: format)
    try verifier.attempt { verifier throws(JournalError) in
      let first = files.format.head.revision + 1
      if isDeep || files.format.base != nil, expected.revision >= first {
        try verifier.readCheckpoints(files.log, first...expected.revision, isDeep: isDeep)
      }
      if let base = files.format.base {
        try verifier.begin(with: base)
        try verifier.check(&layers, base.head)
      }
      // In pieces, because the log can't be closed while it is read, and `progress` may want to close it.
      for first in stride(from: first, through: expected.revision, by: Self.progressStep) {
        let last = min(first + Self.progressStep - 1, expected.revision)
        // This call throws if the journal was closed, which does not close the reopened log.
        if reopened != nil { _ = try log.newestRevision() }
        try files.log.readAll(first...last) { entry throws(JournalError) in
          try verifier.check(entry)
          try verifier.check(&layers, verifier.head)
        }
        if last < expected.revision { progress(last, expected.revision) }
      }
      verifier.finish(expected, try chain.faults.checking { StateDigest.digest(of: expected.state) })
    }
    try verifier.attempt { verifier throws(JournalError) in
      for name in try folder.foreignNames(options.logStorage) {
        verifier.note(name.error, as: name.isIgnored ? .note : nil)
      }
    }
    for blob in verifier.blobs {
      if blobs.isElsewhere(blob) {
        verifier.result.unfetchedBlobs.append(blob)
      } else {
        try verifier.attempt { _ throws(JournalError) in try blobs.check(blob) }
      }
    }
    verifier.result.layerCount = layers.layerCount
    verifier.result.snapshotCount = layers.snapshotCount
    checkMarker(of: files.log, files.format, expected, &verifier)
    checkReceipt(expected, &verifier)
    checkReplacement(of: files.log, files.format, &verifier)
    // A reader may have read a part of the old log and a part of the new one.
    if !isOpenForWriting, !verifier.result.isSound { try folder.checkLogIsCurrent() }
    progress(expected.revision, expected.revision)
    return verifier.result
  }

  /// The number of entries between two calls of `progress`.
  private static var progressStep: Int { 1000 }

  /// The log and FORMAT, opened again by the names of their files; nil if this journal is not open for writing, or if
  /// the log is elsewhere. A reader verifies its open files: reopened files could lack entries while a writer recovers.
  /// - Throws: ``JournalError``, with code `damaged` if the files are missing, or are not this journal's any more.
  private func reopenedFiles() throws(JournalError) -> (log: any EntryLog, format: JournalFormat)? {
    let storage = options.logStorage
    if !isOpenForWriting || node != nil || storage.isTransient { return nil }
    guard try folder.root.status(of: "FORMAT") != nil else {
      throw JournalError(.damaged, "FORMAT is missing; restore it from a backup", path: folder.format)
    }
    let found = try folder.readFormat()
    guard found.head == format.head else {
      throw JournalError(
        .damaged, "the base of the pruned history is missing or another one; restore the file from a backup",
        path: folder.base)
    }
    guard found.bytes == format.bytes else {
      throw JournalError(
        .damaged, "FORMAT is not the one that the journal was opened with; restore it from a backup",
        path: folder.format)
    }
    return (try storage.open(.read, in: LogPlace(folder, found, options: options)), found)
  }

  /// Records a problem if a layer is of a later entry than the log has. Layers are only written after durable entries.
  private func checkIsNoLoss(
    _ record: FooterFile, _ verifier: inout Verifier<State>
  ) throws(JournalError) {
    // A journal that was opened up to its damage lacks later entries, as `damage` says.
    if damage != nil { return }
    let newest: Revision
    do throws(JournalError) {
      newest = try isOpenForWriting ? log.newestRevision() : newestRevisionNow()
      // Another process may have replaced the log and removed all layers.
      guard newest < record.name.to, try chain.footers.footer(record.name) == record else { return }
    } catch {
      if error.saysNothingHere { throw error }
      // The verification of the log records the error.
      return
    }
    verifier.note(chain.loss(after: newest, shownBy: record.name))
  }

  /// The newest revision in the log now, which may be newer than a reader's.
  private func newestRevisionNow() throws(JournalError) -> Revision {
    let log = try options.logStorage.open(.read, in: LogPlace(folder, format, options: options))
    defer { try? log.close() }
    return max(head.revision, try log.newestRevision())
  }

  /// Compares a backup with the receipt of the original journal.
  private func checkReceipt(_ expected: Version<State>, _ verifier: inout Verifier<State>) {
    do {
      guard let receipt = try backupReceipt(), try !contains(receipt) else { return }
      // A reader that was opened before the latest run of the backup does not see its entries.
      if !isOpenForWriting, receipt.revision > expected.revision {
        let now = try Self.open(at: url, mode: .readOnly, options: options)
        defer { try? now.close() }
        if try now.contains(receipt) { return }
      }
      verifier.note(
        JournalError(
          .damaged,
          "the backup lacks entry \(receipt.revision) of its receipt, or has it with another digest",
          revision: min(receipt.revision, expected.revision + 1),
          path: folder.root.path(of: JournalReceipt.fileName)))
    } catch {
      // Unreadable entries were recorded before.
      if let error = error as? JournalError, error.revision == nil { verifier.note(error) }
    }
  }

  /// Records a problem if the record of an unfinished replacement prevents writing, or if another program has altered
  /// or restored it. A record that a crash has left is no problem.
  private func checkReplacement(
    of log: any EntryLog, _ format: JournalFormat, _ verifier: inout Verifier<State>
  ) {
    do throws(JournalError) {
      guard let record = try ReplacementRecord(in: folder.root), try record.isStale(in: log, format, folder)
      else {
        return
      }
      verifier.note(ReplacementRecord.stale(in: folder.root), as: .note)
    } catch {
      // Unreadable entries were recorded before.
      guard error.path == folder.root.path(of: ReplacementRecord.fileName) else { return }
      if error.code == .damaged {
        verifier.note(JournalError(.notAJournal, error.message, path: error.path), as: .note)
      } else {
        verifier.note(error)
      }
    }
  }

  private func checkMarker(
    of log: any EntryLog, _ format: JournalFormat, _ expected: Version<State>,
    _ verifier: inout Verifier<State>
  ) {
    let mark: LogMark?
    do throws(JournalError) {
      mark = try log.acknowledged()
    } catch {
      // Opening the log may have failed for the same reason.
      if !verifier.result.problems.contains(where: { $0.path == error.path }) { verifier.note(error) }
      return
    }
    // After a crash, HEAD may name an older entry of the log. If it names a newer entry, commits have continued.
    guard let mark, mark.revision <= expected.revision else { return }
    do throws(JournalError) {
      guard try Replay<State>(log: log, format: format).head(at: mark.revision).digest != mark.digest else {
        return
      }
      verifier.note(
        JournalError(
          .damaged, "HEAD names an entry \(mark.revision) with another digest than the log's",
          revision: mark.revision,
          path: mark.path))
    } catch {
      // The unreadable entry was recorded before.
    }
  }
}
