#include <sqlite3.h>

#include <memory>
#include <string>

#include "SQLiteCheck.h"

namespace {

/// A prepared statement.
class Statement {
 public:
  Statement(sqlite3 *database, const char *text) : database_(database) {
    check(database, sqlite3_prepare_v2(database, text, -1, &statement_, nullptr));
  }
  Statement(const Statement &) = delete;
  Statement &operator=(const Statement &) = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  void bind(int place, int64_t number) { check(database_, sqlite3_bind_int64(statement_, place, number)); }
  void bind(int place, double number) { check(database_, sqlite3_bind_double(statement_, place, number)); }
  void bind(int place, const char *text) {
    check(database_, sqlite3_bind_text(statement_, place, text, -1, SQLITE_STATIC));
  }

  /// Runs the statement, reads all columns of each row, and returns the number of rows.
  size_t run(uint64_t &seen) {
    size_t rows = 0;
    int result = SQLITE_OK;
    const int columns = sqlite3_column_count(statement_);
    while ((result = sqlite3_step(statement_)) == SQLITE_ROW) {
      rows++;
      for (int column = 0; column < columns; column++) {
        switch (sqlite3_column_type(statement_, column)) {
          case SQLITE_INTEGER: seen += static_cast<uint64_t>(sqlite3_column_int64(statement_, column)); break;
          case SQLITE_FLOAT: seen += sqlite3_column_double(statement_, column) > 0; break;
          default:
            // Copies the bytes, as a caller who makes a string of them does.
            seen += std::string(reinterpret_cast<const char *>(sqlite3_column_text(statement_, column))).size();
        }
      }
    }
    sqlite3_reset(statement_);
    check(database_, result);
    return rows;
  }

 private:
  sqlite3 *database_;
  sqlite3_stmt *statement_ = nullptr;
};

}  // namespace

struct peer_items {
  sqlite3 *database = nullptr;
  std::unique_ptr<Statement> insert, equal, first, scan;

  ~peer_items() {
    insert.reset();
    equal.reset();
    first.reset();
    scan.reset();
    sqlite3_close(database);
  }
  void run(const char *text) { check(database, sqlite3_exec(database, text, nullptr, nullptr, nullptr)); }
};

bool peer_items_create(const char *folder, peer_items **items, peer_error *error) {
  return reporting(error, [&] {
    auto made = std::make_unique<peer_items>();
    const std::string path = std::string(folder) + "/items.sqlite";
    check(nullptr, sqlite3_open(path.c_str(), &made->database));
    made->run("PRAGMA journal_mode=WAL");
    // Large enough for the whole database, because the journal's state is in memory too.
    made->run("PRAGMA cache_size=-2000000");
    made->run("CREATE TABLE items(id INTEGER PRIMARY KEY, name TEXT, note TEXT, count INTEGER, price REAL, seen REAL)");
    made->insert = std::make_unique<Statement>(made->database, "INSERT INTO items VALUES(?, ?, ?, ?, ?, ?)");
    made->run("BEGIN");
    *items = made.release();
  });
}

bool peer_items_add(peer_items *items, int64_t id, const char *name, const char *note, int64_t count, double price,
                    double seen, peer_error *error) {
  return reporting(error, [&] {
    uint64_t unused = 0;
    items->insert->bind(1, id);
    items->insert->bind(2, name);
    items->insert->bind(3, note);
    items->insert->bind(4, count);
    items->insert->bind(5, price);
    items->insert->bind(6, seen);
    items->insert->run(unused);
  });
}

bool peer_items_index(peer_items *items, peer_error *error) {
  return reporting(error, [&] {
    items->run("COMMIT");
    items->run("CREATE INDEX by_count ON items(count)");
    items->run("CREATE INDEX by_price ON items(price)");
    items->run("ANALYZE");
    const char *columns = "SELECT name, note, count, price, seen FROM items ";
    const auto statement = [&](const char *rest) {
      return std::make_unique<Statement>(items->database, (std::string(columns) + rest).c_str());
    };
    items->equal = statement("WHERE count = ?1");
    items->first = statement("WHERE price >= ?1 ORDER BY price LIMIT 20");
    items->scan = statement("WHERE note >= ?1");
  });
}

static bool peer_items_run(Statement &statement, size_t *rows, peer_error *error) {
  return reporting(error, [&] {
    uint64_t seen = 0;
    *rows += statement.run(seen);
  });
}

bool peer_items_equal(peer_items *items, int64_t count, size_t *rows, peer_error *error) {
  items->equal->bind(1, count);
  return peer_items_run(*items->equal, rows, error);
}

bool peer_items_first(peer_items *items, double price, size_t *rows, peer_error *error) {
  items->first->bind(1, price);
  return peer_items_run(*items->first, rows, error);
}

bool peer_items_scan(peer_items *items, const char *note, size_t *rows, peer_error *error) {
  items->scan->bind(1, note);
  return peer_items_run(*items->scan, rows, error);
}

void peer_items_free(peer_items *items) { delete items; }
