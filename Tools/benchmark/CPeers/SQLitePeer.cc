#include <sqlite3.h>

#include <mutex>
#include <string>

#include "Peer.h"

namespace {

void check(sqlite3 *database, int result) {
  if (result == SQLITE_OK || result == SQLITE_ROW || result == SQLITE_DONE) return;
  throw Failure(std::string("SQLite: ") + (database ? sqlite3_errmsg(database) : sqlite3_errstr(result)));
}

/// Prepared when first run.
class Statement {
 public:
  explicit Statement(const char *text) : text_(text) {}
  ~Statement() { sqlite3_finalize(statement_); }

  /// Runs the statement, reads all columns of each row, and returns the number of rows.
  template <typename... Values>
  size_t run(sqlite3 *database, const Values &...values) {
    if (!statement_) check(database, sqlite3_prepare_v2(database, text_, -1, &statement_, nullptr));
    int place = 0;
    (check(database, bind(++place, values)), ...);
    size_t rows = 0;
    int result = SQLITE_OK;
    while ((result = sqlite3_step(statement_)) == SQLITE_ROW) {
      rows++;
      for (int column = 0; column < sqlite3_column_count(statement_); column++) read(column);
    }
    sqlite3_reset(statement_);
    check(database, result);
    return rows;
  }

 private:
  int bind(int place, int64_t number) { return sqlite3_bind_int64(statement_, place, number); }
  int bind(int place, double number) { return sqlite3_bind_double(statement_, place, number); }
  int bind(int place, const char *text) { return sqlite3_bind_text(statement_, place, text, -1, SQLITE_STATIC); }
  int bind(int place, const std::string &bytes) {
    return sqlite3_bind_blob64(statement_, place, bytes.data(), bytes.size(), SQLITE_STATIC);
  }

  void read(int column) {
    switch (sqlite3_column_type(statement_, column)) {
      case SQLITE_INTEGER: seen_ += static_cast<uint64_t>(sqlite3_column_int64(statement_, column)); break;
      case SQLITE_FLOAT: seen_ += sqlite3_column_double(statement_, column) > 0; break;
      default:
        // Copies the bytes, as a caller that makes a string of them does.
        seen_ += std::string(reinterpret_cast<const char *>(sqlite3_column_text(statement_, column))).size();
    }
  }

  const char *text_;
  sqlite3_stmt *statement_ = nullptr;
  // Volatile, so that the compiler can't leave out the reading.
  volatile uint64_t seen_ = 0;
};

struct Handle {
  sqlite3 *database = nullptr;
  ~Handle() { sqlite3_close(database); }
};

#define ITEMS "SELECT name, note, count, price, seen FROM items "

struct Database : peer {
  // Declared first, so that the statements are finalized before the database is closed.
  Handle handle;
  std::mutex mutex;
  Statement insert{"INSERT INTO entries VALUES(?, ?)"};
  Statement add{"INSERT INTO items VALUES(?, ?, ?, ?, ?, ?)"};
  Statement update{"UPDATE items SET count = ?2 WHERE id = ?1"};
  Statement equal{ITEMS "WHERE count = ?1"};
  Statement first{ITEMS "WHERE price >= ?1 ORDER BY price LIMIT 20"};
  Statement scan{ITEMS "WHERE note >= ?1"};

  explicit Database(const char *path) {
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    check(handle.database, sqlite3_open_v2(path, &handle.database, flags, nullptr));
    check(handle.database, sqlite3_busy_timeout(handle.database, 60'000));
    execute("PRAGMA journal_mode=WAL");
    execute("PRAGMA synchronous=FULL");
    execute("CREATE TABLE IF NOT EXISTS entries(key INTEGER PRIMARY KEY, value BLOB NOT NULL)");
    execute(
        "CREATE TABLE IF NOT EXISTS items(id INTEGER PRIMARY KEY, name TEXT, note TEXT, count INTEGER, price REAL, "
        "seen REAL)");
  }

  void execute(const char *text) {
    check(handle.database, sqlite3_exec(handle.database, text, nullptr, nullptr, nullptr));
  }

  template <typename... Values>
  static bool run(peer *any, Statement Database::*statement, size_t *rows, const Values &...values) {
    return reporting([&] {
      auto &self = *static_cast<Database *>(any);
      std::lock_guard<std::mutex> lock(self.mutex);
      const size_t found = (self.*statement).run(self.handle.database, values...);
      if (rows) *rows += found;
      return true;
    });
  }
};

}  // namespace

peer *peer_sqlite(const char *path) {
  return reporting([&]() -> peer * { return new Database(path); });
}

bool peer_sqlite_run(peer *any, const char *text) {
  return reporting([&] {
    static_cast<Database *>(any)->execute(text);
    return true;
  });
}

bool peer_sqlite_insert(peer *any, const peer *entries, size_t index) {
  const std::string &value = static_cast<const Entries *>(entries)->all.at(index).second;
  return Database::run(any, &Database::insert, nullptr, static_cast<int64_t>(index + 1), value);
}

bool peer_sqlite_add(peer *any, int64_t id, const char *name, const char *note, int64_t count, double price,
                     double seen) {
  return Database::run(any, &Database::add, nullptr, id, name, note, count, price, seen);
}

bool peer_sqlite_update(peer *any, int64_t id, int64_t count) {
  return Database::run(any, &Database::update, nullptr, id, count);
}

bool peer_sqlite_equal(peer *any, int64_t count, size_t *rows) {
  return Database::run(any, &Database::equal, rows, count);
}

bool peer_sqlite_first(peer *any, double price, size_t *rows) {
  return Database::run(any, &Database::first, rows, price);
}

bool peer_sqlite_scan(peer *any, const char *note, size_t *rows) {
  return Database::run(any, &Database::scan, rows, note);
}
