#include "DiskFiles.h"

#include <algorithm>
#include <cstring>

#include "CFiles.h"
#include "Failure.h"
#include "InternalKey.h"

namespace cldb {

using leveldb::Slice;
using leveldb::Status;

Status DiskTable::Open(const Folder& folder, const std::string& name, const TableInfo* info,
                       std::unique_ptr<DiskTable>* result) {
  int descriptor;
  uint64_t size;
  Status status = folder.OpenForReading(name, &descriptor, &size);
  if (status.ok()) result->reset(new DiskTable(folder, name, info, descriptor, size));
  return status;
}

DiskTable::~DiskTable() { cfiles_close(descriptor_); }

Status DiskTable::Read(uint64_t offset, size_t count, Slice* result, char* scratch) const {
  *result = Slice();
  Status status = ReadAll(offset, count, scratch);
  if (!status.ok()) return status;
  if (IsFooter(scratch, count)) {
    status = ReadIndex(scratch);
  } else {
    std::string buffer, first, last;
    Slice contents;
    if (const char* problem = ReadContents(scratch, count, &buffer, &contents)) {
      status = Damage(problem);
    } else if (!ReadBlock(contents, &first, &last) || !IsInItsPlace(offset, first, last)) {
      status = Damage("a block of the table is altered");
    }
  }
  if (status.ok()) *result = Slice(scratch, count);
  return status;
}

Status DiskTable::ReadAll(uint64_t offset, size_t count, char* scratch) const {
  if (offset > size_ || count > size_ - offset) return Damage("the table ends before the requested block");
  size_t read;
  Status status = folder_.Read(descriptor_, name_, offset, count, scratch, &read);
  if (status.ok() && read < count) return Damage("the table was cut short while it was open");
  return status;
}

Status DiskTable::Damage(const char* what) const {
  return Failed(CLDB_DAMAGED, folder_.PathOf(name_), what);
}

Status DiskTable::ReadIndex(const char* footer) const {
  uint64_t offset, size;
  if (!ReadFooter(footer, size_, &offset, &size))
    return Damage("the table's footer points outside of the file");
  std::string index(size + kBlockTrailerSize, 0);
  Status status = ReadAll(offset, index.size(), &index[0]);
  if (!status.ok()) return status;
  std::string buffer, first, last;
  Slice contents;
  if (!BlockIsWhole(index.data(), index.size())) return Damage("the checksum of the table's index is wrong");
  if (const char* problem = ReadContents(index.data(), index.size(), &buffer, &contents)) return Damage(problem);
  bool is_index = ReadBlock(contents, &first, &last);
  if (is_index && info_.has_value()) {
    index_offset_ = offset;
    index_ = TableIndex(contents.ToString(), size_, &is_index);
  }
  return is_index ? status : Damage("the table's index is altered");
}

bool DiskTable::IsInItsPlace(uint64_t offset, const std::string& first, const std::string& last) const {
  if (!info_.has_value() || offset == index_offset_) return true;
  const size_t index = index_.Find(offset);
  if (index == index_.count() || last.empty()) return false;
  if (CompareKeys(last, index_.key(index)) > 0) return false;
  if (index > 0 && CompareKeys(first, index_.key(index - 1)) <= 0) return false;
  return UserKey(first).compare(info_->smallest) >= 0 && UserKey(last).compare(info_->largest) <= 0;
}

DiskWriter::DiskWriter(Folder& folder, std::string name, int descriptor, bool is_log)
    : folder_(folder),
      name_(std::move(name)),
      descriptor_(descriptor),
      is_log_(is_log),
      writes_zeros_(is_log),
      buffer_(new char[kBufferSize]) {}

DiskWriter::~DiskWriter() {
  // Reached without Close after a failure, and for a log, whose records are flushed one by one.
  if (descriptor_ >= 0) Close();
}

Status DiskWriter::Append(const Slice& data) {
  const char* bytes = data.data();
  size_t count = data.size();
  size_t part = std::min(count, kBufferSize - used_);
  std::memcpy(buffer_.get() + used_, bytes, part);
  used_ += part;
  bytes += part;
  count -= part;
  // A poisoned folder must fail here too, or LevelDB would treat buffered bytes as accepted.
  if (count == 0 && !folder_.poisoned()) return Status::OK();
  Status written = WriteBuffer();
  if (!written.ok()) return written;
  if (count >= kBufferSize) return folder_.Write(descriptor_, name_, bytes, count, &offset_);
  std::memcpy(buffer_.get(), bytes, count);
  used_ = count;
  return Status::OK();
}

Status DiskWriter::Flush() { return is_log_ ? WriteBuffer() : Status::OK(); }

Status DiskWriter::WriteBuffer() {
  size_t count = used_;
  used_ = 0;
  return folder_.Write(descriptor_, name_, buffer_.get(), count, &offset_);
}

Status DiskWriter::Sync() {
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

void DiskWriter::WriteZerosAhead() {
  // As many as the file has bytes, so that a small log stays small.
  constexpr uint64_t kFewest = 4 << 10, kMost = Folder::kMostZeros;
  // For large records the time is that of their own bytes, and zeros would double these.
  constexpr uint64_t kLargestRecord = 64 << 10;
  if (offset_ <= zeros_end_ || offset_ - synced_ > kLargestRecord) return;
  const uint64_t count = std::min(std::max(offset_, kFewest), kMost);
  zeros_end_ = offset_ + count;
  // Nothing depends on the zeros. A full disk, for example, may still have room for the records.
  writes_zeros_ = folder_.WriteZeros(descriptor_, name_, offset_, count);
}

Status DiskWriter::Rename(const std::string& name) {
  Status status = folder_.Rename(name_, name);
  if (!status.ok()) return status;
  name_ = name;
  name_is_flushed_ = true;
  return status;
}

Status DiskWriter::Close() {
  Status status = WriteBuffer();
  Status closed = folder_.CloseFile(descriptor_, name_);
  descriptor_ = -1;
  return status.ok() ? closed : status;
}

}  // namespace cldb
