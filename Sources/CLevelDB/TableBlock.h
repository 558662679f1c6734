// What LevelDB does not check about a table before it uses it. It allocates whatever a footer asks for, and
// its checks of a block's structure are assertions, which end the process.

#pragma once

#include <cstddef>
#include <cstdint>

namespace cldb {

// Whether these bytes, read from a table, are its footer. A block of the same length is not mistaken for one:
// where the magic number has its fourth byte, a block has its compression type, which is 0 or 1.
bool IsFooter(const char* bytes, size_t count);

// Where a footer says that the index block is; false if it points outside of a file of `file_size` bytes.
bool ReadFooter(const char* bytes, uint64_t file_size, uint64_t* index_offset, uint64_t* index_size);

// A block is followed by its compression type, in one byte, and a checksum of both, in four.
constexpr size_t kBlockTrailerSize = 5;

// True if the checksum behind a block of `count` bytes, trailer included, is right. LevelDB checks that of an
// index with `paranoid_checks` only, and what it finds there it believes.
bool BlockIsWhole(const char* bytes, size_t count);

// True unless a block of `count` bytes, trailer included, is one that LevelDB can't walk: each entry must be
// inside, each key one of LevelDB's own, which end in eight bytes for a sequence number, and each restart
// point the place of a whole key. A compressed block is not looked into.
bool BlockIsWalkable(const char* bytes, size_t count);

}  // namespace cldb
