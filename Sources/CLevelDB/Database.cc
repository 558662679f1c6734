#include <memory>

#include "CLevelDB.h"
#include "Failure.h"
#include "StagedEnv.h"
#include "Table.h"
#include "leveldb/cache.h"
#include "leveldb/db.h"
#include "leveldb/iterator.h"
#include "leveldb/write_batch.h"

using cldb::Fail;
using cldb::Failed;
using cldb::Succeed;
using cldb::Translate;
using leveldb::Slice;
using leveldb::Status;

struct cldb_database {
  bool read_only = false;
  cldb::NullLogger logger;
  std::unique_ptr<cldb::StagedEnv> env;
  std::unique_ptr<leveldb::Cache> cache;
  std::unique_ptr<leveldb::DB> db;  // null when it is closed

  ~cldb_database() { Close(); }

  void Close() {
    if (db == nullptr) return;
    env->worker().Release();
    env->worker().RunWithoutThread();
    db.reset();
  }

  bool IsOpen(cldb_status* status) const {
    return db != nullptr || Fail(status, CLDB_CLOSED, 0, "the database is closed");
  }
};

struct cldb_batch {
  leveldb::WriteBatch batch;
};

namespace {

Slice SliceOf(const void* bytes, size_t count) {
  return Slice(count == 0 ? "" : static_cast<const char*>(bytes), count);
}

cldb_answer Give(cldb_receiver receive, void* context, const Slice& key, const Slice& value) {
  const cldb_entry entry = {key.data(), key.size(), value.data(), value.size()};
  return receive(context, &entry);
}

leveldb::ReadOptions Reading() {
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  options.fill_cache = false;
  return options;
}

// MARK: Opening

// Reads the folder, and reads it again if a writer has removed files in the meantime. One reading takes less time than
// a writer takes to replace a file, so the limit is only a safeguard.
Status TakeInUse(const cldb::Folder& folder, cldb::Inventory* inventory, std::string* key) {
  constexpr int kAttempts = 100;
  for (int attempt = 1;; attempt++) {
    *inventory = cldb::Inventory();
    Status status = cldb::Inventory::Take(folder, true, inventory, key);
    if (!status.IsCorruption() || attempt == kAttempts || !inventory->HasChanged(folder)) return status;
  }
}

// Makes the environment of a database. Refuses a folder that LevelDB would mistake for a new database.
Status OpenEnv(const std::string& path, int descriptor, const cldb_options& options,
               std::unique_ptr<cldb::StagedEnv>* env, std::string* key) {
  std::unique_ptr<cldb::Folder> folder;
  CLDB_TRY(cldb::Folder::Open(path, descriptor, options.hook, options.hook_context, &folder));
  // If the file LOCK exists, it is locked before anything is read. A LOCK with several names may be locked by the owner
  // of another folder. The journal removes such a file before anything is written (LevelDBLog.swift).
  std::unique_ptr<cldb::LockedFile> lock;
  if (!options.read_only) {
    std::optional<uint64_t> size;
    cfiles_status info;
    CLDB_TRY(folder->Find("LOCK", &size));
    const bool is_own = size && folder->StatusOf("LOCK", &info) == 0 && info.link_count == 1;
    if (is_own) CLDB_TRY(cldb::LockedFile::Acquire(*folder, &lock));
  }
  cldb::Inventory inventory;
  CLDB_TRY(options.in_use ? TakeInUse(*folder, &inventory, key)
                          : cldb::Inventory::Take(*folder, false, &inventory, key));
  if (!inventory.has_database && !options.create_if_missing)
    return Failed(CLDB_NOT_FOUND, path, "there is no database in this folder");
  env->reset(new cldb::StagedEnv(std::move(folder), std::move(inventory), std::move(lock), options.kept_log_size));
  return Status::OK();
}

leveldb::Options LevelDBOptions(const cldb_options& options, cldb_database& database) {
  leveldb::Options result;
  result.env = database.env.get();
  result.info_log = &database.logger;
  result.block_cache = database.cache.get();
  result.create_if_missing = options.create_if_missing;
  result.paranoid_checks = true;
  // The last log is reused if it is small (StagedEnv::NewAppendableFile).
  result.reuse_logs = true;
  // Each open table takes a descriptor and two copies of its index, some 100 KB. Opening a table again takes as long as
  // reading some ten blocks.
  result.max_open_files = 64;
  result.write_buffer_size = options.write_buffer_size;
  result.block_size = options.block_size;
  result.max_file_size = options.table_size;
  result.compression = leveldb::kNoCompression;
  return result;
}

}  // namespace

cldb_database* cldb_open(const char* path, int folder, const cldb_options* options, cldb_status* status) {
  auto database = std::make_unique<cldb_database>();
  database->read_only = options->read_only;
  std::string key;
  if (!Translate(OpenEnv(path, folder, *options, &database->env, &key), status)) {
    cldb::SetKey(status, key);
    return nullptr;
  }
  if (!options->read_only && !options->without_thread) database->env->worker().Start();
  // No block is cached: scans read each block once, and the entries of a history are far apart.
  database->cache.reset(leveldb::NewLRUCache(0));
  leveldb::DB* db = nullptr;
  // LevelDB makes paths with this name, and the Env removes it from them. Nothing is opened by it.
  const std::string& name = database->env->folder().path();
  Status opened = leveldb::DB::Open(LevelDBOptions(*options, *database), name, &db);
  database->db.reset(db);
  database->env->Seal();
  return Translate(opened, status) ? database.release() : nullptr;
}

bool cldb_has_torn_tail(const cldb_database* database) { return database->env->inventory().has_torn_tail; }

bool cldb_damage(const cldb_database* database, cldb_status* status) {
  return Translate(database->env->inventory().damage, status);
}

