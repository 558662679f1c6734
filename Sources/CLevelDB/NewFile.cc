#include "NewFile.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "Failure.h"
#include "Manifest.h"

namespace cldb {

using leveldb::Slice;
using leveldb::Status;

namespace {

constexpr size_t kBufferSize = 64 << 10;
// The header of the first record, and its sequence number.
constexpr size_t kStartSize = kRecordHeaderSize + 8;

}  // namespace

NewFile::NewFile(Folder& folder, std::string name, const std::atomic<bool>& is_sealed, FirstSequence first_sequence)
    : folder_(folder),
      kind_(FileName::Parse(name).kind),
      is_sealed_(is_sealed),
      first_sequence_(std::move(first_sequence)),
      name_(std::move(name)),
      writes_zeros_(kind_ == FileName::Kind::kLog) {}

Status NewFile::Append(const Slice& data) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!is_on_disk_ && is_sealed_)
    return Failed(CLDB_READ_ONLY, folder_.PathOf(name_), "the database is open for reading only");
  start_.append(data.data(), std::min(data.size(), kStartSize - start_.size()));
  buffer_.append(data.data(), data.size());
  // In a poisoned folder, the write must be tried and fail, or LevelDB would treat buffered bytes as accepted.
  const bool is_due = buffer_.size() >= kBufferSize || folder_.poisoned();
  return is_on_disk_ && is_due ? WriteBuffer() : Status::OK();
}

Status NewFile::Flush() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (kind_ == FileName::Kind::kManifest) {
    LowerSequence(&buffer_, record_, offset_ + record_, first_sequence_);
    record_ = buffer_.size();
  }
  return is_on_disk_ && kind_ == FileName::Kind::kLog ? WriteBuffer() : Status::OK();
}

Status NewFile::Sync() {
  std::lock_guard<std::mutex> lock(mutex_);
  return is_on_disk_ ? WriteAndSync() : Status::OK();
}

Status NewFile::Close() {
  std::lock_guard<std::mutex> lock(mutex_);
  return CloseFile();
}

Status NewFile::CloseFile() {
  is_closed_ = true;
  if (descriptor_ < 0) return Status::OK();
  Status status = WriteBuffer();
  Status closed = folder_.CloseFile(descriptor_, name_);
  descriptor_ = -1;
  return status.ok() ? closed : status;
}

Status NewFile::Read(uint64_t offset, size_t count, Slice* result, char* scratch) const {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (table_ == nullptr) {
      if (offset > buffer_.size() || count > buffer_.size() - offset)
        return Failed(CLDB_DAMAGED, folder_.PathOf(name_), "the new table ends before the requested block");
      std::memcpy(scratch, buffer_.data() + offset, count);
      *result = Slice(scratch, count);
      return Status::OK();
    }
  }
  return table_->Read(offset, count, result, scratch);
}

std::string NewFile::bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return buffer_;
}

uint64_t NewFile::first_sequence() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return start_.size() < kStartSize ? 0 : ReadFixed64(&start_[kRecordHeaderSize]);
}

Status NewFile::Put(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  CLDB_TRY(folder_.Create(name, &descriptor_));
  name_ = name;
  is_on_disk_ = true;
  // A new log is empty; its first record is flushed together with its name.
  if (!buffer_.empty()) CLDB_TRY(WriteAndSync());
  if (is_closed_) CLDB_TRY(CloseFile());
  const bool is_table = kind_ == FileName::Kind::kTable && is_closed_;
  return is_table ? TableFile::Open(folder_, name, nullptr, &table_) : Status::OK();
}

Status NewFile::Rename(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  CLDB_TRY(folder_.Rename(name_, name));
  name_ = name;
  name_is_flushed_ = true;
  return Status::OK();
}

Status NewFile::WriteBuffer() {
  // A write at the old end of a truncated file would hide the truncation.
  Status status = buffer_.empty() ? Status::OK() : folder_.CheckSize(descriptor_, name_, offset_);
  if (status.ok()) status = folder_.Write(descriptor_, name_, buffer_.data(), buffer_.size(), &offset_);
  // The memory of a large buffer, such as that of a staged file, is freed.
  if (buffer_.capacity() > 2 * kBufferSize) buffer_ = std::string();
  buffer_.clear();
  record_ = 0;
  return status;
}

Status NewFile::WriteAndSync() {
  Status status = WriteBuffer();
  if (status.ok() && writes_zeros_) WriteZerosAhead();
  if (status.ok()) status = folder_.SyncFile(descriptor_, name_);
  if (status.ok()) status = folder_.CheckIsInPlace(descriptor_, name_);
  synced_ = offset_;
  if (status.ok() && !name_is_flushed_) {
    status = folder_.SyncFolder();
    name_is_flushed_ = status.ok();
  }
  return status;
}

void NewFile::WriteZerosAhead() {
  // Adds as many zeros as the file has bytes, so that a small log stays small.
  constexpr uint64_t kFewest = 4 << 10, kMost = Folder::kMostZeros;
  // Large records get no zeros: writing such a record takes most of the time, and zeros would double its bytes.
  constexpr uint64_t kLargestRecord = 64 << 10;
  if (offset_ <= zeros_end_ || offset_ - synced_ > kLargestRecord) return;
  const uint64_t count = std::min(std::max(offset_, kFewest), kMost);
  zeros_end_ = offset_ + count;
  // A failure is no error: a full disk may still have room for the records.
  writes_zeros_ = folder_.WriteZeros(descriptor_, name_, offset_, count);
}

}  // namespace cldb
