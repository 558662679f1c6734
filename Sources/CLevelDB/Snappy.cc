#include "Snappy.h"

#include "Coding.h"

namespace cldb {

using leveldb::Slice;

namespace {

constexpr uint64_t kHighestRatio = 22;

bool ReadNumber(const char*& bytes, const char* limit, size_t width, uint64_t* value) {
  if (width > size_t(limit - bytes)) return false;
  *value = 0;
  for (size_t index = 0; index < width; index++)
    *value |= uint64_t(static_cast<unsigned char>(*bytes++)) << 8 * index;
  return true;
}

}  // namespace

bool Uncompress(const Slice& compressed, std::string* result) {
  const char* bytes = compressed.data();
  const char* limit = bytes + compressed.size();
  uint64_t size;
  if (!ReadShortVarint(bytes, limit, &size) || size > kLargestBlock || size / kHighestRatio > compressed.size())
    return false;
  result->clear();
  result->reserve(size);
  // Each element is a tag and either bytes or a reference to bytes of the result.
  while (bytes < limit) {
    const unsigned char tag = static_cast<unsigned char>(*bytes++);
    const uint64_t room = size - result->size();
    uint64_t length = tag >> 2, offset;
    switch (tag & 3) {
      case 0:
        if (length >= 60 && !ReadNumber(bytes, limit, length - 59, &length)) return false;
        length++;
        if (length > room || length > uint64_t(limit - bytes)) return false;
        result->append(bytes, length);
        bytes += length;
        continue;
      case 1:
        if (!ReadNumber(bytes, limit, 1, &offset)) return false;
        offset |= uint64_t(tag >> 5) << 8;
        length = 4 + (length & 7);
        break;
      default:
        if (!ReadNumber(bytes, limit, (tag & 3) == 2 ? 2 : 4, &offset)) return false;
        length++;
    }
    if (offset == 0 || offset > result->size() || length > room) return false;
    // Bytes are copied one by one, because a reference may include bytes that it produces.
    for (size_t from = result->size() - offset; length > 0; length--) result->push_back((*result)[from++]);
  }
  return result->size() == size;
}

}  // namespace cldb
