#include "RecordFile.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "CFiles.h"
#include "Coding.h"
#include "Failure.h"

namespace cldb {

using leveldb::Slice;
using leveldb::Status;

namespace {

// A file is blocks, a record is one or more fragments, and no fragment crosses the end of a block. Each has a
// header: checksum (4 bytes), length (2), type (1).
constexpr size_t kBlockSize = RecordCursor::kBlockSize;
constexpr size_t kHeaderSize = RecordJoiner::kHeaderSize;
enum Type { kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

// No torn write is longer: LevelDB's batches are below 4 GiB, and the journal's far below.
constexpr uint64_t kLongestTail = uint64_t(2) << 30;

struct Fragment {
  int type = 0;
  size_t length = 0;    // without the header
  bool whole = false;   // it lies inside of the block, and has the right checksum
};

Fragment ReadFragment(const char* bytes, size_t count) {
  Fragment fragment;
  if (count < kHeaderSize) return fragment;
  fragment.length = static_cast<unsigned char>(bytes[4]) | static_cast<unsigned char>(bytes[5]) << 8;
  fragment.type = static_cast<unsigned char>(bytes[6]);
  fragment.whole = fragment.type >= kFull && fragment.type <= kLast && fragment.length <= count - kHeaderSize &&
                   Checksum(bytes + 6, fragment.length + 1) == ReadFixed32(bytes);
  return fragment;
}

// The beginning of a record that can follow the intact ones.
struct Successor {
  RecordFile::Kind kind;
  bool has_predecessor = false;
  uint64_t sequence = 0;  // of the next batch, if the kind is a log

