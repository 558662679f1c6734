#include "LogBatches.h"

#include "Coding.h"

namespace cldb {

using leveldb::Slice;

namespace {

// As in a manifest.
constexpr uint64_t kLargestSequence = (uint64_t(1) << 55) - 1;
enum Kind { kDeleted = 0, kStored = 1 };

// Calls `see` with each key and value of a batch; false if it is not one.
template <typename See>
bool Walk(const Slice& record, uint64_t* sequence, uint32_t* count, See see) {
  if (record.size() < kBatchHeaderSize) return false;
  *sequence = ReadFixed64(record.data());
  *count = ReadFixed32(record.data() + 8);
  const char* bytes = record.data() + kBatchHeaderSize;
  const char* limit = record.data() + record.size();
  uint64_t found = 0;
  while (bytes < limit) {
    char kind = *bytes++;
    Slice key, value;
    if (kind != kDeleted && kind != kStored) return false;
    if (!ReadBytes(bytes, limit, &key)) return false;
    if (kind == kStored && !ReadBytes(bytes, limit, &value)) return false;
    see(key, value);
    found++;
  }
  return found == *count;
}

}  // namespace

void CheckBatches(RecordFile* log) {
  RecordCursor cursor(log->bytes);
  Slice record;
  size_t good = 0;
  uint64_t next = 0;
  while (cursor.Next(&record)) {
    uint64_t sequence;
    uint32_t count;
    bool is_batch = Walk(record, &sequence, &count, [](const Slice&, const Slice&) {});
    if (!is_batch || sequence < next || sequence > kLargestSequence - count) {
      log->bytes.resize(good);
      log->tail = RecordFile::Tail::kDamage;
      return;
    }
    next = sequence + count;
    good = cursor.offset();
  }
}

static bool HaveSameTag(const Slice& left, const Slice& right) {
  return left.empty() || right.empty() ? left.empty() && right.empty() : left[0] == right[0];
}

KeyRanges ReadKeyRanges(const std::string& log) {
  RecordCursor cursor(log);
  Slice record;
  KeyRanges ranges;
  while (cursor.Next(&record)) {
    uint64_t sequence;
    uint32_t count;
    Walk(record, &sequence, &count, [&](const Slice& key, const Slice&) {
      auto range = ranges.begin();
      while (range != ranges.end() && !HaveSameTag(range->first, key)) range++;
      if (range == ranges.end()) {
        ranges.push_back({key.ToString(), key.ToString()});
      } else if (key.compare(range->first) < 0) {
        range->first = key.ToString();
      } else if (key.compare(range->second) > 0) {
        range->second = key.ToString();
      }
    });
  }
  return ranges;
}

bool ReadBatch(const Slice& record, const std::function<void(const Slice&, const Slice&)>& see) {
  uint64_t sequence;
  uint32_t count;
  if (!Walk(record, &sequence, &count, [](const Slice&, const Slice&) {})) return false;
  return Walk(record, &sequence, &count, see);
}

}  // namespace cldb
