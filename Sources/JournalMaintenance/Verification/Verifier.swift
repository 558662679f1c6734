import Files
import Journaling
import SHA256

extension JournalError {
  /// Whether the error says nothing about the journal as it is now: a shortage, or another process or thread has closed or
  /// replaced what was read.
  var saysNothingHere: Bool { [.closed, .pruned, .outOfResources].contains(code) }
}

/// Iterates over the entries in order and notes problems.
struct Verifier<State: EventSourced> {
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
