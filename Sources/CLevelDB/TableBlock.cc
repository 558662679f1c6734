#include "TableBlock.h"

#include <array>
#include <cstring>

namespace cldb {

namespace {

constexpr size_t kFooterSize = 48;
constexpr unsigned char kTableMagic[8] = {0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb};

// The sequence number and the kind that follow a key of LevelDB's user.
constexpr uint64_t kShortestKey = 8;

uint32_t ReadFixed(const char* bytes) {
  uint32_t value = 0;
  for (int index = 3; index >= 0; index--) value = value << 8 | static_cast<unsigned char>(bytes[index]);
  return value;
}

// Reads a base-128 number and moves `bytes` on; false if it doesn't end before `limit`.
bool ReadVarint(const char*& bytes, const char* limit, uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift <= 63 && bytes < limit; shift += 7) {
    uint64_t byte = static_cast<unsigned char>(*bytes++);
    *value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

// The same for one of up to 32 bits. LevelDB itself goes wrong with a longer one.
bool ReadShortVarint(const char*& bytes, const char* limit, uint64_t* value) {
  const char* start = bytes;
  return ReadVarint(bytes, limit, value) && *value <= UINT32_MAX && bytes - start <= 5;
}

// CRC-32C (RFC 3720, appendix B.4).
uint32_t Checksum(const char* bytes, size_t count) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t index = 0; index < 256; index++) {
      uint32_t value = index;
      for (int bit = 0; bit < 8; bit++) value = value & 1 ? value >> 1 ^ 0x82f63b78 : value >> 1;
      table[index] = value;
    }
    return table;
  }();
  uint32_t remainder = UINT32_MAX;
  for (size_t index = 0; index < count; index++)
    remainder = table[(remainder ^ static_cast<unsigned char>(bytes[index])) & 0xff] ^ remainder >> 8;
  return ~remainder;
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
  // The type is part of what is summed up. LevelDB stores the sum rotated by 15 bits, plus a constant.
  uint32_t rotated = ReadFixed(bytes + count - 4) - 0xa282ead8;
  return Checksum(bytes, count - 4) == (rotated >> 17 | rotated << 15);
}

bool BlockIsWalkable(const char* bytes, size_t count) {
  if (count < kBlockTrailerSize) return false;
  size_t size = count - kBlockTrailerSize;
  if (bytes[size] != 0) return true;
  if (size < 4) return false;
  // At the end stand the restart points, each the offset of an entry, and their number.
  uint64_t restarts = ReadFixed(bytes + size - 4);
  if (restarts > size / 4 - 1) return false;
  const char* entries_end = bytes + size - 4 * (restarts + 1);
  uint64_t next_restart = 0;
  uint64_t key_size = 0;
  for (const char* entry = bytes; entry < entries_end;) {
    bool is_restart =
        next_restart < restarts && ReadFixed(entries_end + 4 * next_restart) == uint64_t(entry - bytes);
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
  if (entries_end == bytes) return restarts <= 1 && (restarts == 0 || ReadFixed(entries_end) == 0);
  return next_restart == restarts && restarts > 0;
}

}  // namespace cldb
