import Journaling

/// The tables, and all that is asked of them. Documentation/Shared.md has what a role needs for it.
///
/// `journal_logs` has a row for each journal, with its newest revision: an append raises it, so appends take turns at that
/// row, and one that does not follow changes nothing. `journal_entries` has a row for each entry.
enum Schema {
  /// The tables, in the order in which they are made.
  static let tables: [(name: String, definition: String)] = [
    (
      "journal_logs",
      """
      CREATE TABLE IF NOT EXISTS journal_logs (
        journal uuid PRIMARY KEY,
        format bytea NOT NULL,
        revision bigint NOT NULL)
      """
    ),
    (
      "journal_entries",
      """
      CREATE TABLE IF NOT EXISTS journal_entries (
        journal uuid NOT NULL,
        revision bigint NOT NULL,
        digest bytea NOT NULL,
        bytes bytea NOT NULL,
        PRIMARY KEY (journal, revision))
      """
    ),
  ]

  static let newLog = statement(
    "new_log", "INSERT INTO journal_logs (journal, format, revision) VALUES ($1, $2, $3)")

  static let log = statement("log", "SELECT format, revision FROM journal_logs WHERE journal = $1")

  static let newest = statement("newest", "SELECT revision FROM journal_logs WHERE journal = $1")

  /// Of one journal ($1), after a revision ($2) up to another ($3): numbers ($4), digests ($5), bytes ($6). One statement
  /// is one transaction and one round trip. No row comes back when the newest revision is another.
  static let append = statement("append", append(notifying: "pg_notify($7, $3::text)"))

  /// The same for engines that can't notify.
  static let quietAppend = statement("quiet_append", append(notifying: "$7::text"))

  private static func append(notifying: String) -> String {
    """
    WITH moved AS (
      UPDATE journal_logs SET revision = $3 WHERE journal = $1 AND revision = $2 RETURNING journal),
    added AS (
      INSERT INTO journal_entries (journal, revision, digest, bytes)
      SELECT moved.journal, new.revision, new.digest, new.bytes
      FROM moved, unnest($4::bigint[], $5::bytea[], $6::bytea[]) AS new (revision, digest, bytes))
    SELECT \(notifying) FROM moved
    """
  }

  /// A piece of the entries from $2 to $3: at most so many rows, and about so many bytes, but one at least.
  static let piece = statement("piece", piece(order: "ASC"))
  static let pieceBackwards = statement("piece_backwards", piece(order: "DESC"))
  private static let pieceCount = 4096
  private static let pieceByteCount = 4 << 20

  private static func piece(order: String) -> String {
    """
    SELECT revision, bytes FROM (
      SELECT revision, bytes, sum(octet_length(bytes)) OVER (ORDER BY revision \(order)) - octet_length(bytes) AS before
      FROM journal_entries WHERE journal = $1 AND revision BETWEEN $2 AND $3
      ORDER BY revision \(order) LIMIT \(pieceCount)) AS piece
    WHERE before < \(pieceByteCount) ORDER BY revision \(order)
    """
  }

  static let digest = statement(
    "digest", "SELECT digest FROM journal_entries WHERE journal = $1 AND revision = $2")

  static let byteCount = statement(
    "byte_count",
    "SELECT CAST(coalesce(sum(octet_length(bytes)), 0) AS bigint) FROM journal_entries WHERE journal = $1")

  private static func statement(_ name: StaticString, _ text: String) -> Connection.Statement {
    Connection.Statement(name: name, text: text)
  }
}
