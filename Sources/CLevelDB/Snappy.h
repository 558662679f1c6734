// Snappy's format (its format_description.txt), by which LevelDB compresses blocks by default. The journal writes no
// such block, but another program that opens its database does. Blocks are uncompressed here only to be checked.

#pragma once

#include <cstdint>
#include <string>

#include "leveldb/slice.h"

namespace cldb {

// An entry is smaller than 1 GiB, and LevelDB ends a block when it has at most 4 MiB.
constexpr uint64_t kLargestBlock = (uint64_t(1) << 30) + (4 << 20);

// False if the bytes are not valid. The announced length is checked before anything is allocated: it is at most 22
// times the compressed length, because three bytes make at most 64.
bool Uncompress(const leveldb::Slice& compressed, std::string* result);

}  // namespace cldb
