import Journaling

/// The tables and statements. Documentation/Shared.md lists the privileges that a role needs.
///
/// `journal_logs` has a row for each journal, with its newest revision. An append raises that revision, so the row
/// serializes appends. An append that does not follow the newest entry changes nothing. `journal_entries` has a row for
/// each entry, `journal_images` one for each image, and `journal_image_pieces` the bytes of images.
enum Schema {
  struct Table: Sendable {
    let name: String
    let columns: [(name: String, type: String)]
    /// The columns of the primary key.
    let key: String

    var definition: String {
      let columns = columns.map { "  \($0.name) \($0.type) NOT NULL,\n" }.joined()
      return "CREATE TABLE IF NOT EXISTS \(name) (\n\(columns)  PRIMARY KEY (\(key)))"
    }

    /// A statement that fails if the table is missing, has other columns, or lacks the key. `EXPLAIN` changes nothing
    /// and runs no trigger.
    var check: String {
      let names = columns.map(\.name).joined(separator: ", ")
      let nulls = columns.map { "CAST(NULL AS \($0.type))" }.joined(separator: ", ")
      return """
        EXPLAIN INSERT INTO \(name) (\(names)) SELECT \(names) FROM \(name) UNION ALL SELECT \(nulls)
        ON CONFLICT (\(key)) DO NOTHING
        """
    }
  }

  static let tables = [
    Table(
      name: "journal_logs", columns: [("journal", "uuid"), ("format", "bytea"), ("revision", "bigint")],
      key: "journal"),
    Table(
      name: "journal_entries",
      columns: [("journal", "uuid"), ("revision", "bigint"), ("digest", "bytea"), ("bytes", "bytea")],
      key: "journal, revision"),
    Table(
      name: "journal_images",
      columns: [("journal", "uuid"), ("digest", "bytea"), ("byte_count", "bigint")],
      key: "journal, digest"),
    Table(
      name: "journal_image_pieces",
      columns: [("journal", "uuid"), ("digest", "bytea"), ("piece", "bigint"), ("bytes", "bytea")],
      key: "journal, digest, piece"),
  ]

  // MARK: The session

  /// The setting that marks a session.
  static let marker = "journal.session"
  static let markerValue = "current_setting('\(marker)', true)"
  /// The level of messages at which the server reports that a commit did not wait for its standby.
  static let messageLevel = "warning"

  /// A condition that fails with state 22P02 unless the session has the mark and the settings that a parameter demands
  /// (``ServerSettings/session(of:)``). A session lacks them if a pooler or another client has changed it since it was
  /// checked.
  static func isOwn(_ parameter: String) -> String {
    let session = """
      concat_ws(' ', \(markerValue), coalesce(current_setting('synchronous_commit', true), ''),
        coalesce(current_setting('client_min_messages', true), '\(messageLevel)'))
      """
    return "CAST(CASE WHEN \(session) = \(parameter) THEN 'on' ELSE 'session ' || \(session) END AS boolean)"
  }

  // MARK: Logs

  /// Adds the row of a journal. If only this row was lost, its revision becomes that of the newest entry.
  static let newLog = statement(
    "new_log",
    """
    INSERT INTO journal_logs (journal, format, revision)
    SELECT $1, $2, coalesce(max(revision), 0) FROM journal_entries WHERE journal = $1
    ON CONFLICT (journal) DO NOTHING
    """)

  static let finishLog = statement(
    "finish_log", "UPDATE journal_logs SET format = $2 WHERE journal = $1 AND \(isOwn("$3"))")

  static let format = statement("format", "SELECT format FROM journal_logs WHERE journal = $1")

  static let newest = statement("newest", "SELECT revision FROM journal_logs WHERE journal = $1")

  /// The newest revision of the journal's row, and of its entries; the latter is null without entries.
  static let newestInBoth = statement(
    "newest_in_both",
    """
    SELECT revision, (SELECT max(revision) FROM journal_entries WHERE journal = $1)
    FROM journal_logs WHERE journal = $1
    """)

  /// Appends entries to a journal ($1) after a revision ($2): their last revision ($3), their revisions ($4), digests
  /// ($5) and bytes ($6). $7 is the channel to notify, and $9 the session (``isOwn(_:)``). One statement is one
  /// transaction and one round trip. It returns no row if the newest entry is not $2 with the digest $8, which is
  /// ignored if $2 is 0. A division by zero fails the statement if the table has not taken all entries.
  static let append = statement("append", append(notifying: "pg_notify($7, $3::text)"))

