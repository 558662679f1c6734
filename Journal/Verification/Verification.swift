import Files

extension Journal {
  /// Reads the whole journal and checks that it is what was committed:
  /// - every checksum, the chain of digests, annotations, the form of checkpoints, and HEAD;
  /// - that each event follows from the state before it and from the previous event of its entity, and that dates never
  ///   decrease;
  /// - that the state that the journal shows is the one that the entries make;
  /// - the rules of the model, and the indexes that queries have built;
  /// - the bytes of every blob that was ever named, and of every layer and snapshot.
  ///
  /// Commits can continue during the call; it verifies the journal as of its start. A journal that is open for writing
  /// opens its files once more for that, because those that it has open do not show that others have replaced them. Only
  /// a node of a shared journal reads the open ones.
  /// - Parameters:
  ///   - level: with ``CheckLevel/recent`` nothing is read: the result is ``health``.
  ///   - progress: called regularly with the revision reached and the newest one.
  /// - Throws: ``JournalError``: `closed`, `outOfResources`; `pruned` if another process erases or prunes meanwhile.
  ///   Problems of the journal are in the result.
  /// - Complexity: O(n) in the bytes of the journal and its images.
  public func verify(
    _ level: CheckLevel = .everything, progress: (_ done: Revision, _ all: Revision) -> Void = { _, _ in }
  ) throws -> JournalHealth {
    if level == .recent { return health }
    return try settled { try verifyAll(isDeep: level == .deep, progress) }
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
        // Throws if the journal was closed, which does not close the reopened log.
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
    if keeper == nil, !verifier.result.isSound { try folder.checkLogIsCurrent() }
    progress(expected.revision, expected.revision)
    return verifier.result
  }

  /// The number of entries between two calls of `progress`.
  private static var progressStep: Int { 1000 }

  /// The log and FORMAT, opened again by the names of their files; nil if this journal is not open for writing, or if the
  /// log is elsewhere. A reader's own view is not newer than its opening, and another one could lack its last entries
  /// while a writer recovers them.
  /// - Throws: ``JournalError``, with code `damaged` if the files are not those of this journal any more.
  private func reopenedFiles() throws(JournalError) -> (log: any EntryLog, format: JournalFormat)? {
    let storage = options.logStorage
    if keeper == nil || node != nil || storage.isTransient { return nil }
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

  /// Notes a problem if a layer is of an entry that the log does not have, not even by now: a layer is only written
  /// after its entry is durable.
  private func checkIsNoLoss(
    _ record: FooterFile, _ verifier: inout Verifier<State>
  ) throws(JournalError) {
    // Entries that can't be proven are missing from such a journal, and `damage` says so.
    if damage != nil { return }
    let newest: Revision
    do throws(JournalError) {
      newest = try keeper == nil ? newestRevisionNow() : log.newestRevision()
      // Another process may have replaced the log and removed all layers.
      guard newest < record.name.to, try chain.footers.footer(record.name) == record else { return }
    } catch {
      if error.saysNothingHere { throw error }
      // What can't be read is noted where it is verified.
      return
    }
    verifier.note(chain.loss(after: newest, shownBy: record.name))
  }

  /// The newest entry that the log has now, which a reader may not show.
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
      if keeper == nil, receipt.revision > expected.revision {
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
      // Unreadable entries were noted before.
      if let error = error as? JournalError, error.revision == nil { verifier.note(error) }
    }
  }

  /// Notes a record of a replacement of the log that prevents writing, or that another program has altered or brought back.
  /// A record that a crash has left is in order.
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
      // Unreadable entries were noted before.
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
    // After a crash the mark may lag behind the log, if it names an existing entry. A mark of a newer entry comes from
    // commits in the meantime.
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
      // The unreadable entry was noted before.
    }
  }
}

extension JournalError {
  /// Whether the error says nothing about the journal as it is now: a shortage, or another process or thread has closed or
  /// replaced what was read.
  fileprivate var saysNothingHere: Bool { [.closed, .pruned, .outOfResources].contains(code) }
}

/// Iterates over the entries in order and notes problems.
private struct Verifier<State: EventSourced> {
  let format: JournalFormat
  let upcast: EventUpcast
  private let folder: JournalFolder
  var result: JournalHealth
  /// The newest entry that was read.
  private(set) var head: Head
  private(set) var blobs: Set<Blob> = []
  private(set) var state = State()
  private var schemaVersion: Int
  /// How many events have led to the state, including those that make the base.
  private(set) var appliedCount = 0
  /// The digests that later entries have of states still to be reached.
  private var checkpoints: [Revision: [(stateDigest: ContentDigest, entry: Revision)]] = [:]
  /// The digests that entries have of the state of the base, in the model that wrote it.
  private var vouched: [(stateDigest: ContentDigest, entry: Revision)] = []
  /// The newest entry whose header says that it has the digest of the base.
  private var voucher: Revision?

  init(format: JournalFormat, upcast: EventUpcast, _ folder: JournalFolder, through last: Revision) {
    self.folder = folder
    self.format = format
    self.upcast = upcast
    head = format.head
    result = JournalHealth(head: head, lastRevision: last)
    result.base = format.base?.head
    schemaVersion = format.schema.version
  }

