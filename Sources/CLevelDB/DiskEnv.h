// What LevelDB's own Env lacks, mended: new names are flushed, a failed write is final, links are not
// followed, tables are read and not mapped, and a table's footer can't ask for more than the file holds.

#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "Folder.h"
#include "leveldb/env.h"

namespace cldb {

class LockedFile;

class DiskEnv : public leveldb::EnvWrapper {
 public:
  explicit DiskEnv(std::unique_ptr<Folder> folder);
  ~DiskEnv() override;

  Folder& folder() { return *folder_; }

  // True once an exception has left LevelDB. The library is built without exceptions, so its locks and
  // queues are then as the exception left them, and no call into the database is safe.
  bool broken() const { return broken_.load(std::memory_order_acquire); }
  void Break(const std::string& reason);

  // Gives up LevelDB's lock of a broken database, which can't be closed, so that it can be opened again.
  void AbandonLock();

  leveldb::Status NewSequentialFile(const std::string& path, leveldb::SequentialFile** result) override;
  leveldb::Status NewRandomAccessFile(const std::string& path, leveldb::RandomAccessFile** result) override;
  leveldb::Status NewWritableFile(const std::string& path, leveldb::WritableFile** result) override;
  leveldb::Status NewAppendableFile(const std::string& path, leveldb::WritableFile** result) override;
  bool FileExists(const std::string& path) override;
  leveldb::Status GetChildren(const std::string& path, std::vector<std::string>* names) override;
  leveldb::Status RemoveFile(const std::string& path) override;
  leveldb::Status CreateDir(const std::string& path) override;
  leveldb::Status RemoveDir(const std::string& path) override;
  leveldb::Status GetFileSize(const std::string& path, uint64_t* size) override;
  leveldb::Status RenameFile(const std::string& from, const std::string& to) override;
  leveldb::Status LockFile(const std::string& path, leveldb::FileLock** lock) override;
  leveldb::Status UnlockFile(leveldb::FileLock* lock) override;
  leveldb::Status NewLogger(const std::string& path, leveldb::Logger** result) override;
  void Schedule(void (*work)(void*), void* argument) override;

 private:
  const std::unique_ptr<Folder> folder_;
  std::atomic<bool> broken_{false};
  // Set while LevelDB opens, before other threads know the database.
  LockedFile* lock_ = nullptr;
};

// Drops LevelDB's notes about its own work: a file of them would have to be written, flushed and renamed
// under the same rules as the data, and what matters in it arrives as a status.
class NullLogger final : public leveldb::Logger {
 public:
  void Logv(const char*, std::va_list) override {}
};

}  // namespace cldb
