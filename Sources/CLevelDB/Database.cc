#include "Database.h"

#include <sys/resource.h>

#include <algorithm>
#include <mutex>

#include "Failure.h"
#include "OverlayEnv.h"
#include "leveldb/write_batch.h"

using cldb::Fail;
using cldb::LastError;
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

// Each open table takes a descriptor. A quarter of what the process may have leaves the app its own.
int OpenFileLimit() {
  struct rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
  return static_cast<int>(std::clamp<rlim_t>(limit.rlim_cur / 4, 64, 1000));
}

// Opens the folder and says no to what LevelDB would take for a new database.
Status OpenEnv(const std::string& path, const cldb_options& options, std::unique_ptr<cldb::DiskEnv>* env) {
  bool make = options.create_if_missing && !options.read_only;
  std::unique_ptr<cldb::Folder> folder;
  Status status = cldb::Folder::Open(path, make, options.hook, options.hook_context, &folder);
  if (!status.ok()) return status;
  cldb::Content content;
  status = folder->Inspect(&content);
  if (!status.ok()) return status;
  if (content == cldb::Content::kNoCurrent)
    return Status::Corruption(folder->PathOf("CURRENT"), "the file is missing, but others are there");
  if (content == cldb::Content::kEmpty && !make) {
    LastError() = 0;
    return Status::NotFound(path, "there is no database in this folder");
  }
  if (content == cldb::Content::kDatabase && options.error_if_exists)
    return Status::InvalidArgument(path, "there is a database already");
  env->reset(options.read_only ? new cldb::OverlayEnv(std::move(folder))
                               : new cldb::DiskEnv(std::move(folder)));
  return Status::OK();
}

leveldb::Options LevelDBOptions(const cldb_options& options, cldb_database& database) {
  leveldb::Options result;
  result.env = database.env.get();
  result.info_log = &database.logger;
  result.block_cache = database.cache.get();
  result.create_if_missing = options.create_if_missing && !options.read_only;
  result.error_if_exists = options.error_if_exists;
  result.paranoid_checks = options.paranoid_checks;
  result.reuse_logs = false;
  result.max_open_files = OpenFileLimit();
  result.write_buffer_size = options.write_buffer_size;
  result.block_size = options.block_size;
  result.max_file_size = options.table_size;
  // Tables made in memory at opening are read about once: compressing them would be work for nothing.
  bool compress = options.compress && !options.read_only;
  result.compression = compress ? leveldb::kSnappyCompression : leveldb::kNoCompression;
  return result;
}

}  // namespace

cldb_database* cldb_open(const char* path, const cldb_options* options, cldb_status* status) {
  LastError() = 0;
  std::unique_ptr<cldb_database> database;
  try {
    database = std::make_unique<cldb_database>();
    database->read_only = options->read_only;
    if (!Translate(OpenEnv(path, *options, &database->env), status)) return nullptr;
    // No block is kept: scans pass each once, and a history's entries lie far apart.
    database->cache.reset(leveldb::NewLRUCache(0));
    leveldb::DB* db = nullptr;
    // The folder's own path, since the Env recognises names by it.
    const std::string& folder = database->env->folder().path();
    Status opened = leveldb::DB::Open(LevelDBOptions(*options, *database), folder, &db);
    if (!Translate(opened, status)) return nullptr;
    database->db.reset(db);
    if (options->read_only) static_cast<cldb::OverlayEnv*>(database->env.get())->Seal();
    return database.release();
  } catch (...) {
    TranslateException(status);
    if (database != nullptr && database->env != nullptr) {
      // LevelDB still holds its half-made database, which uses all of this; only the lock is given back.
      database->env->Break(status->message);
      database->env->AbandonLock();
      database.release();
    }
    return nullptr;
  }
}

// MARK: Closing

bool cldb_close(cldb_database* database, cldb_status* status) {
  std::unique_lock<std::shared_mutex> alone(database->mutex);
  Succeed(status);
  if (database->db == nullptr) return true;
  int iterators = database->iterators.load();
  if (iterators > 0)
    return Fail(status, CLDB_BUSY, 0, std::to_string(iterators) + " cursors are still in use");
  if (database->env->broken()) {
    // LevelDB would wait for work that never ends, so it stays where it is until the process ends.
    database->env->AbandonLock();
    database->db.release();
    database->cache.release();
    return true;
  }
  database->db.reset();
  database->cache.reset();
  return true;
}

void cldb_free(cldb_database* database) {
  cldb_status status;
  cldb_close(database, &status);
  // LevelDB was left alive, so what it uses must live on as well.
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
    LastError() = 0;
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
  cldb::Folder& folder = database->env->folder();
  if (folder.poisoned()) return Fail(status, CLDB_POISONED, 0, folder.poison_reason());
  LastError() = 0;
  try {
    leveldb::WriteOptions options;
    options.sync = sync;
    Status written = database->db->Write(options, &batch->batch);
    if (Translate(written, status)) return true;
    // LevelDB itself forgets a failed append and takes the next one.
    folder.Poison(status->message);
    return false;
  } catch (...) {
    return database->Break(status);
  }
}