  // An entry can contain the bytes of a log; those have the sequence numbers of another database.
  bool Accepts(const char* payload, size_t count) const {
    constexpr uint64_t kFarthest = uint64_t(1) << 24;
    if (kind == RecordFile::Kind::kManifest) return true;
    if (count < 8) return false;
    uint64_t found = ReadFixed64(payload);
    return !has_predecessor || (found >= sequence && found - sequence < kFarthest);
  }
};

bool AreZeros(const char* bytes, size_t count) {
  return count == 0 || (bytes[0] == 0 && std::memcmp(bytes, bytes + 1, count - 1) == 0);
}

// Whether a whole record begins after an error. The position of the next fragment is unknown there, so every position
// is tried.
bool HasLaterRecord(const char* block, size_t position, size_t count, const Successor& successor) {
  while (position + kHeaderSize <= count) {
    Fragment fragment = ReadFragment(block + position, count - position);
    const char* payload = block + position + kHeaderSize;
    bool begins = fragment.type == kFull || fragment.type == kFirst;
    if (fragment.whole && begins && successor.Accepts(payload, fragment.length)) return true;
    position += fragment.whole ? kHeaderSize + fragment.length : 1;
  }
  return false;
}

}  // namespace

Status RecordFile::Read(const Folder& folder, const std::string& name, Kind kind, RecordFile* result) {
  int descriptor;
  Status status = folder.OpenForReading(name, &descriptor, &result->file_size);
  if (!status.ok()) return status;
  const uint64_t size = result->file_size;
  std::string& bytes = result->bytes;
  const std::unique_ptr<char[]> block(new char[kBlockSize]);
  size_t good = 0;          // where the last whole record ends
  bool in_record = false;   // whether fragments of another one follow it
  uint64_t wrong = size;    // where the first error is
  bool is_written = false;  // whether not all bytes from there on are zeros
  std::string start;        // the first bytes of the record that is being read
  Successor successor = {kind};
  for (uint64_t offset = 0; offset < size; offset += kBlockSize) {
    if (wrong < size && size - wrong > kLongestTail) {
      result->tail = Tail::kDamage;
      break;
    }
    size_t count = std::min<uint64_t>(kBlockSize, size - offset), read = 0;
    status = folder.Read(descriptor, name, offset, count, block.get(), &read);
    if (status.ok() && read < count)
      status = Failed(CLDB_IO, folder.PathOf(name), "the file became shorter while it was read", EIO);
    if (!status.ok()) break;
    size_t position = 0;
    if (wrong == size) {
      bytes.append(block.get(), count);
      while (wrong == size && count - position >= kHeaderSize) {
        Fragment fragment = ReadFragment(block.get() + position, count - position);
        bool begins = fragment.type == kFull || fragment.type == kFirst;
        if (!fragment.whole || begins == in_record) {
          wrong = offset + position;
        } else {
          if (begins) start.clear();
          const size_t part = std::min(fragment.length, kBatchHeaderSize - start.size());
          start.append(block.get() + position + kHeaderSize, part);
          position += kHeaderSize + fragment.length;
          in_record = fragment.type == kFirst || fragment.type == kMiddle;
          if (in_record) continue;
          good = offset + position;
          successor.has_predecessor = start.size() == kBatchHeaderSize;
          if (successor.has_predecessor) successor.sequence = ReadFixed64(&start[0]) + ReadFixed32(&start[8]);
        }
      }
      // The rest at the end of a full block is too short for a header, and is filled with zeros.
      if (wrong == size && count < kBlockSize && position < count) wrong = offset + position;
      if (wrong == size) continue;
    }
    if (AreZeros(block.get() + position, count - position)) continue;
    is_written = true;
    if (HasLaterRecord(block.get(), position, count, successor)) {
      result->tail = Tail::kDamage;
      break;
    }
  }
  cfiles_close(descriptor);
  bytes.resize(good);
  bytes.shrink_to_fit();
  // Only the writer of a log writes zeros.
  if (kind == Kind::kManifest) is_written |= wrong < size;
  if (result->tail == Tail::kNone && (is_written || in_record)) result->tail = Tail::kTorn;
  return status;
}

Status RecordFile::ReadAround(const Folder& folder, const std::string& name, bool* is_altered,
                              const std::function<void(const Slice&)>& take) {
  int descriptor;
  uint64_t size;
  Status status = folder.OpenForReading(name, &descriptor, &size);
  if (!status.ok()) return status;
  const std::unique_ptr<char[]> block(new char[kBlockSize]);
  std::string record;
  bool in_record = false, has_error = false;
  for (uint64_t offset = 0; offset < size; offset += kBlockSize) {
    size_t count = std::min<uint64_t>(kBlockSize, size - offset), read = 0;
    Status found = folder.Read(descriptor, name, offset, count, block.get(), &read);
    if (!found.ok()) {
      if (status.ok()) status = found;
      in_record = false;
      has_error = true;
      continue;
    }
    size_t position = 0;
    while (position + kHeaderSize <= read && !AreZeros(block.get() + position, read - position)) {
      Fragment fragment = ReadFragment(block.get() + position, read - position);
      if (!fragment.whole) {
        // The position of the next fragment is unknown, so every position is tried.
        in_record = false;
        has_error = true;
        position++;
        continue;
      }
      const bool begins = fragment.type == kFull || fragment.type == kFirst;
      if (begins) record.clear();
      if (begins || in_record) {
        record.append(block.get() + position + kHeaderSize, fragment.length);
        in_record = fragment.type == kFirst || fragment.type == kMiddle;
        if (!in_record) {
          *is_altered |= has_error;
          take(record);
        }
      }
      position += kHeaderSize + fragment.length;
    }
  }
  cfiles_close(descriptor);
  return status;
}

bool RecordJoiner::Take(Slice* block) {
  Fragment fragment = ReadFragment(block->data(), block->size());
  bool begins = fragment.type == kFull || fragment.type == kFirst;
  if (!fragment.whole || begins == is_inside_) return false;
  Slice part(block->data() + kHeaderSize, fragment.length);
  block->remove_prefix(kHeaderSize + fragment.length);
  is_joined_ = fragment.type != kFull;
  is_inside_ = fragment.type == kFirst || fragment.type == kMiddle;
  if (!is_joined_) single_ = part;
  if (fragment.type == kFirst) joined_.clear();
  if (is_joined_) joined_.append(part.data(), part.size());
  return true;
}

bool RecordCursor::Next(Slice* record) {
  while (true) {
    size_t left = kBlockSize - offset_ % kBlockSize;
    if (left < kHeaderSize) offset_ += left;
    if (offset_ + kHeaderSize > bytes_.size()) return false;
    size_t count = std::min(bytes_.size() - offset_, kBlockSize - offset_ % kBlockSize);
    Slice rest(bytes_.data() + offset_, count);
    if (!joiner_.Take(&rest)) return false;
    offset_ += count - rest.size();
    if (!joiner_.is_whole()) continue;
    *record = joiner_.bytes();
    return true;
  }
}

}  // namespace cldb
