#include <sqlite3.h>

#include <memory>
#include <mutex>
#include <random>
#include <string>

#include "Callers.h"
#include "SQLiteCheck.h"

struct peer_updates {
  sqlite3 *database = nullptr;
  sqlite3_stmt *update = nullptr;
  int64_t item_count = 0;

  ~peer_updates() {
    sqlite3_finalize(update);
    sqlite3_close(database);
  }
  void check(int result) { ::check(database, result); }
  void run(const char *text) { check(sqlite3_exec(database, text, nullptr, nullptr, nullptr)); }
};

bool peer_updates_create(const char *folder, size_t count, peer_updates **updates, peer_error *error) {
  return reporting(error, [&] {
    auto made = std::make_unique<peer_updates>();
    made->item_count = static_cast<int64_t>(count);
    const std::string path = std::string(folder) + "/updates.sqlite";
    made->check(sqlite3_open(path.c_str(), &made->database));
    made->run("PRAGMA journal_mode=WAL");
    made->run("PRAGMA synchronous=FULL");
    made->run("PRAGMA cache_size=-2000000");
    made->run("CREATE TABLE items(id INTEGER PRIMARY KEY, name TEXT, note TEXT, count INTEGER, price REAL, seen REAL)");
    const std::string fill =
        "WITH RECURSIVE numbers(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM numbers WHERE id < " +
        std::to_string(count) +
        ") INSERT INTO items SELECT id, hex(randomblob(9)), hex(randomblob(48)), abs(random()) % 1000000, "
        "abs(random()) % 1000 / 7.0, abs(random()) % 900000000 / 7.0 FROM numbers";
    made->run(fill.c_str());
    made->run("PRAGMA wal_checkpoint(TRUNCATE)");
    made->check(sqlite3_prepare_v2(made->database, "UPDATE items SET count = ?2 WHERE id = ?1", -1, &made->update,
                                   nullptr));
    *updates = made.release();
  });
}

bool peer_updates_run(peer_updates *updates, size_t count, size_t callers, uint64_t seed, double *seconds,
                      peer_error *error) {
  return reporting(error, [&] {
    std::mutex mutex;
    *seconds = timedCallers(callers, [&](size_t caller, const auto &start) {
      std::mt19937_64 random(seed + caller);
      std::uniform_int_distribution<int64_t> item(1, updates->item_count);
      start();
      for (size_t index = caller; index < count; index += callers) {
        const int64_t id = item(random);
        std::lock_guard<std::mutex> lock(mutex);
        updates->check(sqlite3_bind_int64(updates->update, 1, id));
        updates->check(sqlite3_bind_int64(updates->update, 2, static_cast<int64_t>(1'000'001 + index)));
        const int result = sqlite3_step(updates->update);
        sqlite3_reset(updates->update);
        updates->check(result);
      }
    });
  });
}

void peer_updates_free(peer_updates *updates) { delete updates; }
