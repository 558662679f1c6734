#include "DiskFiles.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "Failure.h"
#include "TableBlock.h"

namespace cldb {

using leveldb::Slice;
using leveldb::Status;

DiskReader::~DiskReader() { ::close(descriptor_); }

Status DiskReader::Read(size_t count, Slice* result, char* scratch) {
  ssize_t read;
  do {
    read = ::read(descriptor_, scratch, count);
  } while (read < 0 && errno == EINTR);
  if (read < 0) {
    *result = Slice();
    return SystemError(path_, "the file can't be read", errno);
  }
  *result = Slice(scratch, static_cast<size_t>(read));
  return Status::OK();
}

Status DiskReader::Skip(uint64_t count) {
  if (::lseek(descriptor_, static_cast<off_t>(count), SEEK_CUR) < 0)
    return SystemError(path_, "the file can't be read", errno);
  return Status::OK();
}

DiskTable::~DiskTable() { ::close(descriptor_); }

Status DiskTable::Read(uint64_t offset, size_t count, Slice* result, char* scratch) const {
  *result = Slice();
  Status status = ReadAll(offset, count, scratch);
  if (!status.ok()) return status;
  if (IsFooter(scratch, count)) {
    status = CheckIndex(scratch);
  } else if (!BlockIsWalkable(scratch, count)) {
    status = Status::Corruption(path_, "a block of the table is not one that LevelDB writes");
  }
  if (status.ok()) *result = Slice(scratch, count);
  return status;
}

Status DiskTable::ReadAll(uint64_t offset, size_t count, char* scratch) const {
  if (offset > size_ || count > size_ - offset)
    return Status::Corruption(path_, "the table ends before the block that is looked for");
  size_t done = 0;
  while (done < count) {
    ssize_t read = ::pread(descriptor_, scratch + done, count - done, static_cast<off_t>(offset + done));
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) return SystemError(path_, "the table can't be read", errno);
    if (read == 0) return Status::Corruption(path_, "the table was cut short while it was open");
    done += static_cast<size_t>(read);
  }
  return Status::OK();
}

Status DiskTable::CheckIndex(const char* footer) const {
  uint64_t offset, size;
  if (!ReadFooter(footer, size_, &offset, &size))
    return Status::Corruption(path_, "the table's footer points outside of the file");
  std::string index(size + kBlockTrailerSize, 0);
  Status status = ReadAll(offset, index.size(), &index[0]);
  if (status.ok() && !BlockIsWhole(index.data(), index.size()))
    status = Status::Corruption(path_, "the checksum of the table's index is wrong");
  return status;
}

DiskWriter::DiskWriter(Folder& folder, std::string name, int descriptor)
    : folder_(folder), name_(std::move(name)), descriptor_(descriptor), buffer_(new char[kBufferSize]) {}

DiskWriter::~DiskWriter() {
  // Reached without Close for a log, whose records are flushed one by one, and after a failure.
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
  // A poisoned folder must show itself here too, or LevelDB would take buffered bytes for accepted ones.
  if (count == 0 && !folder_.poisoned()) return Status::OK();
  Status flushed = Flush();
  if (!flushed.ok()) return flushed;
  if (count >= kBufferSize) return folder_.Write(descriptor_, name_, bytes, count, &offset_);
  std::memcpy(buffer_.get(), bytes, count);
  used_ = count;
  return Status::OK();
}

Status DiskWriter::Flush() {
  size_t count = used_;
  used_ = 0;
  return folder_.Write(descriptor_, name_, buffer_.get(), count, &offset_);
}

Status DiskWriter::Sync() {
  Status status = Flush();
  if (status.ok()) status = folder_.SyncFile(descriptor_, name_);
  if (status.ok() && !name_is_flushed_) {
    status = folder_.SyncFolder();
    name_is_flushed_ = status.ok();
  }
  return status;
}

Status DiskWriter::Close() {
  Status status = Flush();
  Status closed = folder_.CloseFile(descriptor_, name_);
  descriptor_ = -1;
  return status.ok() ? closed : status;
}

}  // namespace cldb
