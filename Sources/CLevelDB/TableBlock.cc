#include "TableBlock.h"

#include <cstring>

#include "Coding.h"

namespace cldb {

namespace {

constexpr size_t kFooterSize = 48;
constexpr unsigned char kTableMagic[8] = {0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb};

// The sequence number and the kind that follow a key of LevelDB's user.
constexpr uint64_t kShortestKey = 8;

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
  // The type is part of what is summed up.
  return ChecksumFits(bytes, count - 4, ReadFixed32(bytes + count - 4));
}

bool BlockIsWalkable(const char* bytes, size_t count) {
  if (count < kBlockTrailerSize) return false;
  size_t size = count - kBlockTrailerSize;
  if (bytes[size] != 0) return true;
  if (size < 4) return false;
  // At the end stand the restart points, each the offset of an entry, and their number.
  uint64_t restarts = ReadFixed32(bytes + size - 4);
  if (restarts > size / 4 - 1) return false;
  const char* entries_end = bytes + size - 4 * (restarts + 1);
  uint64_t next_restart = 0;
  uint64_t key_size = 0;
  for (const char* entry = bytes; entry < entries_end;) {
    bool is_restart =
        next_restart < restarts && ReadFixed32(entries_end + 4 * next_restart) == uint64_t(entry - bytes);
    uint64_t shared, unshared, value_size;
    if (!ReadShortVarint(entry, entries_end, &shared) ||
        !ReadShortVarint(entry, entries_end, &unshared) ||
        !ReadShortVarint(entry, entries_end, &value_size))
      return false;
    if (shared > key_size || (is_restart && shared > 0)) return false;
    if (unshared + value_size > uint64_t(entries_end - entry)) return false;
    key_size = shared + unshared;
    if (key_size < kShortestKey) return false;
    if (is_restart) next_restart++;
    entry += unshared + value_size;
  }
  // A block without entries has one restart point all the same, at 0.
  if (entries_end == bytes) return restarts <= 1 && (restarts == 0 || ReadFixed32(entries_end) == 0);
  return next_restart == restarts && restarts > 0;
}

}  // namespace cldb
