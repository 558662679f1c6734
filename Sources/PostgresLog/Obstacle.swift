import Journaling

extension Connection {
  /// Converts errors of `body`. Adds the obstacle, and a command that removes it, to those about tables or privileges.
  func translating<Result>(_ body: (Connection) throws -> Result) throws(JournalError) -> Result {
    do { return try body(self) } catch let error as JournalError { throw error } catch let error
      as ServerFailure
    {
      guard ["42P01", "3F000", "42501"].contains(error.state) else { throw error.journalError }
      throw ServerFailure(error.kind, state: error.state, error.message + reason).journalError
    } catch {
      throw JournalError(.io, "the server's log failed in an unexpected way", cause: error)
    }
  }

  /// The obstacle after a semicolon; an empty text if there is no obstacle.
  var reason: String { obstacle.map { "; \($0)" } ?? "" }

  /// Why this role does not find the tables or all rows, and a command that helps: the search path does not lead to the
  /// tables, or row-level security applies to the role. Nil in other cases, or if the server does not answer.
  var obstacle: String? {
    let tables = Schema.tables.map { "to_regclass('\($0.name)')" }.joined(separator: ", ")
    let text: Statement = """
      SELECT quote_ident(current_user), quote_ident(current_database()), current_setting('search_path'),
        coalesce(current_schema(), ''), quote_ident(nspname), has_schema_privilege(nspname, 'USAGE'),
        (SELECT string_agg(CAST(relname AS text), ', ') FROM pg_class
          WHERE oid IN (\(tables)) AND row_security_active(oid)), to_regclass('journal_logs') IS NULL
      FROM (SELECT 1) AS one LEFT JOIN (SELECT nspname FROM pg_class JOIN pg_namespace AS space
        ON space.oid = relnamespace WHERE relname = 'journal_logs' AND relkind IN ('r', 'p') ORDER BY 1 LIMIT 1)
        AS found ON true
      """
    guard let rows = try? run(text), rows.count == 1 else { return nil }
    let (role, schema) = (rows.text(0, 0), rows.text(0, 4))
    if !rows.isNull(0, 6) {
      let names = rows.text(0, 6)
      return "row-level security of \(names) applies to the role \(role) and may hide rows from it; run "
        + names.split(separator: ", ").map { "ALTER TABLE \($0) DISABLE ROW LEVEL SECURITY" }.joined(
          separator: "; ")
    }
    guard rows.integer(0, 7) != 0 else { return nil }
    if rows.isNull(0, 4) {
      guard rows.text(0, 3).isEmpty else { return nil }
      return
        "the search_path of the role \(role), \(Self.quoted(rows.text(0, 2))), names no schema that it may use; run "
        + "ALTER ROLE \(role) IN DATABASE \(rows.text(0, 1)) SET search_path = public"
    }
    if rows.integer(0, 5) == 0 {
      return "the tables are in the schema \(schema); run GRANT USAGE ON SCHEMA \(schema) TO \(role)"
    }
    return "the tables are in the schema \(schema), and the search_path of the role \(role) is "
      + "\(Self.quoted(rows.text(0, 2))); run ALTER ROLE \(role) IN DATABASE \(rows.text(0, 1)) SET search_path = \(schema)"
  }

  private static func quoted(_ path: String) -> String { path.isEmpty || path == "\"\"" ? "empty" : path }
}
