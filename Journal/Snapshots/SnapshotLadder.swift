import Foundation
import Locks

/// Finds the state that a replay can start from: that of the newest good snapshot at or before a revision, else
/// of the next older one, else the empty one of revision 0.
///
/// 1. A snapshot is trusted for nothing: it is used when it has a record, its entry is the log's, its schema is
///    the model's, and what is read of it has the checksums of the record.
/// 2. One that is damaged is noted, and not looked at again. One that can't be read at the moment is asked again.
/// 3. When one fails that states stand on already, they are given the parts of the same revision, rebuilt from
///    the next rung. So a reader gets the right answer, late.
///
/// Safe to use from many threads.
final class SnapshotLadder<State: EventSourced>: Sendable {
  let records: SnapshotRecords
  let faults = ReadFaults()
  private let folder: JournalFolder
  private let format: JournalFormat
  private let options: JournalOptions
  /// What is open of the log; nil when the journal has been closed.
  private let log: Lock<(any EntryLog)?>
  private let findings = Lock(Findings())

  private struct Findings: Sendable {
    var errors: [JournalError] = []
    var failed: Set<Revision> = []
  }

  init(_ folder: JournalFolder, format: JournalFormat, log: any EntryLog, options: JournalOptions) {
    self.folder = folder
    records = SnapshotRecords(folder: folder)
    self.format = format
    self.options = options
    self.log = Lock(log)
  }

  /// Goes on with another opening of the same log, or with none once the journal is closed.
  func use(_ log: (any EntryLog)?) { self.log.withLock { $0 = log } }

  /// What was found wrong with snapshots so far, in the order in which it was.
  var problems: [JournalError] { findings.withLock { $0.errors } }

  /// The revisions whose snapshots are damaged.
  var failed: Set<Revision> { findings.withLock { $0.failed } }

  /// Says that the snapshot of a revision is another now, so that it may be used again.
  func forgive(_ revision: Revision) { _ = findings.withLock { $0.failed.remove(revision) } }

  /// Notes that a snapshot can't be used, once.
  func note(_ error: JournalError, at revision: Revision) {
    let isNew = findings.withLock { findings in
      // Only damage lasts.
      if error.code == .damaged {
        guard findings.failed.insert(revision).inserted else { return false }
      } else if findings.errors.contains(where: { $0.description == error.description }) {
        return false
      }
      findings.errors.append(error)
      return true
    }
    if isNew { options.note(.warning, "a snapshot is not used", cause: error) }
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
    if revision == 0 { return .start }
    for candidate in try records.revisions().reversed() where candidate <= revision {
      if findings.withLock({ $0.failed.contains(candidate) }) { continue }
      var record: SnapshotRecord?
      do throws(JournalError) {
        record = try records.record(of: candidate)
        if let problem = record?.problem { note(problem, at: candidate) }
        guard let record, let facts = record.facts, facts.schema == State.schema else { continue }
        return Rung(
          revision: candidate, state: try state(of: record, facts, in: log), eventCount: facts.eventCount)
      } catch {
        if error.code == .closed { throw error }
        // One that was dropped meanwhile has nothing wrong with it.
        if let record, (try? records.record(of: candidate)) != record { continue }
        note(error, at: candidate)
      }
    }
    return .start
  }

  private func state(
    of record: SnapshotRecord, _ facts: SnapshotFacts, in log: any EntryLog
  ) throws(JournalError) -> State {
    let revision = record.revision
    let head = try Replay<State>(log: log, format: format).head(at: revision)
    guard head.digest == facts.entryDigest else {
      throw JournalError(
        .damaged, "the snapshot is of another entry than the log has", revision: revision,
        path: folder.snapshot(revision))
    }
    let file = try SnapshotFile(
      in: folder.openSnapshots(), facts: facts, revision: revision,
      memoryByteCount: options.snapshots.memoryByteCount)
    // Not weakly: a state can outlive its journal, and must stay right.
    let parts = try file.parts(State.self, faults: faults) { error throws(JournalError) in
      try self.rebuild(head, because: error)
    }
    guard let state = State(parts: parts) else {
      throw JournalError(
        .damaged, "the snapshot lacks what the model is made of", revision: revision,
        path: folder.snapshot(revision))
    }
    return state
  }

  // MARK: Rebuilding

  /// The parts of a state whose snapshot failed while it was in use.
  private func rebuild(
    _ head: Head, because error: JournalError
  ) throws(JournalError) -> StateParts {
    note(error, at: head.revision)
    if let log = log.withLock({ $0 }) {
      do throws(JournalError) {
        return try parts(of: head, in: log, from: try rung(atOrBefore: head.revision, in: log))
      } catch {
        // It may have been closed this very moment.
      }
    }
    // A look of our own, which changes nothing on disk.
    return try partsFromDisk(of: head)
  }

  private func partsFromDisk(of head: Head) throws(JournalError) -> StateParts {
    let log = try options.logStorage.open(.read, in: LogPlace(folder, format, options: options))
    defer { try? log.close() }
    return try parts(of: head, in: log, from: .start)
  }

  private func parts(
    of head: Head, in log: any EntryLog, from rung: Rung<State>
  ) throws(JournalError) -> StateParts {
    let version = try Replay<State>(log: log, format: format).version(through: head.revision, from: rung)
      .version
    // Another history may have taken the place of this one: a backup that was put back.
    guard version.head == head, let parts = version.state.parts else {
      throw JournalError(
        .damaged, "the log has another entry than the snapshot is of", revision: head.revision,
        path: folder.entries)
    }
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
