#include "DiskEnv.h"

#include <unistd.h>

#include "DiskFiles.h"
#include "Failure.h"
#include "LockedFile.h"

namespace cldb {

using leveldb::Status;

namespace {

// CURRENT is one file name. LevelDB reads all of it into memory, whatever its size.
constexpr uint64_t kLongestCurrent = 4096;

}  // namespace

DiskEnv::DiskEnv(std::unique_ptr<Folder> folder)
    : leveldb::EnvWrapper(leveldb::Env::Default()), folder_(std::move(folder)) {}

DiskEnv::~DiskEnv() = default;

void DiskEnv::Break(const std::string& reason) {
  folder_->Poison(reason);
  broken_.store(true, std::memory_order_release);
}

void DiskEnv::AbandonLock() {
  if (lock_ != nullptr) lock_->Release();
}

Status DiskEnv::NewSequentialFile(const std::string& path, leveldb::SequentialFile** result) {
  *result = nullptr;
  std::string name;
  Status status = folder_->NameOf(path, &name);
  if (!status.ok()) return status;
  int descriptor;
  uint64_t size;
  status = folder_->OpenForReading(name, &descriptor, &size);
  if (!status.ok()) return status;
  if (name == "CURRENT" && size > kLongestCurrent) {
    ::close(descriptor);
    return Status::Corruption(path, "the file is too long to be the name of a manifest");
  }
  *result = new DiskReader(path, descriptor);
  return Status::OK();
}

Status DiskEnv::NewRandomAccessFile(const std::string& path, leveldb::RandomAccessFile** result) {
  *result = nullptr;
  std::string name;
  Status status = folder_->NameOf(path, &name);
  if (!status.ok()) return status;
  int descriptor;
  uint64_t size;
  status = folder_->OpenForReading(name, &descriptor, &size);
  // LevelDB would pass NotFound on to its caller, for whom it means that the key is absent.
  if (status.IsNotFound()) return Status::Corruption(path, "the table is missing");
  if (status.ok()) *result = new DiskTable(path, descriptor, size);
  return status;
}

Status DiskEnv::NewWritableFile(const std::string& path, leveldb::WritableFile** result) {
  *result = nullptr;
  std::string name;
  Status status = folder_->NameOf(path, &name);
  if (!status.ok()) return status;
  int descriptor;
  status = folder_->Create(name, &descriptor);
  if (status.ok()) *result = new DiskWriter(*folder_, name, descriptor);
  return status;
}

Status DiskEnv::NewAppendableFile(const std::string& path, leveldb::WritableFile** result) {
  // Used with `reuse_logs` only, which is off: after a failed flush a file must not be flushed again.
  *result = nullptr;
  return Status::NotSupported(path, "files are never appended to after they were closed");
}

bool DiskEnv::FileExists(const std::string& path) {
  std::string name;
  return folder_->NameOf(path, &name).ok() && folder_->Exists(name);
}

Status DiskEnv::GetChildren(const std::string&, std::vector<std::string>* names) {
  return folder_->List(names);
}

Status DiskEnv::RemoveFile(const std::string& path) {
  std::string name;
  Status status = folder_->NameOf(path, &name);
  return status.ok() ? folder_->Remove(name) : status;
}

Status DiskEnv::CreateDir(const std::string&) {
  // The folder was made and flushed before LevelDB was asked to open it.
  return Status::OK();
}

Status DiskEnv::RemoveDir(const std::string& path) {
  return Status::NotSupported(path, "folders are never removed");
}

Status DiskEnv::GetFileSize(const std::string& path, uint64_t* size) {
  std::string name;
  Status status = folder_->NameOf(path, &name);
  return status.ok() ? folder_->SizeOf(name, size) : status;
}

Status DiskEnv::RenameFile(const std::string& from, const std::string& to) {
  std::string name, new_name;
  Status status = folder_->NameOf(from, &name);
  if (status.ok()) status = folder_->NameOf(to, &new_name);
  return status.ok() ? folder_->Rename(name, new_name) : status;
}

Status DiskEnv::LockFile(const std::string& path, leveldb::FileLock** lock) {
  *lock = nullptr;
  std::string name;
  Status status = folder_->NameOf(path, &name);
  if (status.ok()) status = LockedFile::Acquire(*folder_, name, &lock_);
  if (status.ok()) *lock = lock_;
  return status;
}

Status DiskEnv::UnlockFile(leveldb::FileLock* lock) {
  lock_ = nullptr;
  delete lock;
  return Status::OK();
}

Status DiskEnv::NewLogger(const std::string&, leveldb::Logger** result) {
  *result = new NullLogger;
  return Status::OK();
}

namespace {

struct Work {
  void (*function)(void*);
  void* argument;
  DiskEnv* env;
};

}  // namespace

void DiskEnv::Schedule(void (*function)(void*), void* argument) {
  // An exception on LevelDB's background thread would end the process.
  Work* work = new Work{function, argument, this};
  target()->Schedule(
      [](void* opaque) {
        std::unique_ptr<Work> work(static_cast<Work*>(opaque));
        // `work->env` may be gone when the function has returned, so it is used in the failure only, in
        // which LevelDB can't have told anyone that it has finished.
        try {
          work->function(work->argument);
        } catch (...) {
          cldb_status status;
          TranslateException(&status);
          work->env->Break(std::string("a compaction failed: ") + status.message);
        }
      },
      work);
}

}  // namespace cldb