  /// Appends without a notification, for roles that may not notify.
  static let quietAppend = statement("quiet_append", append(notifying: "$7::text"))

  /// Raises the time limit of a turn, because the server counts the transaction as idle while the message of an append
  /// arrives.
  static func idleLimit(milliseconds: Int) -> Connection.Statement {
    "SET LOCAL idle_in_transaction_session_timeout = \(milliseconds)"
  }

  private static func append(notifying: String) -> String {
    """
    WITH moved AS (
      UPDATE journal_logs SET revision = $3 WHERE \(isOwn("$9")) AND journal = $1 AND revision = $2
        AND ($2 = 0 OR EXISTS (
          SELECT 1 FROM journal_entries WHERE journal = $1 AND revision = $2 AND digest = $8))
      RETURNING journal),
    added AS (
      INSERT INTO journal_entries (journal, revision, digest, bytes)
      SELECT moved.journal, new.revision, new.digest, new.bytes
      FROM moved, unnest($4::bigint[], $5::bytea[], $6::bytea[]) AS new (revision, digest, bytes)
      RETURNING 1)
    SELECT \(notifying), 1 / CAST((SELECT count(*) FROM added) = cardinality($4::bigint[]) AS integer) FROM moved
    """
  }

  /// The entries from $2 to $3. The bytes of an entry that is not small are null.
  static let smallPiece = statement(
    "small_piece",
    """
    SELECT revision, CASE WHEN octet_length(bytes) <= \(smallByteCount) THEN bytes END
    FROM journal_entries WHERE journal = $1 AND revision BETWEEN $2 AND $3 ORDER BY revision
    """)
  /// The first entries from $2 to $3, of any size: as many as make up `pieceByteCount`, and at least one. Twice as
  /// expensive as ``smallPiece`` for the server, which adds up the sizes.
  static let largePiece = statement(
    "large_piece",
    """
    SELECT revision, bytes FROM (
      SELECT revision, bytes, sum(octet_length(bytes)) OVER (ORDER BY revision ROWS UNBOUNDED PRECEDING) - octet_length(bytes) AS before
      FROM journal_entries WHERE journal = $1 AND revision BETWEEN $2 AND $3) AS piece
    WHERE before < \(pieceByteCount) ORDER BY revision
    """)
  /// The maximum number of entries of a piece. A server without statistics may sort all of them.
  static let pieceCount = 4096
  private static let pieceByteCount = 4 << 20
  /// The maximum bytes of a small entry, so that a piece has at most 16 MiB.
  private static let smallByteCount = 4096

  static let digest = statement(
    "digest", "SELECT digest FROM journal_entries WHERE journal = $1 AND revision = $2")

  /// Returns a row if the image exists: if `journal_images` has it, which is stored last, and all of its pieces exist.
  static let hasImage = statement(
    "has_image",
    """
    SELECT byte_count FROM journal_images AS image WHERE journal = $1 AND digest = $2 AND byte_count = (
      SELECT coalesce(sum(octet_length(bytes)), 0) FROM journal_image_pieces AS piece
      WHERE piece.journal = image.journal AND piece.digest = image.digest)
    """)

  static let addImage = statement(
    "add_image",
    "INSERT INTO journal_images (journal, digest, byte_count) VALUES ($1, $2, $3) ON CONFLICT (journal, digest) DO "
      + "NOTHING"
  )

  /// An existing piece is kept, because all writers store the same bytes.
  static let addPiece = statement(
    "add_piece",
    """
    INSERT INTO journal_image_pieces (journal, digest, piece, bytes) VALUES ($1, $2, $3, $4)
    ON CONFLICT (journal, digest, piece) DO NOTHING
    """)

  static let imagePiece = statement(
    "image_piece", "SELECT bytes FROM journal_image_pieces WHERE journal = $1 AND digest = $2 AND piece = $3")

  static let begin = statement("begin", "BEGIN")
  static let commit = statement("commit", "COMMIT")

  /// Locks a journal's row. In the same transaction, later statements see all entries up to the returned revision.
  static let lock = statement("lock", "SELECT revision FROM journal_logs WHERE journal = $1 FOR UPDATE")

  static let touch = statement(
    "touch", "UPDATE journal_logs SET revision = revision WHERE journal = $1 AND \(isOwn("$2"))")

  static func channel(of journal: JournalID) -> String {
    "journal_" + journal.bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  private static func statement(_ name: String, _ text: String) -> Connection.Statement {
    Connection.Statement(name: name, text: text)
  }
}
