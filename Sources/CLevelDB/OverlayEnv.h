// A database folder that can be opened and read without changing a byte of it.
//
// LevelDB rewrites a folder by opening it: the log becomes a table, a new manifest is made, the old log is
// removed. Here new files live in memory, above the files on disk; removing hides a file, and nothing else.
// Once opened it is sealed: LevelDB reads on, but its compactions fail at their first step, so they can't
// fill the memory. What is held is then at most about the size of the logs that were on disk.

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "DiskEnv.h"

namespace cldb {

class MemoryFile;

class OverlayEnv final : public DiskEnv {
 public:
  using DiskEnv::DiskEnv;

  // Refuses all that would grow the overlay from now on.
  void Seal() { *sealed_ = true; }

  leveldb::Status NewSequentialFile(const std::string& path, leveldb::SequentialFile** result) override;
  leveldb::Status NewRandomAccessFile(const std::string& path, leveldb::RandomAccessFile** result) override;
  leveldb::Status NewWritableFile(const std::string& path, leveldb::WritableFile** result) override;
  bool FileExists(const std::string& path) override;
  leveldb::Status GetChildren(const std::string& path, std::vector<std::string>* names) override;
  leveldb::Status RemoveFile(const std::string& path) override;
  leveldb::Status GetFileSize(const std::string& path, uint64_t* size) override;
  // Of a file in memory; LevelDB renames only what it has just made.
  leveldb::Status RenameFile(const std::string& from, const std::string& to) override;
  leveldb::Status LockFile(const std::string& path, leveldb::FileLock** lock) override;
  leveldb::Status UnlockFile(leveldb::FileLock* lock) override;
  void Schedule(void (*work)(void*), void* argument) override;

 private:
  std::shared_ptr<MemoryFile> Find(const std::string& path) const;
  bool IsRemoved(const std::string& path) const;

  // Shared with the files, which ask it at each append.
  const std::shared_ptr<std::atomic<bool>> sealed_ = std::make_shared<std::atomic<bool>>(false);
  mutable std::mutex mutex_;  // guards what follows
  std::map<std::string, std::shared_ptr<MemoryFile>> files_;  // by path
  std::set<std::string> removed_;                             // paths on disk that are hidden
};

}  // namespace cldb
