import CPeers
import CatalogModel
import Foundation

/// Durable commits, each of one event: every call returns when its entry is flushed.
func commitRows(_ bench: Workbench, callers: Int) async throws -> [Row] {
  let name: RowName = callers == 1 ? .commit1 : callers == 8 ? .commit8 : .commit64
  let rows: Set<RowName> = callers == 64 ? [name, .commit64Async] : [name]
  guard !bench.rows.isDisjoint(with: rows) else { return [] }

  let subject = CommitSubject(bench, callers: callers)
  func inFolder(_ work: (URL) throws -> Double) throws -> Double {
    let folder = try bench.newFolder("peer")
    defer { bench.discard(folder) }
    return try work(folder)
  }
  var contestants = [
    Contestant(name: "Journal") { try await subject.run($0, asTasks: false) },
    Contestant(name: "LevelDB Put, sync") { count in
      try inFolder { try LevelDBPeer.put(try subject.written(), count: count, callers: callers, in: $0) }
    },
    Contestant(name: "SQLite, a connection each") { count in
      try inFolder {
        try SQLitePeer.insert(
          try subject.written(), count: count, callers: callers, sharing: peer_sqlite_own_connection, in: $0)
      }
    },
  ]
  if callers > 1 {
    contestants.append(
      Contestant(name: "SQLite, one connection") { count in
        try inFolder {
          try SQLitePeer.insert(
            try subject.written(), count: count, callers: callers, sharing: peer_sqlite_shared_connection,
            in: $0)
        }
      })
  }
  if callers == 64 {
    contestants.append(Contestant(name: "Journal, tasks") { try await subject.run($0, asTasks: true) })
  }

  // A peer without group commit pays a flush for each operation, so the flush decides how long a turn is.
  let limit = bench.isQuick ? 2_000 : 6_400
  let operations = bench.operations(lasting: bench.isQuick ? 0.15 : 0.4, atMost: limit)
  let who = callers == 1 ? "1 caller" : "\(callers) callers"
  let race = Race(work: "durable commits, \(who)", operations: operations, contestants: contestants)
  let results = try await race.run(on: bench)

  let bytes = try subject.written().averageByteCount
  func row(_ name: RowName, _ who: String, ours: Int, wantedOfLevelDB: Wanted?, ofSQLite: Wanted?) -> Row {
    // The peer is SQLite at its best; the slower way to use it is shown, and nothing is asked of it.
    var sqlite = [2]
    if callers > 1 {
      sqlite = [2, 3].sorted { results.spread(of: $0).median < results.spread(of: $1).median }
    }
    return Row(
      name, "durable commits, \(who), an event of \(bytes) B", unit: "commits", of: results, ours: ours,
      against: [(1, wantedOfLevelDB), (sqlite[0], ofSQLite)] + sqlite.dropFirst().map { ($0, nil) })
  }
  switch callers {
  case 1: return [row(name, who, ours: 0, wantedOfLevelDB: .atLeast(0.9), ofSQLite: nil)]
  case 64:
    return [
      row(name, who, ours: 0, wantedOfLevelDB: nil, ofSQLite: .atLeast(10)),
      row(.commit64Async, "64 tasks", ours: 4, wantedOfLevelDB: nil, ofSQLite: .atLeast(10)),
    ]
  default: return [row(name, who, ours: 0, wantedOfLevelDB: nil, ofSQLite: nil)]
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

  /// Commits `count` items into a new journal.
  func run(_ count: Int, asTasks: Bool) async throws -> Double {
    let url = bench.newPath("commits.journal")
    defer { bench.discard(url) }
    let journal = try CatalogJournal.create(at: url)
    runs += 1
    let items = SampleData.attributes(count: count, seed: bench.seed &+ runs &* 0x1_0001)
    let callers = callers
    let seconds: Double
    if asTasks {
      seconds = try await timedTasks(callers) { caller in
        for index in stride(from: caller, to: count, by: callers) {
          try await journal.commit { try $0.addItem(kind: SampleData.kind, attributes: items[index]) }
        }
      }
    } else {
      seconds = try timedThreads(callers) { caller in
        for index in stride(from: caller, to: count, by: callers) {
          try journal.commit { try $0.addItem(kind: SampleData.kind, attributes: items[index]) }
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
