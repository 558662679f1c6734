#include "Database.h"

#include <sys/resource.h>

#include <algorithm>
#include <mutex>

#include "Failure.h"
#include "FileName.h"
#include "TableRanges.h"
#include "leveldb/write_batch.h"

using cldb::Fail;
using cldb::Failed;
using cldb::SetKey;
using cldb::SliceOf;
using cldb::Succeed;
using cldb::Translate;
using cldb::TranslateException;
using leveldb::Status;

struct cldb_batch {
  leveldb::WriteBatch batch;
};

// MARK: State

bool cldb_database::IsUsable(cldb_status* status) const {
  if (db == nullptr) return Fail(status, CLDB_CLOSED, 0, "the database is closed");
  if (env->broken()) return Fail(status, CLDB_POISONED, 0, env->folder().poison_reason());
  return true;
}

bool cldb_database::Break(cldb_status* status) {
  TranslateException(status);
  env->Break(status->message);
  return false;
}

// MARK: Opening

namespace {

// Each open table takes a descriptor. A quarter of the limit leaves enough for the app.
int OpenFileLimit() {
  struct rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
  return static_cast<int>(std::clamp<rlim_t>(limit.rlim_cur / 4, 64, 1000));
}

// Files that a writer removes in the meantime are missing, and then the folder is read again. A writer takes longer to
// replace a file than this takes, so the limit is only a safeguard.
Status TakeInUse(const cldb::Folder& folder, cldb::Inventory* inventory, std::string* key) {
  constexpr int kAttempts = 100;
  for (int attempt = 1;; attempt++) {
    *inventory = cldb::Inventory();
    Status status = cldb::Inventory::TakeInUse(folder, inventory, key);
    if (!status.IsCorruption() || attempt == kAttempts || !inventory->HasChanged(folder)) return status;
  }
}

// Opens the folder, reads its contents, and refuses what LevelDB would mistake for a new database.
Status OpenEnv(const std::string& path, int descriptor, const cldb_options& options,
               std::unique_ptr<cldb::StagedEnv>* env, std::string* key) {
  bool make = options.create_if_missing && !options.read_only;
  std::unique_ptr<cldb::Folder> folder;
  cldb::Hooks hooks = {options.hook, options.hook_context, options.read_hook, options.read_hook_context};
  Status status = cldb::Folder::Open(path, descriptor, make, hooks, &folder);
  if (!status.ok()) return status;
  // Before anything is read, if its file exists. A file with several names may be locked by the owner of another folder,
  // and is replaced before anything is written.
  std::unique_ptr<cldb::LockedFile> lock;
  if (!options.read_only) {
    bool exists;
    uint64_t size;
    cfiles_status info;
    cldb::LockedFile* locked = nullptr;
    status = folder->Find("LOCK", &exists, &size);
    const bool is_own = exists && folder->StatusOf("LOCK", &info) == 0 && info.link_count == 1;
    if (status.ok() && is_own) status = cldb::LockedFile::Acquire(*folder, "LOCK", &locked);
    lock.reset(locked);
    if (!status.ok()) return status;
  }
  cldb::Inventory inventory;
  status = options.in_use ? TakeInUse(*folder, &inventory, key) : cldb::Inventory::Take(*folder, &inventory, key);
  if (!status.ok()) return status;
  if (!inventory.has_database && !make)
    return Failed(CLDB_NOT_FOUND, path, "there is no database in this folder");
  if (inventory.has_database && options.error_if_exists)
    return Status::InvalidArgument(path, "there is a database already");
  if (!options.up_to_damage && !inventory.damage.ok()) return inventory.damage;
  env->reset(new cldb::StagedEnv(std::move(folder), std::move(inventory), std::move(lock), options.kept_log_size));
  return Status::OK();
}

leveldb::Options LevelDBOptions(const cldb_options& options, cldb_database& database) {
  leveldb::Options result;
  result.env = database.env.get();
  result.info_log = &database.logger;
  result.block_cache = database.cache.get();
  result.create_if_missing = options.create_if_missing && !options.read_only;
  result.error_if_exists = options.error_if_exists;
  result.paranoid_checks = true;
  // The last log is reused if it is small (StagedEnv::NewAppendableFile).
  result.reuse_logs = true;
  result.max_open_files = OpenFileLimit();
  result.write_buffer_size = options.write_buffer_size;
  result.block_size = options.block_size;
  result.max_file_size = options.table_size;
  result.compression = leveldb::kNoCompression;
  return result;
}

}  // namespace

