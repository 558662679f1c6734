#include "OverlayEnv.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "DiskFiles.h"
#include "Failure.h"

namespace cldb {

using leveldb::Slice;
using leveldb::Status;

// Bytes that are appended to and read at once, by any number of threads.
class MemoryFile {
 public:
  void Append(const Slice& data) {
    std::lock_guard<std::mutex> lock(mutex_);
    bytes_.append(data.data(), data.size());
  }

  // Copies what there is, up to `count` bytes.
  size_t Read(uint64_t offset, size_t count, char* scratch) const {
    std::lock_guard<std::mutex> lock(mutex_);
    if (offset >= bytes_.size()) return 0;
    size_t part = std::min<size_t>(count, bytes_.size() - offset);
    std::memcpy(scratch, bytes_.data() + offset, part);
    return part;
  }

  uint64_t size() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return bytes_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::string bytes_;
};

namespace {

Status ReadOnly(const std::string& path) {
  LastError() = EROFS;
  return Status::IOError(path, "the database is open for reading only");
}

class MemoryReader final : public leveldb::SequentialFile {
 public:
  explicit MemoryReader(std::shared_ptr<MemoryFile> file) : file_(std::move(file)) {}

  Status Read(size_t count, Slice* result, char* scratch) override {
    size_t read = file_->Read(offset_, count, scratch);
    offset_ += read;
    *result = Slice(scratch, read);
    return Status::OK();
  }

  Status Skip(uint64_t count) override {
    offset_ += std::min(count, file_->size() - offset_);
    return Status::OK();
  }

 private:
  const std::shared_ptr<MemoryFile> file_;
  uint64_t offset_ = 0;
};

class MemoryTable final : public leveldb::RandomAccessFile {
 public:
  MemoryTable(std::string path, std::shared_ptr<MemoryFile> file)
      : path_(std::move(path)), file_(std::move(file)) {}

  Status Read(uint64_t offset, size_t count, Slice* result, char* scratch) const override {
    *result = Slice(scratch, file_->Read(offset, count, scratch));
    if (result->size() == count) return Status::OK();
    return Status::Corruption(path_, "the table ends before the block that is looked for");
  }

 private:
  const std::string path_;
  const std::shared_ptr<MemoryFile> file_;
};

class MemoryWriter final : public leveldb::WritableFile {
 public:
  MemoryWriter(std::string path, std::shared_ptr<MemoryFile> file,
               std::shared_ptr<std::atomic<bool>> sealed)
      : path_(std::move(path)), file_(std::move(file)), sealed_(std::move(sealed)) {}

  Status Append(const Slice& data) override {
    if (*sealed_) return ReadOnly(path_);
    file_->Append(data);
    return Status::OK();
  }

  Status Close() override { return Status::OK(); }
  Status Flush() override { return Status::OK(); }
  Status Sync() override { return Status::OK(); }

 private:
  const std::string path_;
  const std::shared_ptr<MemoryFile> file_;
  const std::shared_ptr<std::atomic<bool>> sealed_;
};

class NoLock final : public leveldb::FileLock {};

}  // namespace

std::shared_ptr<MemoryFile> OverlayEnv::Find(const std::string& path) const {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = files_.find(path);
  return found == files_.end() ? nullptr : found->second;
}

bool OverlayEnv::IsRemoved(const std::string& path) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return removed_.count(path) > 0;
}

Status OverlayEnv::NewSequentialFile(const std::string& path, leveldb::SequentialFile** result) {
  *result = nullptr;
  if (auto file = Find(path)) {
    *result = new MemoryReader(std::move(file));
    return Status::OK();
  }
  if (IsRemoved(path)) return Status::NotFound(path, "the file was removed");
  return DiskEnv::NewSequentialFile(path, result);
}

Status OverlayEnv::NewRandomAccessFile(const std::string& path, leveldb::RandomAccessFile** result) {
  *result = nullptr;
  if (auto file = Find(path)) {
    *result = new MemoryTable(path, std::move(file));
    return Status::OK();
  }
  if (IsRemoved(path)) return Status::Corruption(path, "the table was removed");
  return DiskEnv::NewRandomAccessFile(path, result);
}

Status OverlayEnv::NewWritableFile(const std::string& path, leveldb::WritableFile** result) {
  *result = nullptr;
  std::string name;
  Status status = folder().NameOf(path, &name);
  if (!status.ok()) return status;
  if (*sealed_) return ReadOnly(path);
  auto file = std::make_shared<MemoryFile>();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    files_[path] = file;
  }
  *result = new MemoryWriter(path, std::move(file), sealed_);
  return Status::OK();
}

bool OverlayEnv::FileExists(const std::string& path) {
  if (Find(path) != nullptr) return true;
  return !IsRemoved(path) && DiskEnv::FileExists(path);
}

Status OverlayEnv::GetChildren(const std::string& path, std::vector<std::string>* names) {
  std::vector<std::string> on_disk;
  Status status = DiskEnv::GetChildren(path, &on_disk);
  if (!status.ok()) return status;
  std::set<std::string> merged;
  std::lock_guard<std::mutex> lock(mutex_);
  for (std::string& name : on_disk) {
    if (removed_.count(folder().PathOf(name)) == 0) merged.insert(std::move(name));
  }
  for (const auto& file : files_) {
    std::string name;
    if (folder().NameOf(file.first, &name).ok()) merged.insert(std::move(name));
  }
  names->assign(merged.begin(), merged.end());
  return Status::OK();
}

Status OverlayEnv::RemoveFile(const std::string& path) {
  std::lock_guard<std::mutex> lock(mutex_);
  files_.erase(path);
  removed_.insert(path);
  return Status::OK();
}

Status OverlayEnv::GetFileSize(const std::string& path, uint64_t* size) {
  if (auto file = Find(path)) {
    *size = file->size();
    return Status::OK();
  }
  if (IsRemoved(path)) return Status::NotFound(path, "the file was removed");
  return DiskEnv::GetFileSize(path, size);
}

Status OverlayEnv::RenameFile(const std::string& from, const std::string& to) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = files_.find(from);
  if (found == files_.end()) return ReadOnly(from);
  files_[to] = found->second;
  files_.erase(from);
  return Status::OK();
}

Status OverlayEnv::LockFile(const std::string&, leveldb::FileLock** lock) {
  // The journal's own lock keeps writers away; making or touching a file here would be a change.
  *lock = new NoLock;
  return Status::OK();
}

Status OverlayEnv::UnlockFile(leveldb::FileLock* lock) {
  delete lock;
  return Status::OK();
}

void OverlayEnv::Schedule(void (*work)(void*), void* argument) {
  // LevelDB schedules its first compaction as the last step of opening, and it may run before open has
  // returned. It must find the overlay sealed. It can't be dropped, since closing waits for it.
  Seal();
  DiskEnv::Schedule(work, argument);
}

}  // namespace cldb
