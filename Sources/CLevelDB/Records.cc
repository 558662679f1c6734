#include "Records.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "Coding.h"
#include "Failure.h"

namespace cldb {

using leveldb::Slice;
using leveldb::Status;

namespace {

enum Type { kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

// The longest tail that can be torn: no write of a journal is longer.
constexpr uint64_t kLongestTail = uint64_t(2) << 30;
// A batch begins with the sequence number of its first change (8 bytes) and the number of its changes (4).
constexpr size_t kBatchHeaderSize = 12;
enum Change { kDeleted = 0, kStored = 1 };

// Calls `see` with each key and value of a batch. Returns false if the record is not a batch.
template <typename See>
bool Walk(const Slice& record, uint64_t* sequence, uint32_t* count, See see) {
  if (record.size() < kBatchHeaderSize) return false;
  *sequence = ReadFixed64(record.data());
  *count = ReadFixed32(record.data() + 8);
  const char* bytes = record.data() + kBatchHeaderSize;
  const char* limit = record.data() + record.size();
  uint64_t found = 0;
  for (; bytes < limit; found++) {
    const char change = *bytes++;
    Slice key, value;
    if ((change != kDeleted && change != kStored) || !ReadBytes(bytes, limit, &key)) return false;
    if (change == kStored && !ReadBytes(bytes, limit, &value)) return false;
    see(key, value);
  }
  return found == *count;
}

// Cuts a log before the first batch that LevelDB would not have written, and marks it as damaged there. For example,
// LevelDB assumes without a check that no sequence number occurs twice.
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

// Recognizes a record that can follow the intact ones.
struct Successor {
  RecordFile::Kind kind;
  bool has_predecessor = false;
  uint64_t sequence = 0;  // of the next batch, if the kind is a log

  void Follow(const Slice& record) {
    has_predecessor = record.size() >= kBatchHeaderSize;
    if (has_predecessor) sequence = ReadFixed64(record.data()) + ReadFixed32(record.data() + 8);
  }

  // Whether a record begins in the bytes after an error. The position of the next fragment is unknown there, so every
  // position is tried.
  bool BeginsIn(Slice block) const {
    while (block.size() >= kRecordHeaderSize) {
      const Fragment fragment = ReadFragment(block);
      if (fragment.whole && fragment.begins() && Accepts(block, fragment)) return true;
      block.remove_prefix(fragment.whole ? fragment.size : 1);
    }
    return false;
  }

