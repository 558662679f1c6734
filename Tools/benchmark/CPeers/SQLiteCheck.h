#pragma once

#include <sqlite3.h>

#include <string>

#include "Failure.h"

/// Throws what SQLite says about a failure.
inline void check(sqlite3 *database, int result) {
  if (result == SQLITE_OK || result == SQLITE_ROW || result == SQLITE_DONE) return;
  throw Failure(std::string("SQLite: ") + (database ? sqlite3_errmsg(database) : sqlite3_errstr(result)));
}