cldb_database* cldb_open(const char* path, int folder, const cldb_options* options, cldb_status* status) {
  std::unique_ptr<cldb_database> database;
  try {
    database = std::make_unique<cldb_database>();
    database->read_only = options->read_only;
    std::string key;
    if (!Translate(OpenEnv(path, folder, *options, &database->env, &key), status)) {
      SetKey(status, key);
      return nullptr;
    }
    if (!options->read_only && !options->without_thread) database->env->worker().Start();
    // No block is cached: scans read each once, and the entries of a history are far apart.
    database->cache.reset(leveldb::NewLRUCache(0));
    leveldb::DB* db = nullptr;
    // The folder's path, by which the Env recognizes names. Nothing is opened by it.
    const std::string& name = database->env->folder().path();
    Status opened = leveldb::DB::Open(LevelDBOptions(*options, *database), name, &db);
    database->db.reset(db);
    database->env->Seal();
    if (opened.ok()) opened = database->env->ReadTables(&database->tables);
    if (Translate(opened, status)) return database.release();
    if (database->db != nullptr) cldb_free(database.release());
    return nullptr;
  } catch (...) {
    TranslateException(status);
    if (database != nullptr && database->env != nullptr) {
      // LevelDB still holds its incomplete database, which uses all of this; only the lock is released.
      database->env->Break(status->message);
      database->env->AbandonLock();
      database.release();
    }
    return nullptr;
  }
}

bool cldb_has_torn_tail(const cldb_database* database) { return database->env->inventory().has_torn_tail; }

bool cldb_damage(const cldb_database* database, cldb_status* status) {
  return Translate(database->env->inventory().damage, status);
}

bool cldb_key_ranges(cldb_database* database, void (*receive)(void* context, const cldb_key_range* range),
                     void* context, cldb_status* status) {
  std::shared_lock<std::shared_mutex> shared(database->mutex);
  if (!database->IsUsable(status)) return false;
  try {
    const auto give = [&](uint64_t number, const cldb::KeyRanges& ranges) {
      for (const auto& range : ranges) {
        cldb_key_range result = {number, range.first.data(), range.first.size(), range.second.data(),
                                 range.second.size()};
        receive(context, &result);
      }
    };
    give(database->env->kept_log_number(), database->env->kept_log_ranges());
    for (const cldb::TableInfo& table : database->tables) {
      cldb::KeyRanges ranges;
      bool is_one = !table.smallest.empty() && !table.largest.empty() && table.smallest[0] == table.largest[0];
      if (is_one) {
        ranges.push_back({table.smallest, table.largest});
      } else {
        leveldb::RandomAccessFile* file;
        const std::string name = database->env->inventory().NameOf(table);
        Status read = database->env->NewRandomAccessFile(database->env->folder().PathOf(name), &file);
        if (read.ok())
          read = cldb::ReadKeyRanges(std::unique_ptr<leveldb::RandomAccessFile>(file), table.size, &ranges);
        if (!Translate(read, status)) {
          SetKey(status, table.smallest);
          return false;
        }
      }
      give(table.number, ranges);
    }
  } catch (...) {
    return database->Break(status);
  }
  Succeed(status);
  return true;
}

bool cldb_read_logs(cldb_database* database, void (*receive)(void* context, const cldb_entry* entry), void* context,
                    cldb_status* status) {
  std::shared_lock<std::shared_mutex> shared(database->mutex);
  if (!database->IsUsable(status)) return false;
  try {
    auto& logs = database->env->growing_logs();
    for (const auto& log : logs) {
      Status read = log->Read([&](const leveldb::Slice& key, const leveldb::Slice& value) {
        cldb_entry entry = {key.data(), key.size(), value.data(), value.size()};
        receive(context, &entry);
      });
      if (!Translate(read, status)) return false;
    }
    // Only the last one grows: it is started after the previous one is complete.
    if (logs.size() > 1) logs.erase(logs.begin(), logs.end() - 1);
  } catch (...) {
    return database->Break(status);
  }
  Succeed(status);
  return true;
}

bool cldb_has_changed(const cldb_database* database) {
  try {
    return database->env->inventory().HasChanged(database->env->folder());
  } catch (...) {
    return false;
  }
}

bool cldb_was_reopened(const cldb_database* database) {
  try {
    return database->env->inventory().WasReopened(database->env->folder());
  } catch (...) {
    return false;
  }
}

bool cldb_begin_writing(cldb_database* database, cldb_status* status) {
  std::unique_lock<std::shared_mutex> alone(database->mutex);
  if (!database->IsUsable(status)) return false;
  if (database->read_only) return Fail(status, CLDB_READ_ONLY, 0, "the database is open for reading only");
  if (database->env->is_writing()) return true;
  try {
    std::string value, key;
    Status begun = database->env->BeginWriting(
        [&](const leveldb::Slice& wanted) {
          leveldb::ReadOptions options;
          options.verify_checksums = true;
          options.fill_cache = false;
          return database->db->Get(options, wanted, &value);
        },
        &key);
    if (Translate(begun, status)) return true;
    SetKey(status, key);
    return false;
  } catch (...) {
    return database->Break(status);
  }
}

// MARK: Closing

// Closing LevelDB would wait for work that never ends, so the database is abandoned until the process ends.
static bool Abandon(cldb_database* database) {
  database->env->AbandonLock();
  database->db.release();
  database->cache.release();
  return true;
}