  /// Finds the checkpoints to compare: those of this version of the model, because other versions have other records,
  /// and those of the base.
  mutating func readCheckpoints(
    _ log: any EntryLog, _ range: ClosedRange<Revision>, isDeep: Bool
  ) throws(JournalError) {
    let base = format.base
    try log.readAll(range) { entry throws(JournalError) in
      let header = try entry.header()
      let isOfBase = base?.isVouchedFor(by: header) ?? false
      if isOfBase { voucher = entry.revision }
      guard header.checkpointRevision != nil, let checkpoint = try entry.checkpoint() else { return }
      if isOfBase {
        vouched.append((checkpoint.stateDigest, entry.revision))
        return
      }
      guard isDeep, header.schemaVersion == upcast.schema.version,
        checkpoint.revision > base?.head.revision ?? 0
      else { return }
      checkpoints[checkpoint.revision, default: []].append((checkpoint.stateDigest, entry.revision))
    }
  }

  private mutating func compareCheckpoints(at revision: Revision) {
    guard let found = checkpoints.removeValue(forKey: revision), let digest = StateDigest.digest(of: state)
    else { return }
    for (stateDigest, entry) in found {
      result.checkpointCount += 1
      if stateDigest == digest { continue }
      note(
        JournalError(
          .damaged, "the entry's checkpoint differs from the state that the entries up to \(revision) make",
          revision: entry))
    }
  }

  /// Starts at the base of the history.
  /// - Throws: ``JournalError`` if nothing can be checked because the base can't be read.
  mutating func begin(with base: HistoryBase) throws(JournalError) {
    try base.check()
    appliedCount = try base.contents().load(into: &state)
    blobs.formUnion(try base.blobs(of: State.self))
    result.checkpointCount += vouched.count
    for (stateDigest, entry) in vouched where stateDigest != base.stateDigest {
      note(
        JournalError(
          .damaged, "the entry's checkpoint does not match the base of the history",
          revision: entry, path: base.file.path))
    }
    result.isBaseProven = !vouched.isEmpty && vouched.allSatisfy { $0.stateDigest == base.stateDigest }
    if let voucher, vouched.isEmpty {
      note(
        JournalError(
          .damaged,
          "the checkpoint that proved the base was erased, and no other entry has one",
          revision: voucher, path: base.file.path))
    }
  }

  /// Runs a part of the verification. What it throws is noted, unless that says nothing about the journal as it is now.
  mutating func attempt(
    _ body: (inout Self) throws(JournalError) -> Void
  ) throws(JournalError) {
    do throws(JournalError) { try body(&self) } catch {
      if error.saysNothingHere { throw error }
      note(error)
    }
  }

  mutating func note(_ error: JournalError, as severity: JournalHealth.Problem.Severity? = nil) {
    result.note(error, in: folder, as: severity)
  }

  mutating func check(_ layers: inout SnapshotVerifier<State>, _ head: Head) throws(JournalError) {
    for problem in try layers.check(state, appliedCount, head) { note(problem) }
  }

  /// - Throws: ``JournalError`` if nothing after this entry can be checked.
  mutating func check(_ entry: EntryDecoder) throws(JournalError) {
    let header = try entry.header()
    let revision = entry.revision
    if header.previousDigest != head.digest {
      note(JournalError(.damaged, "the chain of digests is broken before this entry", revision: revision))
    }
    if header.schemaVersion < schemaVersion {
      note(
        JournalError(
          .damaged, "the entry was written by an older version of the model than the entry before it",
          revision: revision))
    }
    schemaVersion = max(schemaVersion, header.schemaVersion)
    _ = try entry.annotation()
    _ = try entry.checkpoint()
    if revision > 1, header.date < head.timestamp {
      note(
        JournalError(.damaged, "the entry's date is before that of the entry before it", revision: revision))
    }
    var events = try entry.events()
    while let event = try events.next(upcast) {
      if event.previous != state.revision(of: event.entity) {
        note(
          JournalError(
            .damaged,
            "the event of \(State.name(of: event.entity)) names \(event.previous) as the previous one, "
              + "which is \(state.revision(of: event.entity))", revision: revision))
      }
      try state.apply(event, at: revision)
      result.eventCount += 1
      appliedCount += 1
      if case .erased = event.change { result.erasedEventCount += 1 }
      if case .delete = event.change { continue }
      if let record = state.record(of: event.entity) {
        blobs.formUnion(State.blobs(in: record, of: event.entity.kind))
      }
    }
    result.entryCount += 1
    head = Head(revision: revision, timestamp: header.date, digest: try entry.digest(journal: format.id))
    result.head = head
    result.checkedRevision = revision
    compareCheckpoints(at: revision)
  }

  /// - Parameter digest: that of the state that the journal shows.
  mutating func finish(_ expected: Version<State>, _ digest: ContentDigest?) {
    result.blobCount = blobs.count
    if head != expected.head {
      note(
        JournalError(
          .damaged, "the newest entry is not the one that was committed", revision: expected.revision))
    }
    for problem in state.problems() {
      note(JournalError(.damaged, "the state breaks a rule: \(problem)", revision: expected.revision))
    }
    if head == expected.head, StateDigest.digest(of: state) != digest {
      note(
        JournalError(
          .damaged,
          "the state that the journal shows differs from the one that its entries make; close it, remove the files in "
            + "this folder, and open it again", revision: expected.revision, path: folder.snapshots))
    }
    for problem in expected.state.indexProblems() {
      note(JournalError(.damaged, problem, revision: expected.revision))
    }
  }
}
