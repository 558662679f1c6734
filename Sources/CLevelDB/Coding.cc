#include "Coding.h"

#include "CCRC32C.h"

namespace cldb {

using leveldb::Slice;

uint32_t ReadFixed32(const char* bytes) {
  uint32_t value = 0;
  for (int index = 3; index >= 0; index--) value = value << 8 | static_cast<unsigned char>(bytes[index]);
  return value;
}

uint64_t ReadFixed64(const char* bytes) { return uint64_t(ReadFixed32(bytes + 4)) << 32 | ReadFixed32(bytes); }

bool ReadVarint(const char*& bytes, const char* limit, uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift <= 63 && bytes < limit; shift += 7) {
    uint64_t byte = static_cast<unsigned char>(*bytes++);
    *value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool ReadShortVarint(const char*& bytes, const char* limit, uint64_t* value) {
  const char* start = bytes;
  return ReadVarint(bytes, limit, value) && *value <= UINT32_MAX && bytes - start <= 5;
}

bool ReadBytes(const char*& bytes, const char* limit, Slice* value) {
  uint64_t count;
  if (!ReadShortVarint(bytes, limit, &count) || count > uint64_t(limit - bytes)) return false;
  *value = Slice(bytes, count);
  bytes += count;
  return true;
}

void WriteFixed32(uint32_t value, char* bytes) {
  for (int index = 0; index < 4; index++) bytes[index] = static_cast<char>(value >> 8 * index);
}

uint32_t Checksum(const char* bytes, size_t count) {
  const uint32_t sum = ~ccrc32c_update(UINT32_MAX, bytes, count);
  // LevelDB stores the sum rotated by 15 bits, plus a constant.
  return (sum >> 15 | sum << 17) + 0xa282ead8;
}

bool IsInternalKey(const Slice& key) {
  return key.size() >= kTrailerSize &&
         static_cast<unsigned char>(key[key.size() - kTrailerSize]) <= 1;  // the kind: deleted, or stored
}

Slice UserKey(const Slice& key) {
  return Slice(key.data(), key.size() < kTrailerSize ? 0 : key.size() - kTrailerSize);
}

int CompareKeys(const Slice& left, const Slice& right) {
  int order = UserKey(left).compare(UserKey(right));
  if (order != 0) return order;
  uint64_t newer = ReadFixed64(left.data() + left.size() - kTrailerSize);
  uint64_t older = ReadFixed64(right.data() + right.size() - kTrailerSize);
  return newer > older ? -1 : newer < older ? 1 : 0;
}

}  // namespace cldb
