import CLibSQLite
import Foundation

/// A SQLite database. Used by one thread.
///
/// Marked safe although it has a pointer: statements retain their database, so that no statement outlives it.
@safe
final class Database {
  enum Value: Hashable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])

    init(_ text: String?) { self = text.map { .text($0) } ?? .null }
    init(_ number: Int?) { self = number.map { .integer(Int64($0)) } ?? .null }
  }

  fileprivate let handle: OpaquePointer
  private let path: String

  /// Opens a database.
  /// - Parameter isNew: whether to make the file, which must not exist.
  /// - Throws: ``Failure`` if the file is not there, or is no database.
  init(_ path: String, isNew: Bool) throws(Failure) {
    let flags =
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (isNew ? SQLITE_OPEN_CREATE | SQLITE_OPEN_EXCLUSIVE : 0)
    var opened: OpaquePointer?
    let result = unsafe sqlite3_open_v2(path, &opened, flags, nil)
    guard let opened = unsafe opened else { throw Failure.unreadable("\(path): out of memory") }
    unsafe handle = unsafe opened
    self.path = path
    // From here on, `deinit` closes the database, also after an error.
    try check(result)
    unsafe sqlite3_busy_timeout(handle, 10_000)
  }

  deinit { unsafe sqlite3_close_v2(handle) }

  fileprivate func check(_ result: Int32) throws(Failure) {
    if [SQLITE_OK, SQLITE_ROW, SQLITE_DONE].contains(result) { return }
    throw Failure.unreadable("\(path): SQLite: \(unsafe String(cString: sqlite3_errmsg(handle)))")
  }

  /// Whether the last call failed because the file is damaged.
  var isDamaged: Bool { unsafe sqlite3_errcode(handle) & 0xFF == SQLITE_CORRUPT }
  /// Whether the last call failed because another program uses the file.
  var isBusy: Bool { unsafe sqlite3_errcode(handle) & 0xFF == SQLITE_BUSY }

  /// Runs statements without parameters. A statement with a name from a journal must run by ``prepare(_:)``, which takes
  /// only one.
  func execute(_ text: String) throws(Failure) { try check(unsafe sqlite3_exec(handle, text, nil, nil, nil)) }

  func prepare(_ text: String) throws(Failure) -> Statement { try Statement(text, self) }

  /// The rows of a query.
  func rows(_ text: String, _ values: Value...) throws(Failure) -> [[Value]] {
    let statement = try prepare(text)
    try statement.bind(values)
    var rows: [[Value]] = []
    while let row = try statement.next() { rows.append(row) }
    return rows
  }
}

/// A prepared statement. Marked safe although it has a pointer: the statement is finalized before its database is closed.
@safe
final class Statement {
  private let database: Database
  private let handle: OpaquePointer

  fileprivate init(_ text: String, _ database: Database) throws(Failure) {
    self.database = database
    var prepared: OpaquePointer?
    try database.check(unsafe sqlite3_prepare_v2(database.handle, text, -1, &prepared, nil))
    unsafe handle = unsafe prepared!
  }

  deinit { unsafe sqlite3_finalize(handle) }

  /// Runs a statement that has no rows.
  func run(_ values: Database.Value...) throws(Failure) { try run(values) }

  func run(_ values: [Database.Value]) throws(Failure) {
    try bind(values)
    while try next() != nil {}
  }

  fileprivate func bind(_ values: [Database.Value]) throws(Failure) {
    for (index, value) in values.enumerated() {
      try database.check(bind(value, at: Int32(index + 1)))
    }
  }

  private func bind(_ value: Database.Value, at place: Int32) -> Int32 {
    // SQLITE_TRANSIENT, with which SQLite copies the bytes.
    let copied = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    switch value {
    case .null: return unsafe sqlite3_bind_null(handle, place)
    case .integer(let number): return unsafe sqlite3_bind_int64(handle, place, number)
    case .real(let number): return unsafe sqlite3_bind_double(handle, place, number)
    case .text(var text):
      // The length is given, because a text may contain NUL.
      return text.withUTF8 { utf8 in
        unsafe utf8.withMemoryRebound(to: CChar.self) { bytes in
          unsafe sqlite3_bind_text64(
            handle, place, bytes.baseAddress, UInt64(bytes.count), copied, UInt8(SQLITE_UTF8))
        }
      }
    case .blob(let bytes):
      return bytes.isEmpty
        ? unsafe sqlite3_bind_zeroblob(handle, place, 0)
        : unsafe sqlite3_bind_blob64(handle, place, bytes, UInt64(bytes.count), copied)
    }
  }

  /// The next row; nil after the last one, where the statement begins anew.
  func next() throws(Failure) -> [Database.Value]? {
    let result = unsafe sqlite3_step(handle)
    guard result == SQLITE_ROW else {
      unsafe sqlite3_reset(handle)
      try database.check(result)
      return nil
    }
    return (0..<(unsafe sqlite3_column_count(handle))).map { column in
      switch unsafe sqlite3_column_type(handle, column) {
      case SQLITE_NULL: .null
      case SQLITE_INTEGER: .integer(unsafe sqlite3_column_int64(handle, column))
      case SQLITE_FLOAT: .real(unsafe sqlite3_column_double(handle, column))
      case SQLITE_TEXT:
        .text(String(decoding: unsafe bytes(column, sqlite3_column_text(handle, column)), as: UTF8.self))
      default: .blob(unsafe bytes(column, sqlite3_column_blob(handle, column)))
      }
    }
  }

  private func bytes(_ column: Int32, _ start: UnsafeRawPointer?) -> [UInt8] {
    let count = Int(unsafe sqlite3_column_bytes(handle, column))
    return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count))
  }
}

extension String {
  /// The name of a table or a column as SQL has it.
  var quoted: String {
    // By scalars, because a quotation mark and an accent are one character.
    var name = String.UnicodeScalarView("\"".unicodeScalars)
    for scalar in unicodeScalars {
      if scalar == "\"" { name.append(scalar) }
      name.append(scalar)
    }
    name.append("\"")
    return String(name)
  }
}