bool cldb_close(cldb_database* database, cldb_status* status) {
  std::unique_lock<std::shared_mutex> alone(database->mutex);
  Succeed(status);
  if (database->db == nullptr) return true;
  int iterators = database->iterators.load();
  if (iterators > 0)
    return Fail(status, CLDB_BUSY, 0, std::to_string(iterators) + " cursors are still in use");
  if (database->env->broken()) return Abandon(database);
  // LevelDB waits for its scheduled work.
  database->env->worker().Release();
  database->env->worker().RunWithoutThread();
  if (database->env->broken()) return Abandon(database);
  database->db.reset();
  database->cache.reset();
  return true;
}

void cldb_free(cldb_database* database) {
  cldb_status status;
  cldb_close(database, &status);
  // LevelDB was not destroyed, so everything that it uses must stay alive too.
  if (database->env->broken()) return;
  delete database;
}

// MARK: Reading

bool cldb_get(cldb_database* database, const void* key, size_t key_size, cldb_receiver receive,
              void* context, cldb_status* status) {
  std::string value;
  {
    std::shared_lock<std::shared_mutex> shared(database->mutex);
    if (!database->IsUsable(status)) return false;
      try {
      leveldb::ReadOptions options;
      options.verify_checksums = true;
      options.fill_cache = false;
      Status got = database->db->Get(options, SliceOf(key, key_size), &value);
      if (got.IsNotFound()) {
        Succeed(status);
        return true;
      }
      if (!Translate(got, status)) return false;
    } catch (...) {
      return database->Break(status);
    }
  }
  // Outside of the lock, so that the receiver may call anything.
  receive(context, value.data(), value.size());
  return true;
}

bool cldb_property(cldb_database* database, const char* name, cldb_receiver receive, void* context,
                   cldb_status* status) {
  std::string value;
  bool known;
  {
    std::shared_lock<std::shared_mutex> shared(database->mutex);
    if (!database->IsUsable(status)) return false;
    try {
      known = database->db->GetProperty(name, &value);
    } catch (...) {
      return database->Break(status);
    }
  }
  Succeed(status);
  if (known) receive(context, value.data(), value.size());
  return true;
}

bool cldb_approximate_size(cldb_database* database, const void* first, size_t first_size, const void* limit,
                           size_t limit_size, uint64_t* size, cldb_status* status) {
  std::shared_lock<std::shared_mutex> shared(database->mutex);
  if (!database->IsUsable(status)) return false;
  try {
    leveldb::Range range(SliceOf(first, first_size), SliceOf(limit, limit_size));
    database->db->GetApproximateSizes(&range, 1, size);
  } catch (...) {
    return database->Break(status);
  }
  Succeed(status);
  return true;
}

// MARK: Writing

cldb_batch* cldb_batch_new(void) {
  try {
    return new cldb_batch;
  } catch (...) {
    return nullptr;
  }
}

void cldb_batch_free(cldb_batch* batch) { delete batch; }

bool cldb_batch_put(cldb_batch* batch, const void* key, size_t key_size, const void* value,
                    size_t value_size) {
  try {
    batch->batch.Put(SliceOf(key, key_size), SliceOf(value, value_size));
    return true;
  } catch (...) {
    return false;
  }
}

void cldb_batch_clear(cldb_batch* batch) { batch->batch.Clear(); }

size_t cldb_batch_size(const cldb_batch* batch) { return batch->batch.ApproximateSize(); }

bool cldb_write(cldb_database* database, cldb_batch* batch, bool sync, cldb_status* status) {
  std::shared_lock<std::shared_mutex> shared(database->mutex);
  if (!database->IsUsable(status)) return false;
  if (database->read_only)
    return Fail(status, CLDB_READ_ONLY, 0, "the database is open for reading only");
  if (!database->env->is_writing()) return Fail(status, CLDB_WRONG_USE, 0, "writing has not begun");
  cldb::Folder& folder = database->env->folder();
  if (folder.poisoned()) return Fail(status, CLDB_POISONED, 0, folder.poison_reason());
  try {
    database->env->TakeRefusal();
    leveldb::WriteOptions options;
    options.sync = sync;
    Status written = database->db->Write(options, &batch->batch);
    database->env->worker().RunWithoutThread();
    if (Translate(written, status)) return true;
    if (database->env->TakeRefusal() && !folder.poisoned())
      return Fail(status, CLDB_REFUSED, status->os_error, std::string(status->message));
    // LevelDB itself forgets a failed append and takes the next one.
    folder.Poison(status->message);
    // A compaction may have poisoned the folder after the record was written and before it was flushed. `CLDB_POISONED`
    // would mean that nothing was written.
    if (status->code == CLDB_POISONED) status->code = CLDB_IO;
    return false;
  } catch (...) {
    return database->Break(status);
  }
}
