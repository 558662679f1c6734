#include "StagedFile.h"

#include <algorithm>
#include <cstring>

#include "Failure.h"

namespace cldb {

using leveldb::Slice;
using leveldb::Status;

Status StagedFile::Append(const Slice& data) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (writer_ != nullptr) return writer_->Append(data);
  if (*is_sealed_) return Failed(CLDB_READ_ONLY, path_, "the database is open for reading only");
  bytes_.append(data.data(), data.size());
  return Status::OK();
}

Status StagedFile::Flush() {
  std::lock_guard<std::mutex> lock(mutex_);
  return writer_ != nullptr ? writer_->Flush() : Status::OK();
}

Status StagedFile::Sync() {
  std::lock_guard<std::mutex> lock(mutex_);
  return writer_ != nullptr ? writer_->Sync() : Status::OK();
}

Status StagedFile::Close() {
  std::lock_guard<std::mutex> lock(mutex_);
  is_closed_ = true;
  if (writer_ == nullptr) return Status::OK();
  Status status = writer_->Close();
  writer_.reset();
  return status;
}

Status StagedFile::Read(uint64_t offset, size_t count, Slice* result, char* scratch) const {
  if (is_on_disk_.load(std::memory_order_acquire)) return table_->Read(offset, count, result, scratch);
  std::lock_guard<std::mutex> lock(mutex_);
  size_t part = offset < bytes_.size() ? std::min<size_t>(count, bytes_.size() - offset) : 0;
  if (part > 0) std::memcpy(scratch, bytes_.data() + offset, part);
  *result = Slice(scratch, part);
  return Status::OK();
}

std::string StagedFile::bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return bytes_;
}

Status StagedFile::Put(Folder& folder, const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  int descriptor;
  Status status = folder.Create(name, &descriptor);
  if (!status.ok()) return status;
  writer_ = std::make_unique<DiskWriter>(folder, name, descriptor, is_log_);
  if (!bytes_.empty()) status = writer_->Append(bytes_);
  // A new log is empty; its first record is flushed together with its name.
  if (status.ok() && !bytes_.empty()) status = writer_->Sync();
  if (status.ok() && is_closed_) {
    status = writer_->Close();
    if (status.ok()) status = DiskTable::Open(folder, name, nullptr, &table_);
  }
  if (!status.ok() || is_closed_) writer_.reset();
  if (!status.ok()) return status;
  bytes_ = std::string();
  if (is_closed_) is_on_disk_.store(true, std::memory_order_release);
  return status;
}

Status StagedFile::Rename(Folder& folder, const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  return writer_->Rename(name);
}

Status StagedTable::Read(uint64_t offset, size_t count, Slice* result, char* scratch) const {
  Status status = file_->Read(offset, count, result, scratch);
  if (status.ok() && result->size() < count)
    return Failed(CLDB_DAMAGED, "a new table", "it ends before the requested block");
  return status;
}

Status BytesReader::Read(size_t count, Slice* result, char* scratch) {
  size_t part = std::min(count, bytes_.size() - offset_);
  std::memcpy(scratch, bytes_.data() + offset_, part);
  offset_ += part;
  *result = Slice(scratch, part);
  return Status::OK();
}

Status BytesReader::Skip(uint64_t count) {
  offset_ += std::min<uint64_t>(count, bytes_.size() - offset_);
  return Status::OK();
}

}  // namespace cldb
