import CPeers
import CatalogModel
import Foundation

/// Durable commits, each of one event: every call returns when its entry is flushed; in a pipeline, when the body has run.
func commitRows(_ bench: Workbench, callers: Int) async throws -> [ReportRow] {
  let name: RowName = callers == 1 ? .commit1 : callers == 8 ? .commit8 : .commit64
  let rows: Set<RowName> =
    callers == 64 ? [name, .commit64Async] : callers == 1 ? [name, .commitPipeline] : [name]
  guard !bench.rows.isDisjoint(with: rows) else { return [] }

  // A peer without group commit needs a flush for each operation, so the number of operations depends on the time of a
  // flush. But groups form only if each caller makes some commits, and layers are merged only after some ten thousands.
  let most = bench.isQuick ? 2_048 : callers == 64 ? 102_400 : 6_400
  let operations = bench.operations(
    lasting: bench.isQuick ? 0.15 : callers == 64 ? 12 : 0.4, in: max(64, 16 * callers)...most)
  let who = callers == 1 ? "1 caller" : "\(callers) callers"
  let subject = CommitSubject(bench, callers: callers)
  let sqlite = try await SQLiteUse.faster(bench, subject, callers: callers)

  var contestants = [
    Contestant(name: "Journal") { try await subject.run($0, .threads) },
    Contestant(name: "LevelDB Put, sync") { count in
      try bench.inNewFolder {
        try LevelDBPeer.put(try subject.written(), count: count, callers: callers, in: $0)
      }
    },
    Contestant(name: sqlite.name) { try sqlite.insert(bench, subject, count: $0, callers: callers) },
  ]
  if callers == 64 {
    contestants.append(Contestant(name: "Journal, tasks") { try await subject.run($0, .tasks) })
  } else if callers == 1 {
    contestants.append(Contestant(name: "Journal, in a pipeline") { try await subject.run($0, .pipeline) })
  }
  let race = Race(work: "durable commits, \(who)", operations: operations, contestants: contestants)
  let results = try await race.run(on: bench)

  let bytes = try subject.written().averageByteCount
  func row(_ name: RowName, _ who: String, ours: Int = 0, _ levelDB: Wanted?, _ sqlite: Wanted?) -> ReportRow
  {
    ReportRow(
      name, "durable commits, \(who), an event of \(bytes) B", unit: "commits", of: results, ours: ours,
      against: [(1, levelDB), (2, sqlite)])
  }
  switch callers {
  case 1:
    return [
      row(name, who, .atLeast(0.95), nil), row(.commitPipeline, "\(who) in a pipeline", ours: 3, nil, nil),
    ]
  case 64:
    return [row(name, who, nil, .atLeast(10)), row(.commit64Async, "64 tasks", ours: 3, nil, .atLeast(20))]
  default: return [row(name, who, nil, nil)]
  }
}

/// How the callers use SQLite.
private struct SQLiteUse {
  let name: String
  let sharing: peer_sqlite_sharing

  /// Tries both ways with few commits, and returns the faster one: connections that wait for each other's transactions
  /// can be so slow that a whole race would take minutes.
  static func faster(_ bench: Workbench, _ subject: CommitSubject, callers: Int) async throws -> SQLiteUse {
    let own = SQLiteUse(name: "SQLite, WAL, FULL", sharing: peer_sqlite_own_connection)
    guard callers > 1 else { return own }
    let shared = SQLiteUse(name: own.name + ", one connection", sharing: peer_sqlite_shared_connection)
    let each = SQLiteUse(name: own.name + ", a connection each", sharing: peer_sqlite_own_connection)
    bench.progress.show("trying the two ways in which \(callers) callers can use SQLite")
    let count = 4 * callers
    _ = try await subject.run(count, .threads)
    let times = try [shared, each].map { try $0.insert(bench, subject, count: count, callers: callers) }
    return times[0] <= times[1] ? shared : each
  }

  func insert(_ bench: Workbench, _ subject: CommitSubject, count: Int, callers: Int) throws -> Double {
    try bench.inNewFolder {
      try SQLitePeer.insert(
        try subject.written(), count: count, callers: callers, sharing: sharing, in: $0)
    }
  }
}

/// The journal in a race of commits, and what it wrote when it last ran.
private final class CommitSubject {
  private let bench: Workbench
  private let callers: Int
  private var runs: UInt64 = 0
  private var latest: WrittenEntries?

  init(_ bench: Workbench, callers: Int) {
    self.bench = bench
    self.callers = callers
  }

  /// The entries of the latest run; the peers write them too.
  func written() throws -> WrittenEntries {
    guard let latest else { throw PeerFailure(description: "A peer ran before the journal had.") }
    return latest
  }

  enum Way {
    case threads
    case tasks
    /// All commits in one pipeline.
    case pipeline
  }

  /// Commits `count` items into a new journal.
  func run(_ count: Int, _ way: Way) async throws -> Double {
    let url = bench.newPath("commits.journal")
    defer { bench.discard(url) }
    let journal = try CatalogJournal.create(at: url)
    runs += 1
    let items = SampleData.attributes(count: count, seed: bench.seed &+ runs &* 0x1_0001)
    let callers = callers
    let seconds: Double
    switch way {
    case .tasks:
      seconds = try await timedTasks(callers) { caller in
        for index in stride(from: caller, to: count, by: callers) {
          try await journal.commit { try $0.addItem(kind: SampleData.kind, attributes: items[index]) }
        }
      }
    case .threads:
      seconds = try timedThreads(callers) { caller in
        for index in stride(from: caller, to: count, by: callers) {
          try journal.commit { try $0.addItem(kind: SampleData.kind, attributes: items[index]) }
        }
      }
    case .pipeline:
      seconds = try timedThreads(1) { _ in
        try journal.withPipeline { pipeline in
          for item in items {
            try pipeline.commit { try $0.addItem(kind: SampleData.kind, attributes: item) }
          }
        }
      }
    }
    try journal.close()
    latest = nil
    let written = try WrittenEntries(ofJournalAt: url)
    guard written.count == count else {
      throw PeerFailure(description: "The journal holds \(written.count) entries after \(count) commits.")
    }
    latest = written
    return seconds
  }
}
