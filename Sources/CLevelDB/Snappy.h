// Snappy's format (its format_description.txt), in which LevelDB compresses blocks by default. A journal writes no such
// blocks, but another program that opens the database does. Blocks are uncompressed here only to be checked.

#pragma once

#include <cstdint>
#include <string>

#include "leveldb/slice.h"

namespace cldb {

// The largest uncompressed block. LevelDB adds no more entries to a block that has reached 4 MiB, so a block has less than
// 4 MiB and one last entry of less than 1 GiB.
constexpr uint64_t kLargestBlock = (uint64_t(1) << 30) + (4 << 20);

// Uncompresses bytes. Returns false if they are not valid. The announced length is checked before anything is
// allocated: it is at most 22 times the compressed length, because three bytes make at most 64.
bool Uncompress(const leveldb::Slice& compressed, std::string* result);

}  // namespace cldb
