#include "InternalKey.h"

#include "Coding.h"

namespace cldb {

using leveldb::Slice;

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
