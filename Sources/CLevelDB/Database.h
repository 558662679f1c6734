// The implementation of a `cldb_database`.
//
// It is opened for writing in two steps. `cldb_open` has LevelDB do its recovery in memory, so that everything can be
// checked; `cldb_begin_writing` writes the result to disk. Every call holds `mutex` shared while it is inside LevelDB;
// closing holds it exclusively, and so waits for them. Iterators outlive the call that makes them, so they are counted.

#pragma once

#include <atomic>
#include <memory>
#include <shared_mutex>
#include <vector>

#include "CLevelDB.h"
#include "StagedEnv.h"
#include "leveldb/cache.h"
#include "leveldb/db.h"

struct cldb_database {
  bool read_only = false;
  // As of opening.
  std::vector<cldb::TableInfo> tables;
  cldb::NullLogger logger;
  std::unique_ptr<cldb::StagedEnv> env;
  std::unique_ptr<leveldb::Cache> cache;

  std::shared_mutex mutex;  // guards `db` itself; what it points to is safe to share
  std::unique_ptr<leveldb::DB> db;
  std::atomic<int> iterators{0};

  // To be called with `mutex` held: whether LevelDB may be called, and if not, why.
  bool IsUsable(cldb_status* status) const;
  // To be called in a catch block: no call into LevelDB is safe any more.
  bool Break(cldb_status* status);
};

namespace cldb {

inline leveldb::Slice SliceOf(const void* bytes, size_t count) {
  return leveldb::Slice(count == 0 ? "" : static_cast<const char*>(bytes), count);
}

}  // namespace cldb
