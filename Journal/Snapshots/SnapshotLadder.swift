import LevelDB
import Locks

/// Finds the state that a replay can start from: that of the newest good snapshot at or before a revision, else
/// of the next older one, else the empty one of revision 0.
///
/// 1. A snapshot is trusted for nothing: it is used when the log knows it, its entry is the log's, its schema is
///    the model's, and what is read of it has the checksums that the log noted.
/// 2. One that fails is noted, and not looked at again.
/// 3. When one fails that states stand on already, they are given the parts of the same revision, rebuilt from
///    the next rung. So a reader gets the right answer, late.
///
/// Safe to use from many threads.
final class SnapshotLadder<State: EventSourced>: Sendable {
  private let folder: JournalFolder
  private let id: JournalID
  private let options: Database.Options
  /// What is open of the log; nil when the journal has been closed.
  private let log: Lock<(any EntryLog)?>
  private let findings = Lock(Findings())

  private struct Findings: Sendable {
    var errors: [JournalError] = []
    var failed: Set<Revision> = []
  }

  init(_ folder: JournalFolder, id: JournalID, log: any EntryLog, options: Database.Options) {
    self.folder = folder
    self.id = id
    self.options = options
    self.log = Lock(log)
  }

  /// Goes on with another opening of the same log, or with none once the journal is closed.
  func use(_ log: (any EntryLog)?) { self.log.withLock { $0 = log } }

  /// What was found wrong with snapshots so far, in the order in which it was.
  var problems: [JournalError] { findings.withLock { $0.errors } }

  /// The revisions whose snapshots failed.
  var failed: Set<Revision> { findings.withLock { $0.failed } }

  /// Says that the snapshot of a revision is another now, so that it may be used again.
  func forgive(_ revision: Revision) { _ = findings.withLock { $0.failed.remove(revision) } }

  /// Notes that a snapshot can't be used, once.
  func note(_ error: JournalError, at revision: Revision) {
    findings.withLock { findings in
      guard findings.failed.insert(revision).inserted else { return }
      findings.errors.append(error)
    }
  }

  /// The state to start from for a revision.
  /// - Throws: ``JournalError`` when the log can't be read.
  func rung(atOrBefore revision: Revision) throws(JournalError) -> Rung<State> {
    guard let log = log.withLock({ $0 }) else {
      throw JournalError(.closed, "the journal has been closed", path: folder.path)
    }
    return try rung(atOrBefore: revision, in: log)
  }

  private func rung(atOrBefore revision: Revision, in log: any EntryLog) throws(JournalError) -> Rung<State> {
    var found: Rung<State>?
    if revision > 0 {
      try log.readSnapshotRecords(1...revision) { record throws(JournalError) in
        guard let facts = record.facts, facts.schema == State.schema else { return true }
        if findings.withLock({ $0.failed.contains(record.revision) }) { return true }
        do throws(JournalError) {
          found = Rung(
            revision: record.revision, state: try state(of: record, facts, in: log),
            eventCount: facts.eventCount)
        } catch {
          if error.code == .closed { throw error }
          note(error, at: record.revision)
        }
        return found == nil
      }
    }
    return found ?? .start
  }

  private func state(
    of record: SnapshotRecord, _ facts: SnapshotFacts, in log: any EntryLog
  ) throws(JournalError) -> State {
    let revision = record.revision
    let head = try Replay<State>(log: log, id: id).head(at: revision)
    guard head.digest == facts.entryDigest else {
      throw JournalError(
        .damaged, "the snapshot is of another entry than the log has", revision: revision,
        path: folder.snapshot(revision))
    }
    let file = try SnapshotFile(folder.snapshot(revision), facts: facts, revision: revision)
    // Not weakly: a state can outlive its journal, and must stay right.
    let parts = try file.parts(State.self) { error throws(JournalError) in
      try self.rebuild(revision, because: error)
    }
    guard let state = State(parts: parts) else {
      throw JournalError(
        .damaged, "the snapshot lacks what the model is made of", revision: revision,
        path: folder.snapshot(revision))
    }
    return state
  }

  /// The parts of the state at a revision whose snapshot failed while states stood on it.
  private func rebuild(_ revision: Revision, because error: JournalError) throws(JournalError) -> StateParts {
    note(error, at: revision)
    let open = log.withLock { $0 }
    let log: any EntryLog =
      if let open { open } else {
        // The journal is closed and a state of it still read. A look at the log changes nothing on disk.
        try LevelDBLog.open(in: folder, id: id, .readOnly, options: options)
      }
    defer { if open == nil { try? log.close() } }
    let rung = try rung(atOrBefore: revision, in: log)
    let state = try Replay<State>(log: log, id: id).version(through: revision, from: rung).version.state
    guard let parts = state.parts else { throw error }
    return parts
  }
}

/// Where a replay starts.
struct Rung<State: EventSourced>: Sendable {
  let revision: Revision
  let state: State
  /// How many events the entries up to here have.
  let eventCount: Int

  /// The empty journal, from which everything can be replayed.
  static var start: Rung { Rung(revision: 0, state: State(), eventCount: 0) }
}

extension EventSourced {
  /// The names of the numbered fields of all kinds, in the order of the kinds.
  static var allFieldNames: [[String]] {
    kindNames.indices.map { fieldNames(of: EntityKind(rawValue: UInt8($0))) }
  }
}
