#include <leveldb/db.h>
#include <leveldb/write_batch.h>
#include <libpq-fe.h>
#include <sqlite3.h>

#include <algorithm>
#include <memory>
#include <string>

#include "Peer.h"

thread_local std::string peerFailure;

namespace {

/// The keys of a journal's entries begin with this byte.
constexpr char entryTag = 'e';

void check(const leveldb::Status &status, const char *what) {
  if (!status.ok()) throw Failure(std::string("LevelDB, ") + what + ": " + status.ToString());
}

struct Database : peer {
  std::unique_ptr<leveldb::DB> database;
  const Entries *entries;
  leveldb::WriteOptions synced;
  leveldb::WriteBatch batch;

  Database(const char *folder, const Entries *entries, bool isNew) : entries(entries) {
    leveldb::Options options;
    options.create_if_missing = isNew;
    options.error_if_exists = isNew;
    leveldb::DB *opened = nullptr;
    check(leveldb::DB::Open(options, folder, &opened), "opening");
    database.reset(opened);
    synced.sync = true;
  }

  /// Verifies checksums and does not fill the cache, as LevelDB's manual advises for bulk reads.
  template <typename Body>
  void forEachEntry(Body body) {
    leveldb::ReadOptions options;
    options.verify_checksums = true;
    options.fill_cache = false;
    std::unique_ptr<leveldb::Iterator> iterator(database->NewIterator(options));
    const leveldb::Slice first(&entryTag, 1);
    for (iterator->Seek(first); iterator->Valid(); iterator->Next()) {
      const leveldb::Slice key = iterator->key();
      if (!key.starts_with(first)) break;
      body(key, iterator->value());
    }
    check(iterator->status(), "scanning");
  }
};

}  // namespace

void peer_free(peer *any) { delete any; }
const char *peer_failure(void) { return peerFailure.c_str(); }

const char *peer_versions(void) {
  static const std::string versions =
      "LevelDB " + std::to_string(leveldb::kMajorVersion) + "." + std::to_string(leveldb::kMinorVersion) + ", SQLite " +
      sqlite3_libversion() + ", libpq " + std::to_string(PQlibVersion() / 10000);
  return versions.c_str();
}

peer *peer_entries(const char *folder) {
  return reporting([&]() -> peer * {
    auto entries = std::make_unique<Entries>();
    Database(folder, nullptr, false).forEachEntry([&](const leveldb::Slice &key, const leveldb::Slice &value) {
      entries->all.emplace_back(key.ToString(), value.ToString());
      entries->byteCount += key.size() + value.size();
    });
    return entries.release();
  });
}

size_t peer_entries_count(const peer *entries) { return static_cast<const Entries *>(entries)->all.size(); }
uint64_t peer_entries_byte_count(const peer *entries) { return static_cast<const Entries *>(entries)->byteCount; }

peer *peer_leveldb(const char *folder, const peer *entries) {
  return reporting(
      [&]() -> peer * { return new Database(folder, static_cast<const Entries *>(entries), entries != nullptr); });
}

bool peer_leveldb_put(peer *any, size_t index) {
  return reporting([&] {
    auto &database = *static_cast<Database *>(any);
    const auto &[key, value] = database.entries->all.at(index);
    check(database.database->Put(database.synced, key, value), "writing");
    return true;
  });
}

bool peer_leveldb_write(peer *any, size_t index, size_t pieces) {
  return reporting([&] {
    auto &database = *static_cast<Database *>(any);
    const auto &[key, value] = database.entries->all.at(index);
    const size_t size = (value.size() + pieces - 1) / pieces;
    database.batch.Clear();
    std::string part;
    for (size_t piece = 0; piece * size < value.size(); piece++) {
      part = key;
      part.push_back(static_cast<char>(piece >> 8));
      part.push_back(static_cast<char>(piece));
      const size_t start = piece * size;
      database.batch.Put(part, leveldb::Slice(value.data() + start, std::min(size, value.size() - start)));
    }
    check(database.database->Write(database.synced, &database.batch), "writing a batch");
    return true;
  });
}

bool peer_leveldb_scan(peer *any, size_t *count, uint64_t *byte_count) {
  return reporting([&] {
    static_cast<Database *>(any)->forEachEntry([&](const leveldb::Slice &key, const leveldb::Slice &value) {
      *count += 1;
      *byte_count += key.size() + value.size();
    });
    return true;
  });
}
