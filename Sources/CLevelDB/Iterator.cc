#include <mutex>

#include "Database.h"
#include "Failure.h"
#include "leveldb/iterator.h"

using cldb::SliceOf;

struct cldb_iterator {
  cldb_database* database;
  leveldb::Iterator* iterator;
  // LevelDB's iterators must not be moved when they are not at an entry.
  bool at_entry;
  // Filled when an exception has left LevelDB; `iterator` is then never touched again.
  cldb_status failure;
};

cldb_iterator* cldb_iterator_new(cldb_database* database, cldb_status* status) {
  std::shared_lock<std::shared_mutex> shared(database->mutex);
  if (!database->IsUsable(status)) return nullptr;
  try {
    leveldb::ReadOptions options;
    options.verify_checksums = true;
    options.fill_cache = false;
    auto* result = new cldb_iterator{database, nullptr, false, {}};
    result->iterator = database->db->NewIterator(options);
    database->iterators++;
    cldb::Succeed(status);
    return result;
  } catch (...) {
    database->Break(status);
    return nullptr;
  }
}

void cldb_iterator_free(cldb_iterator* iterator) {
  // Freeing takes LevelDB's mutex, which an exception may have left locked.
  if (!iterator->database->env->broken()) delete iterator->iterator;
  iterator->database->iterators--;
  delete iterator;
}

// Makes one move and returns the entry that it leads to.
template <typename Move>
static inline bool MoveTo(cldb_iterator* iterator, cldb_entry* entry, Move move) {
  if (iterator->failure.code != CLDB_OK) return false;
  try {
    leveldb::Iterator* position = iterator->iterator;
    iterator->at_entry = false;
    move(position);
    if (!position->Valid()) return false;
    iterator->at_entry = true;
    leveldb::Slice key = position->key();
    leveldb::Slice value = position->value();
    *entry = {key.data(), key.size(), value.data(), value.size()};
    return true;
  } catch (...) {
    return iterator->database->Break(&iterator->failure);
  }
}

bool cldb_iterator_seek(cldb_iterator* iterator, const void* key, size_t key_size, cldb_entry* entry) {
  return MoveTo(iterator, entry, [&](leveldb::Iterator* it) { it->Seek(SliceOf(key, key_size)); });
}

bool cldb_iterator_seek_first(cldb_iterator* iterator, cldb_entry* entry) {
  return MoveTo(iterator, entry, [](leveldb::Iterator* it) { it->SeekToFirst(); });
}

bool cldb_iterator_seek_last(cldb_iterator* iterator, cldb_entry* entry) {
  return MoveTo(iterator, entry, [](leveldb::Iterator* it) { it->SeekToLast(); });
}

bool cldb_iterator_next(cldb_iterator* iterator, cldb_entry* entry) {
  if (!iterator->at_entry) return false;
  return MoveTo(iterator, entry, [](leveldb::Iterator* it) { it->Next(); });
}

bool cldb_iterator_previous(cldb_iterator* iterator, cldb_entry* entry) {
  if (!iterator->at_entry) return false;
  return MoveTo(iterator, entry, [](leveldb::Iterator* it) { it->Prev(); });
}

bool cldb_iterator_status(cldb_iterator* iterator, cldb_status* status) {
  if (iterator->failure.code != CLDB_OK) {
    *status = iterator->failure;
    return false;
  }
  if (iterator->database->env->broken()) {
    return cldb::Fail(status, CLDB_POISONED, 0, iterator->database->env->folder().poison_reason());
  }
  try {
    return cldb::Translate(iterator->iterator->status(), status);
  } catch (...) {
    return iterator->database->Break(&iterator->failure);
  }
}