bool cldb_key_ranges(cldb_database* database, cldb_receiver receive, void* context, cldb_status* status) {
  if (!database->IsOpen(status)) return false;
  const cldb::Inventory& inventory = database->env->inventory();
  cldb::KeyRanges ranges = inventory.log_ranges;
  for (const cldb::TableInfo& table : inventory.manifest.tables) {
    if (!table.smallest.empty() && !table.largest.empty() && table.smallest[0] == table.largest[0]) {
      ranges.push_back({table.smallest, table.largest});
      continue;
    }
    std::unique_ptr<cldb::TableCursor> cursor;
    Status read = cldb::TableCursor::Open(database->env->folder(), inventory.NameOf(table), &table, &cursor);
    if (read.ok()) read = cursor->AddRanges(&ranges);
    if (!Translate(read, status)) {
      cldb::SetKey(status, table.smallest);
      return false;
    }
  }
  for (const auto& range : ranges) Give(receive, context, range.first, range.second);
  return Succeed(status);
}

bool cldb_read_logs(cldb_database* database, cldb_receiver receive, void* context, cldb_status* status) {
  if (!database->IsOpen(status)) return false;
  auto& logs = database->env->growing_logs();
  for (const auto& log : logs) {
    Status read = log->Read([&](const Slice& key, const Slice& value) { Give(receive, context, key, value); });
    if (!Translate(read, status)) return false;
  }
  // Only the last log grows: LevelDB starts a log after the previous one is complete.
  if (logs.size() > 1) logs.erase(logs.begin(), logs.end() - 1);
  return Succeed(status);
}

bool cldb_has_changed(const cldb_database* database) {
  return database->env->inventory().HasChanged(database->env->folder());
}

bool cldb_begin_writing(cldb_database* database, const void* first, size_t first_size, cldb_status* status) {
  if (!database->IsOpen(status)) return false;
  if (database->read_only) return Fail(status, CLDB_READ_ONLY, 0, "the database is open for reading only");
  if (database->env->is_writing()) return Succeed(status);
  std::string value, key;
  const auto holds = [&](const Slice& wanted) {
    if (wanted.compare(SliceOf(first, first_size)) < 0) return Status::OK();
    return database->db->Get(Reading(), wanted, &value);
  };
  if (Translate(database->env->BeginWriting(holds, &key), status)) return true;
  cldb::SetKey(status, key);
  return false;
}

void cldb_close(cldb_database* database) { database->Close(); }

void cldb_free(cldb_database* database) { delete database; }

// MARK: Reading

bool cldb_get(cldb_database* database, const void* key, size_t key_size, cldb_receiver receive, void* context,
              cldb_status* status) {
  if (!database->IsOpen(status)) return false;
  std::string value;
  const Slice wanted = SliceOf(key, key_size);
  Status got = database->db->Get(Reading(), wanted, &value);
  if (got.IsNotFound()) return Succeed(status);
  if (got.ok()) Give(receive, context, wanted, value);
  return Translate(got, status);
}

bool cldb_scan(cldb_database* database, const void* first, size_t first_size, const void* last, size_t last_size,
               bool backwards, cldb_receiver receive, void* context, cldb_status* status) {
  if (!database->IsOpen(status)) return false;
  const Slice low = SliceOf(first, first_size), high = SliceOf(last, last_size);
  const std::unique_ptr<leveldb::Iterator> position(database->db->NewIterator(Reading()));
  position->Seek(backwards ? high : low);
  if (backwards && !position->Valid()) {
    position->SeekToLast();
  } else if (backwards && position->key() != high) {
    position->Prev();
  }
  while (position->Valid() && (backwards ? position->key().compare(low) >= 0 : position->key().compare(high) <= 0)) {
    cldb_answer answer = Give(receive, context, position->key(), position->value());
    if (answer == CLDB_CHECK) {
      if (!Translate(position->status(), status)) return false;
      answer = Give(receive, context, position->key(), position->value());
    }
    if (answer == CLDB_STOP) return Succeed(status);
    if (backwards) {
      position->Prev();
    } else {
      position->Next();
    }
  }
  return Translate(position->status(), status);
}

// MARK: Writing

cldb_batch* cldb_batch_new(void) { return new cldb_batch; }

void cldb_batch_free(cldb_batch* batch) { delete batch; }

void cldb_batch_put(cldb_batch* batch, const cldb_entry* entry) {
  batch->batch.Put(SliceOf(entry->key, entry->key_size), SliceOf(entry->value, entry->value_size));
}

bool cldb_write(cldb_database* database, cldb_batch* batch, bool sync, cldb_status* status) {
  if (!database->IsOpen(status)) return false;
  if (database->read_only) return Fail(status, CLDB_READ_ONLY, 0, "the database is open for reading only");
  if (!database->env->is_writing()) return Fail(status, CLDB_WRONG_USE, 0, "writing has not begun");
  cldb::Folder& folder = database->env->folder();
  if (folder.poisoned()) return Fail(status, CLDB_POISONED, 0, folder.poison_reason());
  database->env->TakeRefusal();
  leveldb::WriteOptions options;
  options.sync = sync;
  Status written = database->db->Write(options, &batch->batch);
  database->env->worker().RunWithoutThread();
  if (Translate(written, status)) return true;
  if (database->env->TakeRefusal() && !folder.poisoned()) {
    status->code = CLDB_REFUSED;
    return false;
  }
  // LevelDB itself would accept an append after a failed one.
  folder.Poison(status->message);
  // A compaction may have poisoned the folder after the record was written and before it was flushed. `CLDB_POISONED`
  // would mean that nothing was written.
  if (status->code == CLDB_POISONED) status->code = CLDB_IO;
  return false;
}
