import Locks

/// Holds the snapshots of a journal against the states that a replay passes through.
struct SnapshotVerifier<State: EventSourced> {
  private let folder: JournalFolder
  private let known: SnapshotRecords
  private let isDeep: Bool
  /// Those that are still to come, the newest first.
  private var records: [SnapshotRecord] = []
  /// How many were checked.
  private(set) var count = 0

  init(folder: JournalFolder, isDeep: Bool) {
    self.folder = folder
    known = SnapshotRecords(folder: folder)
    self.isDeep = isDeep
  }

  /// Finds the snapshots to check.
  mutating func read(through revision: Revision) throws(JournalError) {
    records = try known.all().filter { $0.revision <= revision }.reversed()
  }

  /// Checks the snapshot of a revision, if there is one, and gives what is wrong with it.
  /// - Parameters:
  ///   - state: what the entries up to that revision make.
  ///   - head: the newest of them.
  mutating func check(_ state: State, _ head: Head) -> [JournalError] {
    var problems: [JournalError] = []
    while let record = records.last, record.revision <= head.revision {
      records.removeLast()
      let found = check(record, state, head)
      // One that was dropped meanwhile has nothing wrong with it.
      if !found.isEmpty, (try? known.record(of: record.revision)) != record { continue }
      count += 1
      problems += found
    }
    return problems
  }

  private func check(_ record: SnapshotRecord, _ state: State, _ head: Head) -> [JournalError] {
    guard let facts = record.facts else { return record.problem.map { [$0] } ?? [] }
    let path = folder.snapshot(record.revision)
    func problem(_ message: String) -> JournalError {
      JournalError(.damaged, message, revision: record.revision, path: path)
    }
    do throws(JournalError) {
      guard facts.entryDigest == head.digest else {
        return [problem("the snapshot is of another entry than the log has")]
      }
      let file = try SnapshotFile(in: folder.openSnapshots(), facts: facts, revision: record.revision)
      try file.checkAllPages()
      // What another version of the model wrote is never used, so it can't give a wrong state.
      guard isDeep, facts.schema == State.schema else { return [] }
      guard let replayed = StateDigest.digest(of: state) else { return [] }
      guard replayed == facts.stateDigest else {
        return [problem("the snapshot is noted as another state than the entries make")]
      }
      return try compare(file, facts, problem)
    } catch {
      return [error]
    }
  }

  private func compare(
    _ file: SnapshotFile, _ facts: SnapshotFacts, _ problem: (String) -> JournalError
  ) throws(JournalError) -> [JournalError] {
    // What can't be read is an error here, and nothing takes its place.
    let failure = Lock<JournalError?>(nil)
    guard let empty = State().parts else { return [] }
    let parts = try file.parts(State.self, faults: ReadFaults()) { error throws(JournalError) in
      failure.withLock { $0 = error }
      return empty
    }
    let digest = StateDigest.digest(schema: State.schema, tables: parts.tables)
    let problems = State(parts: parts)?.problems() ?? ["it lacks what the model is made of"]
    if let error = failure.withLock({ $0 }) { return [error] }
    if digest != facts.stateDigest {
      return [problem("the snapshot holds another state than the entries make")]
    }
    return problems.map { problem("the state in the snapshot breaks a rule: \($0)") }
  }
}