  // Whether a fragment can come next. An entry can contain another database's log, with other sequence numbers.
  bool Accepts(const Slice& block, const Fragment& fragment) const {
    constexpr uint64_t kFarthest = uint64_t(1) << 24;
    if (kind == RecordFile::Kind::kManifest) return true;
    if (fragment.size < kRecordHeaderSize + 8) return false;
    const uint64_t found = ReadFixed64(block.data() + kRecordHeaderSize);
    return !has_predecessor || (found >= sequence && found - sequence < kFarthest);
  }
};

}  // namespace

bool Fragment::begins() const { return type == kFull || type == kFirst; }

Fragment ReadFragment(const Slice& block) {
  Fragment fragment;
  if (block.size() < kRecordHeaderSize) return fragment;
  const char* bytes = block.data();
  const size_t length = static_cast<unsigned char>(bytes[4]) | static_cast<unsigned char>(bytes[5]) << 8;
  fragment.size = kRecordHeaderSize + length;
  fragment.type = static_cast<unsigned char>(bytes[6]);
  fragment.whole = fragment.type >= kFull && fragment.type <= kLast && fragment.size <= block.size() &&
                   Checksum(bytes + 6, length + 1) == ReadFixed32(bytes);
  return fragment;
}

bool AreZeros(const Slice& bytes) {
  return bytes.empty() || (bytes[0] == 0 && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

bool ReadBatch(const Slice& record, const EntryReceiver& see) {
  uint64_t sequence;
  uint32_t count;
  return Walk(record, &sequence, &count, [](const Slice&, const Slice&) {}) && Walk(record, &sequence, &count, see);
}

bool RecordJoiner::Take(Slice* block) {
  const Fragment fragment = ReadFragment(*block);
  if (!fragment.whole || fragment.begins() == is_inside_) return false;
  Slice part(block->data() + kRecordHeaderSize, fragment.size - kRecordHeaderSize);
  block->remove_prefix(fragment.size);
  is_joined_ = fragment.type != kFull;
  is_inside_ = fragment.type == kFirst || fragment.type == kMiddle;
  if (!is_joined_) single_ = part;
  if (fragment.type == kFirst) joined_.clear();
  if (is_joined_) joined_.append(part.data(), part.size());
  return true;
}

bool RecordCursor::Next(Slice* record) {
  while (true) {
    const size_t left = kRecordBlockSize - offset_ % kRecordBlockSize;
    if (left < kRecordHeaderSize) offset_ += left;
    if (offset_ + kRecordHeaderSize > bytes_.size()) return false;
    const size_t count = std::min(bytes_.size() - offset_, kRecordBlockSize - offset_ % kRecordBlockSize);
    Slice rest(bytes_.data() + offset_, count);
    if (!joiner_.Take(&rest)) return false;
    offset_ += count - rest.size();
    if (!joiner_.is_whole()) continue;
    *record = joiner_.bytes();
    return true;
  }
}

Status RecordFile::Read(const Folder& folder, const std::string& name, Kind kind, RecordFile* result) {
  OpenFile file;
  CLDB_TRY(folder.OpenForReading(name, &file));
  const uint64_t size = result->file_size = file.size;
  const std::unique_ptr<char[]> block(new char[kRecordBlockSize]);
  RecordJoiner record;
  Successor successor = {kind};
  size_t good = 0;          // where the last whole record ends
  uint64_t wrong = size;    // where the first error is
  bool is_written = false;  // whether any byte after the first error is not 0
  for (uint64_t offset = 0; offset < size; offset += kRecordBlockSize) {
    if (wrong < size && size - wrong > kLongestTail) {
      result->tail = Tail::kDamage;
      break;
    }
    size_t count = std::min<uint64_t>(kRecordBlockSize, size - offset), read = 0;
    CLDB_TRY(folder.Read(file, offset, count, block.get(), &read));
    if (read < count)
      return Failed(CLDB_IO, folder.PathOf(name), "the file became shorter while it was read", EIO);
    Slice rest(block.get(), count);
    if (wrong == size) {
      result->bytes.append(block.get(), count);
      while (record.Take(&rest)) {
        if (!record.is_whole()) continue;
        good = offset + count - rest.size();
        successor.Follow(record.bytes());
      }
      // At the end of a full block, a rest that is too short for a header is filled with zeros.
      if (rest.empty() || (count == kRecordBlockSize && rest.size() < kRecordHeaderSize)) continue;
      wrong = offset + count - rest.size();
    }
    if (AreZeros(rest)) continue;
    is_written = true;
    if (successor.BeginsIn(rest)) {
      result->tail = Tail::kDamage;
      break;
    }
  }
  const bool is_whole = record.is_whole();
  record = RecordJoiner();  // frees the last record
  result->bytes.resize(good);
  result->bytes.shrink_to_fit();
  // Zeros are written ahead only in logs. At the end of a manifest, they are a torn tail.
  if (kind == Kind::kManifest) is_written |= wrong < size;
  if (result->tail == Tail::kNone && (is_written || !is_whole)) result->tail = Tail::kTorn;
  if (kind == Kind::kLog) CheckBatches(result);
  return Status::OK();
}

KeyRanges ReadKeyRanges(const std::string& log) {
  const auto tag = [](const Slice& key) { return key.empty() ? -1 : static_cast<unsigned char>(key[0]); };
  RecordCursor cursor(log);
  Slice record;
  KeyRanges ranges;
  while (cursor.Next(&record)) {
    ReadBatch(record, [&](const Slice& key, const Slice&) {
      auto range = ranges.begin();
      while (range != ranges.end() && tag(range->first) != tag(key)) range++;
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

Status GrowingLog::Open(const Folder& folder, const std::string& name, std::unique_ptr<GrowingLog>* result) {
  result->reset(new GrowingLog(folder));
  return folder.OpenForReading(name, &(*result)->file_);
}

Status GrowingLog::Read(const EntryReceiver& see) {
  const std::unique_ptr<char[]> block(new char[kRecordBlockSize]);
  RecordJoiner record;
  uint64_t position = offset_;
  while (true) {
    const size_t wanted = kRecordBlockSize - position % kRecordBlockSize;
    size_t count = 0;
    CLDB_TRY(folder_.Read(file_, position, wanted, block.get(), &count));
    Slice rest(block.get(), count);
    while (record.Take(&rest)) {
      if (!record.is_whole()) continue;
      if (!ReadBatch(record.bytes(), see)) return Status::OK();
      offset_ = position + count - rest.size();
    }
    // The rest of a block may be too short for a header.
    if (count < wanted || rest.size() >= kRecordHeaderSize) return Status::OK();
    position += wanted;
  }
}

}  // namespace cldb
