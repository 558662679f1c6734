// Checks that LevelDB omits before it uses a table. It allocates whatever a footer requests, and its checks of a
// block's structure are assertions, which end the process.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "leveldb/slice.h"

namespace cldb {

// Whether these bytes, read from a table, are its footer. A block of the same length is not mistaken for one:
// where the magic number has its fourth byte, a block has its compression type, which is 0 or 1.
bool IsFooter(const char* bytes, size_t count);

// Where a footer says that the index block is; false if it points outside of a file of `file_size` bytes.
bool ReadFooter(const char* bytes, uint64_t file_size, uint64_t* index_offset, uint64_t* index_size);

// A block is followed by its compression type, in one byte, and a checksum of both, in four.
constexpr size_t kBlockTrailerSize = 5;

// True if the checksum at the end of a block of `count` bytes, trailer included, is right. LevelDB checks the checksum
// of an index only with `paranoid_checks`, and trusts its contents.
bool BlockIsWhole(const char* bytes, size_t count);

// The contents of a block of `count` bytes, trailer included. If it is compressed, they are in `buffer`. Null, or why
// there are none.
const char* ReadContents(const char* bytes, size_t count, std::string* buffer, leveldb::Slice* contents);

// Reads the contents of a block, and gives its first and its last key, which are empty if it has no entries. False if
// LevelDB could not have written or read it: each entry must be inside, each key a LevelDB key after the previous one, and
// each restart point the offset of a complete key.
bool ReadBlock(const leveldb::Slice& contents, std::string* first, std::string* last);

// The index of a table: a block with an entry for each data block, in the order of keys and offsets. Each entry is a
// restart point, and its key is at or after the last key of the block.
class TableIndex {
 public:
  TableIndex() = default;
  // Takes the contents of a block that `ReadBlock` has accepted; `valid` is false if they are not an index of a table of
  // `file_size` bytes.
  TableIndex(std::string block, uint64_t file_size, bool* valid);

  // How many data blocks there are.
  size_t count() const { return offsets_.size(); }
  // The data block at an offset of the file; `count()` if there is none.
  size_t Find(uint64_t offset) const;
  leveldb::Slice key(size_t index) const;

 private:
  // False if the entry lacks a complete key or an offset after it.
  bool ReadEntry(size_t index, leveldb::Slice* key, uint64_t* offset, uint64_t* size) const;

  std::string block_;
  // Where the entries of the block end, and its restart points begin.
  size_t entries_end_ = 0;
  // Of each data block: every block that is read is looked up here.
  std::vector<uint64_t> offsets_;
};

}  // namespace cldb
