import CLibLevelDB
import CLibPQ
import CLibSQLite
import Files
import Foundation

/// A peer failed, or the journal did not do the work, so there is no figure.
struct PeerFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }

  static var versions: String {
    "LevelDB \(leveldb_major_version()).\(leveldb_minor_version()), "
      + "SQLite \(unsafe String(cString: sqlite3_libversion())), libpq \(PQlibVersion() / 10_000)"
  }
}

extension PeerFailure: FileFailure {
  init(_ error: FileError) { description = "\(error.path): \(error.message)" }
}

/// The keys and values that a journal wrote, which the peers then write too.
struct WrittenEntries: Sendable {
  let all: [(key: LevelDBPeer.Bytes, value: LevelDBPeer.Bytes)]

  /// Reads the entries of a closed journal. LevelDB rewrites the folder when it opens it, so the journal must not be
  /// opened afterwards.
  init(ofJournalAt url: URL) throws {
    var all: [(key: LevelDBPeer.Bytes, value: LevelDBPeer.Bytes)] = []
    let database = try LevelDBPeer(at: url.appending(path: "entries"), isNew: false)
    try unsafe database.forEachEntry { unsafe all.append((Array($0), Array($1))) }
    self.all = all
  }

  var averageByteCount: Int {
    all.isEmpty ? 0 : all.reduce(0) { $0 + $1.key.count + $1.value.count } / all.count
  }

  /// Puts all entries into a new LevelDB, with a flush for each, and returns the seconds that this takes.
  func put(at url: URL, callers: Int) throws -> Double {
    let database = try LevelDBPeer(at: url)
    return try timedThreads(callers, count: all.count) { [all] in try database.put(all[$0]) }
  }

  /// Inserts the first `count` entries into SQLite, each in a transaction, and returns the seconds that this takes.
  /// - Parameter connections: 1 for one connection that all callers share, or as many as there are callers.
  func insert(_ count: Int, at url: URL, callers: Int, connections: Int) throws -> Double {
    let databases = try (0..<connections).map { _ in
      let database = try SQLitePeer(at: url)
      try database.execute("CREATE TABLE IF NOT EXISTS entries(key INTEGER PRIMARY KEY, value BLOB NOT NULL)")
      return (database, insertion: try database.prepare("INSERT INTO entries VALUES(?, ?)"))
    }
    return try timedThreads(callers, count: count) { [all] index in
      let (database, insertion) = databases[index % callers % connections]
      try database.run(insertion, .integer(index + 1), .blob(all[index].value))
    }
  }
}
