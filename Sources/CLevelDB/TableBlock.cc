#include "TableBlock.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "Coding.h"
#include "InternalKey.h"
#include "Snappy.h"

namespace cldb {

using leveldb::Slice;

namespace {

constexpr size_t kFooterSize = 48;
// How a block is compressed.
constexpr char kUncompressed = 0, kSnappy = 1;
constexpr unsigned char kTableMagic[8] = {0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb};

// Reads a number of up to 32 bits. Most of those in blocks have one byte.
inline bool ReadLength(const char*& bytes, const char* limit, uint64_t* value) {
  if (bytes == limit || *bytes & 0x80) return ReadShortVarint(bytes, limit, value);
  *value = *bytes++;
  return true;
}

}  // namespace

bool IsFooter(const char* bytes, size_t count) {
  return count == kFooterSize &&
         std::memcmp(bytes + kFooterSize - sizeof(kTableMagic), kTableMagic, sizeof(kTableMagic)) == 0;
}

bool ReadFooter(const char* bytes, uint64_t file_size, uint64_t* index_offset, uint64_t* index_size) {
  const char* limit = bytes + kFooterSize - sizeof(kTableMagic);
  for (int handle = 0; handle < 2; handle++) {  // the metaindex block's, then the index block's
    uint64_t offset, size;
    if (!ReadVarint(bytes, limit, &offset) || !ReadVarint(bytes, limit, &size)) return false;
    if (offset > file_size || size > file_size - offset) return false;
    if (file_size - offset - size < kBlockTrailerSize) return false;
    *index_offset = offset;
    *index_size = size;
  }
  return true;
}

bool BlockIsWhole(const char* bytes, size_t count) {
  if (count < kBlockTrailerSize) return false;
  // The checksum includes the type.
  return Checksum(bytes, count - 4) == ReadFixed32(bytes + count - 4);
}

const char* ReadContents(const char* bytes, size_t count, std::string* buffer, Slice* contents) {
  if (count < kBlockTrailerSize) return "a block of the table is too short";
  const size_t size = count - kBlockTrailerSize;
  *contents = Slice(bytes, size);
  if (bytes[size] == kUncompressed) return nullptr;
  if (!BlockIsWhole(bytes, count)) return "the checksum of a block of the table is wrong";
  if (bytes[size] != kSnappy)
    return "a block of the table is compressed, but not with Snappy: a program other than LevelDB 1.23 wrote it";
  if (!Uncompress(*contents, buffer)) return "a compressed block of the table can't be uncompressed";
  *contents = *buffer;
  return nullptr;
}

bool ReadBlock(const Slice& contents, std::string* first, std::string* last) {
  first->clear();
  last->clear();
  const char* bytes = contents.data();
  const size_t size = contents.size();
  if (size < 4) return false;
  // The block ends with the restart points, each the offset of an entry, and their number.
  uint64_t restarts = ReadFixed32(bytes + size - 4);
  if (restarts > size / 4 - 1) return false;
  const char* entries_end = bytes + size - 4 * (restarts + 1);
  uint64_t next_restart = 0;
  std::string key;
  for (const char* entry = bytes; entry < entries_end;) {
    bool is_first = entry == bytes;
    bool is_restart =
        next_restart < restarts && ReadFixed32(entries_end + 4 * next_restart) == uint64_t(entry - bytes);
    uint64_t shared, unshared, value_size;
    if (!ReadLength(entry, entries_end, &shared) || !ReadLength(entry, entries_end, &unshared) ||
        !ReadLength(entry, entries_end, &value_size))
      return false;
    if (shared > last->size() || (is_restart && shared > 0)) return false;
    if (unshared + value_size > uint64_t(entries_end - entry)) return false;
    key.assign(*last, 0, shared).append(entry, unshared);
    if (!IsInternalKey(key) || (!is_first && CompareKeys(*last, key) >= 0)) return false;
    if (is_first) *first = key;
    key.swap(*last);
    if (is_restart) next_restart++;
    entry += unshared + value_size;
  }
  // A block without entries nevertheless has one restart point, at 0.
  if (entries_end == bytes) return restarts <= 1 && (restarts == 0 || ReadFixed32(entries_end) == 0);
  return next_restart == restarts && restarts > 0;
}

TableIndex::TableIndex(std::string block, uint64_t file_size, bool* valid) : block_(std::move(block)) {
  *valid = false;
  const size_t count = ReadFixed32(&block_[block_.size() - 4]);
  entries_end_ = block_.size() - 4 * (count + 1);
  uint64_t end = 0;
  // A block without entries has one restart point that refers to none.
  for (size_t index = 0; entries_end_ > 0 && index < count; index++) {
    Slice key;
    uint64_t offset, size;
    if (!ReadEntry(index, &key, &offset, &size)) return;
    if (offset < end || offset > file_size || size > file_size - offset) return;
    if (file_size - offset - size < kBlockTrailerSize) return;
    offsets_.push_back(offset);
    end = offset + size;
  }
  *valid = true;
}

size_t TableIndex::Find(uint64_t offset) const {
  const auto found = std::lower_bound(offsets_.begin(), offsets_.end(), offset);
  return found != offsets_.end() && *found == offset ? found - offsets_.begin() : count();
}

Slice TableIndex::key(size_t index) const {
  Slice key;
  uint64_t offset, size;
  ReadEntry(index, &key, &offset, &size);
  return key;
}

bool TableIndex::ReadEntry(size_t index, Slice* key, uint64_t* offset, uint64_t* size) const {
  const char* limit = &block_[entries_end_];
  const char* entry = &block_[ReadFixed32(limit + 4 * index)];
  uint64_t shared, unshared, value_size;
  if (!ReadShortVarint(entry, limit, &shared) || !ReadShortVarint(entry, limit, &unshared) ||
      !ReadShortVarint(entry, limit, &value_size) || shared > 0)
    return false;
  *key = Slice(entry, unshared);
  entry += unshared;
  return ReadVarint(entry, limit, offset) && ReadVarint(entry, limit, size);
}

}  // namespace cldb
