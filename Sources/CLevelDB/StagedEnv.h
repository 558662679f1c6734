// LevelDB's environment. When LevelDB opens a folder, it rewrites it: the log becomes a table, a new manifest is made,
// and old files are removed, or truncated because their numbers are reused. Here that happens in memory first.
//
// Invariants:
//  1. Until `BeginWriting`, nothing changes on disk. New files are staged, and removed files are hidden.
//  2. LevelDB reads its manifest and its logs from bytes that were read to their end and checked (Inventory.h).
//  3. No byte of a record or a table is ever overwritten: each file is new. A small log is copied. The flushed copy
//     replaces the log, and new records are appended to it. (If each opening made a table of the last session's log,
//     there would be as many tables as openings.)
//  4. A file is removed only if its contents are known to be elsewhere: a log that was read to its end, once a
//     flushed manifest names its flushed table; a file of this session that LevelDB has replaced; or a leftover of a
//     crash whose first and last keys are in the database. Any other file stays, and if its name is needed, writing
//     does not begin.
//  5. If writing can't begin, the files that were created for it are removed.

#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "FileName.h"
#include "Folder.h"
#include "Inventory.h"
#include "LockedFile.h"
#include "NewFile.h"
#include "Worker.h"
#include "leveldb/env.h"

namespace cldb {

class StagedEnv final : public leveldb::EnvWrapper {
 public:
  // `lock` is null if the database is open for reading only, or if its file does not exist yet. A log of up to
  // `kept_log_size` bytes is reused.
  StagedEnv(std::unique_ptr<Folder> folder, Inventory inventory, std::unique_ptr<LockedFile> lock,
            size_t kept_log_size);

  Folder& folder() { return *folder_; }
  const Inventory& inventory() const { return inventory_; }
  // The logs of a database that is in use by another process. For one thread at a time.
  std::vector<std::unique_ptr<GrowingLog>>& growing_logs() { return inventory_.growing; }
  Worker& worker() { return worker_; }

  // Refuses new staged files from now on. LevelDB can still read, but compactions fail at their first step.
  void Seal() { is_sealed_ = true; }

  // Writes the staged files to disk, and lets LevelDB write from now on. `holds` returns whether the database has a
  // key: OK, NotFound, or an error if that is unknown. Fails if a leftover has the only copy of an entry; `key` is
  // then the entry's key. After a failure the folder is unchanged, except that useless leftovers were removed.
  leveldb::Status BeginWriting(const std::function<leveldb::Status(const leveldb::Slice&)>& holds,
                               std::string* key);
  bool is_writing() const { return is_writing_.load(std::memory_order_acquire); }

  // Whether a write of this thread failed since the last call of this function, because the system had no descriptor
  // for a new log. LevelDB has then written nothing.
  bool TakeRefusal();

  leveldb::Status NewSequentialFile(const std::string& path, leveldb::SequentialFile** result) override;
  leveldb::Status NewRandomAccessFile(const std::string& path, leveldb::RandomAccessFile** result) override;
  leveldb::Status NewWritableFile(const std::string& path, leveldb::WritableFile** result) override;
  leveldb::Status NewAppendableFile(const std::string& path, leveldb::WritableFile** result) override;
  bool FileExists(const std::string& path) override;
  leveldb::Status GetChildren(const std::string& path, std::vector<std::string>* names) override;
  leveldb::Status RemoveFile(const std::string& path) override;
  leveldb::Status CreateDir(const std::string& path) override;
  leveldb::Status GetFileSize(const std::string& path, uint64_t* size) override;
  leveldb::Status RenameFile(const std::string& from, const std::string& to) override;
  leveldb::Status LockFile(const std::string& path, leveldb::FileLock** lock) override;
  leveldb::Status UnlockFile(leveldb::FileLock* lock) override;
  void Schedule(void (*function)(void*), void* argument) override;

 private:
  using Staged = std::map<std::string, std::shared_ptr<NewFile>>;
  struct Log {
    std::string name;
    std::shared_ptr<NewFile> file;
  };

  leveldb::Status WaitingForDescriptors(const std::function<leveldb::Status()>& open);
  std::shared_ptr<NewFile> Find(const std::string& name) const;
  leveldb::Status CheckLeftover(const std::string& name,
                                const std::function<leveldb::Status(const leveldb::Slice&)>& holds,
                                std::string* key) const;
  bool IsKeptLog(const std::shared_ptr<NewFile>& file) const {
    return file == log_.file && kept_log_name_ == log_.name;
  }
  leveldb::Status PutAll(const Staged& staged, std::vector<std::string>* made);

  const std::unique_ptr<Folder> folder_;
  Inventory inventory_;
  std::unique_ptr<LockedFile> lock_;
  const size_t kept_log_size_;
  std::atomic<bool> is_sealed_{false};
  std::atomic<bool> is_writing_{false};

  mutable std::mutex mutex_;  // guards what follows
  Staged staged_;             // by name
  // The last log that LevelDB has read, if it is to be reused.
  std::string kept_log_name_, kept_log_bytes_;
  // The log that LevelDB made or reused last, and the one before, which stays until its contents are in a table.
  Log log_, previous_log_;
  std::set<std::string> hidden_;   // names on disk that LevelDB has removed
  std::set<std::string> session_;  // names that LevelDB may remove once writing has begun

  // The last member, so that its thread ends first.
  Worker worker_;
};

// Drops LevelDB's info log. LevelDB also reports everything that matters as a status.
class NullLogger final : public leveldb::Logger {
 public:
  void Logv(const char*, std::va_list) override {}
};

}  // namespace cldb
