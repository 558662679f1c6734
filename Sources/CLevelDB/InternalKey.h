// LevelDB's own form of a key: the user's, then a sequence number and a kind in eight bytes.

#pragma once

#include "leveldb/slice.h"

namespace cldb {

constexpr size_t kTrailerSize = 8;

// Whether a key is one that LevelDB makes, with a kind that it knows.
bool IsInternalKey(const leveldb::Slice& key);

// The user's part of a key; empty if LevelDB could not have made the key.
leveldb::Slice UserKey(const leveldb::Slice& key);

// The order of LevelDB's keys: the user's, then the newer before the older.
int CompareKeys(const leveldb::Slice& left, const leveldb::Slice& right);

}  // namespace cldb
