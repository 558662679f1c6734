#include <libpq-fe.h>

#include <memory>
#include <string>

#include "Callers.h"
#include "Entries.h"
#include "Failure.h"

namespace {

/// A connection with which libpq's manual would agree: prepared statements, values in binary.
class Connection {
 public:
  explicit Connection(const char *address) : connection_(PQconnectdb(address), PQfinish) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) throw Failure(PQerrorMessage(connection_.get()));
    run("SET client_min_messages = warning");
  }

  void run(const char *text) { check(PQexec(connection_.get(), text)); }

  void prepare(const char *text) { check(PQprepare(connection_.get(), "insert", text, 0, nullptr)); }

  void insert(const std::string &revisions, const std::string &bytes) {
    const char *values[] = {revisions.data(), bytes.data()};
    const int lengths[] = {static_cast<int>(revisions.size()), static_cast<int>(bytes.size())};
    const int formats[] = {1, 1};
    check(PQexecPrepared(connection_.get(), "insert", 2, values, lengths, formats, 1));
  }

  /// Reads what a COPY sends, and gives how many rows and bytes there were.
  std::pair<size_t, uint64_t> copy(const char *text) {
    check(PQexec(connection_.get(), text));
    size_t count = 0;
    uint64_t byteCount = 0;
    char *row = nullptr;
    int length;
    while ((length = PQgetCopyData(connection_.get(), &row, 0)) > 0) {
      count++;
      byteCount += static_cast<uint64_t>(length);
      PQfreemem(row);
    }
    check(PQgetResult(connection_.get()));
    return {count, byteCount};
  }

 private:
  void check(PGresult *found) {
    std::unique_ptr<PGresult, decltype(&PQclear)> result(found, PQclear);
    const auto status = PQresultStatus(result.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_COPY_OUT)
      throw Failure(PQerrorMessage(connection_.get()));
  }

  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

void append(std::string &bytes, uint64_t number, int byteCount) {
  for (int shift = 8 * (byteCount - 1); shift >= 0; shift -= 8)
    bytes.push_back(static_cast<char>(number >> shift));
}

/// PostgreSQL's binary form of an array, without its elements.
std::string arrayHead(uint64_t type, size_t count) {
  std::string bytes;
  for (const uint64_t number : {uint64_t{1}, uint64_t{0}, type, uint64_t{count}, uint64_t{1}})
    append(bytes, number, 4);
  return bytes;
}

}  // namespace

const char *peer_postgres_version(void) {
  static const std::string version = std::to_string(PQlibVersion() / 10000);
  return version.c_str();
}

bool peer_postgres_insert(const char *address, const peer_entries *entries, size_t count, size_t batch,
                          double *seconds, peer_error *error) {
  return reporting(error, [&] {
    Connection connection(address);
    connection.run("DROP TABLE IF EXISTS peer_entries");
    connection.run("CREATE TABLE peer_entries (revision bigint PRIMARY KEY, bytes bytea NOT NULL)");
    connection.prepare("INSERT INTO peer_entries SELECT * FROM unnest($1::bigint[], $2::bytea[])");
    *seconds = timed([&] {
      for (size_t first = 0; first < count; first += batch) {
        const size_t last = std::min(first + batch, count);
        std::string revisions = arrayHead(20, last - first), bytes = arrayHead(17, last - first);
        for (size_t index = first; index < last; index++) {
          append(revisions, 8, 4);
          append(revisions, index + 1, 8);
          const std::string &value = entries->all[index].second;
          append(bytes, value.size(), 4);
          bytes += value;
        }
        connection.insert(revisions, bytes);
      }
    });
  });
}

bool peer_postgres_copy(const char *address, size_t *count, double *seconds, peer_error *error) {
  return reporting(error, [&] {
    *seconds = timed([&] {
      Connection connection(address);
      // The head and the tail of the binary form count as rows of their own.
      *count = connection.copy("COPY journal_entries TO STDOUT (FORMAT binary)").first;
    });
  });
}
