#include <sqlite3.h>

#include <memory>
#include <mutex>
#include <string>

#include "Callers.h"
#include "Entries.h"
#include "Failure.h"

namespace {

/// A connection in WAL mode with synchronous=FULL, and its one prepared insert.
class Connection {
 public:
  explicit Connection(const std::string &path) {
    check(sqlite3_open_v2(path.c_str(), &database_,
                          SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr));
    check(sqlite3_busy_timeout(database_, 60'000));
    run("PRAGMA journal_mode=WAL");
    run("PRAGMA synchronous=FULL");
    run("CREATE TABLE IF NOT EXISTS entries(key INTEGER PRIMARY KEY, value BLOB NOT NULL)");
    check(sqlite3_prepare_v2(database_, "INSERT INTO entries VALUES(?, ?)", -1, &insert_, nullptr));
  }
  Connection(const Connection &) = delete;
  Connection &operator=(const Connection &) = delete;
  ~Connection() {
    sqlite3_finalize(insert_);
    sqlite3_close(database_);
  }

  /// One row, one transaction.
  void insert(int64_t key, const std::string &value) {
    check(sqlite3_bind_int64(insert_, 1, key));
    check(sqlite3_bind_blob64(insert_, 2, value.data(), value.size(), SQLITE_STATIC));
    const int result = sqlite3_step(insert_);
    sqlite3_reset(insert_);
    if (result != SQLITE_DONE) check(result);
  }

 private:
  void run(const char *statement) {
    check(sqlite3_exec(database_, statement, nullptr, nullptr, nullptr));
  }
  void check(int result) {
    if (result == SQLITE_OK) return;
    throw Failure(std::string("SQLite: ") + (database_ ? sqlite3_errmsg(database_) : sqlite3_errstr(result)));
  }

  sqlite3 *database_ = nullptr;
  sqlite3_stmt *insert_ = nullptr;
};

}  // namespace

const char *peer_sqlite_version(void) { return sqlite3_libversion(); }

bool peer_sqlite_insert(const char *folder, const peer_entries *entries, size_t count, size_t callers,
                        peer_sqlite_sharing sharing, double *seconds, peer_error *error) {
  return reporting(error, [&] {
    if (count > entries->all.size()) throw Failure("SQLite: fewer entries than asked for");
    const std::string path = std::string(folder) + "/entries.sqlite";
    Connection shared(path);
    std::mutex mutex;
    *seconds = timedCallers(callers, [&](size_t caller, const auto &start) {
      std::unique_ptr<Connection> own;
      if (sharing == peer_sqlite_own_connection) own = std::make_unique<Connection>(path);
      start();
      for (size_t index = caller; index < count; index += callers) {
        const auto key = static_cast<int64_t>(index + 1);
        if (own) {
          own->insert(key, entries->all[index].second);
        } else {
          std::lock_guard<std::mutex> lock(mutex);
          shared.insert(key, entries->all[index].second);
        }
      }
    });
  });
}
