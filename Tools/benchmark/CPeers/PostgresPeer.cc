#include <libpq-fe.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "Callers.h"
#include "Failure.h"

namespace {

/// A connection that is used as libpq's manual advises: with prepared statements, and values in binary.
class Connection {
 public:
  explicit Connection(const char *address) : connection_(PQconnectdb(address), PQfinish) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) throw Failure(PQerrorMessage(connection_.get()));
    run("SET client_min_messages = warning");
  }

  void run(const char *text) { check(PQexec(connection_.get(), text)); }

  void prepare(const char *text) { check(PQprepare(connection_.get(), "insert", text, 0, nullptr)); }

  void insert(const std::vector<std::string> &parameters) {
    std::vector<const char *> values;
    std::vector<int> lengths, formats(parameters.size(), 1);
    for (const std::string &parameter : parameters) {
      values.push_back(parameter.data());
      lengths.push_back(static_cast<int>(parameter.size()));
    }
    const int count = static_cast<int>(parameters.size());
    check(PQexecPrepared(connection_.get(), "insert", count, values.data(), lengths.data(), formats.data(), 1));
  }

  /// Calls `see` with the values of each row, in binary form.
  void select(const char *text, const std::function<void(const std::vector<std::string> &)> &see) {
    std::unique_ptr<PGresult, decltype(&PQclear)> result(
        PQexecParams(connection_.get(), text, 0, nullptr, nullptr, nullptr, nullptr, 1), PQclear);
    if (PQresultStatus(result.get()) != PGRES_TUPLES_OK) throw Failure(PQerrorMessage(connection_.get()));
    for (int row = 0; row < PQntuples(result.get()); row++) {
      std::vector<std::string> values;
      for (int column = 0; column < PQnfields(result.get()); column++)
        values.emplace_back(PQgetvalue(result.get(), row, column), PQgetlength(result.get(), row, column));
      see(values);
    }
  }

  /// Reads what a COPY sends, and returns the number of rows and bytes.
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

/// An array in PostgreSQL's binary format.
struct Array {
  uint64_t type;
  uint64_t count = 0;
  std::string elements = {};

  void add(const std::string &value) {
    append(elements, value.size(), 4);
    elements += value;
    count++;
  }

  std::string bytes() const {
    std::string bytes;
    for (const uint64_t number : {uint64_t{1}, uint64_t{0}, type, count, uint64_t{1}}) append(bytes, number, 4);
    return bytes + elements;
  }
};

/// The rows of a transaction, as they come from the server: the elements of arrays.
struct Batch {
  std::vector<std::string> revisions, digests, bytes;
};

}  // namespace

const char *peer_postgres_version(void) {
  static const std::string version = std::to_string(PQlibVersion() / 10000);
  return version.c_str();
}

bool peer_postgres_insert(const char *address, size_t *batches, double *seconds, peer_error *error) {
  return reporting(error, [&] {
    Connection connection(address);
    std::vector<Batch> all;
    std::string journal, transaction;
    // A row has the number of the transaction that inserted it. Rows with the same number are one batch of the journal.
    connection.select(
        "SELECT xmin::text, journal, revision, digest, bytes FROM journal_entries ORDER BY revision",
        [&](const std::vector<std::string> &row) {
          if (all.empty() || row[0] != transaction) all.emplace_back();
          transaction = row[0];
          journal = row[1];
          all.back().revisions.push_back(row[2]);
          all.back().digests.push_back(row[3]);
          all.back().bytes.push_back(row[4]);
        });
    connection.run("DROP TABLE IF EXISTS peer_entries");
    connection.run("CREATE TABLE peer_entries (LIKE journal_entries INCLUDING ALL)");
    connection.prepare(
        "INSERT INTO peer_entries SELECT $1::uuid, * FROM unnest($2::bigint[], $3::bytea[], $4::bytea[])");
    *batches = all.size();
    *seconds = timed([&] {
      for (const Batch &batch : all) {
        Array revisions{20}, digests{17}, bytes{17};
        for (size_t row = 0; row < batch.revisions.size(); row++) {
          revisions.add(batch.revisions[row]);
          digests.add(batch.digests[row]);
          bytes.add(batch.bytes[row]);
        }
        connection.insert({journal, revisions.bytes(), digests.bytes(), bytes.bytes()});
      }
    });
    connection.run("DROP TABLE peer_entries");
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
