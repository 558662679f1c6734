import CInvoices
import CLibSQLite
import Foundation
import Locks

/// A SQLite database in WAL mode with synchronous=FULL. A lock makes threads take turns.
@safe
final class SQLitePeer: @unchecked Sendable {
  enum Value {
    case integer(Int)
    case real(Double)
    case text(String)
    case null
    case blob(LevelDBPeer.Bytes)
  }

  /// A prepared statement, which lives as long as its database.
  @safe
  struct Statement: @unchecked Sendable {
    fileprivate let handle: OpaquePointer
  }

  private let database: OpaquePointer
  private let lock = Lock(())
  // The statements that were prepared, guarded by the lock. FTS5 prepares others, and finalizes them itself.
  private var statements: [Statement] = []
  // The sum of all columns, guarded by the lock, so that the compiler can't leave out the reading of columns.
  private var sum = 0

  init(at url: URL) throws {
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
    var opened: OpaquePointer?
    let result = unsafe sqlite3_open_v2(url.path, &opened, flags, nil)
    guard let opened = unsafe opened, result == SQLITE_OK else {
      throw PeerFailure("SQLite: \(unsafe String(cString: sqlite3_errstr(result)))")
    }
    unsafe database = unsafe opened
    unsafe sqlite3_busy_timeout(database, 60_000)
    try execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL")
  }

  deinit {
    for statement in statements { unsafe sqlite3_finalize(statement.handle) }
    unsafe sqlite3_close(database)
  }

  private func check(_ result: Int32) throws {
    if [SQLITE_OK, SQLITE_DONE].contains(result) { return }
    throw PeerFailure("SQLite: \(unsafe String(cString: sqlite3_errmsg(database)))")
  }

  func execute(_ text: String) throws { try check(unsafe sqlite3_exec(database, text, nil, nil, nil)) }

  func prepare(_ text: String) throws -> Statement {
    var handle: OpaquePointer?
    try check(unsafe sqlite3_prepare_v2(database, text, -1, &handle, nil))
    let statement = unsafe Statement(handle: handle!)
    lock.withLock { _ in statements.append(statement) }
    return statement
  }

  @discardableResult
  func run(_ statement: Statement, _ values: Value...) throws -> Int {
    try lock.withLock { _ in
      let handle = unsafe statement.handle
      for (place, value) in zip(Int32(1)..., values) { try check(unsafe Self.bind(value, handle, place)) }
      var (rows, result) = (0, unsafe sqlite3_step(handle))
      while result == SQLITE_ROW {
        rows += 1
        for column in 0..<(unsafe sqlite3_column_count(handle)) {
          sum &+= unsafe Self.read(column, of: handle)
        }
        result = unsafe sqlite3_step(handle)
      }
      unsafe sqlite3_reset(handle)
      try check(result)
      return rows
    }
  }

  /// Reads all rows of invoices, in C.
  func readInvoices(_ statement: Statement, count: Int) throws {
    let read = lock.withLock { _ in unsafe c_invoices_read(statement.handle, Int64(count)) }
    guard read == count else { throw PeerFailure("SQLite: \(read) invoices of \(count)") }
  }

  private static func bind(_ value: Value, _ handle: OpaquePointer, _ place: Int32) -> Int32 {
    // SQLITE_TRANSIENT, with which SQLite copies the bytes.
    let copied = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    return switch value {
    case .integer(let number): unsafe sqlite3_bind_int64(handle, place, Int64(number))
    case .real(let number): unsafe sqlite3_bind_double(handle, place, number)
    case .text(let text): unsafe sqlite3_bind_text(handle, place, text, -1, copied)
    case .null: unsafe sqlite3_bind_null(handle, place)
    case .blob(let bytes): unsafe sqlite3_bind_blob64(handle, place, bytes, UInt64(bytes.count), copied)
    }
  }

  /// Reads a column as a caller does, a text as a string, and returns a number that depends on it.
  private static func read(_ column: Int32, of handle: OpaquePointer) -> Int {
    switch unsafe sqlite3_column_type(handle, column) {
    case SQLITE_INTEGER: Int(unsafe sqlite3_column_int64(handle, column))
    case SQLITE_FLOAT: unsafe sqlite3_column_double(handle, column) > 0 ? 1 : 0
    default: unsafe String(cString: sqlite3_column_text(handle, column)).utf8.count
    }
  }
}

struct SQLiteItems: Sendable {
  private let database: SQLitePeer
  private let updates, equals, firsts, scans: SQLitePeer.Statement

  init(_ items: some Sequence<(id: Int, sample: Sample)>, indexes: [String] = [], at url: URL) throws {
    database = try SQLitePeer(at: url)
    // A cache for the whole database, because the journal's state is in memory too.
    try database.execute("PRAGMA cache_size=-2000000")
    try database.execute(
      "CREATE TABLE items(id INTEGER PRIMARY KEY, name TEXT, note TEXT, count INTEGER, price REAL, seen REAL)"
    )
    let insertion = try database.prepare("INSERT INTO items VALUES(?, ?, ?, ?, ?, ?)")
    try database.execute("BEGIN")
    for (id, sample) in items {
      try database.run(
        insertion, .integer(id), .text(sample.name), .text(sample.note), .integer(sample.count),
        .real(sample.price), .real(sample.seen.timeIntervalSinceReferenceDate))
    }
    try database.execute("COMMIT")
    for column in indexes { try database.execute("CREATE INDEX by_\(column) ON items(\(column))") }
    try database.execute("ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)")
    let selection = "SELECT name, note, count, price, seen FROM items"
    updates = try database.prepare("UPDATE items SET count = ?2 WHERE id = ?1")
    equals = try database.prepare("\(selection) WHERE count = ?1")
    firsts = try database.prepare("\(selection) WHERE price >= ?1 ORDER BY price LIMIT 20")
    scans = try database.prepare("\(selection) WHERE note >= ?1")
  }

  func update(_ id: Int, count: Int) throws { try database.run(updates, .integer(id), .integer(count)) }

  func ask(_ question: Question, _ rows: inout Int) throws {
    switch question {
    case .equal(let count): rows += try database.run(equals, .integer(count))
    case .first(let price): rows += try database.run(firsts, .real(price))
    case .scan(let note): rows += try database.run(scans, .text(note))
    }
  }
}
