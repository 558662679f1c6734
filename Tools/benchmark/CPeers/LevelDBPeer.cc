#include <leveldb/db.h>
#include <leveldb/write_batch.h>

#include <algorithm>
#include <memory>
#include <string>

#include "Callers.h"
#include "Entries.h"
#include "Failure.h"

struct peer_log {
  std::unique_ptr<leveldb::DB> database;
};

namespace {

void check(const leveldb::Status &status, const char *what) {
  if (!status.ok()) throw Failure(std::string("LevelDB, ") + what + ": " + status.ToString());
}

std::unique_ptr<leveldb::DB> openDatabase(const char *folder, bool isNew) {
  leveldb::Options options;
  options.create_if_missing = isNew;
  options.error_if_exists = isNew;
  leveldb::DB *database = nullptr;
  check(leveldb::DB::Open(options, folder, &database), "opening");
  return std::unique_ptr<leveldb::DB>(database);
}

/// Calls `body(key, value)` for each entry. Verifies checksums, and keeps blocks out of the cache, as LevelDB's manual
/// advises for bulk reads.
template <typename Body>
void forEachEntry(leveldb::DB &database, Body body) {
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  options.fill_cache = false;
  std::unique_ptr<leveldb::Iterator> iterator(database.NewIterator(options));
  const leveldb::Slice first(&entryTag, 1);
  for (iterator->Seek(first); iterator->Valid(); iterator->Next()) {
    const leveldb::Slice key = iterator->key();
    if (!key.starts_with(first)) break;
    body(key, iterator->value());
  }
  check(iterator->status(), "scanning");
}

}  // namespace

const char *peer_leveldb_version(void) {
  static const std::string version =
      std::to_string(leveldb::kMajorVersion) + "." + std::to_string(leveldb::kMinorVersion);
  return version.c_str();
}

bool peer_entries_read(const char *folder, peer_entries **entries, peer_error *error) {
  return reporting(error, [&] {
    auto read = std::make_unique<peer_entries>();
    const auto database = openDatabase(folder, false);
    forEachEntry(*database, [&](const leveldb::Slice &key, const leveldb::Slice &value) {
      read->all.emplace_back(key.ToString(), value.ToString());
      read->byteCount += key.size() + value.size();
    });
    *entries = read.release();
  });
}

size_t peer_entries_count(const peer_entries *entries) { return entries->all.size(); }
uint64_t peer_entries_byte_count(const peer_entries *entries) { return entries->byteCount; }
void peer_entries_free(peer_entries *entries) { delete entries; }

bool peer_leveldb_put(const char *folder, const peer_entries *entries, size_t count, size_t callers,
                      double *seconds, peer_error *error) {
  return reporting(error, [&] {
    if (count > entries->all.size()) throw Failure("LevelDB: fewer entries than asked for");
    const auto database = openDatabase(folder, true);
    *seconds = timedCallers(callers, [&](size_t caller, const auto &start) {
      leveldb::WriteOptions options;
      options.sync = true;
      start();
      for (size_t index = caller; index < count; index += callers) {
        const auto &entry = entries->all[index];
        check(database->Put(options, entry.first, entry.second), "writing");
      }
    });
  });
}

bool peer_leveldb_write_batches(const char *folder, const peer_entries *entries, size_t count,
                                size_t pieces, double *seconds, peer_error *error) {
  return reporting(error, [&] {
    if (count > entries->all.size()) throw Failure("LevelDB: fewer entries than asked for");
    const auto database = openDatabase(folder, true);
    leveldb::WriteOptions options;
    options.sync = true;
    leveldb::WriteBatch batch;
    std::string key;
    *seconds = timed([&] {
      for (size_t index = 0; index < count; index++) {
        const auto &entry = entries->all[index];
        batch.Clear();
        if (pieces == 1) {
          batch.Put(entry.first, entry.second);
        } else {
          const size_t size = (entry.second.size() + pieces - 1) / pieces;
          for (size_t piece = 0; piece * size < entry.second.size(); piece++) {
            key = entry.first;
            key.push_back(static_cast<char>(piece >> 8));
            key.push_back(static_cast<char>(piece));
            const size_t start = piece * size;
            batch.Put(key, leveldb::Slice(entry.second.data() + start,
                                          std::min(size, entry.second.size() - start)));
          }
        }
        check(database->Write(options, &batch), "writing a batch");
      }
    });
  });
}

bool peer_log_open(const char *folder, peer_log **log, peer_error *error) {
  return reporting(error, [&] {
    auto opened = std::make_unique<peer_log>();
    opened->database = openDatabase(folder, false);
    *log = opened.release();
  });
}

void peer_log_close(peer_log *log) { delete log; }

bool peer_log_scan(const peer_log *log, size_t *count, uint64_t *byte_count, double *seconds,
                   peer_error *error) {
  return reporting(error, [&] {
    size_t entries = 0;
    uint64_t bytes = 0;
    *seconds = timed([&] {
      forEachEntry(*log->database, [&](const leveldb::Slice &key, const leveldb::Slice &value) {
        entries++;
        bytes += key.size() + value.size();
      });
    });
    *count = entries;
    *byte_count = bytes;
  });
}
