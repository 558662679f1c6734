import CLibPQ

/// Inserts the entries of a database's shared journals once more, in the same transactions. Uses libpq as its manual
/// advises: prepared statements, and values in binary.
@safe
final class PostgresPeer {
  private let connection: OpaquePointer
  /// The result of ``prepare()``: each transaction's journal, and arrays of its revisions, digests and bytes.
  private var batches: OpaquePointer?

  init(_ address: String) throws {
    unsafe connection = unsafe PQconnectdb(address)
    guard unsafe PQstatus(connection) == CONNECTION_OK else { throw failure }
    try run("SET client_min_messages = warning")
  }

  deinit {
    unsafe PQclear(batches)
    unsafe PQfinish(connection)
  }

  private var failure: PeerFailure { PeerFailure(unsafe String(cString: PQerrorMessage(connection))) }

  private func check(_ result: OpaquePointer?) throws -> OpaquePointer? {
    let status = unsafe PQresultStatus(result)
    if [PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_COPY_OUT].contains(status) { return unsafe result }
    unsafe PQclear(result)
    throw failure
  }

  private func run(_ text: String) throws { unsafe PQclear(try check(PQexec(connection, text))) }

  /// Reads the entries, makes an empty table like theirs, and returns the number of transactions that wrote them.
  func prepare() throws -> Int {
    // xmin is the transaction that inserted a row, so rows with the same xmin are a batch of the journal.
    unsafe batches = try unsafe check(
      PQexecParams(
        connection,
        """
        SELECT journal, array_agg(revision ORDER BY revision), array_agg(digest ORDER BY revision),
          array_agg(bytes ORDER BY revision) FROM journal_entries GROUP BY journal, xmin::text ORDER BY min(revision)
        """, 0, nil, nil, nil, nil, 1))
    try run("DROP TABLE IF EXISTS peer_entries")
    try run("CREATE TABLE peer_entries (LIKE journal_entries INCLUDING ALL)")
    let insertion =
      "INSERT INTO peer_entries SELECT $1::uuid, * FROM unnest($2::bigint[], $3::bytea[], $4::bytea[])"
    unsafe PQclear(try check(PQprepare(connection, "insert", insertion, 0, nil)))
    return Int(unsafe PQntuples(batches))
  }

  func insert() throws {
    for row in 0..<(unsafe PQntuples(batches)) {
      let values = unsafe (Int32(0)..<4).map { unsafe UnsafePointer<CChar>?(PQgetvalue(batches, row, $0)) }
      let lengths = (Int32(0)..<4).map { unsafe PQgetlength(batches, row, $0) }
      unsafe PQclear(try check(PQexecPrepared(connection, "insert", 4, values, lengths, [1, 1, 1, 1], 1)))
    }
  }

  /// Reads the entries with COPY.
  func copy() throws {
    try run("COPY journal_entries TO STDOUT (FORMAT binary)")
    var row: UnsafeMutablePointer<CChar>?
    while unsafe PQgetCopyData(connection, &row, 0) > 0 { unsafe PQfreemem(row) }
    unsafe PQclear(try check(PQgetResult(connection)))
  }
}
