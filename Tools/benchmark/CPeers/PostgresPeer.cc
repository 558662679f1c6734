#include <libpq-fe.h>

#include <memory>
#include <string>

#include "Peer.h"

namespace {

using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

/// Uses libpq as its manual advises: prepared statements, and values in binary.
struct Connection : peer {
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection;
  /// Each row has a transaction's journal, and arrays of its revisions, digests and bytes.
  Result batches{nullptr, PQclear};

  explicit Connection(const char *address) : connection(PQconnectdb(address), PQfinish) {
    if (PQstatus(connection.get()) != CONNECTION_OK) throw Failure(PQerrorMessage(connection.get()));
    run("SET client_min_messages = warning");
  }

  Result check(PGresult *found) {
    Result result(found, PQclear);
    const auto status = PQresultStatus(found);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_COPY_OUT)
      throw Failure(PQerrorMessage(connection.get()));
    return result;
  }

  void run(const char *text) { check(PQexec(connection.get(), text)); }
};

}  // namespace

peer *peer_postgres(const char *address, size_t *batches) {
  return reporting([&]() -> peer * {
    auto made = std::make_unique<Connection>(address);
    PGconn *connection = made->connection.get();
    // xmin is the transaction that inserted a row, so rows with the same one are a batch of the journal.
    made->batches = made->check(PQexecParams(
        connection,
        "SELECT journal, array_agg(revision ORDER BY revision), array_agg(digest ORDER BY revision),"
        " array_agg(bytes ORDER BY revision) FROM journal_entries GROUP BY journal, xmin::text ORDER BY min(revision)",
        0, nullptr, nullptr, nullptr, nullptr, 1));
    made->run("DROP TABLE IF EXISTS peer_entries");
    made->run("CREATE TABLE peer_entries (LIKE journal_entries INCLUDING ALL)");
    made->check(PQprepare(
        connection, "insert",
        "INSERT INTO peer_entries SELECT $1::uuid, * FROM unnest($2::bigint[], $3::bytea[], $4::bytea[])", 0, nullptr));
    *batches = static_cast<size_t>(PQntuples(made->batches.get()));
    return made.release();
  });
}

bool peer_postgres_insert(peer *any) {
  return reporting([&] {
    auto &self = *static_cast<Connection *>(any);
    for (int row = 0; row < PQntuples(self.batches.get()); row++) {
      const char *values[4];
      int lengths[4], formats[4];
      for (int column = 0; column < 4; column++) {
        values[column] = PQgetvalue(self.batches.get(), row, column);
        lengths[column] = PQgetlength(self.batches.get(), row, column);
        formats[column] = 1;
      }
      self.check(PQexecPrepared(self.connection.get(), "insert", 4, values, lengths, formats, 1));
    }
    return true;
  });
}

bool peer_postgres_copy(const char *address) {
  return reporting([&] {
    Connection self(address);
    self.run("COPY journal_entries TO STDOUT (FORMAT binary)");
    char *row = nullptr;
    while (PQgetCopyData(self.connection.get(), &row, 0) > 0) PQfreemem(row);
    self.check(PQgetResult(self.connection.get()));
    return true;
  });
}
